"""Pagefault: the media memory of AI agents, as an HTTP service.

A request passes a router, a service with three stages, and the stores. `app/main.py` creates the
application, and `docs/architecture.md` describes it with drawings.
"""
