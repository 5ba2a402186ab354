"""The services that the lifespan opened, as dependencies of routes."""

from collections.abc import Awaitable, Callable
from functools import cache
from typing import TypeVar

from starlette.requests import HTTPConnection

from app.wiring.services import Services

_Service = TypeVar("_Service")


def services_of(connection: HTTPConnection) -> Services:
    """Return the services of the process."""
    services: Services = connection.scope["state"]["services"]
    return services


@cache
def service(kind: type[_Service]) -> Callable[[HTTPConnection], Awaitable[_Service]]:
    """Return a dependency that is the service of a type.

    `results: Annotated[ToolResults, Depends(service(ToolResults))]`
    """

    # FastAPI runs functions that are not async in a thread.
    async def find(connection: HTTPConnection) -> _Service:
        return services_of(connection)[kind]

    return find
