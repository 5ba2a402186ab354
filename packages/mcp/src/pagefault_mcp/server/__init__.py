"""The memory as a server of MCP: at `/mcp`, over pipes, and for the proxies of a user."""
