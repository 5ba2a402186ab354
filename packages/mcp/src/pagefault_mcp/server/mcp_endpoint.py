"""The route `/mcp`: the memory for clients of MCP, over Streamable HTTP.

The endpoint keeps no state between requests in any revision of MCP, so any process of the service
can handle any request. API keys, quotas, the checks of `Host` and `Origin`, and the readers of
bodies are those of the HTTP API. The size of a message is limited, since the SDK parses the message
again in the event loop.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import anyio.to_thread
from starlette.requests import Request
from starlette.routing import Route, Router
from starlette.types import Message, Receive, Scope, Send

from app.errors import OverloadedError, QuotaExceededError
from app.http.api_route import QueryNames
from app.http.bodies import stream_body
from app.http.dependencies import authenticate_caller
from app.http.problem_types import build_problem_response
from app.http.response_memory import (
    PIECE_BYTES,
    build_body_message,
    find_response_budget,
    watch_reader,
)
from app.models.limits import Limits
from app.services.memory_budget.request_bodies import UNRESERVED_BYTES
from app.services.memory_budget.responses import ResponseMemory
from app.services.requests.whole_bodies import RequestBodies
from app.wiring.services import Provider, Services
from pagefault_dialects.errors import PagefaultError, PayloadTooLargeError
from pagefault_mcp.messages.message_limits import check_message, parse_message
from pagefault_mcp.server.error_middleware import MCP_PATH
from pagefault_mcp.server.memory_caller import McpCaller, read_mcp_caller

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from pagefault_mcp.server.page_changes import Context


class ResponseReservation(ExitStack):
    """A reservation of memory for one response, until the end of the block.

    A client that reads a long response slowly is disconnected if other requests need the memory.

    Args:
        scope: The scope of the request.
        send: Sends the response.
    """

    def __init__(self, scope: Scope, send: Send) -> None:
        super().__init__()
        self._scope = scope
        self._send = send
        self._reservation: ResponseMemory | None = None
        self._is_watched = False
        self._is_closed = False
        self.callback(self._release)

    async def reserve(self, size_bytes: int) -> None:
        """Reserve memory for the response. A response calls this at most once.

        Raises:
            OverloadedError: The memory is not free within a second, or the client has disconnected.
        """
        reservation = await find_response_budget(self._scope).reserve(size_bytes)
        # The handler may still run for a moment after its client has disconnected.
        if self._is_closed:
            reservation.release()
            raise OverloadedError
        self._reservation = reservation

    async def send(self, message: Message) -> None:
        """Send an ASGI message of the response, a long body in pieces."""
        if self._reservation is not None and not self._is_watched:
            self._is_watched = True
            self._send = self.enter_context(
                watch_reader(self._scope, self._reservation, self._send)
            )
        body = message.get("body", b"")
        if len(body) <= PIECE_BYTES:
            await self._send(message)
            return
        # The server waits before each piece until most of the previous one is sent.
        for start in range(0, len(body), PIECE_BYTES):
            await self._send(build_body_message(body[start : start + PIECE_BYTES]))
        await self._send(build_body_message(b"", more=message.get("more_body", False)))

    def _release(self) -> None:
        self._is_closed = True
        if self._reservation is not None:
            self._reservation.release()


_MAX_BODY_BYTES = 4 * 1024 * 1024
# At most this much of a refused body is read and dropped. An image of 40 MB has less in base64.
_MAX_DROPPED_BYTES = 64 * 1024 * 1024
_DROP_SECONDS = 30.0
_LISTEN_METHOD = "subscriptions/listen"
# The name of the caller in the state of a request's scope.
_CALLER = "mcp_caller"
_ALLOWED_QUERY = QueryNames(("session", "scope"))


@dataclass(frozen=True, slots=True)
class _CheckedMessage:
    """The body of a request, whose message is within the limits."""

    body: bytes
    is_listen: bool
    """True if the message opens a subscription, whose response is an endless stream."""


class McpEndpoint:
    """The endpoint for clients of MCP. The SDK is loaded with the first request."""

    def __init__(self, services: Services) -> None:
        self._services = services
        # Runs the SDK; set by `lifespan`, before any request.
        self._group: anyio.abc.TaskGroup
        self._manager: StreamableHTTPSessionManager | None = None
        self._load_lock = anyio.Lock()

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Serve requests for the length of the block."""
        async with anyio.create_task_group() as self._group:
            yield
            self._group.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one request.

        A refused request gets a problem document, which `McpErrorMiddleware` translates.
        """
        request, limits = Request(scope, receive), self._services[Limits]
        async with AsyncExitStack() as memory:
            try:
                caller = await self._authenticate(request)
                manager = await self._load_manager()
                check = partial(_check_body, max_depth=limits.json_depth)
                bodies = self._services[RequestBodies]
                message = await memory.enter_async_context(
                    bodies.read(_read_chunks(request, limits), check)
                )
            except PagefaultError as exc:
                request_id = str(scope["state"]["request_id"])
                refusal = build_problem_response(exc, instance=scope["path"], request_id=request_id)
                await refusal(scope, receive, send)
                return
            if message.is_listen:
                # The response lasts long, so the memory for the request is released before.
                await memory.aclose()
            reservation = memory.enter_context(ResponseReservation(scope, send))
            scope["state"][_CALLER] = replace(
                caller, body_bytes=len(message.body), reserve_memory=reservation.reserve
            )
            body = _replay_body(message.body, receive)
            await manager.handle_request(scope, body, reservation.send)

    @staticmethod
    async def _authenticate(request: Request) -> McpCaller:
        """Return the caller of a request, with the session and scope of the query.

        Raises:
            UnauthorizedError: There is no valid key.
            QuotaExceededError: The key has sent too many requests.
            InvalidPayloadError: The query has an invalid session, two sessions, or another
                parameter.
        """
        caller = await authenticate_caller(request)
        _ALLOWED_QUERY.check(request.scope["query_string"])
        return read_mcp_caller(caller, request.scope["query_string"])

    async def _load_manager(self) -> "StreamableHTTPSessionManager":
        """Return the server of the SDK, and start it with the first request."""
        async with self._load_lock:
            if self._manager is None:
                self._manager = await self._group.start(self._run)
            return self._manager

    async def _run(
        self, *, task_status: "anyio.abc.TaskStatus[StreamableHTTPSessionManager]"
    ) -> None:
        """Run a server of the SDK until cancelled."""
        manager = await anyio.to_thread.run_sync(self._load_sdk)
        async with manager.run():
            task_status.started(manager)
            await anyio.sleep_forever()

    def _load_sdk(self) -> "StreamableHTTPSessionManager":
        """Import the SDK, which takes half a second, and return a server."""
        from mcp.server.streamable_http_manager import (  # noqa: PLC0415 - loaded with the first request
            StreamableHTTPSessionManager,
        )

        from pagefault_mcp.server.memory_server import MemoryServer  # noqa: PLC0415 - it imports the SDK

        memory = MemoryServer(self._services, _find_caller)
        return StreamableHTTPSessionManager(
            memory.make_sdk_server(),
            json_response=True,
            stateless=True,
            max_request_body_size=_MAX_BODY_BYTES,
        )


async def _read_chunks(request: Request, limits: Limits) -> AsyncIterator[bytes]:
    """Yield the body of a request in pieces.

    If the body is too large, read and drop the rest of it, then raise the error of `stream_body`.
    """
    max_bytes = min(limits.body_bytes, _MAX_BODY_BYTES)
    limits = limits.model_copy(update={"body_bytes": max_bytes})
    try:
        async for chunk in stream_body(request, limits):
            yield chunk
    except (PayloadTooLargeError, QuotaExceededError):
        await _drop_rest(request.receive)
        raise


def _check_body(body: bytes, *, max_depth: int) -> _CheckedMessage:
    """Check that a message is JSON within the limits. The SDK checks that it is JSON-RPC.

    Raises:
        InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: See `parse_message` and
            `check_message`.
        PayloadTooLargeError: The request has too many subscriptions.
    """
    message = parse_message(body, max_depth=max_depth)
    if not isinstance(message, dict):
        return _CheckedMessage(body, is_listen=False)
    check_message(message, body)
    is_listen = message.get("method") == _LISTEN_METHOD
    if is_listen and len(body) > UNRESERVED_BYTES:
        raise PayloadTooLargeError(
            f"A request to listen has {UNRESERVED_BYTES} bytes at most. Send several of them, each "
            "for some of the resources, or listen to changes of the list."
        )
    return _CheckedMessage(body, is_listen)


def _find_caller(context: "Context") -> McpCaller:
    """Return the caller of a request, which `McpEndpoint` has stored in its scope."""
    assert context.request is not None  # noqa: S101 - set for every request over HTTP
    caller: McpCaller = context.request.scope["state"][_CALLER]
    return caller


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that replays a body for the SDK."""
    messages: list[Message] = [{"type": "http.request", "body": body}]

    async def read() -> Message:
        return messages.pop() if messages else await receive()

    return read


async def _drop_rest(receive: Receive) -> None:
    """Read and drop the rest of a body, within limits.

    Clients send the whole body before they read the response. If the connection were closed
    earlier, they would not get the response.
    """
    size_bytes = 0
    with anyio.move_on_after(_DROP_SECONDS):
        while size_bytes < _MAX_DROPPED_BYTES:
            message = await receive()
            if not message.get("more_body"):
                return
            size_bytes += len(message.get("body", b""))


class _EndpointApp:
    """An ASGI application that calls the `McpEndpoint` among the services of its request."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        services: Services = scope["state"]["services"]
        await services[McpEndpoint](scope, receive, send)


router = Router([Route(MCP_PATH, _EndpointApp(), methods=["POST"])])
SERVICES = (
    Provider(McpEndpoint, McpEndpoint, lifespan=lambda services: services[McpEndpoint].lifespan()),
)
