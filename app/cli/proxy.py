"""`pagefault proxy`: between a host and its MCP server, to store what the server's tools return."""

import shutil
import signal
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import typer

from app.cli.pipes import host_left, standard_input, write_out
from app.cli.terminal import CANNOT, complain
from app.config.settings import Settings
from app.mcp.connections import (
    CannotStartError,
    Connect,
    Connection,
    Upstream,
    Write,
    connected,
    started,
)
from app.mcp.proxy import AwaitedStore, Proxy
from app.mcp.result_store import HandedFiles, ResultStore
from app.models.identity import CLIENT_ID
from app.models.rendering import HostLimits, RenderOptions
from app.models.tool import ToolDefinition
from app.server.process import give_freed_memory_back
from app.services.agents.toolbox import definitions
from app.wiring.memory_services import open_memory

# How long a server may take to read on, once its host has left.
_UNREAD_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Host:
    """What the host is given."""

    options: RenderOptions
    """What it takes of a result."""
    limits: HostLimits
    """How large it takes images and texts."""
    prefix: str | None
    """What stands before the names of our own tools; `None` to add none of them."""
    files: Path | None
    """Where files that tools are given by their paths are written; `None` to write none."""
    address: tuple[str, int] | None = None
    """Where hosts are served over HTTP, as host and port; `None` for one over pipes."""

    def own_tools(self) -> Mapping[str, ToolDefinition]:
        """Return our tools, by the names that the host is shown."""
        if self.prefix is None:
            return {}
        return {f"{self.prefix}{tool.name}": tool for tool in definitions()}


def run_proxy(
    settings: Settings,
    project_id: str,
    session_id: str,
    server: Sequence[str] | Upstream,
    host: Host,
) -> None:
    """Put a server between this process's standard input and output; end with its status.

    Args:
        settings: Where the stores are.
        project_id: Whose the session is.
        session_id: Where calls and results are kept.
        server: The command that runs it, or where it is.
        host: What the host is given, and where.

    Raises:
        SystemExit: Always, with the status of the server.
    """
    # A host runs one of these for each of its servers.
    give_freed_memory_back()
    if not CLIENT_ID.match(session_id):
        raise typer.BadParameter("is not the id of a session", param_hint="--session")
    handed = None if host.files is None else HandedFiles(host.files)
    opened = _opened(settings, project_id, session_id, host, handed)
    connect: Connect
    if isinstance(server, Upstream):
        connect = partial(connected, server, complain)
    elif shutil.which(server[0]) is None and host.address is not None:
        complain(f"cannot start {server[0]}: No such file or directory")
        raise SystemExit(CANNOT)
    else:
        connect = partial(started, server)

    def proxy(write_to_host: Write, write_to_server: Write, store: AwaitedStore) -> Proxy:
        return Proxy(
            *(write_to_host, write_to_server, store, complain),
            own_tools=host.own_tools(),
            takes_paths=handed is not None,
        )

    try:
        if host.address is not None:
            from app.cli.proxy_service import serve_hosts  # noqa: PLC0415 - it loads a web server

            status = serve_hosts(settings, host.address, opened, connect, proxy)
        else:
            status = anyio.run(_proxied, opened, connect, proxy)
    except CannotStartError as exc:
        complain(str(exc))
        status = CANNOT
    finally:
        if handed is not None:
            handed.clean_up()
    raise SystemExit(status)


async def _proxied(
    opened: AbstractAsyncContextManager[ResultStore],
    connect: Connect,
    proxy_of: Callable[[Write, Write, AwaitedStore], Proxy],
) -> int:
    store, is_over = AwaitedStore(complain), anyio.Event()
    async with connect() as server, anyio.create_task_group() as group:
        to_server = _CountedWrites(server.write)
        proxy = proxy_of(write_out, to_server, store)
        group.start_soon(store.hold, opened, is_over)
        async with anyio.create_task_group() as host:
            host.start_soon(_pass_on_from_host, proxy, server)
            host.start_soon(_end_without_host, server, to_server)
            host.start_soon(_end_on_signals, server)
            await proxy.from_server(server.received())
            host.cancel_scope.cancel()
        is_over.set()
    status, said = await server.ended()
    if said:
        complain(said)
    return status


async def _pass_on_from_host(proxy: Proxy, server: Connection) -> None:
    """Pass on what the host says; when it leaves, see to it that the server ends."""
    try:
        await proxy.from_host(standard_input())
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        # The server has ended; its status says why.
        return
    await server.leave()


class _CountedWrites:
    """Writes to a server, and how many it has taken."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self.count = 0

    async def __call__(self, piece: bytes) -> None:
        await self._write(piece)
        self.count += 1


async def _end_without_host(server: Connection, to_server: _CountedWrites) -> None:
    """End a server that reads nothing of what a host has left behind."""
    await host_left()
    count = -1
    while count != to_server.count:
        count = to_server.count
        await anyio.sleep(_UNREAD_SECONDS)
    server.interrupt()


async def _end_on_signals(server: Connection) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            server.interrupt()


@asynccontextmanager
async def _opened(
    settings: Settings,
    project_id: str,
    session_id: str,
    host: Host,
    files: HandedFiles | None,
) -> AsyncGenerator[ResultStore, None]:
    async with open_memory(settings) as services:
        await services.access.ensure_project(project_id)
        yield ResultStore(services, project_id, session_id, host.options, host.limits, files)
