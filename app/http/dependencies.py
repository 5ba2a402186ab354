"""The container that the lifespan opened, for routes and what they share."""

from starlette.requests import HTTPConnection

from app.wiring import Container


def container_of(connection: HTTPConnection) -> Container:
    """Return what the lifespan opened."""
    container: Container = connection.scope["state"]["container"]
    return container
