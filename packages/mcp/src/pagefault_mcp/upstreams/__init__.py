"""Connections of the proxy to MCP servers, which are child processes or are at a URL."""
