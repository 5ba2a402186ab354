"""The middleware around every request: assign an id, limit concurrency, log and count.

A request needs a slot to be processed, and the number of slots is limited. If none is free, a
request waits up to a second before it is refused. If it were refused immediately, clients that
retry without a pause would keep the process busy.
"""

import asyncio
import re
import time
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import OverloadedError
from app.http.problem_types import build_problem_response
from app.models.identity import new_id
from app.services.concurrency.client_disconnects import wait_for_disconnect
from app.services.quotas.key_quotas import BYTES, QuotaState
from app.telemetry.logs import log_request
from app.telemetry.metrics import Metrics
from app.wiring.services import Services

WAIT_SECONDS = 1.0
"""The time for which a request waits for a slot; not longer than the `Retry-After` of the 503."""

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}\Z")
_KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_HEALTH_PATH = "/healthz"
_QUIET_ROUTES = frozenset({_HEALTH_PATH, "/readyz", "/metrics"})
# The unit of a quota in `RateLimit-Policy`. A quota without a unit counts requests.
_UNITS = {BYTES: ';qu="content-bytes"'}

_log = structlog.get_logger("pagefault.requests")


@dataclass(slots=True, eq=False)
class Slot:
    """The permission for one request to be processed. The request releases it at its end."""

    on_release: Callable[[], None] | None = None
    """Makes the slot available to another request; `None` if this request needs no slot."""
    is_released: bool = False
    """True after `release`. A stream of events releases its slot and continues."""

    def release(self) -> None:
        """Make the slot available to another request. Further calls have no effect."""
        if not self.is_released and self.on_release is not None:
            self.on_release()
        self.is_released = True


class Admission:
    """A limited number of slots, which waiting requests get in the order of their arrival.

    Args:
        max_slots: The number of slots.
        max_waiting: The number of requests that may wait. A request whose client has disconnected
            counts until it gets a slot or `WAIT_SECONDS` are over.
    """

    def __init__(self, max_slots: int, *, max_waiting: int) -> None:
        self._slots = asyncio.Semaphore(max_slots)
        self._max_waiting = max_waiting
        self._waiting = 0

    async def acquire(self) -> Slot | None:
        """Return a slot, or `None` if none becomes free in time or too many requests wait."""
        if not self._slots.locked():
            # A slot is free, so this returns immediately.
            await self._slots.acquire()
        elif self._waiting >= self._max_waiting or not await self._wait():
            return None
        return Slot(self._slots.release)

    async def _wait(self) -> bool:
        self._waiting += 1
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                return await self._slots.acquire()
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1


class RequestContextMiddleware:
    """Middleware that assigns an id to each request, limits how many run at once, and logs them.

    The id is sent as `X-Request-ID`. An `X-Request-ID` of the client is used if it has only
    letters, digits and `._-`. The log has the template of the route instead of the path, and no
    queries, headers or bodies.

    Args:
        app: The application.
        max_at_once: The number of requests that are processed at once. Further requests wait for a
            slot, and get a 503 if none becomes available in time. `/healthz` needs no slot.
        max_waiting: The number of requests that may wait for a slot. Further requests get a 503
            immediately.
    """

    def __init__(self, app: ASGIApp, *, max_at_once: int, max_waiting: int) -> None:
        self._app = app
        self._admission = Admission(max_at_once, max_waiting=max_waiting)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        request_id = _choose_request_id(scope)
        scope.setdefault("state", {})["request_id"] = request_id
        if scope["type"] == "websocket":
            await self._run_websocket(scope, receive, send)
            return
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]
                if allowance := scope["state"].get("allowance"):
                    message["headers"] += _build_rate_limit_headers(allowance.states())
            await send(message)

        started = time.perf_counter()
        # The health check needs no slot, so it works under any load.
        slot = Slot() if scope["path"] == _HEALTH_PATH else await self._admission.acquire()
        app = _send_overloaded if slot is None else self._app
        # Without a slot, the state has one that frees nothing.
        slot = scope["state"]["slot"] = slot or Slot()
        watcher = DisconnectWatcher(receive)
        token = wait_for_disconnect.set(watcher.wait_for_disconnect)
        try:
            await app(scope, watcher.receive, send_with_id)
        finally:
            wait_for_disconnect.reset(token)
            # Only streams of events release their slot before they end.
            is_stream = slot.is_released
            slot.release()
            if allowance := scope["state"].get("allowance"):
                allowance.finish(is_refused=not 200 <= status < 400)
            _log_and_count(scope, status, time.perf_counter() - started, is_stream=is_stream)

    async def _run_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        try:
            await self._app(scope, receive, send)
        finally:
            _log.info(
                "websocket",
                request_id=scope["state"]["request_id"],
                route=getattr(scope.get("route"), "path", "(none)"),
                milliseconds=round((time.perf_counter() - started) * 1000, 1),
            )


