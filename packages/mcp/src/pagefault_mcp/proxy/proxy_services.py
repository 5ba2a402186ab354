"""The service of a proxy: the one at `--url`, or the one that the proxies of a user share."""

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
import httpx

from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.model.tool import ToolDefinition
from pagefault_dialects.tools.tool_catalogue import definitions
from pagefault_mcp.errors import reason_of
from pagefault_mcp.service_client.running_service import (
    CONNECT_SECONDS,
    FIRST_SECONDS,
    LIMITS,
    find_problem,
    is_local,
    service_address,
)
from pagefault_mcp.service_client.service_store import ServiceStore
from pagefault_mcp.service_client.shared_folder import SharedSetup
from pagefault_mcp.service_client.shared_service import SharedService
from pagefault_mcp.service_client.tool_files import ToolFiles


@dataclass(frozen=True, slots=True)
class Host:
    """The options for a host: limits, tools and files."""

    options: RenderOptions
    """The limits of a rendered result."""
    prefix: str | None
    """The prefix of our tools' names; `None` to add no tools."""
    files: ToolFiles | None = None
    """The folder of files for tools that take paths; `None` to write no files."""

    def own_tools(self) -> Mapping[str, ToolDefinition]:
        """Return our tools, by their names for the host."""
        if self.prefix is None:
            return {}
        return {f"{self.prefix}{tool.name}": tool for tool in definitions()}


# A result of hundreds of megabytes is synced to disk before the answer. Hosts seldom wait longer
# than a minute.
_TIMEOUT = httpx.Timeout(45.0, connect=CONNECT_SECONDS)
_LIST = "/api/sessions"
# A host name that the shared service accepts.
_SHARED_URL = httpx.URL("http://localhost")


@dataclass(frozen=True, slots=True)
class Service:
    """A service that stores and renders results for a proxy."""

    store: ServiceStore
    """The client of the service."""
    check: Callable[[httpx.AsyncClient], Coroutine[Any, Any, None]]
    """Sends a first request, and logs a failure."""

    @asynccontextmanager
    async def used(self) -> AsyncIterator[None]:
        """Open the client for the length of the block; check the service meanwhile."""
        async with self.store.client as client, anyio.create_task_group() as group:
            # In the background, so that the host does not wait.
            group.start_soon(self.check, client)
            yield
            group.cancel_scope.cancel()


class _NoService(httpx.AsyncBaseTransport):
    """A transport that fails each request with a reason."""

    def __init__(self, why: str) -> None:
        self._why = why

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send no request; raises `httpx.ConnectError`."""
        raise httpx.ConnectError(self._why, request=request)


def remote_service(
    url: httpx.URL, headers: httpx.Headers, session_id: str, host: Host, warn: Callable[[str], None]
) -> Service:
    """Return the service at a URL."""
    make_client = partial(httpx.AsyncClient, base_url=url, headers=headers, timeout=_TIMEOUT)
    try:
        client = make_client(
            limits=LIMITS,
            trust_env=not is_local(url),
            # Loading certificates is slow, and only HTTPS needs them.
            verify=url.scheme == "https",
        )
    except Exception as exc:  # noqa: BLE001 - proxies and certificates of the environment may be invalid
        client = make_client(trust_env=False, transport=_NoService(reason_of(exc)))
    place = str(url.copy_with(userinfo=b""))
    store = ServiceStore(client, session_id, host.options, host.files, place)
    return Service(store, partial(_warn_of_problem, warn))


def shared_service(
    setup: SharedSetup, session_id: str, host: Host, warn: Callable[[str], None]
) -> Service:
    """Return the service that proxies of a setup share; it is started on first use."""
    client = httpx.AsyncClient(
        base_url=_SHARED_URL, timeout=_TIMEOUT, trust_env=False, transport=SharedService(setup)
    )
    store = ServiceStore(client, session_id, host.options, host.files, "the shared service")
    return Service(store, partial(_start_shared, warn))


async def _warn_of_problem(warn: Callable[[str], None], client: httpx.AsyncClient) -> None:
    first = client.build_request("GET", _LIST, params={"limit": 1}, timeout=FIRST_SECONDS)
    if (problem := await find_problem(client, first, takes_headers=False)) is not None:
        stop = "" if problem.endswith((".", "?")) else "."
        warn(f"{problem}{stop} Results are passed on and not stored until it takes them.")


async def _start_shared(warn: Callable[[str], None], client: httpx.AsyncClient) -> None:
    try:
        await client.get("/healthz")
    except Exception as exc:  # noqa: BLE001 - messages are forwarded in any case
        warn(f"results are passed on and not stored: {reason_of(exc)}")


def base_address(url: str) -> httpx.URL:
    """Return the base URL of a service; raise if it is invalid."""
    address = service_address(url).copy_with(query=None, fragment=None)
    return address.copy_with(path=address.path.rstrip("/").removesuffix("/mcp"))
