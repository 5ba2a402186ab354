"""The container that the lifespan opened, for routes and what they share."""

from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection

from app.wiring import Container


def container_of(connection: HTTPConnection) -> Container:
    """Return what the lifespan opened."""
    container: Container = connection.scope["state"]["container"]
    return container


async def get_container(connection: HTTPConnection) -> Container:
    """Return the same, as a dependency."""
    return container_of(connection)


ContainerDep = Annotated[Container, Depends(get_container)]
