"""The proxy as a server of Streamable HTTP, for hosts that connect to servers by URL.

In revisions from 2025-03-26 to 2025-11-25, each session of a host has its own server of MCP. Hosts
of revision 2026-07-28 have no sessions, and share one server. The HTTP response to a message is
JSON, or a stream if other messages of the server come before the response.

Source: specification of MCP, 2026-07-28, 2025-11-25 and 2025-03-26, "Streamable HTTP".
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, get_args
from uuid import uuid4

import anyio
import anyio.abc
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from app.http.bodies import stream_body
from app.http.problem_types import problem_response
from app.models.limits import Limits
from app.services.concurrency.large_work import LargeWork
from app.services.memory_budget.budget import MemoryBudget
from app.services.memory_budget.freed_memory import trim_freed_memory
from app.services.memory_budget.request_bodies import BodyBudget
from app.services.requests.whole_bodies import RequestBodies
from pagefault_dialects.errors import PagefaultError
from pagefault_dialects.model.render_options import McpRevision
from pagefault_mcp.http_server.host_sessions import HostSession
from pagefault_mcp.http_server.host_streams import (
    Exchange,
    HostEventResponse,
    NoSuchEventError,
    SentEvent,
    encode_events,
)
from pagefault_mcp.messages.lines import Line, is_id, join_lines, member, parse_member
from pagefault_mcp.messages.message_limits import LONGEST_ID_CHARS, parse_message
from pagefault_mcp.messages.request_tracker import REVISION
from pagefault_mcp.messages.sessionless_requests import (
    INTERNAL_ERROR,
    PROTOCOL_VERSION,
    REVISIONS,
    STATUSES,
    RequestRefusedError,
    find_refusal,
)
from pagefault_mcp.proxy.proxy import ProxyFactory
from pagefault_mcp.server.refusals import PATH
from pagefault_mcp.upstreams.server_connections import Connect

SESSION = "mcp-session-id"
LAST_EVENT = "last-event-id"
HANDSHAKE_REVISIONS: tuple[str, ...] = tuple(
    argument for argument in get_args(McpRevision.__value__) if argument not in REVISIONS
)
"""Revisions with sessions, which begin with `initialize`."""

_MAX_SESSIONS = 32
_IDLE_SECONDS = 60.0
_LONGEST_IDLE_SECONDS = 3_600.0
_MAX_BODY_BYTES = 64 * 1024 * 1024
_MAX_FIRST_BYTES = 1024 * 1024
_MAX_MESSAGES = 1_000
_FIRST_SECONDS = 5.0
# The first revision whose hosts accept a priming event, which has only an id. Earlier hosts parse
# such an event as a message.
_PRIMED_SINCE = "2025-11-25"


@dataclass(frozen=True, slots=True)
class _PostedMessage:
    """A message or a batch that a host has posted."""

    value: Any
    """The parsed JSON."""
    line: bytes
    """The JSON on one line, with its line end."""


@dataclass(slots=True, eq=False)
class HostEndpoint:
    """The ASGI application for hosts."""

    connect: Connect
    """Connects to a server."""
    make_proxy: ProxyFactory
    """Makes the proxy between two writers."""
    warn: Callable[[str], None]
    """Logs a sentence for the operator."""
    limits: Limits
    """The limits on bodies, and on the memory of all of them."""
    _bodies: RequestBodies = field(init=False)
    _sessions: dict[str, HostSession] = field(init=False, default_factory=dict)
    _shared: HostSession | None = field(init=False, default=None)
    _opening: anyio.Lock = field(init=False, default_factory=anyio.Lock)
    _group: anyio.abc.TaskGroup = field(init=False)

    def __post_init__(self) -> None:
        memory = MemoryBudget(self.limits.memory_bytes)
        budget = BodyBudget(memory, text_limit_bytes=_MAX_BODY_BYTES)
        self._bodies = RequestBodies(LargeWork(self.limits), budget)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve requests in the block, and end all sessions at its end."""
        async with anyio.create_task_group() as self._group:
            self._group.start_soon(self._end_idle_sessions)
            self._group.start_soon(trim_freed_memory, self._bodies.budget.memory)
            yield
            await self.end()
            self._group.cancel_scope.cancel()

    async def end(self) -> None:
        """End all sessions, and wait until their servers have ended."""
        sessions = [*self._sessions.values(), *([self._shared] if self._shared else [])]
        for session in sessions:
            session.disconnect()
        for session in sessions:
            await session.ended.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Process one HTTP request."""
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except RequestRefusedError as exc:
            response = _refusal_response(exc)
        except PagefaultError as exc:
            response = problem_response(exc, instance=PATH, request_id="-")
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.url.path != PATH:
            raise RequestRefusedError(404, f"hosts of MCP are served at {PATH}")
        if request.method == "POST":
            return await self._post(request)
        if request.method not in ("GET", "DELETE") or SESSION not in request.headers:
            # Without a session there is no stream to open, and nothing to delete.
            return Response(status_code=405, headers={"allow": "POST, GET, DELETE"})
        session = self._session(request)
        if request.method == "DELETE":
            session.disconnect()
            del self._sessions[request.headers[SESSION]]
            return Response(status_code=204)
        if "text/event-stream" not in _accepted_types(request):
            raise RequestRefusedError(
                406, "a stream is text/event-stream, which has to be accepted"
            )
        if LAST_EVENT in request.headers:
            return _resume_stream(session, request)
        return _follow_stream(session, session.open_stream(), request)

    async def _post(self, request: Request) -> Response:
        session, headers, exchange = await self._forward(request)
        if not exchange.waiting:
            await session.release(exchange)
            return Response(status_code=202, headers=headers)
        try:
            first: Line | None = None
            with anyio.move_on_after(_FIRST_SECONDS):
                first = await exchange.next_line()
            if first is not None and "error" in first.members and SESSION in headers:
                # `initialize` has failed, so the new session is ended.
                self._sessions.pop(headers.pop(SESSION)).disconnect()
            if first is not None and exchange.has_ended and not exchange.lines:
                await session.release(exchange)
                return _json_response(first, headers, is_modern=session is self._shared)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await session.release(exchange)
            raise
        if first is not None:
            exchange.lines.appendleft(first)
        # A stream that begins with a message needs no priming event, since the message has an id.
        is_primed = first is None and _is_primed(request)
        events = encode_events(session.sent, exchange, is_primed=is_primed)
        return HostEventResponse(events, partial(session.detach, exchange, 0), headers)

    async def _forward(self, request: Request) -> tuple[HostSession, dict[str, str], Exchange]:
        """Forward the messages in the body of a request, and release the memory of the body.

        Returns:
            The session, the headers for the response, and the exchange of the messages.

        Raises:
            PagefaultError: The body is too large or too slow, or there is no memory for it.
        """
        limits = self.limits.model_copy(update={"body_bytes": self._max_bytes(request)})
        read = partial(_parse_posted, max_depth=limits.json_depth)
        async with self._bodies.read(stream_body(request, limits), read) as posted:
            session, headers = await self._session_for(request, posted.value)
            return session, headers, await session.forward(posted.line, posted.value)

    def _max_bytes(self, request: Request) -> int:
        """Check the headers of a posted message; return the maximum size of its body."""
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != "application/json":
            raise RequestRefusedError(415, "a message is application/json")
        if not {"application/json", "text/event-stream"}.issubset(_accepted_types(request)):
            raise RequestRefusedError(406, "accept application/json and text/event-stream")
        version = request.headers.get(PROTOCOL_VERSION)
        if version in REVISIONS:
            return _MAX_BODY_BYTES
        if version is not None and version not in HANDSHAKE_REVISIONS:
            revisions = ", ".join([*HANDSHAKE_REVISIONS, *REVISIONS])
            raise RequestRefusedError(
                400, f"there is no revision {version[:32]} of MCP here, but {revisions}"
            )
        if SESSION not in request.headers:
            # Without a session, only `initialize` is allowed.
            return _MAX_FIRST_BYTES
        self._session(request)
        return _MAX_BODY_BYTES

    async def _session_for(
        self,
        request: Request,
        value: Any,  # noqa: ANN401 - any JSON
    ) -> tuple[HostSession, dict[str, str]]:
        """Return the session of a posted message, and headers for the response."""
        message = value if isinstance(value, dict) else {}
        version = request.headers.get(PROTOCOL_VERSION)
        # The revision in a message may be any JSON value.
        if version in REVISIONS or member(message, "params", "_meta", REVISION) in REVISIONS:
            return await self._shared_session(request, message), {}
        if SESSION in request.headers:
            return self._session(request), {}
        if message.get("method") != "initialize":
            raise RequestRefusedError(
                400,
                "there is no Mcp-Session-Id: send `initialize` first, which answers with one",
                request_id=message.get("id"),
            )
        session_id = uuid4().hex
        session = await self._new_session(message)
        self._sessions[session_id] = session
        return session, {SESSION: session_id}

    def _session(self, request: Request) -> HostSession:
        session = self._sessions.get(request.headers[SESSION])
        if session is None or session.ended.is_set():
            self._sessions.pop(request.headers[SESSION], None)
            raise RequestRefusedError(
                404, "there is no such session, or it has ended: begin a new one"
            )
        return session

    async def _shared_session(self, request: Request, message: dict[str, Any]) -> HostSession:
        """Check a message of a revision without sessions; return the shared session."""
        if "id" in message:
            refusal = find_refusal(message, dict(request.headers))
            if refusal is not None:
                raise refusal
        elif not message:
            raise RequestRefusedError(400, "this revision of MCP has no batches")
        async with self._opening:
            if (
                self._shared is None
                or self._shared.ended.is_set()
                or self._shared.disconnected.is_set()
            ):
                self._shared = await self._start_session(message, is_shared=True)
            return self._shared

    async def _new_session(self, message: dict[str, Any]) -> HostSession:
        async with self._opening:
            self._sessions = {
                key: session
                for key, session in self._sessions.items()
                if not session.ended.is_set()
            }
            if len(self._sessions) >= _MAX_SESSIONS and not self._end_longest_idle(_IDLE_SECONDS):
                raise RequestRefusedError(
                    503,
                    f"there are {_MAX_SESSIONS} sessions already; try again in a moment",
                    code=INTERNAL_ERROR,
                    request_id=message.get("id"),
                )
            return await self._start_session(message, is_shared=False)

    async def _start_session(self, message: dict[str, Any], *, is_shared: bool) -> HostSession:
        session = HostSession(self.make_proxy, self.warn, is_shared=is_shared)
        problem = await self._group.start(session.run, self.connect)
        if problem is not None:
            raise RequestRefusedError(
                502, problem, code=INTERNAL_ERROR, request_id=message.get("id")
            )
        return session

    def _end_longest_idle(self, idle_seconds: float) -> bool:
        """End the session that has been idle the longest; return whether a session was ended.

        Args:
            idle_seconds: The least idle time of a session that may be ended.
        """
        idle = [
            (session.last_used_at, key)
            for key, session in self._sessions.items()
            if session.is_idle
        ]
        last_used_at, key = min(idle, default=(anyio.current_time(), ""))
        if anyio.current_time() - last_used_at < idle_seconds:
            return False
        self._sessions.pop(key).disconnect()
        return True

    async def _end_idle_sessions(self) -> None:
        """End idle sessions periodically, since hosts may disappear without ending them."""
        while True:
            await anyio.sleep(_IDLE_SECONDS)
            while self._end_longest_idle(_LONGEST_IDLE_SECONDS):
                pass


def _follow_stream(
    session: HostSession, stream: Exchange, request: Request, missed: Sequence[SentEvent] = ()
) -> HostEventResponse:
    """Return the response that sends a stream, after the events that the host has missed."""
    connection_number = stream.attach()
    events = encode_events(
        session.sent,
        stream,
        connection_number=connection_number,
        missed=missed,
        is_primed=_is_primed(request),
    )
    disconnect = session.close_stream if stream is session.stream else session.detach
    return HostEventResponse(events, partial(disconnect, stream, connection_number))


def _resume_stream(session: HostSession, request: Request) -> HostEventResponse:
    """Return the response that resumes a stream from the event in `Last-Event-ID`."""
    try:
        missed, stream = session.resume(request.headers[LAST_EVENT])
    except NoSuchEventError as exc:
        raise RequestRefusedError(
            400,
            "there is no such event in this session, or not all that was sent behind it is kept: "
            "open a stream without Last-Event-ID",
        ) from exc
    return _follow_stream(session, stream or Exchange(has_ended=True), request, missed)


def _is_primed(request: Request) -> bool:
    """Return whether the host of a request accepts a priming event, which has only an id."""
    return request.headers.get(PROTOCOL_VERSION, "") >= _PRIMED_SINCE


def _parse_posted(body: bytes, *, max_depth: int) -> _PostedMessage:
    """Parse a body, and check that it is a valid message or batch. Blocks.

    Raises:
        RequestRefusedError: The body is not a valid message or batch.
        PagefaultError: As `parse_message`.
    """
    value = parse_message(body, max_depth=max_depth)
    messages = value if isinstance(value, list) else [value]
    if len(messages) > _MAX_MESSAGES:
        raise RequestRefusedError(413, f"a batch has at most {_MAX_MESSAGES} messages")
    if not messages or not all(isinstance(message, dict) for message in messages):
        raise RequestRefusedError(400, "a message is a JSON object, or a list of them")
    ids = [message["id"] for message in messages if "method" in message and "id" in message]
    if not all(is_id(request_id) and not isinstance(request_id, float) for request_id in ids):
        raise RequestRefusedError(400, "the id of a request is a string or a whole number")
    tokens = [member(message, "params", "_meta", "progressToken") for message in messages]
    if any(
        isinstance(request_id, str) and len(request_id) > LONGEST_ID_CHARS
        for request_id in (*ids, *tokens)
    ):
        # Ids and tokens are kept in memory while the request is open.
        raise RequestRefusedError(
            400, f"an id or a token has at most {LONGEST_ID_CHARS} characters"
        )
    return _PostedMessage(value, join_lines(body) + b"\n")


def _accepted_types(request: Request) -> set[str]:
    """Return the media types in `Accept`, with both types of responses for `*/*`."""
    accepted = request.headers.get("accept", "*/*").lower().split(",")
    ranges = {item.partition(";")[0].strip() for item in accepted}
    if "*/*" in ranges:
        ranges |= {"application/json", "text/event-stream"}
    return ranges


def _refusal_response(refusal: RequestRefusedError) -> Response:
    # Its frames would keep the body in memory.
    refusal.__traceback__ = None
    error: dict[str, Any] = {"code": refusal.code, "message": refusal.text}
    if refusal.data is not None:
        error["data"] = refusal.data
    request_id = refusal.request_id if is_id(refusal.request_id) else None
    headers = {"retry-after": "10"} if refusal.status == 503 else None
    # `json.dumps` escapes lone surrogates, which an id may have.
    content = json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error})
    return Response(content, refusal.status, headers=headers, media_type="application/json")


def _json_response(line: Line, headers: dict[str, str], *, is_modern: bool) -> Response:
    """Return an HTTP response that has one JSON-RPC response, with the status of its error.

    Args:
        line: The JSON-RPC response.
        headers: The headers.
        is_modern: Whether the revision has a status for each error. Otherwise the status is 200.
    """
    status = 200
    if is_modern and "error" in line.members:
        code = member(parse_member(line, line.members["error"]), "code")
        status = STATUSES.get(code, 200) if isinstance(code, int) else 200

    async def pieces() -> AsyncGenerator[bytes, None]:
        with line:
            for piece in line.pieces():
                yield piece

    headers = {**headers, "content-length": str(line.size_bytes)}
    return StreamingResponse(pieces(), status, headers=headers, media_type="application/json")
