"""One HTTP connection: uvicorn's protocol, with limits on time and bytes before and behind a body.

uvicorn waits for a request's headers for ever and takes any amount of them; it appends trailers to
the headers, queues any number of pipelined requests, goes on reading a body after its request is
answered for as long as the client likes, and answers what it cannot read with plain text. Here each
of these has a limit, and what is beyond it is answered with a problem document like every other.

A request that offers another protocol than WebSockets is taken as if it did not (RFC 9110 §7.8):
Java's client offers HTTP/2 with every request, also with those that have a body.
"""

import asyncio
from collections import deque
from typing import Any, NoReturn

import httptools
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from app.errors import HeadersTooLargeError, MalformedRequestError, OverloadedError
from app.server.lingering_close import LINGER_BYTES, LINGER_SECONDS, LingeringProtocol, disconnect
from app.server.request_target import resolve_target
from app.services.events.streams import EventStreams
from app.wiring.services import Services
from pagefault_dialects.errors import PagefaultError

# What is parsed before it is counted.
_PIECE_BYTES = 65_536
# What a header takes in memory beside its characters: as HTTP/2 counts them (RFC 9113 §6.5.2).
_HEADER_OVERHEAD_BYTES = 32
# For each byte of a body, this many more may go into sizes and ends of chunks: a chunk of one byte
# has five.
_FRAMING_PER_BYTE = 8
_MOST_PIPELINED = 16
# What the requests that wait for the answers before theirs may have together, heads and bodies.
_MOST_PIPELINED_BYTES = 32_768


class _RefusedError(Exception):
    """Ends the parsing of a request; the parser hands on any exception as one of its own."""


class _PipelineFlow(FlowControl):
    """Reads nothing more while requests wait for the answers before theirs."""

    def __init__(self, transport: asyncio.Transport, pipeline: deque[Any]) -> None:
        super().__init__(transport)
        self._pipeline = pipeline

    def resume_reading(self) -> None:
        """Read on, if nothing waits."""
        if not self._pipeline:
            super().resume_reading()


