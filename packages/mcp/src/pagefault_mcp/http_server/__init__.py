"""The proxy as an HTTP server for hosts: listening, keys, sessions and streams of events."""
