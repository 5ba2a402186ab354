"""Run a proxy between hosts and an MCP server, for `pagefault proxy`.

A proxy has three peers: the *host*, which calls tools; the *server*, which runs them; and the
*service*, which stores their results. The service is the one at `--url`, or the one that the
proxies of a user share.
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
from pagefault_dialects.tools.tool_catalogue import list_definitions
from pagefault_mcp.errors import describe_error
from pagefault_mcp.proxy.call_traces import CallTraces, NoCallTraces
from pagefault_mcp.proxy.pipes import read_standard_input, wait_for_hangup, write_standard_output
from pagefault_mcp.proxy.proxy import Proxy, ProxyFactory
from pagefault_mcp.service_client.collected_files import CollectedFolder
from pagefault_mcp.service_client.service_connection import (
    CLIENT_LIMITS,
    CONNECT_SECONDS,
    FIRST_REQUEST_SECONDS,
    find_problem,
    is_local,
    parse_url_option,
)
from pagefault_mcp.service_client.service_store import ServiceStore
from pagefault_mcp.service_client.shared_folder import SharedSetup
from pagefault_mcp.service_client.shared_service import SharedService
from pagefault_mcp.service_client.tool_files import ToolFiles
from pagefault_mcp.upstreams.server_connections import (
    CannotStartError,
    Connect,
    Connection,
    UpstreamOptions,
    Write,
    connect_server,
    start_server,
)


@dataclass(frozen=True, slots=True)
class HostOptions:
    """The options of a proxy that say what its host gets: limits, tools and files."""

    render_options: RenderOptions
    """The limits of a rendered result."""
    prefix: str | None
    """The prefix for the names of the memory's tools; `None` to offer none of them."""
    files: ToolFiles | None = None
    """The folder for copies of stored files, for tools that take paths; `None` for no copies."""
    collected: Path | None = None
    """The folder whose new files are stored with the result of a call; `None` for no folder."""

    def find_memory_tools(self) -> Mapping[str, ToolDefinition]:
        """Return the memory's tools, by their names for the host."""
        if self.prefix is None:
            return {}
        return {f"{self.prefix}{tool.name}": tool for tool in list_definitions()}


# The service may need long for a result of hundreds of megabytes, which is on disk before the
# response. Hosts seldom wait longer than a minute for a result.
_TIMEOUT = httpx.Timeout(45.0, connect=CONNECT_SECONDS)
_SESSIONS_PATH = "/api/sessions"
# Requests to the shared service go through a socket. The service accepts this host name.
_SHARED_URL = httpx.URL("http://localhost")


@dataclass(frozen=True, slots=True)
class ProxyService:
    """The service that stores and renders results for a proxy."""

    store: ServiceStore
    """Sends requests to the service."""
    check: Callable[[httpx.AsyncClient], Coroutine[Any, Any, None]]
    """Sends a first request, and logs a warning if it fails."""

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Open the HTTP client for the length of the block, and check the service."""
        async with self.store.client as client, anyio.create_task_group() as group:
            # The check runs in the background, so that the host does not wait for it.
            group.start_soon(self.check, client)
            yield
            group.cancel_scope.cancel()


class _FailingTransport(httpx.AsyncBaseTransport):
    """A transport that sends no request, for a client that cannot be configured."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Raise `httpx.ConnectError` with the reason."""
        raise httpx.ConnectError(self._reason, request=request)


def make_remote_service(
    url: httpx.URL,
    headers: httpx.Headers,
    session_id: str,
    host: HostOptions,
    warn: Callable[[str], None],
) -> ProxyService:
    """Return the service at a URL.

    Args:
        url: The base URL of the service.
        headers: The headers of every request, with the key.
        session_id: The session that keeps calls and results.
        host: The options for the host.
        warn: Logs a sentence for the operator.
    """
    make_client = partial(httpx.AsyncClient, base_url=url, headers=headers, timeout=_TIMEOUT)
    try:
        client = make_client(
            limits=CLIENT_LIMITS,
            trust_env=not is_local(url),
            # Loading certificates is slow, and only HTTPS needs them.
            verify=url.scheme == "https",
        )
    except Exception as exc:  # noqa: BLE001 - variables with proxies and certificates may be invalid
        client = make_client(trust_env=False, transport=_FailingTransport(describe_error(exc)))
    service_name = str(url.copy_with(userinfo=b""))
    store = ServiceStore(client, session_id, host.render_options, host.files, service_name)
    return ProxyService(store, partial(_check_remote, warn))


