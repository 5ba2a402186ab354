"""One HTTP connection: uvicorn's protocol with limits on headers, pipelining and unread bodies.

uvicorn has no timeout or size limit for headers, appends trailers to the headers, queues any number
of pipelined requests, reads the rest of a body after the response without a limit, and sends plain
text for invalid requests. Here headers, pipelining and unread bodies have limits, trailers are
dropped, and errors are problem documents.

An `Upgrade` to another protocol than WebSockets is ignored (RFC 9110 §7.8): Java's client offers
HTTP/2 with every request, even with a body.
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

# Received bytes are parsed and counted in pieces of this size.
_PIECE_BYTES = 65_536
# Overhead of a header in memory, as HTTP/2 counts it (RFC 9113 §6.5.2).
_HEADER_OVERHEAD_BYTES = 32
# Allowed framing for each byte of a chunked body; a chunk of one byte has five.
_FRAMING_PER_BYTE = 8
_MAX_PIPELINED = 16
# Maximum size, headers and bodies, of all pipelined requests that wait for earlier responses.
_MAX_PIPELINED_BYTES = 32_768


class _RefusedError(Exception):
    """Ends the parsing of a request; the parser wraps it in another exception."""


class _PipelineFlow(FlowControl):
    """Pauses reading while pipelined requests wait for earlier responses."""

    def __init__(self, transport: asyncio.Transport, pipeline: deque[Any]) -> None:
        super().__init__(transport)
        self._pipeline = pipeline

    def resume_reading(self) -> None:
        """Resume reading, unless requests wait."""
        if not self._pipeline:
            super().resume_reading()


class DeadlineProtocol(LingeringProtocol):
    """One connection, which is closed if headers are too slow or too large.

    A connection beyond the maximum number of connections gets a 503 at once, and its input is
    ignored.
    """

    _refusal: PagefaultError | None = None
    # State of the request that is being received:
    _offers_another_protocol = False
    _is_resuming = False
    """True while a new parser reads generated headers, to get into the state of the old parser."""
    _is_in_headers = False
    _is_in_body = False
    _header_bytes = 0
    _announced_bytes: int | None = None
    _body_bytes = 0
    # Bytes since the beginning of the request or its body that are not part of a body, less the
    # allowance of `_FRAMING_PER_BYTE` for each byte of the body.
    _framing_bytes = 0
    # True if a request or a body has begun in the current piece of received bytes.
    _piece_begins_request_or_body = False
    # Bytes of pipelined requests that wait for earlier responses:
    _waiting_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the deadline of the first request."""
        super().connection_made(transport)
        self.flow = _PipelineFlow(transport, self.pipeline)
        if self._is_over_limit():
            self._ignores_input = True
            self._write_refusal(OverloadedError())
            self._half_close()
        else:
            self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop the requests that wait."""
        self.pipeline.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse received bytes, and count bytes that are neither headers nor a body."""
        for start in range(0, len(data), _PIECE_BYTES):
            piece = data[start : start + _PIECE_BYTES]
            if self._ignores_input:
                self._drop(piece)
                continue
            before = self._body_bytes
            self._piece_begins_request_or_body = False
            self._parse(piece)
            self._count_framing(len(piece), self._body_bytes - before)
        if "headers" not in self._deadlines and self._is_idle():
            # uvicorn stops its timer for idle connections when bytes are received.
            self._set_deadline("headers", self.timeout_keep_alive, self._give_up)

    def on_message_begin(self) -> None:
        """Start the deadline of a request."""
        if self._is_resuming:
            return
        if len(self.pipeline) >= _MAX_PIPELINED:
            self._fail_pipelining()
        super().on_message_begin()
        self._piece_begins_request_or_body = True
        self._is_in_headers = True
        self._header_bytes = 0
        self._expect_headers()

    def on_url(self, url: bytes) -> None:
        """Append a piece of the request target."""
        if self._is_resuming:
            return
        self._count_header(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Append a header; trailers are dropped."""
        if self._is_in_headers and not self._is_resuming:
            self._count_header(len(name) + len(value) + _HEADER_OVERHEAD_BYTES)
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start the application with the request."""
        if self._is_resuming:
            return
        self._piece_begins_request_or_body = True
        self._is_in_headers = False
        self._drop_deadline("headers")
        self._check_headers()
        super().on_headers_complete()
        self._is_in_body = True
        if self.parser.should_upgrade():
            if self._is_accepted_upgrade():
                # The following bytes belong to another protocol and must not be read as a request.
                self._ignores_input = True
            else:
                self._offers_another_protocol = True
        # For endless responses, because `transport.close` waits until all bytes are sent.
        self.scope.setdefault("state", {})["abort"] = self.transport.abort

    def on_body(self, body: bytes) -> None:
        """Append a piece of the body."""
        self._body_bytes += len(body)
        if self.cycle is not self._answering:
            self._count_waiting(len(body))
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the body."""
        if self._offers_another_protocol:
            # The parser ends the request after its headers, and raises an error with that position.
            return
        self._is_in_body = False
        self._drop_deadline("rest")
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Switch the connection to the WebSocket protocol."""
        if self._is_answering():
            self._refuse(MalformedRequestError("Wait for answers before you open a WebSocket."))
            return
        self._ignores_input = True
        super().handle_websocket_upgrade()

    def on_response_complete(self) -> None:
        """Continue with the next request, unless the connection ends."""
        answered = self._answering
        super().on_response_complete()
        if not self.pipeline:
            self._waiting_bytes = 0
        if answered is None or self.transport.is_closing():
            return
        self.flow.resume_reading()
        if answered is not self._answering:
            # The next pipelined request is being answered already.
            return
        answered.body = bytearray()
        if self._ignores_input:
            self._half_close()
        elif self._is_in_body and answered is self.cycle:
            self._set_deadline("rest", LINGER_SECONDS, self.transport.abort)

    def shutdown(self) -> None:
        """End all streams of events, because the server waits for the end of every response."""
        services: Services = self.app_state["services"]
        services[EventStreams].end()
        super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """Send the error that ended the parsing of an invalid request."""
        self._refuse(self._refusal or MalformedRequestError("This is not an HTTP/1.1 request."))

    def _ends_with(self, cycle: RequestResponseCycle) -> bool:
        """Return whether the connection is closed after this request."""
        if self._is_in_body and cycle is self.cycle:
            return not cycle.keep_alive or not self._is_rest_small(cycle)
        return self._ignores_input and not self.pipeline

    def _is_rest_small(self, cycle: RequestResponseCycle) -> bool:
        if self._announced_bytes is None or cycle.waiting_for_100_continue:
            return False
        return self._announced_bytes - self._body_bytes <= LINGER_BYTES

    def _is_idle(self) -> bool:
        is_arriving = self._is_in_headers or self._is_in_body
        return not (is_arriving or self._ignores_input or self._is_answering())

    def _check_headers(self) -> None:
        """Check the host and the length of a request after its headers."""
        version = self.parser.get_http_version()
        try:
            self.url, self.headers[:] = resolve_target(self.url, self.headers, http_version=version)
        except MalformedRequestError as exc:
            self._fail(exc)
        lengths = [value for name, value in self.headers if name == b"content-length"]
        is_chunked = any(name == b"transfer-encoding" for name, _ in self.headers)
        self._announced_bytes = None if is_chunked else int(lengths[0]) if lengths else 0
        self._body_bytes = 0
        is_upgrade = self.parser.should_upgrade() and self._is_accepted_upgrade()
        if is_upgrade and self._announced_bytes != 0:
            self._fail(MalformedRequestError("Open a WebSocket or a tunnel without a body."))

    def _is_accepted_upgrade(self) -> bool:
        """Return whether a WebSocket, or a tunnel of CONNECT, follows the headers."""
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
                    (end_of_headers,) = exc.args
                    piece = piece[end_of_headers:]
                    self._resume_after_headers()
                    continue
                if self._should_upgrade():
                    self.handle_websocket_upgrade()
            return

    def _resume_after_headers(self) -> None:
        """Read the body with a new parser, because the old one reads nothing after the headers."""
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
        # If the request has no body, it ends here.
        self.parser.feed_data(b"POST / HTTP/1.1\r\n" + b"".join(framing) + b"\r\n")
        self._is_resuming = False

    def _count_header(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > self._limits.header_bytes:
            self._fail(self._headers_too_large())
        if self._is_answering():
            self._count_waiting(size)

    def _count_waiting(self, size: int) -> None:
        """Count bytes of waiting requests.

        They are not counted if the client may already have received the earlier response: then it
        is not pipelining.

        Reading is paused while a request waits. Bytes that were received with it stay in memory
        until its turn, which may come after an endless response.
        """
        if self._may_be_received():
            return
        self._waiting_bytes += size
        if self._waiting_bytes > _MAX_PIPELINED_BYTES:
            self._fail_pipelining()

    def _fail_pipelining(self) -> NoReturn:
        self._fail(MalformedRequestError("Wait for answers before you send more requests."))

    def _count_framing(self, received: int, body: int) -> None:
        if self._piece_begins_request_or_body:
            self._framing_bytes = 0
            return
        framing = self._framing_bytes + received - body - _FRAMING_PER_BYTE * body
        self._framing_bytes = max(0, framing)
        if self._ignores_input or framing <= self._limits.header_bytes:
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
        """Send an error, and close the connection.

        If an earlier request is being answered, no error is sent, and the connection is closed
        after that response.
        """
        self._ignores_input = True
        self._drop_deadline("headers")
        if self._is_in_body and not self.cycle.response_complete:
            self._refuse_body(error)
        elif not self._is_answering():
            self._write_refusal(error)
            self._half_close()

    def _refuse_body(self, error: PagefaultError) -> None:
        """Refuse a request with an invalid body.

        No error is sent if its response has begun, or if it waits for an earlier response.
        """
        self._is_in_body = False
        cycle = self.cycle
        if cycle is not self._answering:
            # The request waits for its turn, and its body is not complete.
            self.pipeline.popleft()
            cycle.body = bytearray()
            return
        disconnect(cycle)
        if not cycle.response_started:
            self._write_refusal(error)
        self._half_close()

    def _expect_headers(self) -> None:
        self._set_deadline("headers", self._limits.header_seconds, self._give_up)

    def _give_up(self) -> None:
        self._drop_deadline("headers")
        if self._is_answering():
            # A pipelined request must not end the response before it.
            self._expect_headers()
            return
        # There is no complete request, so the client does not wait for a response.
        self._close()
