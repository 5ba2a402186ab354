"""The proxy between a host and a server, over pipes, and the bridge to a running memory."""
