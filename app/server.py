"""The server under the application: uvicorn, with what it lacks against those who are slow.

uvicorn waits for a request's headers for ever, takes any amount of them, waits for ever for a
client that reads nothing, takes any number of connections, and answers what it cannot read with
plain text. Here headers have a deadline and a size, readers have one for the next byte they take,
one connection too many is told so at once, and the answer is a problem document like every other.
"""

import asyncio
import gc
import resource

import structlog
import uvicorn
from fastapi import FastAPI
from uvicorn.config import STARTUP_FAILURE
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from app.errors import (
    HeadersTooLargeError,
    MalformedRequestError,
    OverloadedError,
    ServiceError,
)
from app.main import create_app
from app.models.identity import new_id
from app.models.limits import Limits
from app.routers.problems import problem_response
from app.settings import Settings
from app.telemetry import configure_process_logging
from app.wiring import Container

_GRACEFUL_SHUTDOWN_SECONDS = 30
_PARTING_SECONDS = 5.0
# A worker that is still loading cannot answer its supervisor, which would end it and start another.
_LOADING_SECONDS = 60
# How long one connection too many is kept, so that its answer is read before it is gone.
_REFUSED_SECONDS = 1.0
# For the databases, the log and what else there is.
_OTHER_FILES = 256

_log = structlog.get_logger(__name__)


def server_config(settings: Settings) -> uvicorn.Config:
    """How the application is served; workers build it from their environment."""
    return ServiceConfig(
        "app.server:served_app",
        factory=True,
        workers=settings.workers,
        http=DeadlineProtocol,
        ws=PartingProtocol,
        log_config=None,
        log_level=settings.log_level,
        access_log=False,
        server_header=False,
        # Forwarded headers are not believed: nothing here depends on the caller's address.
        proxy_headers=False,
        # What a client sends over a WebSocket is one position.
        ws_max_size=4_096,
        ws_ping_interval=15.0,
        timeout_graceful_shutdown=_GRACEFUL_SHUTDOWN_SECONDS,
        timeout_worker_healthcheck=_LOADING_SECONDS,
    )


class ServiceConfig(uvicorn.Config):
    """How the application is served, and how each worker logs before it has loaded it."""

    def configure_logging(self) -> None:
        """Set up the log of this process; uvicorn calls it in each."""
        super().configure_logging()
        level = self.log_level if isinstance(self.log_level, str) else "info"
        configure_process_logging(with_output=True, level=level)


def served_app() -> FastAPI:
    """The application, in a process that does nothing but serve it.

    What is loaded by now is there to stay. Python would go through all of it again and again to
    look for garbage, and everybody would wait for a tenth of a second each time.

    Raises:
        SystemExit: It cannot be loaded; the log says why.
    """
    try:
        app = create_app()
    except Exception as exc:
        _log.critical("the application cannot be loaded", exc_info=exc)
        raise SystemExit(STARTUP_FAILURE) from exc
    gc.freeze()
    return app


def allow_open_files(settings: Settings) -> None:
    """Let this process, and its workers, have as many files open as the limits ask for.

    What service managers and shells allow at first is often a thousand, and beyond it connections
    would not be refused but not be taken. What is not to be had is told in the log.
    """
    limits = settings.limits
    wanted = limits.connections_at_once + limits.requests_at_once + _OTHER_FILES
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY or allowed >= wanted:
        return
    to_be_had = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (to_be_had, most))
    if to_be_had < wanted:
        _log.warning("fewer open files than connections", allowed=to_be_had, wanted=wanted)


