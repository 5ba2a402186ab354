"""The HTTP endpoint of the proxy, for hosts that connect to an MCP server by its URL.

In the revisions of MCP from 2025-03-26 to 2025-11-25, a host has a session, and each session has
its own MCP server behind the proxy. Hosts of the revision 2026-07-28 have no sessions, and share
one server. The HTTP response to a request is JSON. It is a stream of events if the response of the
server takes long, or other messages of the server come before it.

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
from app.http.problem_types import build_problem_response
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
from pagefault_mcp.messages.lines import Line, get_member, is_id, join_lines, parse_span
from pagefault_mcp.messages.message_limits import LONGEST_ID_CHARS, parse_message
from pagefault_mcp.messages.request_tracker import REVISION_MEMBER
from pagefault_mcp.messages.sessionless_requests import (
    INTERNAL_ERROR,
    PROTOCOL_VERSION_HEADER,
    REVISIONS,
    STATUSES_BY_ERROR_CODE,
    RequestRefusedError,
    find_refusal,
)
from pagefault_mcp.proxy.proxy import ProxyFactory
from pagefault_mcp.server.error_middleware import MCP_PATH
from pagefault_mcp.upstreams.server_connections import Connect

_SESSION_HEADER = "mcp-session-id"
_LAST_EVENT_HEADER = "last-event-id"
HANDSHAKE_REVISIONS: tuple[str, ...] = tuple(
    revision for revision in get_args(McpRevision.__value__) if revision not in REVISIONS
)
"""The revisions with sessions, which begin with the request `initialize`."""

_MAX_SESSIONS = 32
# If there are too many sessions, one that has been idle for this time may be ended.
_IDLE_SECONDS = 60.0
# A session that has been idle for this time is ended in any case.
_LONGEST_IDLE_SECONDS = 3_600.0
_MAX_BODY_BYTES = 64 * 1024 * 1024
# The maximum size of a body with `initialize`.
_MAX_INITIALIZE_BYTES = 1024 * 1024
_MAX_BATCH_MESSAGES = 1_000
# If the server needs longer for its response, the HTTP response becomes a stream.
_JSON_SECONDS = 5.0
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
    """An ASGI application that handles the requests of hosts, and keeps their sessions."""

    connect: Connect
    """Connects to the server behind the proxy."""
    make_proxy: ProxyFactory
    """Makes a proxy from two functions that write to a host and to the server."""
    warn: Callable[[str], None]
    """Logs a sentence for the operator."""
    limits: Limits
    """The limits of a body, and of the memory for all bodies."""
    _bodies: RequestBodies = field(init=False)
    _sessions: dict[str, HostSession] = field(init=False, default_factory=dict)
    """The sessions of hosts, by their ids."""
    _shared: HostSession | None = field(init=False, default=None)
    """The session of all hosts without sessions of MCP."""
    _start_lock: anyio.Lock = field(init=False, default_factory=anyio.Lock)
    _group: anyio.abc.TaskGroup = field(init=False)

    def __post_init__(self) -> None:
        memory = MemoryBudget(self.limits.memory_bytes)
        budget = BodyBudget(memory, text_limit_bytes=_MAX_BODY_BYTES)
        self._bodies = RequestBodies(LargeWork(self.limits), budget)

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Run what requests need for the length of the block, then end all sessions."""
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
            response = await self._respond(request)
        except RequestRefusedError as exc:
            response = _make_refusal_response(exc)
        except PagefaultError as exc:
            response = build_problem_response(exc, instance=MCP_PATH, request_id="-")
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        """Return the response to a request.

        Raises:
            RequestRefusedError, PagefaultError: The request is refused.
            ClientDisconnect: The host has disconnected.
        """
        if request.url.path != MCP_PATH:
            raise RequestRefusedError(404, f"hosts of MCP are served at {MCP_PATH}")
        if request.method == "POST":
            return await self._post(request)
        if request.method not in ("GET", "DELETE") or _SESSION_HEADER not in request.headers:
            # Without a session there is no stream to open, and nothing to delete.
            return Response(status_code=405, headers={"allow": "POST, GET, DELETE"})
        session = self._find_session(request)
        if request.method == "DELETE":
            session.disconnect()
            del self._sessions[request.headers[_SESSION_HEADER]]
            return Response(status_code=204)
        if "text/event-stream" not in _read_accepted_types(request):
            raise RequestRefusedError(
                406, "a stream is text/event-stream, which has to be accepted"
            )
        if _LAST_EVENT_HEADER in request.headers:
            return _resume_stream(session, request)
        return _make_stream_response(session, session.open_stream(), request)

    async def _post(self, request: Request) -> Response:
        """Forward a posted message; return the response of the server as JSON or as a stream."""
        session, headers, exchange = await self._forward(request)
        if not exchange.waiting:
            await session.release(exchange)
            return Response(status_code=202, headers=headers)
        try:
            first_line: Line | None = None
            with anyio.move_on_after(_JSON_SECONDS):
                first_line = await exchange.next_line()
            if (
                first_line is not None
                and "error" in first_line.members
                and _SESSION_HEADER in headers
            ):
                # `initialize` has failed, so the new session is ended.
                self._sessions.pop(headers.pop(_SESSION_HEADER)).disconnect()
            # If no other line follows the first one, that line is the response.
            if first_line is not None and exchange.has_ended and not exchange.lines:
                await session.release(exchange)
                return _make_json_response(
                    first_line, headers, uses_error_statuses=session is self._shared
                )
        except BaseException:
            with anyio.CancelScope(shield=True):
                await session.release(exchange)
            raise
        if first_line is not None:
            exchange.lines.appendleft(first_line)
        # A stream that begins with a message needs no priming event, since the message has an id.
        is_primed = first_line is None and _accepts_priming_event(request)
        events = encode_events(session.sent_events, exchange, is_primed=is_primed)
        return HostEventResponse(events, partial(session.detach, exchange, 0), headers)

    async def _forward(self, request: Request) -> tuple[HostSession, dict[str, str], Exchange]:
        """Forward the messages in the body of a request, and release the memory of the body.

        Returns:
            The session, the headers for the response, and the exchange of the messages.

        Raises:
            PagefaultError: The body is too large or too slow, or there is no memory for it.
        """
        limits = self.limits.model_copy(update={"body_bytes": self._check_headers(request)})
        parse = partial(_parse_posted_body, max_depth=limits.json_depth)
        async with self._bodies.read(stream_body(request, limits), parse) as posted:
            session, headers = await self._choose_session(request, posted.value)
            return session, headers, await session.forward(posted.line, posted.value)

    def _check_headers(self, request: Request) -> int:
        """Check the headers of a POST; return the maximum size of its body.

        Raises:
            RequestRefusedError: The headers are invalid, or there is no such session.
        """
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != "application/json":
            raise RequestRefusedError(415, "a message is application/json")
        if not {"application/json", "text/event-stream"}.issubset(_read_accepted_types(request)):
            raise RequestRefusedError(406, "accept application/json and text/event-stream")
        version = request.headers.get(PROTOCOL_VERSION_HEADER)
        if version in REVISIONS:
            return _MAX_BODY_BYTES
        if version is not None and version not in HANDSHAKE_REVISIONS:
            revisions = ", ".join([*HANDSHAKE_REVISIONS, *REVISIONS])
            raise RequestRefusedError(
                400, f"there is no revision {version[:32]} of MCP here, but {revisions}"
            )
        if _SESSION_HEADER not in request.headers:
            # Without a session, only `initialize` is accepted.
            return _MAX_INITIALIZE_BYTES
        self._find_session(request)
        return _MAX_BODY_BYTES

    async def _choose_session(
        self,
        request: Request,
        value: Any,  # noqa: ANN401 - any JSON
    ) -> tuple[HostSession, dict[str, str]]:
        """Return the session for a posted message, and headers for the response.

        The request `initialize` starts a session.

        Args:
            request: The request.
            value: The parsed body.

        Raises:
            RequestRefusedError: There is no such session, or a session cannot be started.
        """
        message = value if isinstance(value, dict) else {}
        version = request.headers.get(PROTOCOL_VERSION_HEADER)
        # The revision in a message may be any JSON value.
        if (
            version in REVISIONS
            or get_member(message, "params", "_meta", REVISION_MEMBER) in REVISIONS
        ):
            return await self._open_shared_session(request, message), {}
        if _SESSION_HEADER in request.headers:
            return self._find_session(request), {}
        if message.get("method") != "initialize":
            raise RequestRefusedError(
                400,
                "there is no Mcp-Session-Id: send `initialize` first, which answers with one",
                request_id=message.get("id"),
            )
        session_id = uuid4().hex
        session = await self._start_new_session(message)
        self._sessions[session_id] = session
        return session, {_SESSION_HEADER: session_id}

    def _find_session(self, request: Request) -> HostSession:
        """Return the session that a header names; raise RequestRefusedError if there is none."""
        session = self._sessions.get(request.headers[_SESSION_HEADER])
        if session is None or session.ended.is_set():
            self._sessions.pop(request.headers[_SESSION_HEADER], None)
            raise RequestRefusedError(
                404, "there is no such session, or it has ended: begin a new one"
            )
        return session

    async def _open_shared_session(self, request: Request, message: dict[str, Any]) -> HostSession:
        """Check a message of the revision without sessions; return the shared session.

        The session is started if it does not run.
        """
        if "id" in message:
            refusal = find_refusal(message, dict(request.headers))
            if refusal is not None:
                raise refusal
        elif not message:
            raise RequestRefusedError(400, "this revision of MCP has no batches")
        async with self._start_lock:
            if (
                self._shared is None
                or self._shared.ended.is_set()
                or self._shared.disconnected.is_set()
            ):
                self._shared = await self._start_session(message, is_shared=True)
            return self._shared

    async def _start_new_session(self, message: dict[str, Any]) -> HostSession:
        """Start a session for `initialize`; end an idle one first if there are too many.

        Raises:
            RequestRefusedError: There are too many sessions, or the server cannot be started.
        """
        async with self._start_lock:
            self._sessions = {
                key: session
                for key, session in self._sessions.items()
                if not session.ended.is_set()
            }
            is_full = len(self._sessions) >= _MAX_SESSIONS
            if is_full and not self._end_longest_idle(_IDLE_SECONDS):
                raise RequestRefusedError(
                    503,
                    f"there are {_MAX_SESSIONS} sessions already; try again in a moment",
                    code=INTERNAL_ERROR,
                    request_id=message.get("id"),
                )
            return await self._start_session(message, is_shared=False)

    async def _start_session(self, message: dict[str, Any], *, is_shared: bool) -> HostSession:
        """Start a session, which connects to a server; raise RequestRefusedError if that fails."""
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
            idle_seconds: Only a session that has been idle for this time is ended.
        """
        idle = [
            (session.last_used_at, session_id)
            for session_id, session in self._sessions.items()
            if session.is_idle
        ]
        last_used_at, session_id = min(idle, default=(anyio.current_time(), ""))
        if anyio.current_time() - last_used_at < idle_seconds:
            return False
        self._sessions.pop(session_id).disconnect()
        return True

    async def _end_idle_sessions(self) -> None:
        """End idle sessions periodically, since hosts may disappear without ending them."""
        while True:
            await anyio.sleep(_IDLE_SECONDS)
            while self._end_longest_idle(_LONGEST_IDLE_SECONDS):
                pass


def _make_stream_response(
    session: HostSession,
    stream: Exchange,
    request: Request,
    missed_events: Sequence[SentEvent] = (),
) -> HostEventResponse:
    """Return the response that sends a stream, after events that the host has not received."""
    connection_number = stream.attach()
    events = encode_events(
        session.sent_events,
        stream,
        connection_number=connection_number,
        missed_events=missed_events,
        is_primed=_accepts_priming_event(request),
    )
    disconnect = session.close_stream if stream is session.stream else session.detach
    return HostEventResponse(events, partial(disconnect, stream, connection_number))


def _resume_stream(session: HostSession, request: Request) -> HostEventResponse:
    """Return the response that resumes a stream from the event in `Last-Event-ID`."""
    try:
        missed_events, stream = session.resume(request.headers[_LAST_EVENT_HEADER])
    except NoSuchEventError as exc:
        raise RequestRefusedError(
            400,
            "there is no such event in this session, or not all that was sent behind it is kept: "
            "open a stream without Last-Event-ID",
        ) from exc
    return _make_stream_response(
        session, stream or Exchange(has_ended=True), request, missed_events
    )


def _accepts_priming_event(request: Request) -> bool:
    """Return whether the host of a request accepts a priming event, which has only an id."""
    return request.headers.get(PROTOCOL_VERSION_HEADER, "") >= _PRIMED_SINCE


def _parse_posted_body(body: bytes, *, max_depth: int) -> _PostedMessage:
    """Parse a body, and check that it is a valid message or batch.

    Raises:
        RequestRefusedError: The body is not a valid message or batch.
        PagefaultError: The JSON is invalid or too large; see `parse_message`.
    """
    value = parse_message(body, max_depth=max_depth)
    messages = value if isinstance(value, list) else [value]
    if len(messages) > _MAX_BATCH_MESSAGES:
        raise RequestRefusedError(413, f"a batch has at most {_MAX_BATCH_MESSAGES} messages")
    if not messages or not all(isinstance(message, dict) for message in messages):
        raise RequestRefusedError(400, "a message is a JSON object, or a list of them")
    ids = [message["id"] for message in messages if "method" in message and "id" in message]
    if not all(is_id(request_id) and not isinstance(request_id, float) for request_id in ids):
        raise RequestRefusedError(400, "the id of a request is a string or a whole number")
    tokens = [get_member(message, "params", "_meta", "progressToken") for message in messages]
    if any(
        isinstance(request_id, str) and len(request_id) > LONGEST_ID_CHARS
        for request_id in (*ids, *tokens)
    ):
        # Ids and tokens are kept in memory while the request is open.
        raise RequestRefusedError(
            400, f"an id or a token has at most {LONGEST_ID_CHARS} characters"
        )
    return _PostedMessage(value, join_lines(body) + b"\n")


def _read_accepted_types(request: Request) -> set[str]:
    """Return the media types in `Accept`, in lower case. `*/*` adds both types of responses."""
    accepted = request.headers.get("accept", "*/*").lower().split(",")
    ranges = {item.partition(";")[0].strip() for item in accepted}
    if "*/*" in ranges:
        ranges |= {"application/json", "text/event-stream"}
    return ranges


def _make_refusal_response(refusal: RequestRefusedError) -> Response:
    # The frames of the traceback would keep the body in memory.
    refusal.__traceback__ = None
    error: dict[str, Any] = {"code": refusal.code, "message": refusal.text}
    if refusal.data is not None:
        error["data"] = refusal.data
    request_id = refusal.request_id if is_id(refusal.request_id) else None
    headers = {"retry-after": "10"} if refusal.status == 503 else None
    # `json.dumps` escapes lone surrogates, which an id may have.
    content = json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error})
    return Response(content, refusal.status, headers=headers, media_type="application/json")


def _make_json_response(
    line: Line, headers: dict[str, str], *, uses_error_statuses: bool
) -> Response:
    """Return an HTTP response whose body is one JSON-RPC response.

    Args:
        line: The JSON-RPC response.
        headers: The headers.
        uses_error_statuses: The revision is 2026-07-28, which requires an HTTP status for each
            error of JSON-RPC. Otherwise the status is 200.
    """
    status = 200
    if uses_error_statuses and "error" in line.members:
        code = get_member(parse_span(line, line.members["error"]), "code")
        status = STATUSES_BY_ERROR_CODE.get(code, 200) if isinstance(code, int) else 200

    async def pieces() -> AsyncGenerator[bytes, None]:
        with line:
            for piece in line.pieces():
                yield piece

    headers = {**headers, "content-length": str(line.size_bytes)}
    return StreamingResponse(pieces(), status, headers=headers, media_type="application/json")
