"""uvicorn's protocol class for HTTP, with limits on headers, pipelining and unread bodies.

uvicorn has no timeout or size limit for headers, appends trailers to the headers, queues any number
of pipelined requests, reads the rest of a body after the response without a limit, and sends plain
text for invalid requests. The class of this module limits headers, pipelining and unread bodies,
drops trailers, and sends problem documents.

An `Upgrade` to another protocol than WebSockets is ignored (RFC 9110 §7.8): Java's client offers
HTTP/2 with every request, even with a body.

A cycle is uvicorn's object for one request with its response; see `app.server.lingering_close`.
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

# Received bytes are parsed and counted in pieces of at most this size.
_PIECE_BYTES = 65_536
# The overhead of a header in memory, as HTTP/2 counts it (RFC 9113 §6.5.2).
_HEADER_OVERHEAD_BYTES = 32
# The allowed bytes of framing (chunk sizes, line ends) for each byte of a body. A chunk of one byte
# has five bytes of framing.
_FRAMING_PER_BYTE = 8
# The maximum number of pipelined requests that wait for earlier responses.
_MAX_PIPELINED = 16
# The maximum size of their headers and bodies together.
_MAX_PIPELINED_BYTES = 32_768


class _ParsingStoppedError(Exception):
    """Raised in a callback to stop the parser, which raises an `HttpParserError` instead."""


class _PipelineFlow(FlowControl):
    """Pauses reading while pipelined requests wait for earlier responses."""

    def __init__(self, transport: asyncio.Transport, pipeline: deque[Any]) -> None:
        super().__init__(transport)
        self._pipeline = pipeline

    def resume_reading(self) -> None:
        """Resume reading, unless a request waits."""
        if not self._pipeline:
            super().resume_reading()


class LimitedHttpProtocol(LingeringProtocol):
    """The protocol of one HTTP connection, with the limits that this module describes.

    A connection beyond the maximum number of connections gets a 503 at once, and its input is
    ignored.
    """

    _parsing_error: PagefaultError | None = None
    """The error to send for the request that made the parser stop."""
    # State of the request that is being received:
    _offers_another_protocol = False
    _is_replaying_headers = False
    """True while a new parser reads generated headers, to get into the state of the old parser."""
    _is_in_headers = False
    _is_in_body = False
    _header_bytes = 0
    _content_length: int | None = None
    """`None` for a chunked body, whose length is unknown."""
    _body_bytes = 0
    _framing_bytes = 0
    """The bytes outside of bodies since the beginning of the request or its body, less
    `_FRAMING_PER_BYTE` for each byte of the body."""
    _piece_begins_request_or_body = False
    """True if a request or a body has begun in the current piece of received bytes."""
    _pipelined_bytes = 0
    """The size of all pipelined requests that wait for earlier responses."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the deadline of the first request."""
        super().connection_made(transport)
        self.flow = _PipelineFlow(transport, self.pipeline)
        if self._is_over_limit():
            self._ignores_input = True
            self._write_error(OverloadedError())
            self._half_close()
        else:
            self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop the requests that wait for earlier responses."""
        self.pipeline.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse received bytes, and count those that are neither headers nor a body."""
        for start in range(0, len(data), _PIECE_BYTES):
            piece = data[start : start + _PIECE_BYTES]
            if self._ignores_input:
                self._drop_input(piece)
                continue
            body_bytes_before = self._body_bytes
            self._piece_begins_request_or_body = False
            self._parse(piece)
            self._count_framing(len(piece), self._body_bytes - body_bytes_before)
        if "headers" not in self._deadlines and self._is_idle():
            # uvicorn stops its timer for idle connections when bytes are received.
            self._set_deadline("headers", self.timeout_keep_alive, self._close_after_timeout)

    def on_message_begin(self) -> None:
        """Start the deadline of a request."""
        if self._is_replaying_headers:
            return
        if len(self.pipeline) >= _MAX_PIPELINED:
            self._reject_pipelining()
        super().on_message_begin()
        self._piece_begins_request_or_body = True
        self._is_in_headers = True
        self._header_bytes = 0
        self._expect_headers()

    def on_url(self, url: bytes) -> None:
        """Append a piece of the request target."""
        if self._is_replaying_headers:
            return
        self._count_header(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Append a header; trailers are dropped."""
        if self._is_in_headers and not self._is_replaying_headers:
            self._count_header(len(name) + len(value) + _HEADER_OVERHEAD_BYTES)
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start the application with the request."""
        if self._is_replaying_headers:
            return
        self._piece_begins_request_or_body = True
        self._is_in_headers = False
        self._cancel_deadline("headers")
        self._check_headers()
        super().on_headers_complete()
        self._is_in_body = True
        if self.parser.should_upgrade():
            if self._is_accepted_upgrade():
                # The following bytes belong to another protocol and must not be read as a request.
                self._ignores_input = True
            else:
                self._offers_another_protocol = True
        # Endless responses use `abort`, because `transport.close` waits until all bytes are sent.
        self.scope.setdefault("state", {})["abort"] = self.transport.abort

    def on_body(self, body: bytes) -> None:
        """Append a piece of the body."""
        self._body_bytes += len(body)
        if self.cycle is not self._active_cycle:
            self._count_pipelined(len(body))
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the body."""
        if self._offers_another_protocol:
            # The parser calls this after the headers, and then raises an error with that position.
            return
        self._is_in_body = False
        self._cancel_deadline("rest")
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Switch the connection to the WebSocket protocol."""
        if self._is_responding():
            self._refuse(MalformedRequestError("Wait for answers before you open a WebSocket."))
            return
        self._ignores_input = True
        super().handle_websocket_upgrade()

    def on_response_complete(self) -> None:
        """Start the next request; after the last response, close the connection."""
        finished = self._active_cycle
        super().on_response_complete()
        if not self.pipeline:
            self._pipelined_bytes = 0
        if finished is None or self.transport.is_closing():
            return
        self.flow.resume_reading()
        if finished is not self._active_cycle:
            # The application has already got the next pipelined request.
            return
        finished.body = bytearray()
        if self._ignores_input:
            self._half_close()
        elif self._is_in_body and finished is self.cycle:
            self._set_deadline("rest", LINGER_SECONDS, self.transport.abort)

    def shutdown(self) -> None:
        """End all event streams, because the server waits for every response before it stops."""
        services: Services = self.app_state["services"]
        services[EventStreams].end()
        super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """Send a problem document for the request that made the parser stop."""
        self._refuse(
            self._parsing_error or MalformedRequestError("This is not an HTTP/1.1 request.")
        )

    def _closes_after(self, cycle: RequestResponseCycle) -> bool:
        """Return whether the connection is closed after the response to this request."""
        if self._is_in_body and cycle is self.cycle:
            return not cycle.keep_alive or not self._is_unread_body_small(cycle)
        return self._ignores_input and not self.pipeline

    def _is_unread_body_small(self, cycle: RequestResponseCycle) -> bool:
        if self._content_length is None or cycle.waiting_for_100_continue:
            return False
        return self._content_length - self._body_bytes <= LINGER_BYTES

    def _is_idle(self) -> bool:
        is_arriving = self._is_in_headers or self._is_in_body
        return not (is_arriving or self._ignores_input or self._is_responding())

    def _check_headers(self) -> None:
        """Check the target, the host and the length of a request when its headers are complete."""
        version = self.parser.get_http_version()
        try:
            self.url, self.headers[:] = resolve_target(self.url, self.headers, http_version=version)
        except MalformedRequestError as exc:
            self._stop_parsing(exc)
        lengths = [value for name, value in self.headers if name == b"content-length"]
        is_chunked = any(name == b"transfer-encoding" for name, _ in self.headers)
        self._content_length = None if is_chunked else int(lengths[0]) if lengths else 0
        self._body_bytes = 0
        is_upgrade = self.parser.should_upgrade() and self._is_accepted_upgrade()
        if is_upgrade and self._content_length != 0:
            self._stop_parsing(
                MalformedRequestError("Open a WebSocket or a tunnel without a body.")
            )

    def _is_accepted_upgrade(self) -> bool:
        """Return whether the headers are followed by a WebSocket or a tunnel (CONNECT)."""
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
        """Replace the parser, because after an `Upgrade` header it does not parse the body."""
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
        self._is_replaying_headers = True
        # If the request has no body, `on_message_complete` is called here.
        self.parser.feed_data(b"POST / HTTP/1.1\r\n" + b"".join(framing) + b"\r\n")
        self._is_replaying_headers = False

    def _count_header(self, size_bytes: int) -> None:
        self._header_bytes += size_bytes
        if self._header_bytes > self._limits.header_bytes:
            self._stop_parsing(self._headers_too_large())
        if self._is_responding():
            self._count_pipelined(size_bytes)

    def _count_pipelined(self, size_bytes: int) -> None:
        """Add to the size of the waiting requests, and reject the request if it is too large.

        Reading is paused while a request waits. Bytes that were received with it stay in memory
        until the responses before it have ended; a stream of events may never end.
        """
        if self._may_response_be_received():
            # A client that has received the earlier response is not pipelining.
            return
        self._pipelined_bytes += size_bytes
        if self._pipelined_bytes > _MAX_PIPELINED_BYTES:
            self._reject_pipelining()

    def _reject_pipelining(self) -> NoReturn:
        self._stop_parsing(MalformedRequestError("Wait for answers before you send more requests."))

    def _count_framing(self, received_bytes: int, body_bytes: int) -> None:
        """Count bytes outside of bodies, and refuse the request if there are too many.

        Args:
            received_bytes: The length of the piece that was parsed.
            body_bytes: The bytes of a body in this piece.
        """
        if self._piece_begins_request_or_body:
            self._framing_bytes = 0
            return
        allowed_bytes = _FRAMING_PER_BYTE * body_bytes
        framing_bytes = self._framing_bytes + received_bytes - body_bytes - allowed_bytes
        self._framing_bytes = max(0, framing_bytes)
        if self._ignores_input or framing_bytes <= self._limits.header_bytes:
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

    def _stop_parsing(self, error: PagefaultError) -> NoReturn:
        """Stop the parser; `send_400_response` then sends the error."""
        self._parsing_error = error
        raise _ParsingStoppedError

    def _refuse(self, error: PagefaultError) -> None:
        """Send an error, and close the connection.

        If an earlier response has not ended, no error is sent, and the connection is closed after
        that response.
        """
        self._ignores_input = True
        self._cancel_deadline("headers")
        if self._is_in_body and not self.cycle.response_complete:
            self._refuse_body(error)
        elif not self._is_responding():
            self._write_error(error)
            self._half_close()

    def _refuse_body(self, error: PagefaultError) -> None:
        """Refuse a request with an invalid body.

        If its response has begun, or it waits for an earlier response, no error is sent.
        """
        self._is_in_body = False
        cycle = self.cycle
        if cycle is not self._active_cycle:
            # The request waits for an earlier response, and its body will never be complete.
            self.pipeline.popleft()
            cycle.body = bytearray()
            return
        disconnect(cycle)
        if not cycle.response_started:
            self._write_error(error)
        self._half_close()

    def _expect_headers(self) -> None:
        self._set_deadline("headers", self._limits.header_seconds, self._close_after_timeout)

    def _close_after_timeout(self) -> None:
        self._cancel_deadline("headers")
        if self._is_responding():
            # A slow pipelined request must not interrupt the response before it.
            self._expect_headers()
            return
        # No request is complete, so the client does not wait for a response.
        self._close()
