"""`pagefault proxy --url`: results are kept by a service that runs."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import httpx

from app.cli.complaints import complain
from app.cli.proxy import Host
from app.cli.running_service import (
    CONNECT_SECONDS,
    FIRST_SECONDS,
    LIMITS,
    is_near,
    problem_of,
    service_address,
)
from app.mcp.service_store import ServiceStore

# A result of hundreds of megabytes is synced before it is answered. Hosts seldom wait for longer
# than a minute.
_ANSWER_SECONDS = 45.0
_LIST = "/api/sessions"


@asynccontextmanager
async def asked_service(
    url: httpx.URL, headers: httpx.Headers, session_id: str, host: Host
) -> AsyncGenerator[ServiceStore, None]:
    """Open a client of a service that stores and renders results, for the length of the block.

    Whether the service answers is found out beside, and told; every result is tried anew.
    """
    async with (
        service_client(url, headers) as client,
        anyio.create_task_group() as group,
    ):
        # Nothing waits for it: the host is answered meanwhile.
        group.start_soon(_tell_problem, client)
        yield ServiceStore(client, session_id, host.options, host.files)
        group.cancel_scope.cancel()


def service_client(
    url: httpx.URL,
    headers: httpx.Headers | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> httpx.AsyncClient:
    """Return a client of a service, at a URL or behind a transport."""
    return httpx.AsyncClient(
        base_url=url,
        headers=headers,
        timeout=httpx.Timeout(_ANSWER_SECONDS, connect=CONNECT_SECONDS),
        limits=LIMITS,
        trust_env=not is_near(url),
        # Certificates take longer to load than all else, and are for one of the two.
        verify=url.scheme == "https",
        transport=transport,
    )


async def _tell_problem(client: httpx.AsyncClient) -> None:
    first = client.build_request("GET", _LIST, params={"limit": 1}, timeout=FIRST_SECONDS)
    if (problem := await problem_of(client, first, takes_headers=False)) is not None:
        stop = "" if problem.endswith((".", "?")) else "."
        complain(f"{problem}{stop} Results are passed on and not stored until it takes them.")


def base_address(url: str) -> httpx.URL:
    """Return where the paths of a service begin; refuse an address that is none."""
    address = service_address(url).copy_with(query=None, fragment=None)
    return address.copy_with(path=address.path.rstrip("/").removesuffix("/mcp"))
