"""Messages of JSON-RPC of any length: found in lines, read in parts, limited, rewritten."""
