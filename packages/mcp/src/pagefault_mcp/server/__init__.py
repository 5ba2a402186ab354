"""The memory as an MCP server: at `/mcp` and over pipes; and the service that proxies share."""
