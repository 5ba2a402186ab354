"""Serve hosts over Streamable HTTP, for `pagefault proxy --listen`.

`serve_hosts` listens at an address, and checks API keys, host names and origins. `HostEndpoint`
handles the requests.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import anyio
import httpx
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from app.cli.error_output import EXIT_CANNOT_START, print_error
from app.cli.terminal import ERR, print_line
from app.config.setting_values import is_loopback
from app.config.settings import Settings
from app.errors import StoreUnavailableError, UnauthorizedError
from app.http.browser_guard import BrowserGuard
from app.http.problem_types import build_problem_response
from pagefault_dialects.errors import PagefaultError
from pagefault_mcp.http_server.host_endpoint import HostEndpoint
from pagefault_mcp.proxy.proxy import ProxyFactory
from pagefault_mcp.proxy.proxy_process import ProxyService, end_on_signals
from pagefault_mcp.server.error_middleware import MCP_PATH, McpErrorMiddleware
from pagefault_mcp.service_client.service_exchange import ServiceRequestError
from pagefault_mcp.service_client.service_store import ServiceStore
from pagefault_mcp.service_client.shared_folder import KEY_PATH
from pagefault_mcp.upstreams.server_connections import Connect

_GRACEFUL_SHUTDOWN_SECONDS = 10
_MAX_CONNECTIONS = 512


@dataclass(frozen=True, slots=True)
class ListenOptions:
    """The address to listen on, and the settings that say who has access."""

    host: str
    """The host name or IP address."""
    port: int
    """The port; 0 takes a free one."""
    settings: Settings
    """The settings of authentication, host names and origins."""

    @property
    def needs_no_key(self) -> bool:
        """True if authentication is off."""
        return self.settings.auth == "none"

    def add_guards(self, app: ASGIApp, store: ServiceStore) -> McpErrorMiddleware:
        """Return an application with checks of keys, host names and origins before it."""
        settings = self.settings
        guard = BrowserGuard(
            app if self.needs_no_key else KeyGuard(app, store),
            needs_no_key=self.needs_no_key,
            hosts=settings.accepted_hosts,
            own_origins=() if settings.origin is None else (settings.origin,),
            allowed_origins=settings.cors_origins,
        )
        return McpErrorMiddleware(guard)


def serve_hosts(
    options: ListenOptions, service: ProxyService, connect: Connect, make_proxy: ProxyFactory
) -> int:
    """Serve hosts until a signal; return the exit status.

    Args:
        options: The address, and the settings of access.
        service: The service that has the results and the API keys.
        connect: Connects to the MCP server behind the proxy.
        make_proxy: Returns a proxy between a function that writes to a host and a function that
            writes to the server.
    """
    host, port = options.host, options.port
    url_host = f"[{host}]" if ":" in host else host
    if options.needs_no_key and not is_loopback(host):
        print_error(
            f"--listen {url_host}:{port} is not loopback, and no keys are asked for: whoever "
            "reaches it could use the server. Listen on 127.0.0.1, or set PAGEFAULT_AUTH=api-key."
        )
        return EXIT_CANNOT_START
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as exc:
        print_error(
            f"cannot listen on {url_host}:{port}: {exc.strerror}. Name another port; "
            "`--listen 127.0.0.1:0` takes a free one."
        )
        return EXIT_CANNOT_START
    url = f"http://{url_host}:{listener.getsockname()[1]}{MCP_PATH}"
    print_line(f"The MCP server is at {url}", to=ERR)
    return anyio.run(_serve, options, listener, service, connect, make_proxy)


async def _serve(
    options: ListenOptions,
    listener: socket.socket,
    service: ProxyService,
    connect: Connect,
    make_proxy: ProxyFactory,
) -> int:
    """Serve hosts on a listening socket until a signal; return status 0."""
    endpoint = HostEndpoint(connect, make_proxy, print_error, options.settings.limits)
    config = uvicorn.Config(
        options.add_guards(endpoint, service.store),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_graceful_shutdown=_GRACEFUL_SHUTDOWN_SECONDS,
    )
    server = _ProxyServer(config, endpoint)
    async with service.connected(), anyio.create_task_group() as group:
        async with endpoint.lifespan():
            group.start_soon(end_on_signals, partial(setattr, server, "should_exit", True))
            await server.serve(sockets=[listener])
        group.cancel_scope.cancel()
    return 0


class _ProxyServer(uvicorn.Server):
    """A uvicorn server that ends the sessions of hosts first, then waits for open connections."""

    def __init__(self, config: uvicorn.Config, endpoint: HostEndpoint) -> None:
        super().__init__(config)
        self._endpoint = endpoint

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do not handle signals. `end_on_signals` handles them, and ends the servers first."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the sessions, then the connections."""
        await self._endpoint.end()
        await super().shutdown(sockets)


@dataclass(slots=True, eq=False)
class KeyGuard:
    """A middleware that responds with status 401 to requests without an API key of the project."""

    app: ASGIApp
    store: ServiceStore
    """Asks the service, which has the keys, whether a key is valid."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
        if scope["type"] == "http":
            try:
                await self._check(scope)
            except PagefaultError as exc:
                response = build_problem_response(exc, instance=scope["path"], request_id="-")
                await response(scope, receive, send)
                return
        await self.app(scope, receive, send)

    async def _check(self, scope: Scope) -> None:
        """Check the API key of a request.

        Raises:
            UnauthorizedError: The key is missing or invalid.
            StoreUnavailableError: The service did not say whether the key is valid.
        """
        headers: dict[bytes, bytes] = dict(scope["headers"])
        authorization = headers.get(b"authorization")
        if authorization is None:
            raise UnauthorizedError
        try:
            response = await self.store.client.get(
                KEY_PATH, headers={b"authorization": authorization}
            )
        except (ServiceRequestError, httpx.HTTPError) as exc:
            raise StoreUnavailableError("keys") from exc
        if response.status_code == httpx.codes.UNAUTHORIZED:
            raise UnauthorizedError
        if not response.is_success:
            raise StoreUnavailableError("keys")
