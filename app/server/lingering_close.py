"""Lingering close of connections: the client can read the last response, for a limited time.

If a socket is closed while its client is still sending, the client gets a reset, and loses the
unread part of the response. So the service half-closes the connection after the last response, and
reads and drops up to `LINGER_BYTES` for `LINGER_SECONDS`. A client that reads nothing is
disconnected.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias
from weakref import WeakKeyDictionary

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from app.http.problem_types import problem_response
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
"""Bytes that are read of a request after its response."""
LINGER_SECONDS = 1.0
"""Time for the client to read the last response."""

MAX_ENDING = 128
"""Closing connections that may be open beyond the limit of connections."""

_PARTING_SECONDS = 5.0
# The code of a connection that ends without a close frame (RFC 6455 §7.4.1).
_NO_CLOSE_FRAME = 1006

_Deadline: TypeAlias = Literal["headers", "rest", "end", "progress"]
"""Deadlines: of headers, of the rest of a body after its response, of the close, of sending."""

_ending: WeakKeyDictionary[ServerState, dict["LingeringProtocol", None]] = WeakKeyDictionary()


class LingeringProtocol(HttpToolsProtocol):
    """One connection, which is closed within a limited time, whatever the client does."""

    _limits: Limits
    _is_ending = False
    _ignores_input = False
    """True after the last response has begun: received bytes are dropped."""
    _answering: RequestResponseCycle | None = None
    _droppable_bytes = LINGER_BYTES

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the connection."""
        self._deadlines: dict[_Deadline, asyncio.TimerHandle] = {}
        super().connection_made(transport)
        self._limits = self.app_state["services"][Limits]
        self.timeout_keep_alive = self._limits.keep_alive_seconds
        self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadlines, and end the current request."""
        for deadline in self._deadlines.values():
            deadline.cancel()
        self._deadlines.clear()
        if self._answering is not None and not self._answering.response_complete:
            # uvicorn ends the newest request, which may be a waiting one.
            disconnect(self._answering)
        self._closing_connections().pop(self, None)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Wait for the client to read, as long as it makes progress."""
        super().pause_writing()
        self._expect_progress()

    def resume_writing(self) -> None:
        """Resume sending."""
        self._drop_deadline("progress")
        super().resume_writing()
        if self._is_ending or self.transport.is_closing():
            self._expect_progress()

    def on_response_complete(self) -> None:
        """Continue with the next request, or watch the sending of the last response."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_close()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection."""
        self._close()

    def shutdown(self) -> None:
        """Close the connection when the server stops; without an open request, at once."""
        if self._is_ending:
            self.transport.abort()
        else:
            super().shutdown()

    def _set_deadline(
        self, name: _Deadline, seconds: float, call: Callable[..., object], *args: object
    ) -> None:
        self._drop_deadline(name)
        self._deadlines[name] = self.loop.call_later(seconds, call, *args)

    def _drop_deadline(self, name: _Deadline) -> None:
        if deadline := self._deadlines.pop(name, None):
            deadline.cancel()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: "ASGI3Application") -> None:
        async def run_app(
            scope: "Scope", receive: "ASGIReceiveCallable", send: "ASGISendCallable"
        ) -> None:
            try:
                await app(scope, receive, self._sender(cycle, send))
            except Exception as exc:
                if not cycle.response_complete:
                    raise
                # uvicorn would log the same, and then close; an unread body would cause a reset.
                self.logger.error("Exception in ASGI application\n", exc_info=exc)

        self._answering = cycle
        super()._start_asgi_task(cycle, run_app)

    def _sender(self, cycle: RequestResponseCycle, send: "ASGISendCallable") -> "ASGISendCallable":
        """Return a `send` that adds `connection: close` to the last response."""

        async def send_with_close(message: "ASGISendEvent") -> None:
            if message["type"] != "http.response.start" or not self._ends_with(cycle):
                await send(message)
                return
            headers = [*message.get("headers", ()), (b"connection", b"close")]
            await send({**message, "headers": headers})
            # Otherwise uvicorn closes at once, and later bytes of the client cause a reset.
            cycle.keep_alive = True
            self._ignores_input = True

        return send_with_close

    def _ends_with(self, cycle: RequestResponseCycle) -> bool:
        """Return whether the connection ends with this request."""
        raise NotImplementedError

    def _is_answering(self) -> bool:
        cycle = self._answering
        return cycle is not None and not (cycle.response_complete or cycle.disconnected)

    def _may_be_received(self) -> bool:
        """Return whether the client may have received a response that has not ended here."""
        cycle = self._answering
        if cycle is None or not cycle.response_started or self.transport.get_write_buffer_size():
            return False
        if cycle.scope["method"] == "HEAD":
            return True
        return not cycle.chunked_encoding and cycle.expected_content_length == 0

    def _is_over_limit(self) -> bool:
        counted = len(self.connections) - len(self._closing_connections())
        return counted > self._limits.connections_at_once

    def _close(self) -> None:
        """Close after all bytes are sent, or the client makes no progress."""
        if not self.transport.is_closing():
            self.transport.close()
            self._watch_close()

    def _watch_close(self) -> None:
        # A closed transport waits without a timeout until all bytes are sent.
        if self.transport.get_write_buffer_size():
            self._expect_progress()

    def _half_close(self) -> None:
        """Half-close after the sent bytes, and drop input until the client closes as well."""
        self._is_ending = True
        self._unset_keepalive_if_required()
        # Closing connections do not count against the limit of connections.
        self._closing_connections()[self] = None
        self._make_room()
        if self.transport.is_closing():
            return
        self._droppable_bytes = LINGER_BYTES
        self.flow.resume_reading()
        self.transport.write_eof()
        self._set_deadline("end", LINGER_SECONDS, self._abort_when_sent)

    def _drop(self, data: bytes) -> None:
        """Count dropped bytes, and pause reading above the limit."""
        if self.transport.get_protocol() is not self:
            return
        self._droppable_bytes -= len(data)
        if self._droppable_bytes < 0:
            self.flow.pause_reading()

    def _write_refusal(self, error: PagefaultError) -> None:
        response = problem_response(error, instance="", request_id=new_id())
        headers = [*response.raw_headers, (b"connection", b"close")]
        lines = [b"HTTP/1.1 %d \r\n" % response.status_code]
        lines += [name + b": " + value + b"\r\n" for name, value in headers]
        self.transport.write(b"".join([*lines, b"\r\n", bytes(response.body)]))

    def _abort_when_sent(self) -> None:
        self._drop_deadline("end")
        if self.transport.get_write_buffer_size():
            self._expect_progress()
        else:
            self.transport.abort()

    def _closing_connections(self) -> dict["LingeringProtocol", None]:
        return _ending.setdefault(self.server_state, {})

    def _make_room(self) -> None:
        """Abort the oldest closing connections if file descriptors might run out."""
        ending = self._closing_connections()
        max_connections = self._limits.connections_at_once + MAX_ENDING
        while ending and len(self.connections) > max_connections:
            oldest = next(iter(ending))
            del ending[oldest]
            self.connections.discard(oldest)
            oldest.transport.abort()

    def _expect_progress(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        idle_seconds = self._limits.answer_idle_seconds
        self._set_deadline("progress", idle_seconds, self._check_progress, unsent)

    def _check_progress(self, unsent_before: int) -> None:
        self._drop_deadline("progress")
        if self.transport.get_write_buffer_size() < unsent_before:
            self._expect_progress()
        else:
            self.transport.abort()


class PartingProtocol(WebSocketsSansIOProtocol):
    """One WebSocket, which is closed even if its client reads nothing."""

    async def run_asgi(self) -> None:
        """Handle the connection, and abort it soon after its end."""
        await super().run_asgi()
        self.loop.call_later(_PARTING_SECONDS, self.transport.abort)

    def handle_parser_exception(self) -> None:
        """End a connection after an invalid frame, also before the handshake has ended."""
        if self.conn.close_sent is not None:
            super().handle_parser_exception()
            return
        # Before the response to the handshake there are no frames (RFC 6455 §4.1), so no close
        # code.
        self.queue.put_nowait({"type": "websocket.disconnect", "code": _NO_CLOSE_FRAME})
        self.transport.abort()

    def keepalive_timeout(self) -> None:
        """Abort a connection whose client sends no pong; a close would wait for the client."""
        super().keepalive_timeout()
        self.transport.abort()


def disconnect(cycle: RequestResponseCycle) -> None:
    """Signal to the application that its client has disconnected."""
    cycle.disconnected = True
    cycle.message_event.set()
