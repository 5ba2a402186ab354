"""Log lines: one JSON object a line on standard error.

Logs name the route, the outcome and the request id. They never hold bodies, keys, tokens or URL
queries; nothing here is ever given one.
"""

import asyncio
import logging
import sys
import time
from contextlib import nullcontext
from datetime import UTC, datetime
from json.encoder import encode_basestring_ascii
from typing import Literal, TextIO, TypeAlias

import structlog
from structlog.typing import Processor

from app.telemetry.json_output import is_json_only, log_stream, redirect_streams

_REQUESTS = "pagefault.requests"
_requests = logging.getLogger(_REQUESTS)
_ADDRESSES = logging.getLogger("pagefault.address")
_Answered: TypeAlias = tuple[str, str, str, int, float, float]
# Lines of requests are written so much later, together, or once there are so many of them.
_PUT_OFF_SECONDS = 0.05
_MOST_PUT_OFF = 1_000


def configure_logging(log_format: Literal["json", "console"] | None, level: str) -> None:
    """Send every log line of the process, the libraries' too, through one formatter."""
    chosen = log_format or ("console" if sys.stderr.isatty() else "json")
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    last: list[Processor] = (
        # Never with local variables: among them are keys and pieces of bodies.
        [
            structlog.processors.ExceptionRenderer(
                structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
            ),
            structlog.processors.JSONRenderer(),
        ]
        if chosen == "json"
        else [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
    )
    stream = log_stream()
    handler = _JsonLines(stream) if chosen == "json" else logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    # Those who read images warn of what is wrong with them, and would write it as it is.
    logging.captureWarnings(capture=True)
    logging.getLogger("uvicorn.error").addFilter(_is_not_told_already)
    for quiet in ("uvicorn.access", "httpx", "alembic"):
        logging.getLogger(quiet).setLevel(logging.WARNING)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )


def configure_process_logging(*, with_output: bool, level: str = "info") -> None:
    """Write nothing but JSON from now on, if that is what was chosen; otherwise do nothing.

    For processes that are the service's own, before anything can go wrong in them.

    Args:
        with_output: Whether standard output is one of the streams; a command prints results there.
        level: See `configure_logging`.
    """
    if is_json_only():
        configure_logging("json", level)
        redirect_streams(with_output=with_output)


def tell_address(sentence: str) -> bool:
    """Log where the service is, at any level; says whether it did, since only JSON is logged."""
    if is_json_only():
        _ADDRESSES.setLevel(logging.INFO)
        _ADDRESSES.info(sentence)
    return is_json_only()


def flush_logs() -> None:
    """Write what is not written yet; nothing is told behind it."""
    for handler in logging.root.handlers:
        handler.flush()


def tell_request(
    request_id: str, method: str, *, route: str, status: int, milliseconds: float
) -> None:
    """Write the line that every answered request leaves; where lines are JSON, very soon."""
    if not _requests.isEnabledFor(logging.INFO):
        return
    handlers = logging.root.handlers
    if len(handlers) == 1 and isinstance(handlers[0], _JsonLines):
        handlers[0].put_off((request_id, method, route, status, milliseconds, time.time()))
        return
    structlog.get_logger(_REQUESTS).info(
        "request",
        request_id=request_id,
        method=method,
        route=route,
        status=status,
        milliseconds=milliseconds,
    )


class _JsonLines(logging.StreamHandler[TextIO]):
    """Writes log lines as JSON, and those of requests without the way through all processors.

    There is one for each request, always of the same members, and none of them is what a client
    has sent as it likes. Making each as the others are made takes longer than to look a record up,
    and so does writing each alone. They are written together, up to 50 ms late, but never behind a
    line that came later.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._put_off: list[_Answered] = []

    def put_off(self, answered: _Answered) -> None:
        """Write the line of a request soon. For the event loop's thread only."""
        self._put_off.append(answered)
        if len(self._put_off) == 1:
            asyncio.get_running_loop().call_later(_PUT_OFF_SECONDS, self.flush)
        elif len(self._put_off) >= _MOST_PUT_OFF:
            self.flush()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, behind those that were put off."""
        self.flush()
        super().emit(record)

    def flush(self) -> None:
        """Write what was put off."""
        with self.lock or nullcontext():
            answered, self._put_off = self._put_off, []
            if answered:
                self.stream.write("".join(_request_line(*each) for each in answered))
            super().flush()


def _request_line(
    request_id: str, method: str, route: str, status: int, milliseconds: float, at: float
) -> str:
    """Return the line of a request, as the processors would have made it."""
    told_at = datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
    return (
        f'{{"request_id": "{request_id}", "method": "{method}", '
        f'"route": {encode_basestring_ascii(route)}, "status": {status}, '
        f'"milliseconds": {milliseconds}, "event": "request", "level": "info", '
        f'"logger": "{_REQUESTS}", "timestamp": "{told_at}"}}\n'
    )


def _is_not_told_already(record: logging.LogRecord) -> bool:
    """Return whether a line of the server is news.

    An unexpected exception is logged with its request, and so is a WebSocket, without its query.
    """
    said = record.getMessage()
    told = ("Exception in ASGI application", "ASGI callable returned without completing handshake")
    return not said.startswith(told) and '"WebSocket ' not in said
