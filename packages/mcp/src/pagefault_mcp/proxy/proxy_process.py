"""Run a proxy between a host and its MCP server, for `pagefault proxy`."""

import shutil
import signal
from collections.abc import Callable, Sequence
from functools import partial

import anyio

from pagefault_mcp.proxy.pipes import host_left, standard_input, write_out
from pagefault_mcp.proxy.proxy import Proxy, ProxyFactory
from pagefault_mcp.proxy.proxy_services import Host, Service
from pagefault_mcp.upstreams.server_connections import (
    CannotStartError,
    Connect,
    Connection,
    Upstream,
    Write,
    connect_server,
    start_server,
)

# The longest time without reads by the server, once its host has disconnected.
_UNREAD_SECONDS = 5.0

Server = Sequence[str] | Upstream
Serve = Callable[[Service, Connect, ProxyFactory], int]
"""Serves hosts over HTTP until a signal, and returns the exit status."""


def run_proxy(
    service: Service,
    server: Server,
    host: Host,
    warn: Callable[[str], None],
    serve: Serve | None = None,
) -> int:
    """Connect a server to this process's standard input and output; return its exit status.

    Args:
        service: The service that stores calls and results.
        server: The command of the server, or its address.
        host: The options for the host.
        warn: Logs problems.
        serve: Serves hosts over HTTP; `None` for one host over pipes.

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
            *(write_to_host, write_to_server, service.store, warn),
            own_tools=host.own_tools(),
            takes_paths=host.files is not None,
        )

    try:
        if serve is None:
            return anyio.run(_run_pipes, service, connect, make_proxy, warn)
        return serve(service, connect, make_proxy)
    finally:
        if host.files is not None:
            host.files.clean_up()


async def _run_pipes(
    service: Service, connect: Connect, make_proxy: ProxyFactory, warn: Callable[[str], None]
) -> int:
    async with connect() as server, service.used():
        to_server = _CountedWrites(server.write)
        proxy = make_proxy(write_out, to_server)
        async with anyio.create_task_group() as host:
            host.start_soon(proxy.from_host, standard_input(), server)
            host.start_soon(_end_without_host, server, to_server)
            host.start_soon(end_on_signals, server.interrupt)
            await proxy.from_server(server.received())
            host.cancel_scope.cancel()
    status, message = await server.ended()
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


async def _end_without_host(server: Connection, to_server: _CountedWrites) -> None:
    """Terminate a server that does not read the remaining input of a disconnected host."""
    await host_left()
    count = -1
    while count != to_server.count:
        count = to_server.count
        await anyio.sleep(_UNREAD_SECONDS)
    server.interrupt()


async def end_on_signals(end: Callable[[], None]) -> None:
    """Call a function at each SIGTERM or SIGINT."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            end()
