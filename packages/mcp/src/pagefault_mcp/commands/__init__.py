"""Commands that hosts of MCP start, and their options."""
