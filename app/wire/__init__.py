"""The JSON of requests and responses. Nothing here does I/O or imports a web framework."""
