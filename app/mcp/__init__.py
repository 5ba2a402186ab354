"""The Model Context Protocol: the proxy in front of other people's servers.

An edge like `routers/` and `cli/`: it reads messages of JSON-RPC and calls the services.
"""