class DeadlineProtocol(HttpToolsProtocol):
    """One connection. Headers that take too long, or are too many, end it; so do idle readers.

    One too many is answered without being asked, and what it says is not read.
    """

    _is_one_too_many = False
    _headers_due: asyncio.TimerHandle | None = None
    _header_bytes = 0
    _progress_due: asyncio.TimerHandle | None = None

    @property
    def _limits(self) -> Limits:
        limits: Limits = self.app_state["container"].limits
        return limits

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the deadline of the first request."""
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections_at_once:
            self._turn_away()
        else:
            self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop the deadlines with the connection."""
        self._forget_headers()
        self._forget_progress()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count bytes as long as they are headers."""
        if self._is_one_too_many:
            return
        super().data_received(data)
        if self._headers_due is None:
            return
        self._header_bytes += len(data)
        if self._header_bytes > self._limits.header_bytes:
            self._refuse(
                HeadersTooLargeError(
                    f"The headers of a request may have {self._limits.header_bytes} bytes."
                )
            )

    def on_message_begin(self) -> None:
        """Start the deadline of a further request on the connection."""
        super().on_message_begin()
        if self._headers_due is None:
            self._expect_headers()

    def on_headers_complete(self) -> None:
        """Hand the request to the application."""
        self._forget_headers()
        super().on_headers_complete()
        # For answers without an end: a transport that is closed waits until all is taken.
        self.scope.setdefault("state", {})["abort"] = self.transport.abort

    def pause_writing(self) -> None:
        """Wait for the client to take some of what is sent, as long as it takes anything."""
        super().pause_writing()
        self._forget_progress()
        self._expect_progress()

    def resume_writing(self) -> None:
        """Go on sending."""
        self._forget_progress()
        super().resume_writing()

    def shutdown(self) -> None:
        """End the streams of events: the server waits for every answer to end."""
        container: Container = self.app_state["container"]
        container.event_streams.end()
        super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP request."""
        self._forget_headers()
        self._refuse(MalformedRequestError("This is not an HTTP/1.1 request."))

    def _expect_headers(self) -> None:
        self._header_bytes = 0
        self._headers_due = self.loop.call_later(self._limits.header_seconds, self._give_up)

    def _forget_headers(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None

    def _expect_progress(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        self._progress_due = self.loop.call_later(
            self._limits.answer_idle_seconds, self._see_progress, unsent
        )

    def _see_progress(self, unsent_before: int) -> None:
        if self.transport.get_write_buffer_size() < unsent_before:
            self._expect_progress()
        else:
            self._progress_due = None
            self.transport.abort()

    def _forget_progress(self) -> None:
        if self._progress_due is not None:
            self._progress_due.cancel()
            self._progress_due = None

    def _give_up(self) -> None:
        # Nobody has asked for anything yet, so nobody waits for an answer.
        self._headers_due = None
        self.transport.close()

    def _turn_away(self) -> None:
        self._is_one_too_many = True
        # Nobody else is turned away for it.
        self.connections.discard(self)
        self._write_refusal(OverloadedError())
        # Closed before its request has come, the client would be told of that and not read this.
        self.transport.write_eof()
        self.loop.call_later(_REFUSED_SECONDS, self.transport.abort)

    def _refuse(self, error: ServiceError) -> None:
        self._forget_headers()
        self._write_refusal(error)
        self.transport.close()

    def _write_refusal(self, error: ServiceError) -> None:
        answer = problem_response(error, instance="", request_id=new_id())
        headers = [*answer.raw_headers, (b"connection", b"close")]
        lines = [b"HTTP/1.1 %d \r\n" % answer.status_code]
        lines += [name + b": " + value + b"\r\n" for name, value in headers]
        self.transport.write(b"".join([*lines, b"\r\n", bytes(answer.body)]))


class PartingProtocol(WebSocketsSansIOProtocol):
    """One WebSocket. A client that takes nothing cannot keep it, nor what was sent, to the end."""

    async def run_asgi(self) -> None:
        """Handle the connection, and drop what is not taken soon after."""
        await super().run_asgi()
        self.loop.call_later(_PARTING_SECONDS, self.transport.abort)

    def keepalive_timeout(self) -> None:
        """End a connection whose client does not answer: closing it would wait for that client."""
        super().keepalive_timeout()
        self.transport.abort()
