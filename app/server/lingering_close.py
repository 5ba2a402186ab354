"""How a connection ends: what was answered can be read, and nobody keeps it open.

A socket that is closed while its client still sends answers with a reset, and what the client has
not read by then is lost. So the last answer is followed by the end of our side, and what the client
goes on sending is read and dropped, up to a number of bytes and for a moment. A client that takes
nothing of what it was sent is cut off.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias
from weakref import WeakKeyDictionary

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from app.http.problem_responses import problem_response
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
"""Of a request that is answered already, how much is read."""
LINGER_SECONDS = 1.0
"""How long a connection is kept after its last answer, so that the answer is read."""

MOST_ENDING = 128
"""How many connections that end may be open beyond those that are allowed at once."""

_PARTING_SECONDS = 5.0
# What is told of a connection that ends without a closing frame (RFC 6455 §7.4.1).
_NO_CLOSE_FRAME = 1006

_Deadline: TypeAlias = Literal["headers", "rest", "end", "progress"]
"""Of the headers of a request, of its body behind the answer, of the end, of what is sent."""

_ending: WeakKeyDictionary[ServerState, dict["LingeringProtocol", None]] = WeakKeyDictionary()


class LingeringProtocol(HttpToolsProtocol):
    """One connection, with a way to end it that no client can hold up."""

    _limits: Limits
    _is_ending = False
    _is_deaf = False
    """Whether what comes is dropped: an answer is the last one."""
    _answering: RequestResponseCycle | None = None
    _droppable_bytes = LINGER_BYTES

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection."""
        self._deadlines: dict[_Deadline, asyncio.TimerHandle] = {}
        super().connection_made(transport)
        self._limits = self.app_state["services"][Limits]
        self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop the deadlines with the connection, and tell the request that is being answered."""
        for deadline in self._deadlines.values():
            deadline.cancel()
        self._deadlines.clear()
        if self._answering is not None and not self._answering.response_complete:
            # uvicorn tells the request that came last, which may be one that waits.
            disconnect(self._answering)
        self._others_ending().pop(self, None)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Wait for the client to take some of what is sent, as long as it takes anything."""
        super().pause_writing()
        self._expect_progress()

    def resume_writing(self) -> None:
        """Go on sending."""
        self._drop_deadline("progress")
        super().resume_writing()
        if self._is_ending or self.transport.is_closing():
            self._expect_progress()

    def on_response_complete(self) -> None:
        """Go on to the next request, or see to it that the last answer is taken."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_close()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that nobody uses."""
        self._close()

    def shutdown(self) -> None:
        """End it with the server, without waiting for the client if all is answered."""
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
        async def answer(
            scope: "Scope", receive: "ASGIReceiveCallable", send: "ASGISendCallable"
        ) -> None:
            await app(scope, receive, self._sender(cycle, send))

        self._answering = cycle
        super()._start_asgi_task(cycle, answer)

    def _sender(self, cycle: RequestResponseCycle, send: "ASGISendCallable") -> "ASGISendCallable":
        """Return a `send` that says of the last answer of the connection that it is the last."""

        async def send_and_say(message: "ASGISendEvent") -> None:
            if message["type"] != "http.response.start" or not self._ends_with(cycle):
                await send(message)
                return
            headers = [*message.get("headers", ()), (b"connection", b"close")]
            await send({**message, "headers": headers})
            # uvicorn would close at once, and what comes then would be answered with a reset.
            cycle.keep_alive = True
            self._is_deaf = True

        return send_and_say

    def _ends_with(self, cycle: RequestResponseCycle) -> bool:
        """Tell whether nothing behind this request can be read, or is to be."""
        raise NotImplementedError

    def _is_answering(self) -> bool:
        cycle = self._answering
        return cycle is not None and not (cycle.response_complete or cycle.disconnected)

    def _can_be_read_whole(self) -> bool:
        """Tell whether the client may have all of the answer, though it is not over here."""
        cycle = self._answering
        if cycle is None or not cycle.response_started or self.transport.get_write_buffer_size():
            return False
        if cycle.scope["method"] == "HEAD":
            return True
        return not cycle.chunked_encoding and cycle.expected_content_length == 0

    def _is_one_too_many(self) -> bool:
        counted = len(self.connections) - len(self._others_ending())
        return counted > self._limits.connections_at_once

    def _close(self) -> None:
        """Close as soon as all is sent, or the client takes no more of it."""
        if not self.transport.is_closing():
            self.transport.close()
            self._watch_close()

    def _watch_close(self) -> None:
        # A transport that is closed waits until all is taken, for ever.
        if self.transport.get_write_buffer_size():
            self._expect_progress()

    def _end(self) -> None:
        """End our side after what is sent, and drop what comes until the client ends its own."""
        self._is_ending = True
        self._unset_keepalive_if_required()
        # It is not counted any more: nobody is turned away because of it.
        self._others_ending()[self] = None
        self._make_room()
        if self.transport.is_closing():
            return
        self._droppable_bytes = LINGER_BYTES
        self.flow.resume_reading()
        self.transport.write_eof()
        self._set_deadline("end", LINGER_SECONDS, self._abort_when_sent)

    def _drop(self, data: bytes) -> None:
        """Count what nobody reads any more; beyond the limit the client is left to wait."""
        if self.transport.get_protocol() is not self:
            return
        self._droppable_bytes -= len(data)
        if self._droppable_bytes < 0:
            self.flow.pause_reading()

    def _write_refusal(self, error: PagefaultError) -> None:
        answer = problem_response(error, instance="", request_id=new_id())
        headers = [*answer.raw_headers, (b"connection", b"close")]
        lines = [b"HTTP/1.1 %d \r\n" % answer.status_code]
        lines += [name + b": " + value + b"\r\n" for name, value in headers]
        self.transport.write(b"".join([*lines, b"\r\n", bytes(answer.body)]))

    def _abort_when_sent(self) -> None:
        self._drop_deadline("end")
        if self.transport.get_write_buffer_size():
            self._expect_progress()
        else:
            self.transport.abort()

    def _others_ending(self) -> dict["LingeringProtocol", None]:
        return _ending.setdefault(self.server_state, {})

    def _make_room(self) -> None:
        """Cut off who has been ending for longest, where files might run out."""
        ending = self._others_ending()
        most = self._limits.connections_at_once + MOST_ENDING
        while ending and len(self.connections) > most:
            oldest = next(iter(ending))
            del ending[oldest]
            self.connections.discard(oldest)
            oldest.transport.abort()

    def _expect_progress(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        self._set_deadline("progress", self._limits.answer_idle_seconds, self._see_progress, unsent)

    def _see_progress(self, unsent_before: int) -> None:
        self._drop_deadline("progress")
        if self.transport.get_write_buffer_size() < unsent_before:
            self._expect_progress()
        else:
            self.transport.abort()


class PartingProtocol(WebSocketsSansIOProtocol):
    """One WebSocket. A client that takes nothing cannot keep it, nor what was sent, to the end."""

    async def run_asgi(self) -> None:
        """Handle the connection, and drop what is not taken soon after."""
        await super().run_asgi()
        self.loop.call_later(_PARTING_SECONDS, self.transport.abort)

    def handle_parser_exception(self) -> None:
        """End a connection whose client sends what is no frame, also before its handshake ends."""
        if self.conn.close_sent is not None:
            super().handle_parser_exception()
            return
        # Frames may only follow the answer to the handshake (RFC 6455 §4.1), so there is no code.
        self.queue.put_nowait({"type": "websocket.disconnect", "code": _NO_CLOSE_FRAME})
        self.transport.abort()

    def keepalive_timeout(self) -> None:
        """End a connection whose client does not answer: closing it would wait for that client."""
        super().keepalive_timeout()
        self.transport.abort()


def disconnect(cycle: RequestResponseCycle) -> None:
    """Tell the application that its client has gone."""
    cycle.disconnected = True
    cycle.message_event.set()
