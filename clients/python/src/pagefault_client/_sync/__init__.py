"""The client that awaits. `_sync` is made of it by generate.py."""

# Written by generate.py from `_async/`; change that.
