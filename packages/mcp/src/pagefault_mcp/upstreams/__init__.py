"""Servers of MCP as the proxy connects to them: programs, and servers at addresses."""