def make_shared_service(
    setup: SharedSetup, session_id: str, host: HostOptions, warn: Callable[[str], None]
) -> ProxyService:
    """Return the service that proxies with this setup share. Its first request starts it.

    The other arguments are those of `make_remote_service`.
    """
    client = httpx.AsyncClient(
        base_url=_SHARED_URL, timeout=_TIMEOUT, trust_env=False, transport=SharedService(setup)
    )
    store = ServiceStore(client, session_id, host.render_options, host.files, "the shared service")
    return ProxyService(store, partial(_start_and_check_shared, warn))


async def _check_remote(warn: Callable[[str], None], client: httpx.AsyncClient) -> None:
    """Send a first request to the service at a URL; log a warning if it fails."""
    request = client.build_request(
        "GET", _SESSIONS_PATH, params={"limit": 1}, timeout=FIRST_REQUEST_SECONDS
    )
    if (problem := await find_problem(client, request, has_header_option=False)) is not None:
        full_stop = "" if problem.endswith((".", "?")) else "."
        warn(f"{problem}{full_stop} Results are passed on and not stored until it takes them.")


async def _start_and_check_shared(warn: Callable[[str], None], client: httpx.AsyncClient) -> None:
    """Send a first request to the shared service, which starts it; log a warning if it fails."""
    try:
        await client.get("/healthz")
    except Exception as exc:  # noqa: BLE001 - messages are forwarded in any case
        warn(f"results are passed on and not stored: {describe_error(exc)}")


def parse_base_url(url: str) -> httpx.URL:
    """Return the base URL of a service, from its URL or the URL of its `/mcp`.

    Raises:
        typer.BadParameter: The URL is invalid.
    """
    base_url = parse_url_option(url).copy_with(query=None, fragment=None)
    return base_url.copy_with(path=base_url.path.rstrip("/").removesuffix("/mcp"))


# After the host has disconnected, a server that reads nothing for this time is terminated.
_UNREAD_SECONDS = 5.0

ServerTarget = Sequence[str] | UpstreamOptions
"""The command of a server, or its URL."""
ServeHosts = Callable[[ProxyService, Connect, ProxyFactory], int]
"""A function that serves hosts over HTTP until a signal, and returns the exit status."""


def run_proxy(
    service: ProxyService,
    server: ServerTarget,
    host: HostOptions,
    warn: Callable[[str], None],
    serve: ServeHosts | None = None,
    traces: CallTraces | None = None,
) -> int:
    """Run a proxy until its host disconnects or a signal ends it; return the exit status.

    Args:
        service: The service that stores calls and results.
        server: The command of the server, or its URL.
        host: The options for the host.
        warn: Logs a sentence for the operator.
        serve: Serves hosts over HTTP. `None` for one host, at standard input and output.
        traces: Traces calls; `None` for no traces.

    Raises:
        CannotStartError: The server cannot be started or reached.
    """
    connect: Connect
    if isinstance(server, UpstreamOptions):
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
            memory_tools=host.find_memory_tools(),
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
    """Run a proxy for the host at standard input and output; return the server's exit status."""
    async with connect() as server, service.connected():
        to_server = _CountingWriter(server.write)
        proxy = make_proxy(write_standard_output, to_server)
        async with anyio.create_task_group() as group:
            group.start_soon(proxy.forward_from_host, read_standard_input(), server)
            group.start_soon(_terminate_when_unread, server, to_server)
            group.start_soon(end_on_signals, server.terminate)
            await proxy.forward_from_server(server.receive_pieces())
            group.cancel_scope.cancel()
    status, message = await server.wait_for_exit()
    if message:
        warn(message)
    return status


class _CountingWriter:
    """A function that writes to a server, and counts the completed writes."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self.count = 0

    async def __call__(self, piece: bytes) -> None:
        await self._write(piece)
        self.count += 1


async def _terminate_when_unread(server: Connection, to_server: _CountingWriter) -> None:
    """After the host has disconnected, terminate the server when it reads no more input."""
    await wait_for_hangup()
    previous_count = -1
    while previous_count != to_server.count:
        previous_count = to_server.count
        await anyio.sleep(_UNREAD_SECONDS)
    server.terminate()


async def end_on_signals(end: Callable[[], None]) -> None:
    """Call a function at each SIGTERM or SIGINT."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            end()
