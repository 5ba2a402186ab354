"""The HTTP server: the configuration of uvicorn, and its protocols with limits."""