class DeadlineProtocol(LingeringProtocol):
    """One connection. Headers that take too long, or are too many, end it.

    One too many is answered without being asked, and what it says is not read.
    """

    _refusal: PagefaultError | None = None
    # Of the request that arrives:
    _offers_another_protocol = False
    _is_resuming = False
    """True while a new parser is fed a made-up head that brings it to the state of the old one."""
    _is_in_headers = False
    _is_in_body = False
    _header_bytes = 0
    _announced_bytes: int | None = None
    _body_bytes = 0
    # Of what was received since a request began, or its headers ended: what is no body.
    _framing_bytes = 0
    _has_begun_a_part = False
    # Of the requests that wait for the answers before theirs:
    _waiting_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the deadline of the first request."""
        super().connection_made(transport)
        self.flow = _PipelineFlow(transport, self.pipeline)
        if self._is_one_too_many():
            self._is_deaf = True
            self._write_refusal(OverloadedError())
            self._end()
        else:
            self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop the requests that wait with the connection."""
        self.pipeline.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what has come, and count what is neither headers nor a body."""
        for start in range(0, len(data), _PIECE_BYTES):
            piece = data[start : start + _PIECE_BYTES]
            if self._is_deaf:
                self._drop(piece)
                continue
            before = self._body_bytes
            self._has_begun_a_part = False
            self._parse(piece)
            self._count_framing(len(piece), self._body_bytes - before)
        if "headers" not in self._deadlines and self._is_idle():
            self._expect_headers()

    def on_message_begin(self) -> None:
        """Start the deadline of a request."""
        if self._is_resuming:
            return
        if len(self.pipeline) >= _MOST_PIPELINED:
            self._fail_sent_ahead()
        super().on_message_begin()
        self._has_begun_a_part = True
        self._is_in_headers = True
        self._header_bytes = 0
        self._expect_headers()

    def on_url(self, url: bytes) -> None:
        """Take a piece of the target."""
        if self._is_resuming:
            return
        self._count_header(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; a trailer is dropped, since nothing here is to be read from one."""
        if self._is_in_headers and not self._is_resuming:
            self._count_header(len(name) + len(value) + _HEADER_OVERHEAD_BYTES)
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Hand the request to the application."""
        if self._is_resuming:
            return
        self._has_begun_a_part = True
        self._is_in_headers = False
        self._drop_deadline("headers")
        self._settle_head()
        super().on_headers_complete()
        self._is_in_body = True
        if self.parser.should_upgrade():
            if self._is_handed_over():
                # What follows is another protocol, and never to be read as a request.
                self._is_deaf = True
            else:
                self._offers_another_protocol = True
        # For answers without an end: a transport that is closed waits until all is taken.
        self.scope.setdefault("state", {})["abort"] = self.transport.abort

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._body_bytes += len(body)
        if self.cycle is not self._answering:
            self._count_waiting(len(body))
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Take the end of the body."""
        if self._offers_another_protocol:
            # The parser ends the request behind its headers, and says then where that was.
            return
        self._is_in_body = False
        self._drop_deadline("rest")
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection to the protocol of WebSockets."""
        if self._is_answering():
            self._refuse(MalformedRequestError("Wait for answers before you open a WebSocket."))
            return
        self._is_deaf = True
        super().handle_websocket_upgrade()

    def on_response_complete(self) -> None:
        """Go on to the next request, if there is to be one."""
        answered = self._answering
        super().on_response_complete()
        if not self.pipeline:
            self._waiting_bytes = 0
        if answered is None or self.transport.is_closing():
            return
        self.flow.resume_reading()
        if answered is not self._answering:
            return
        answered.body = bytearray()
        if self._is_deaf:
            self._end()
        elif self._is_in_body and answered is self.cycle:
            self._set_deadline("rest", LINGER_SECONDS, self.transport.abort)

    def shutdown(self) -> None:
        """End the streams of events: the server waits for every answer to end."""
        services: Services = self.app_state["services"]
        services[EventStreams].end()
        super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP request, or one that was found wanting while it was parsed."""
        self._refuse(self._refusal or MalformedRequestError("This is not an HTTP/1.1 request."))

    def _ends_with(self, cycle: RequestResponseCycle) -> bool:
        """Tell whether nothing behind this request can be read, or is to be."""
        if self._is_in_body and cycle is self.cycle:
            return not cycle.keep_alive or not self._is_rest_small(cycle)
        return self._is_deaf and not self.pipeline

    def _is_rest_small(self, cycle: RequestResponseCycle) -> bool:
        if self._announced_bytes is None or cycle.waiting_for_100_continue:
            return False
        return self._announced_bytes - self._body_bytes <= LINGER_BYTES

    def _is_idle(self) -> bool:
        is_arriving = self._is_in_headers or self._is_in_body
        return not (is_arriving or self._is_deaf or self._is_answering())

    def _settle_head(self) -> None:
        """Check the host and the length of the request whose headers are complete."""
        version = self.parser.get_http_version()
        try:
            self.url, self.headers[:] = resolve_target(self.url, self.headers, http_version=version)
        except MalformedRequestError as exc:
            self._fail(exc)
        lengths = [value for name, value in self.headers if name == b"content-length"]
        is_chunked = any(name == b"transfer-encoding" for name, _ in self.headers)
        self._announced_bytes = None if is_chunked else int(lengths[0]) if lengths else 0
        self._body_bytes = 0
        is_handed_over = self.parser.should_upgrade() and self._is_handed_over()
        if is_handed_over and self._announced_bytes != 0:
            self._fail(MalformedRequestError("Open a WebSocket or a tunnel without a body."))

    def _is_handed_over(self) -> bool:
        """Tell whether what follows the headers belongs to another protocol.

        That is so behind a request for a WebSocket, and behind CONNECT, which asks for a tunnel.
        """
        return self._should_upgrade() or self.parser.get_method() == b"CONNECT"

    def _parse(self, piece: bytes) -> None:
        self._unset_keepalive_if_required()
        while True:
            try:
                self.parser.feed_data(piece)
            except httptools.HttpParserError as exc:
                self.send_400_response(str(exc))
            except httptools.HttpParserUpgrade as exc:
                if self._offers_another_protocol:
                    (end_of_head,) = exc.args
                    piece = piece[end_of_head:]
                    self._resume_behind_head()
                    continue
                if self._should_upgrade():
                    self.handle_websocket_upgrade()
            return

    def _resume_behind_head(self) -> None:
        """Let a new parser read the body: the one before leaves all that follows alone."""
        self._offers_another_protocol = False
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        framing = [
            b"%b: %b\r\n" % (name, value)
            for name, value in self.headers
            if name in (b"content-length", b"transfer-encoding")
        ]
        if not self.cycle.keep_alive:
            framing.append(b"connection: close\r\n")
        self._is_resuming = True
        # Without a body this is the end of the request.
        self.parser.feed_data(b"POST / HTTP/1.1\r\n" + b"".join(framing) + b"\r\n")
        self._is_resuming = False

    def _count_header(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > self._limits.header_bytes:
            self._fail(self._headers_too_large())
        if self._is_answering():
            self._count_waiting(size)

    def _count_waiting(self, size: int) -> None:
        """Count what has come of requests that wait, unless the client may send them by now.

        Reading is paused once one waits. What was read together with it is kept until its turn
        comes, and answers without an end may be before it.
        """
        if self._can_be_read_whole():
            return
        self._waiting_bytes += size
        if self._waiting_bytes > _MOST_PIPELINED_BYTES:
            self._fail_sent_ahead()

    def _fail_sent_ahead(self) -> NoReturn:
        self._fail(MalformedRequestError("Wait for answers before you send more requests."))

    def _count_framing(self, received: int, body: int) -> None:
        if self._has_begun_a_part:
            self._framing_bytes = 0
            return
        framing = self._framing_bytes + received - body - _FRAMING_PER_BYTE * body
        self._framing_bytes = max(0, framing)
        if self._is_deaf or framing <= self._limits.header_bytes:
            return
        if self._is_in_headers:
            self._refuse(self._headers_too_large())
        else:
            self._refuse(
                MalformedRequestError(
                    f"Trailers, chunk extensions and empty lines may have "
                    f"{self._limits.header_bytes} bytes."
                )
            )

    def _headers_too_large(self) -> HeadersTooLargeError:
        return HeadersTooLargeError(
            f"The headers of a request may have {self._limits.header_bytes} bytes, and each "
            f"counts {_HEADER_OVERHEAD_BYTES} more."
        )

    def _fail(self, error: PagefaultError) -> NoReturn:
        self._refusal = error
        raise _RefusedError

    def _refuse(self, error: PagefaultError) -> None:
        """Answer what cannot be taken, in its turn, and end the connection."""
        self._is_deaf = True
        self._drop_deadline("headers")
        if self._is_in_body and not self.cycle.response_complete:
            self._refuse_body(error)
        elif not self._is_answering():
            self._write_refusal(error)
            self._end()

    def _refuse_body(self, error: PagefaultError) -> None:
        """Refuse a request whose body cannot be read, whether or not it is being answered."""
        self._is_in_body = False
        cycle = self.cycle
        if cycle is not self._answering:
            # It waits for its turn, and this was not the last of its bytes.
            self.pipeline.popleft()
            cycle.body = bytearray()
            return
        disconnect(cycle)
        if not cycle.response_started:
            self._write_refusal(error)
        self._end()

    def _expect_headers(self) -> None:
        self._set_deadline("headers", self._limits.header_seconds, self._give_up)

    def _give_up(self) -> None:
        self._drop_deadline("headers")
        if self._is_answering():
            # It may have begun early, and is not to cost the answer before it.
            self._expect_headers()
            return
        # Nobody has asked for anything yet, so nobody waits for an answer.
        self._close()
