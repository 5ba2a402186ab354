"""The Model Context Protocol (MCP): the memory as an MCP server, and a proxy for other MCP servers.

The server is a feature of the service. The proxy runs in its own process, and has no store: it
sends results of tools to a service over HTTP.
"""
