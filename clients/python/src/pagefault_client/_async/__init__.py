"""The asynchronous client, from which generate.py makes `_sync`."""
