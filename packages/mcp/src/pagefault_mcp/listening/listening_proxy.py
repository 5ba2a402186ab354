"""`pagefault proxy --listen`: the proxy as a server of Streamable HTTP."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import anyio
import uvicorn
from starlette.types import ASGIApp

from app.cli.complaints import CANNOT, complain
from app.cli.terminal import ERR, say
from app.config.loopback import is_loopback
from app.config.settings import Settings
from app.http.browser_guard import BrowserGuard
from pagefault_mcp.listening.host_access import KeyGuard
from pagefault_mcp.listening.host_endpoint import HostEndpoint
from pagefault_mcp.proxy.proxy import ProxyOf
from pagefault_mcp.proxy.proxy_process import end_on_signals
from pagefault_mcp.proxy.proxy_services import Service
from pagefault_mcp.server.refusals import PATH, McpRefusals
from pagefault_mcp.service_client.service_store import ServiceStore
from pagefault_mcp.upstreams.server_connections import Connect

_GRACEFUL_SHUTDOWN_SECONDS = 10
_MOST_CONNECTIONS = 512


@dataclass(frozen=True, slots=True)
class Entrance:
    """Where hosts connect, and who may."""

    host: str
    """The address that is listened on."""
    port: int
    """The port; 0 takes a free one."""
    settings: Settings
    """Whether keys are asked for, and which names the proxy is called by."""

    @property
    def is_open(self) -> bool:
        """Whether no keys are asked for."""
        return self.settings.auth == "none"

    def add_guards(self, app: ASGIApp, store: ServiceStore) -> McpRefusals:
        """Put before an application what turns away others."""
        settings = self.settings
        guard = BrowserGuard(
            app if self.is_open else KeyGuard(app, store),
            is_open=self.is_open,
            hosts=settings.answered_hosts,
            own_origins=() if settings.origin is None else (settings.origin,),
            named_origins=settings.cors_origins,
        )
        return McpRefusals(guard)


def serve_hosts(entrance: Entrance, service: Service, connect: Connect, proxy_of: ProxyOf) -> int:
    """Serve hosts until told to end; return the exit status.

    Args:
        entrance: Where they connect.
        service: Keeps results, and knows the keys.
        connect: Connects to a server.
        proxy_of: Makes a proxy between two writers.
    """
    host, port = entrance.host, entrance.port
    shown = f"[{host}]" if ":" in host else host
    if entrance.is_open and not is_loopback(host):
        complain(
            f"--listen {shown}:{port} is not loopback, and no keys are asked for: whoever "
            "reaches it could use the server. Listen on 127.0.0.1, or set PAGEFAULT_AUTH=api-key."
        )
        return CANNOT
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as exc:
        complain(
            f"cannot listen on {shown}:{port}: {exc.strerror}. Name another port; "
            "`--listen 127.0.0.1:0` takes a free one."
        )
        return CANNOT
    url = f"http://{shown}:{listening.getsockname()[1]}{PATH}"
    say(f"The MCP server is at {url}", to=ERR)
    return anyio.run(_serve, entrance, listening, service, connect, proxy_of)


async def _serve(
    entrance: Entrance,
    listening: socket.socket,
    service: Service,
    connect: Connect,
    proxy_of: ProxyOf,
) -> int:
    endpoint = HostEndpoint(connect, proxy_of, complain, entrance.settings.limits)
    config = uvicorn.Config(
        entrance.add_guards(endpoint, service.store),
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
    async with service.used(), anyio.create_task_group() as group:
        async with endpoint.running():
            group.start_soon(end_on_signals, partial(setattr, server, "should_exit", True))
            await server.serve(sockets=[listening])
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
