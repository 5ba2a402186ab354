"""Around every request: an id, a log line, and the metrics of its route."""

import re
import time
from collections.abc import MutableMapping
from typing import Any

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.models.identity import new_id
from app.wiring import Container

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}\Z")
_QUIET_ROUTES = frozenset({"/healthz", "/readyz", "/metrics"})

_log = structlog.get_logger("pagefault.requests")


class RequestContextMiddleware:
    """Gives each request an id, echoes it as `X-Request-ID`, and tells what became of it.

    The caller's own `X-Request-ID` is kept if it is a plain word. The log names the route's
    template, not the path, and never a query, a header or a body.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        scope.setdefault("state", {})["request_id"] = request_id
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]
            await send(message)

        started = time.perf_counter()
        try:
            await self._app(scope, receive, send_with_id)
        finally:
            _tell(scope, status, time.perf_counter() - started)


def _request_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _REQUEST_ID.match(value):
            return str(value.decode())
    return new_id()


def _tell(scope: MutableMapping[str, Any], status: int, seconds: float) -> None:
    route = getattr(scope.get("route"), "path", "(none)")
    container: Container | None = scope["state"].get("container")
    if container is not None:
        container.metrics.observe_request(_known_method(scope["method"]), route, status, seconds)
    if route in _QUIET_ROUTES and status < 400:
        return
    _log.info(
        "request",
        request_id=scope["state"]["request_id"],
        method=_known_method(scope["method"]),
        route=route,
        status=status,
        milliseconds=round(seconds * 1000, 1),
    )


def _known_method(method: str) -> str:
    # A label for every word somebody sends would fill the metrics.
    known = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
    return method if method in known else "other"
