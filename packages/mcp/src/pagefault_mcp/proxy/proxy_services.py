"""The service that a proxy asks: the one at `--url`, or the one that proxies of a user share."""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
import httpx

from pagefault_mcp.errors import reason_of
from pagefault_mcp.proxy.proxied_host import Host
from pagefault_mcp.service_client.running_service import (
    CONNECT_SECONDS,
    FIRST_SECONDS,
    LIMITS,
    is_near,
    problem_of,
    service_address,
)
from pagefault_mcp.service_client.service_store import ServiceStore
from pagefault_mcp.service_client.shared_folder import SharedSetup
from pagefault_mcp.service_client.shared_service import SharedService

# A result of hundreds of megabytes is synced before it is answered. Hosts seldom wait for longer
# than a minute.
_TIMEOUT = httpx.Timeout(45.0, connect=CONNECT_SECONDS)
_LIST = "/api/sessions"
# A name that is answered wherever the shared service listens.
_SHARED_URL = httpx.URL("http://localhost")


@dataclass(frozen=True, slots=True)
class Service:
    """A service that a proxy asks to keep and to show results."""

    store: ServiceStore
    """Asks it."""
    ask_first: Callable[[httpx.AsyncClient], Coroutine[Any, Any, None]]
    """Asks whether it answers, and tells if it does not."""

    @asynccontextmanager
    async def used(self) -> AsyncIterator[None]:
        """Use it for the length of the block; whether it answers is found out meanwhile."""
        async with self.store.client as client, anyio.create_task_group() as group:
            # Nothing waits for it: the host is answered meanwhile.
            group.start_soon(self.ask_first, client)
            yield
            group.cancel_scope.cancel()


class _NoService(httpx.AsyncBaseTransport):
    """Answers nothing, and says why."""

    def __init__(self, why: str) -> None:
        self._why = why

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send no request; raises `httpx.ConnectError`."""
        raise httpx.ConnectError(self._why, request=request)


def named_service(
    url: httpx.URL, headers: httpx.Headers, session_id: str, host: Host, warn: Callable[[str], None]
) -> Service:
    """Return the service at a URL."""
    made = partial(httpx.AsyncClient, base_url=url, headers=headers, timeout=_TIMEOUT)
    try:
        client = made(
            limits=LIMITS,
            trust_env=not is_near(url),
            # Certificates take longer to load than all else, and are for one of the two.
            verify=url.scheme == "https",
        )
    except Exception as exc:  # noqa: BLE001 - what the environment says of certificates and proxies
        client = made(trust_env=False, transport=_NoService(reason_of(exc)))
    place = str(url.copy_with(userinfo=b""))
    store = ServiceStore(client, session_id, host.options, host.files, place)
    return Service(store, partial(_tell_problem, warn))


def shared_service(
    setup: SharedSetup, session_id: str, host: Host, warn: Callable[[str], None]
) -> Service:
    """Return the service that proxies of a setup share; it is started when it is used."""
    client = httpx.AsyncClient(
        base_url=_SHARED_URL, timeout=_TIMEOUT, trust_env=False, transport=SharedService(setup)
    )
    store = ServiceStore(client, session_id, host.options, host.files, "the shared service")
    return Service(store, partial(_start_shared, warn))


async def _tell_problem(warn: Callable[[str], None], client: httpx.AsyncClient) -> None:
    first = client.build_request("GET", _LIST, params={"limit": 1}, timeout=FIRST_SECONDS)
    if (problem := await problem_of(client, first, takes_headers=False)) is not None:
        stop = "" if problem.endswith((".", "?")) else "."
        warn(f"{problem}{stop} Results are passed on and not stored until it takes them.")


async def _start_shared(warn: Callable[[str], None], client: httpx.AsyncClient) -> None:
    try:
        await client.get("/healthz")
    except Exception as exc:  # noqa: BLE001 - whatever fails here, messages pass
        warn(f"results are passed on and not stored: {reason_of(exc)}")


def base_address(url: str) -> httpx.URL:
    """Return where the paths of a service begin; refuse an address that is none."""
    address = service_address(url).copy_with(query=None, fragment=None)
    return address.copy_with(path=address.path.rstrip("/").removesuffix("/mcp"))
