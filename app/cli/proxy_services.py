"""The service that a proxy asks: the one at `--url`, or the one that proxies of a user share."""

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

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
from app.cli.shared_folder import SharedSetup
from app.cli.shared_service import SharedService
from app.mcp.reasons import reason_of
from app.mcp.service_store import ServiceStore

# A result of hundreds of megabytes is synced before it is answered. Hosts seldom wait for longer
# than a minute.
_TIMEOUT = httpx.Timeout(45.0, connect=CONNECT_SECONDS)
_LIST = "/api/sessions"
# A name that is answered wherever the shared service listens.
_SHARED_URL = httpx.URL("http://localhost")


def named_service(
    url: httpx.URL, headers: httpx.Headers, session_id: str, host: Host
) -> AbstractAsyncContextManager[ServiceStore]:
    """Return a client of the service at a URL, to be entered for as long as it is used."""

    def client() -> httpx.AsyncClient:
        return httpx.AsyncClient(
            base_url=url,
            headers=headers,
            timeout=_TIMEOUT,
            limits=LIMITS,
            trust_env=not is_near(url),
            # Certificates take longer to load than all else, and are for one of the two.
            verify=url.scheme == "https",
        )

    place = str(url.copy_with(userinfo=b""))
    return _opened(client, _tell_problem, session_id, host, place)


def shared_service(
    setup: SharedSetup, session_id: str, host: Host
) -> AbstractAsyncContextManager[ServiceStore]:
    """Return a client of the service that proxies of a setup share, to be entered likewise."""

    def client() -> httpx.AsyncClient:
        return httpx.AsyncClient(
            base_url=_SHARED_URL, timeout=_TIMEOUT, trust_env=False, transport=SharedService(setup)
        )

    return _opened(client, _start_shared, session_id, host, "the shared service")


@asynccontextmanager
async def _opened(
    client: Callable[[], httpx.AsyncClient],
    ask_first: Callable[[httpx.AsyncClient], Coroutine[Any, Any, None]],
    session_id: str,
    host: Host,
    place: str,
) -> AsyncGenerator[ServiceStore, None]:
    """Open a client, and find out beside whether the service answers; results are tried anew."""
    async with client() as opened, anyio.create_task_group() as group:
        # Nothing waits for it: the host is answered meanwhile.
        group.start_soon(ask_first, opened)
        yield ServiceStore(opened, session_id, host.options, host.files, place)
        group.cancel_scope.cancel()


async def _tell_problem(client: httpx.AsyncClient) -> None:
    first = client.build_request("GET", _LIST, params={"limit": 1}, timeout=FIRST_SECONDS)
    if (problem := await problem_of(client, first, takes_headers=False)) is not None:
        stop = "" if problem.endswith((".", "?")) else "."
        complain(f"{problem}{stop} Results are passed on and not stored until it takes them.")


async def _start_shared(client: httpx.AsyncClient) -> None:
    try:
        await client.get("/healthz")
    except Exception as exc:  # noqa: BLE001 - whatever fails here, messages pass
        complain(f"results are passed on and not stored: {reason_of(exc)}")


def base_address(url: str) -> httpx.URL:
    """Return where the paths of a service begin; refuse an address that is none."""
    address = service_address(url).copy_with(query=None, fragment=None)
    return address.copy_with(path=address.path.rstrip("/").removesuffix("/mcp"))
