"""Messages of JSON-RPC of any length: their lines, values, limits and rewriting."""
