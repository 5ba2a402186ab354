"""`pagefault proxy --listen`: the proxy as a server of Streamable HTTP."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import anyio
import uvicorn

from app.cli.proxy import end_on_signals
from app.cli.terminal import CANNOT, ERR, complain, say
from app.config.settings import Settings, is_loopback
from app.http.browser_guard import BrowserGuard
from app.mcp.connections import Connect
from app.mcp.host_access import KeyGuard
from app.mcp.host_endpoint import PATH, HostEndpoint
from app.mcp.opened_store import OpenedStore
from app.mcp.proxy import AwaitedStore, ProxyOf

_GRACEFUL_SHUTDOWN_SECONDS = 10
_MOST_CONNECTIONS = 512


def serve_hosts(
    settings: Settings,
    address: tuple[str, int],
    store: AwaitedStore[OpenedStore],
    connect: Connect,
    proxy_of: ProxyOf,
) -> int:
    """Serve hosts until told to end; return the exit status.

    Args:
        settings: Whether keys are asked for, and which names the service is called by.
        address: Where, as host and port.
        store: The store.
        connect: Connects to a server.
        proxy_of: Makes a proxy between two writers.
    """
    host, port = address
    shown = f"[{host}]" if ":" in host else host
    if settings.auth == "none" and not is_loopback(host):
        complain(
            f"--listen {shown}:{port} is not loopback, and no keys are asked for: whoever "
            "reaches it could use the server. Listen on 127.0.0.1, or set PAGEFAULT_AUTH=api-key."
        )
        return CANNOT
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server(address, family=family, backlog=2048)
    except OSError as exc:
        complain(
            f"cannot listen on {shown}:{port}: {exc.strerror}. Name another port; "
            "`--listen 127.0.0.1:0` takes a free one."
        )
        return CANNOT
    url = f"http://{shown}:{listening.getsockname()[1]}{PATH}"
    say(f"The MCP server is at {url}", to=ERR)
    return anyio.run(_served, settings, listening, store, connect, proxy_of)


async def _served(
    settings: Settings,
    listening: socket.socket,
    store: AwaitedStore[OpenedStore],
    connect: Connect,
    proxy_of: ProxyOf,
) -> int:
    is_over = anyio.Event()

    endpoint = HostEndpoint(connect, proxy_of, complain)
    guarded = BrowserGuard(
        endpoint if settings.auth == "none" else KeyGuard(endpoint, store),
        is_open=settings.auth == "none",
        hosts=settings.answered_hosts,
        own_origins=() if settings.origin is None else (settings.origin,),
        named_origins=settings.cors_origins,
    )
    config = uvicorn.Config(
        guarded,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=_GRACEFUL_SHUTDOWN_SECONDS,
    )
    server = _Server(config, endpoint)
    async with anyio.create_task_group() as group:
        group.start_soon(store.hold, is_over)
        async with endpoint.running():
            group.start_soon(end_on_signals, partial(setattr, server, "should_exit", True))
            await server.serve(sockets=[listening])
        is_over.set()
        group.cancel_scope.cancel()
    return 0


class _Server(uvicorn.Server):
    """uvicorn, which ends the sessions before it waits for the answers to them."""

    def __init__(self, config: uvicorn.Config, endpoint: HostEndpoint) -> None:
        super().__init__(config)
        self._endpoint = endpoint

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to `end_on_signals`: servers are to be ended before this process is."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the sessions, then the connections."""
        await self._endpoint.end()
        await super().shutdown(sockets)
