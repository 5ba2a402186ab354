"""Run a proxy between a host and its MCP server, for `pagefault proxy`.

Its service is the one at `--url`, or the one that the proxies of a user share.
"""

import shutil
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx

from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.model.tool import ToolDefinition
from pagefault_dialects.tools.tool_catalogue import definitions
from pagefault_mcp.errors import reason_of
from pagefault_mcp.proxy.call_traces import CallTraces, NoCallTraces
from pagefault_mcp.proxy.pipes import standard_input, wait_for_hangup, write_out
from pagefault_mcp.proxy.proxy import Proxy, ProxyFactory
from pagefault_mcp.service_client.collected_files import CollectedFolder
from pagefault_mcp.service_client.running_service import (
    CONNECT_SECONDS,
    FIRST_SECONDS,
    LIMITS,
    find_problem,
    is_local,
    parse_service_url,
)
from pagefault_mcp.service_client.service_store import ServiceStore
from pagefault_mcp.service_client.shared_folder import SharedSetup
from pagefault_mcp.service_client.shared_service import SharedService
from pagefault_mcp.service_client.tool_files import ToolFiles
from pagefault_mcp.upstreams.server_connections import (
    CannotStartError,
    Connect,
    Connection,
    Upstream,
    Write,
    connect_server,
    start_server,
)


@dataclass(frozen=True, slots=True)
class HostOptions:
    """The options of a proxy for its host: limits, tools and files."""

    options: RenderOptions
    """The limits of a rendered result."""
    prefix: str | None
    """The prefix for the names of the memory's tools; `None` to add no tools."""
    files: ToolFiles | None = None
    """The folder of files for tools that take paths; `None` to write no files."""
    collected: Path | None = None
    """The folder in which tools leave files that are stored; `None` to store no files."""

    def memory_tools(self) -> Mapping[str, ToolDefinition]:
        """Return the memory's tools, by their names for the host."""
        if self.prefix is None:
            return {}
        return {f"{self.prefix}{tool.name}": tool for tool in definitions()}


# A result of hundreds of megabytes is synced to disk before the response. Hosts seldom wait longer
# than a minute.
_TIMEOUT = httpx.Timeout(45.0, connect=CONNECT_SECONDS)
_LIST = "/api/sessions"
# A host name that the shared service accepts.
_SHARED_URL = httpx.URL("http://localhost")


@dataclass(frozen=True, slots=True)
class ProxyService:
    """A service that stores and renders results for a proxy."""

    store: ServiceStore
    """The client of the service."""
    check: Callable[[httpx.AsyncClient], Coroutine[Any, Any, None]]
    """Sends a first request, and logs a failure."""

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Open the client for the length of the block, and check the service in the background."""
        async with self.store.client as client, anyio.create_task_group() as group:
            # The host does not wait for it.
            group.start_soon(self.check, client)
            yield
            group.cancel_scope.cancel()


class _NoService(httpx.AsyncBaseTransport):
    """A transport that fails each request with a reason."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send no request; raises `httpx.ConnectError`."""
        raise httpx.ConnectError(self._reason, request=request)


def make_remote_service(
    url: httpx.URL,
    headers: httpx.Headers,
    session_id: str,
    host: HostOptions,
    warn: Callable[[str], None],
) -> ProxyService:
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
    service_name = str(url.copy_with(userinfo=b""))
    store = ServiceStore(client, session_id, host.options, host.files, service_name)
    return ProxyService(store, partial(_warn_of_problem, warn))


def make_shared_service(
    setup: SharedSetup, session_id: str, host: HostOptions, warn: Callable[[str], None]
) -> ProxyService:
    """Return the service that proxies with this setup share; its first use starts it."""
    client = httpx.AsyncClient(
        base_url=_SHARED_URL, timeout=_TIMEOUT, trust_env=False, transport=SharedService(setup)
    )
    store = ServiceStore(client, session_id, host.options, host.files, "the shared service")
    return ProxyService(store, partial(_start_shared, warn))


