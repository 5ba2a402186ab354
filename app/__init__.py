"""Pagefault: the media memory of AI agents, as an HTTP service.

Data goes one way: router, service, three stages, stores. `app/main.py` puts it together and
`docs/architecture.md` draws it.
"""
