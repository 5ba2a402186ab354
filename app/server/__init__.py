"""The server under the application: uvicorn, its connections, their limits and ends."""
