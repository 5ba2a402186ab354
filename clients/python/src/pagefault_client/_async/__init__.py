"""The client that awaits. `_sync` is made of it by generate.py."""