async def _warn_of_problem(warn: Callable[[str], None], client: httpx.AsyncClient) -> None:
    first = client.build_request("GET", _LIST, params={"limit": 1}, timeout=FIRST_SECONDS)
    if (problem := await find_problem(client, first, has_header_option=False)) is not None:
        full_stop = "" if problem.endswith((".", "?")) else "."
        warn(f"{problem}{full_stop} Results are passed on and not stored until it takes them.")


async def _start_shared(warn: Callable[[str], None], client: httpx.AsyncClient) -> None:
    try:
        await client.get("/healthz")
    except Exception as exc:  # noqa: BLE001 - messages are forwarded in any case
        warn(f"results are passed on and not stored: {reason_of(exc)}")


def parse_base_url(url: str) -> httpx.URL:
    """Return the base URL of a service; raise if it is invalid."""
    address = parse_service_url(url).copy_with(query=None, fragment=None)
    return address.copy_with(path=address.path.rstrip("/").removesuffix("/mcp"))


# After its host has disconnected, a server that reads nothing for this time is terminated.
_UNREAD_SECONDS = 5.0

ServerTarget = Sequence[str] | Upstream
ServeHosts = Callable[[ProxyService, Connect, ProxyFactory], int]
"""Serves hosts over HTTP until a signal, and returns the exit status."""


def run_proxy(
    service: ProxyService,
    server: ServerTarget,
    host: HostOptions,
    warn: Callable[[str], None],
    serve: ServeHosts | None = None,
    traces: CallTraces | None = None,
) -> int:
    """Run a proxy for hosts of this process until it ends; return the exit status.

    Without `serve`, the host is at standard input and output.

    Args:
        service: The service that stores calls and results.
        server: The command of the server, or its address.
        host: The options for the host.
        warn: Logs problems.
        serve: Serves hosts over HTTP; `None` for one host over pipes.
        traces: Traces calls; `None` for no traces.

    Raises:
        CannotStartError: The server cannot be started, or reached.
    """
    connect: Connect
    if isinstance(server, Upstream):
        connect = partial(connect_server, server, warn)
    elif shutil.which(server[0]) is None and serve is not None:
        raise CannotStartError(f"cannot start {server[0]}: No such file or directory")
    else:
        connect = partial(start_server, server)

    def make_proxy(write_to_host: Write, write_to_server: Write) -> Proxy:
        return Proxy(
            write_to_host,
            write_to_server,
            service.store,
            warn,
            memory_tools=host.memory_tools(),
            takes_paths=host.files is not None,
            traces=traces or NoCallTraces(),
            collected=None if host.collected is None else CollectedFolder(host.collected, warn),
        )

    try:
        if serve is None:
            return anyio.run(_run_pipes, service, connect, make_proxy, warn)
        return serve(service, connect, make_proxy)
    finally:
        if host.files is not None:
            host.files.clean_up()


async def _run_pipes(
    service: ProxyService, connect: Connect, make_proxy: ProxyFactory, warn: Callable[[str], None]
) -> int:
    async with connect() as server, service.connected():
        to_server = _CountedWrites(server.write)
        proxy = make_proxy(write_out, to_server)
        async with anyio.create_task_group() as host:
            host.start_soon(proxy.forward_from_host, standard_input(), server)
            host.start_soon(_terminate_unread, server, to_server)
            host.start_soon(end_on_signals, server.terminate)
            await proxy.forward_from_server(server.receive_pieces())
            host.cancel_scope.cancel()
    status, message = await server.wait_for_exit()
    if message:
        warn(message)
    return status


class _CountedWrites:
    """A writer to a server that counts completed writes."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self.count = 0

    async def __call__(self, piece: bytes) -> None:
        await self._write(piece)
        self.count += 1


async def _terminate_unread(server: Connection, to_server: _CountedWrites) -> None:
    """Terminate a server that does not read the remaining input of a disconnected host."""
    await wait_for_hangup()
    count = -1
    while count != to_server.count:
        count = to_server.count
        await anyio.sleep(_UNREAD_SECONDS)
    server.terminate()


async def end_on_signals(end: Callable[[], None]) -> None:
    """Call a function at each SIGTERM or SIGINT."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            end()
