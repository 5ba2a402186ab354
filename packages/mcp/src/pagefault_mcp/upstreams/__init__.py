"""Connections of the proxy to servers of MCP, which are programs or have an address."""
