"""uvicorn's protocol classes, extended so that closing a connection neither resets it nor hangs.

If a socket is closed while its client is still sending, TCP resets the connection, and the client
loses the unread part of the response. So the service first closes only its sending side (a
half-close). It then reads and drops up to `LINGER_BYTES` of input for `LINGER_SECONDS`. This is
known as a lingering close. Connections of clients that read nothing are aborted.

In uvicorn, a cycle is one request with its response. `self.cycle` is the cycle of the newest
request; it waits in `self.pipeline` while an earlier request is handled.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias
from weakref import WeakKeyDictionary

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from app.http.problem_types import build_problem_response
from app.models.identity import new_id
from app.models.limits import Limits
from pagefault_dialects.errors import PagefaultError

if TYPE_CHECKING:
    from uvicorn._types import (
        ASGI3Application,
        ASGIReceiveCallable,
        ASGISendCallable,
        ASGISendEvent,
        Scope,
    )

LINGER_BYTES = 65_536
"""The number of bytes that are read and dropped after a response."""
LINGER_SECONDS = 1.0
"""The time for which input is dropped after a response."""

MAX_CLOSING_CONNECTIONS = 128
"""The number of half-closed connections that may be open in addition to the connection limit."""

# The time for the close handshake of a WebSocket.
_WEBSOCKET_CLOSE_SECONDS = 5.0
# The code for a connection that ends without a close frame (RFC 6455 §7.4.1).
_NO_CLOSE_FRAME = 1006

_Deadline: TypeAlias = Literal["headers", "rest", "close", "progress"]
"""What a deadline limits. `headers`: the time until the headers of a request are complete. `rest`:
the time to receive the rest of a body after its response. `close`: the time for which a half-closed
connection drops input. `progress`: the time in which the client must read some of the unsent
bytes."""

# The half-closed connections of each server, oldest first; a dict is used as an ordered set.
_closing_by_server: WeakKeyDictionary[ServerState, dict["LingeringProtocol", None]] = (
    WeakKeyDictionary()
)


class LingeringProtocol(HttpToolsProtocol):
    """The protocol of one HTTP connection, whose close takes a limited time."""

    _limits: Limits
    _is_half_closed = False
    _ignores_input = False
    """True if no further request is accepted, so received bytes are dropped."""
    _active_cycle: RequestResponseCycle | None = None
    """The newest request that was passed to the application, with its response."""
    _droppable_bytes = LINGER_BYTES
    """The number of bytes that may still be dropped before reading is paused."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the connection."""
        self._deadlines: dict[_Deadline, asyncio.TimerHandle] = {}
        super().connection_made(transport)
        self._limits = self.app_state["services"][Limits]
        self.timeout_keep_alive = self._limits.keep_alive_seconds
        self._abort_oldest_closing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadlines, and signal the disconnect to the application."""
        for deadline in self._deadlines.values():
            deadline.cancel()
        self._deadlines.clear()
        if self._active_cycle is not None and not self._active_cycle.response_complete:
            # uvicorn signals it only to the newest request, which may still wait for its turn.
            disconnect(self._active_cycle)
        self._closing_connections().pop(self, None)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Stop sending until the client has read, and abort if it reads nothing for too long."""
        super().pause_writing()
        self._expect_progress()

    def resume_writing(self) -> None:
        """Resume sending."""
        self._cancel_deadline("progress")
        super().resume_writing()
        if self._is_half_closed or self.transport.is_closing():
            self._expect_progress()

    def on_response_complete(self) -> None:
        """Start the next request; after the last response, limit the time to send it."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_close()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection."""
        self._close()

    def shutdown(self) -> None:
        """Close the connection because the server stops: an open request is finished first."""
        if self._is_half_closed:
            self.transport.abort()
        else:
            super().shutdown()

    def _set_deadline(
        self, name: _Deadline, seconds: float, call: Callable[..., object], *args: object
    ) -> None:
        self._cancel_deadline(name)
        self._deadlines[name] = self.loop.call_later(seconds, call, *args)

    def _cancel_deadline(self, name: _Deadline) -> None:
        if deadline := self._deadlines.pop(name, None):
            deadline.cancel()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: "ASGI3Application") -> None:
        async def run_app(
            scope: "Scope", receive: "ASGIReceiveCallable", send: "ASGISendCallable"
        ) -> None:
            try:
                await app(scope, receive, self._wrap_send(cycle, send))
            except Exception as exc:
                if not cycle.response_complete:
                    raise
                # uvicorn would also log this, but then close: an unread body would cause a reset.
                self.logger.error("Exception in ASGI application\n", exc_info=exc)

        self._active_cycle = cycle
        super()._start_asgi_task(cycle, run_app)

    def _wrap_send(
        self, cycle: RequestResponseCycle, send: "ASGISendCallable"
    ) -> "ASGISendCallable":
        """Return a `send` that adds `connection: close` to the last response."""

        async def send_with_close(message: "ASGISendEvent") -> None:
            if message["type"] != "http.response.start" or not self._closes_after(cycle):
                await send(message)
                return
            headers = [*message.get("headers", ()), (b"connection", b"close")]
            await send({**message, "headers": headers})
            # Without `keep_alive`, uvicorn closes at once: bytes that the client still sends
            # would cause a reset.
            cycle.keep_alive = True
            self._ignores_input = True

        return send_with_close

    def _closes_after(self, cycle: RequestResponseCycle) -> bool:
        """Return whether the connection is closed after the response to this request."""
        raise NotImplementedError

    def _is_responding(self) -> bool:
        cycle = self._active_cycle
        return cycle is not None and not (cycle.response_complete or cycle.disconnected)

    def _may_response_be_received(self) -> bool:
        """Return whether the client may have the whole response before the application ends it."""
        cycle = self._active_cycle
        if cycle is None or not cycle.response_started or self.transport.get_write_buffer_size():
            return False
        if cycle.scope["method"] == "HEAD":
            return True
        return not cycle.chunked_encoding and cycle.expected_content_length == 0

    def _is_over_limit(self) -> bool:
        open_connections = len(self.connections) - len(self._closing_connections())
        return open_connections > self._limits.connections_at_once

    def _close(self) -> None:
        """Close when all bytes are sent, or abort if the client reads nothing for too long."""
        if not self.transport.is_closing():
            self.transport.close()
            self._watch_close()

    def _watch_close(self) -> None:
        # A closed transport waits without a timeout until all bytes are sent.
        if self.transport.get_write_buffer_size():
            self._expect_progress()

    def _half_close(self) -> None:
        """Close the sending side, and drop input until the client closes or the time is over."""
        self._is_half_closed = True
        self._unset_keepalive_if_required()
        # Half-closed connections do not count towards the connection limit.
        self._closing_connections()[self] = None
        self._abort_oldest_closing()
        if self.transport.is_closing():
            return
        self._droppable_bytes = LINGER_BYTES
        self.flow.resume_reading()
        self.transport.write_eof()
        self._set_deadline("close", LINGER_SECONDS, self._abort_when_sent)

    def _drop_input(self, data: bytes) -> None:
        """Count dropped bytes, and pause reading above the limit."""
        if self.transport.get_protocol() is not self:
            # The connection has become a WebSocket.
            return
        self._droppable_bytes -= len(data)
        if self._droppable_bytes < 0:
            self.flow.pause_reading()

    def _write_error(self, error: PagefaultError) -> None:
        response = build_problem_response(error, instance="", request_id=new_id())
        headers = [*response.raw_headers, (b"connection", b"close")]
        lines = [b"HTTP/1.1 %d \r\n" % response.status_code]
        lines += [name + b": " + value + b"\r\n" for name, value in headers]
        self.transport.write(b"".join([*lines, b"\r\n", bytes(response.body)]))

    def _abort_when_sent(self) -> None:
        self._cancel_deadline("close")
        if self.transport.get_write_buffer_size():
            self._expect_progress()
        else:
            self.transport.abort()

    def _closing_connections(self) -> dict["LingeringProtocol", None]:
        return _closing_by_server.setdefault(self.server_state, {})

    def _abort_oldest_closing(self) -> None:
        """Abort the oldest half-closed connections if file descriptors might run out."""
        closing = self._closing_connections()
        max_connections = self._limits.connections_at_once + MAX_CLOSING_CONNECTIONS
        while closing and len(self.connections) > max_connections:
            oldest = next(iter(closing))
            del closing[oldest]
            self.connections.discard(oldest)
            oldest.transport.abort()

    def _expect_progress(self) -> None:
        """Abort the connection unless the client reads some of the unsent bytes in time."""
        unsent = self.transport.get_write_buffer_size()
        idle_seconds = self._limits.answer_idle_seconds
        self._set_deadline("progress", idle_seconds, self._check_progress, unsent)

    def _check_progress(self, previous_unsent: int) -> None:
        self._cancel_deadline("progress")
        if self.transport.get_write_buffer_size() < previous_unsent:
            self._expect_progress()
        else:
            self.transport.abort()


class AbortingWebSocketProtocol(WebSocketsSansIOProtocol):
    """The protocol of one WebSocket, which is aborted if the client does not complete the close."""

    async def run_asgi(self) -> None:
        """Run the application. Abort the connection if it is still open 5 seconds later."""
        await super().run_asgi()
        self.loop.call_later(_WEBSOCKET_CLOSE_SECONDS, self.transport.abort)

    def handle_parser_exception(self) -> None:
        """End a connection after an invalid frame, also if the handshake is not complete."""
        if self.conn.close_sent is not None:
            super().handle_parser_exception()
            return
        # Before the response to the handshake no frames may be sent (RFC 6455 §4.1), so the
        # service cannot send a close frame.
        self.queue.put_nowait({"type": "websocket.disconnect", "code": _NO_CLOSE_FRAME})
        self.transport.abort()

    def keepalive_timeout(self) -> None:
        """Abort a connection whose client sends no pong; a close frame would have no reply."""
        super().keepalive_timeout()
        self.transport.abort()


def disconnect(cycle: RequestResponseCycle) -> None:
    """Signal to the application that the client of this request has disconnected."""
    cycle.disconnected = True
    cycle.message_event.set()
