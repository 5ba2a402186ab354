"""Messages of JSON-RPC: lines of any length, their values, limits, and replacing parts of them."""
