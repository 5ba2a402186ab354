"""The proxy between a host and an MCP server, and the bridge to the memory of a service."""
