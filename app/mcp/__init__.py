"""The Model Context Protocol: the memory as a server, and a proxy in front of others.

An edge like `routers/` and `cli/`: it reads messages of JSON-RPC and calls the services.
"""
