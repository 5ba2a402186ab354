"""FastAPI dependencies: the services of the process, and the project of an API key."""

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Annotated, TypeVar

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer
from starlette.requests import HTTPConnection
from starlette.types import Scope

from app.services.access.callers import Access, Caller
from app.services.quotas.key_quotas import Quotas
from app.wiring.services import Services

_Service = TypeVar("_Service")


def get_services(connection: HTTPConnection) -> Services:
    """Return the services of the process."""
    services: Services = connection.scope["state"]["services"]
    return services


@cache
def service(kind: type[_Service]) -> Callable[[HTTPConnection], Awaitable[_Service]]:
    """Return a dependency that provides the service of a type.

    Use: `results: Annotated[ToolResults, Depends(service(ToolResults))]`.
    """

    # It is async, because FastAPI would run another function in a thread.
    async def find(connection: HTTPConnection) -> _Service:
        return get_services(connection)[kind]

    return find


class KeyScheme(HTTPBearer):
    """Documents the API key in the OpenAPI document; `authenticate_caller` verifies the key."""

    async def __call__(self, request: HTTPConnection) -> None:
        """Do nothing. Routes call `authenticate` or `authenticate_caller`."""


BEARER = Security(
    KeyScheme(
        auto_error=False,
        scheme_name="apiKey",
        description="An API key, `pf_…`. Without authentication, the service needs no key.",
    )
)
BearerDep = Annotated[None, BEARER]


async def get_project(request: Request, _: BearerDep) -> str:
    """Return the project of the key of a request. Raises as `authenticate` does."""
    return await authenticate(request)


async def authenticate(connection: HTTPConnection) -> str:
    """Return the project of the key of a request, and count the request in the key's quotas.

    Raises:
        UnauthorizedError: There is no valid key.
        QuotaExceededError: The key has sent too many requests.
    """
    return (await authenticate_caller(connection)).project_id


async def authenticate_caller(connection: HTTPConnection) -> Caller:
    """Return the caller with the key of a request, and count the request in the key's quotas.

    Raises as `authenticate` does.
    """
    caller = await get_services(connection)[Access].caller_of(_find_authorization(connection.scope))
    count_request(connection, caller)
    return caller


def _find_authorization(scope: Scope) -> str | None:
    # Starlette's `Headers` would decode all headers of each request.
    for name, value in scope["headers"]:
        if name == b"authorization":
            return str(value.decode("latin-1"))
    return None


def count_request(connection: HTTPConnection, caller: Caller) -> None:
    """Count a request in the quotas of its caller. Raises QuotaExceededError if one is used up."""
    quotas = get_services(connection)[Quotas]
    if quotas.is_counting:
        allowance = quotas.allowance(caller)
        connection.scope["state"]["allowance"] = allowance
        allowance.take_request()


ProjectDep = Annotated[str, Depends(get_project)]
