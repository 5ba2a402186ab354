"""How a connection ends: what was answered can be read, and nobody keeps it open.

A socket that is closed while its client still sends answers with a reset, and what the client has
not read by then is lost. So the last answer is followed by the end of our side, and what the client
goes on sending is read and dropped, up to a number of bytes and for a moment. A client that takes
nothing of what it was sent is cut off.
"""

import asyncio
from weakref import WeakKeyDictionary

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from app.errors import ServiceError
from app.http.problems import problem_response
from app.models.identity import new_id
from app.models.limits import Limits

LINGER_BYTES = 65_536
"""Of a request that is answered already, how much is read."""
LINGER_SECONDS = 1.0
"""How long a connection is kept after its last answer, so that the answer is read."""

MOST_ENDING = 128
"""How many connections that end may be open beyond those that are allowed at once."""

_ending: WeakKeyDictionary[ServerState, dict["LingeringProtocol", None]] = WeakKeyDictionary()


class LingeringProtocol(HttpToolsProtocol):
    """One connection, with a way to end it that no client can hold up."""

    _limits: Limits
    _is_ending = False
    _end_due: asyncio.TimerHandle | None = None
    _progress_due: asyncio.TimerHandle | None = None
    _droppable_bytes = LINGER_BYTES

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection."""
        super().connection_made(transport)
        self._limits = self.app_state["container"].limits
        self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop the deadlines with the connection."""
        self._forget_end()
        self._forget_progress()
        self._others_ending().pop(self, None)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Wait for the client to take some of what is sent, as long as it takes anything."""
        super().pause_writing()
        self._expect_progress()

    def resume_writing(self) -> None:
        """Go on sending."""
        self._forget_progress()
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
        self._forget_end()
        self._end_due = self.loop.call_later(LINGER_SECONDS, self._abort_when_sent)

    def _drop(self, data: bytes) -> None:
        """Count what nobody reads any more; beyond the limit the client is left to wait."""
        if self.transport.get_protocol() is not self:
            return
        self._droppable_bytes -= len(data)
        if self._droppable_bytes < 0:
            self.flow.pause_reading()

    def _write_refusal(self, error: ServiceError) -> None:
        answer = problem_response(error, instance="", request_id=new_id())
        headers = [*answer.raw_headers, (b"connection", b"close")]
        lines = [b"HTTP/1.1 %d \r\n" % answer.status_code]
        lines += [name + b": " + value + b"\r\n" for name, value in headers]
        self.transport.write(b"".join([*lines, b"\r\n", bytes(answer.body)]))

    def _abort_when_sent(self) -> None:
        self._end_due = None
        if self.transport.get_write_buffer_size():
            self._expect_progress()
        else:
            self.transport.abort()

    def _forget_end(self) -> None:
        if self._end_due is not None:
            self._end_due.cancel()
            self._end_due = None

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
        self._forget_progress()
        unsent = self.transport.get_write_buffer_size()
        self._progress_due = self.loop.call_later(
            self._limits.answer_idle_seconds, self._see_progress, unsent
        )

    def _see_progress(self, unsent_before: int) -> None:
        self._progress_due = None
        if self.transport.get_write_buffer_size() < unsent_before:
            self._expect_progress()
        else:
            self.transport.abort()

    def _forget_progress(self) -> None:
        if self._progress_due is not None:
            self._progress_due.cancel()
            self._progress_due = None
