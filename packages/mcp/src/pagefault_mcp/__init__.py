"""The Model Context Protocol: the memory as a server, and a proxy in front of others.

The proxy needs no store: it asks a service over HTTP. The server is a feature of the service.
"""