class DisconnectWatcher:
    """An ASGI `receive` that can also wait for the client to disconnect.

    Args:
        receive: The `receive` of the server.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        # A message that `wait_for_disconnect` has read, and `receive` will return.
        self._pending_message: Message | None = None
        # The body may be read at the same time; the lock keeps its chunks in order.
        self._reading = asyncio.Lock()

    async def receive(self) -> Message:
        """Return the next ASGI message."""
        if self._pending_message is None:
            async with self._reading:
                if self._pending_message is None:
                    return await self._receive()
        message, self._pending_message = self._pending_message, None
        return message

    async def wait_for_disconnect(self) -> None:
        """Wait until the client disconnects.

        If the application has not read the whole body, this waits forever, because the next message
        is a part of the body.
        """
        while self._pending_message is None or not self._pending_message.get("more_body"):
            async with self._reading:
                message = await self._receive()
                if message["type"] == "http.disconnect":
                    return
                self._pending_message = message
        await asyncio.get_running_loop().create_future()


def is_probe(scope: MutableMapping[str, Any]) -> bool:
    """Return whether a request is a probe of health or metrics, which is not logged or traced."""
    return scope.get("path") in _QUIET_ROUTES


async def _send_overloaded(scope: Scope, receive: Receive, send: Send) -> None:
    response = build_problem_response(
        OverloadedError(), instance=scope["path"], request_id=scope["state"]["request_id"]
    )
    await response(scope, receive, send)


def _choose_request_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _REQUEST_ID.match(value):
            return str(value.decode())
    return new_id()


def _log_and_count(
    scope: MutableMapping[str, Any], status: int, seconds: float, *, is_stream: bool
) -> None:
    route = getattr(scope.get("route"), "path", "(none)")
    # Unknown methods share one label; otherwise clients could create any number of labels.
    method = scope["method"] if scope["method"] in _KNOWN_METHODS else "other"
    services: Services | None = scope["state"].get("services")
    if services is not None:
        services[Metrics].observe_request(method, route, status, None if is_stream else seconds)
    if route in _QUIET_ROUTES and status < 400:
        return
    log_request(
        scope["state"]["request_id"],
        method,
        route=route,
        status=status,
        milliseconds=round(seconds * 1000, 1),
    )


def _build_rate_limit_headers(states: Sequence[QuotaState]) -> list[tuple[bytes, bytes]]:
    """Return `RateLimit-Policy` and `RateLimit`: the quotas of a key, and the remaining amounts.

    Both are lists of structured fields (RFC 9651). Values need no escapes: names are constants, and
    all other values are integers. An unused quota has no `t` (the seconds until its reset).

    Source: draft-ietf-httpapi-ratelimit-headers-10.
    """
    policies, remaining = [], []
    for state in states:
        unit = _UNITS.get(state.name, "")
        policies.append(f'"{state.name}";q={state.quota};w={state.window_seconds}{unit}')
        reset = "" if state.reset_seconds is None else f";t={state.reset_seconds}"
        remaining.append(f'"{state.name}";r={state.remaining}{reset}')
    return [
        (b"ratelimit-policy", ", ".join(policies).encode()),
        (b"ratelimit", ", ".join(remaining).encode()),
    ]
