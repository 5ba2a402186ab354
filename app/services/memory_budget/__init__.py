"""The memory budget of requests, and its shares for bodies and responses."""
