"""Protocols of connections: uvicorn's, with limits on what a client sends and on how it leaves."""
