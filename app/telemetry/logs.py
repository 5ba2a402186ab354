"""Log lines: one JSON object a line on standard error.

Log lines have the route, the outcome and the request id. They never contain bodies, keys, tokens or
URL queries: callers of this module pass none.
"""

import asyncio
import logging
import sys
import time
from collections.abc import Callable, Mapping
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
_RequestLine: TypeAlias = tuple[str, str, str, int, float, float, str]
# Log lines of requests are buffered for this time, or until there are this many.
_BUFFER_SECONDS = 0.05
_MAX_BUFFERED = 1_000


def configure_logging(
    log_format: Literal["json", "console"] | None, level: str, *, has_traces: bool = False
) -> None:
    """Configure one formatter for all log lines of the process, also of libraries.

    Args:
        log_format: The format; `None` for `console` at a terminal and `json` elsewhere.
        level: The level from which lines are logged.
        has_traces: True to add the ids of the current span.
    """
    is_json = (log_format or ("console" if sys.stderr.isatty() else "json")) == "json"
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    ids_of_span: Callable[[], Mapping[str, str]] = dict
    if has_traces:
        # Imported only for traces, because commands must start fast.
        from app.telemetry.spans import add_span_ids, ids_of_span  # noqa: PLC0415

        shared.append(add_span_ids)
    last: list[Processor] = (
        # Without local variables, which may be keys and parts of bodies.
        [
            structlog.processors.ExceptionRenderer(
                structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
            ),
            structlog.processors.JSONRenderer(),
        ]
        if is_json
        else [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
    )
    stream = log_stream()
    handler = _JsonLines(stream, ids_of_span) if is_json else logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    # Warnings of image decoders contain bytes of damaged files.
    logging.captureWarnings(capture=True)
    logging.getLogger("uvicorn.error").addFilter(_is_not_logged_yet)
    for quiet in ("uvicorn.access", "httpx", "alembic"):
        logging.getLogger(quiet).setLevel(logging.WARNING)
    # It warns for each retry, and logs an error after the last one.
    logging.getLogger("opentelemetry.exporter").setLevel(logging.ERROR)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )


def configure_process_logging(*, with_output: bool, level: str = "info") -> None:
    """Redirect all output to JSON log lines if `PAGEFAULT_LOG_FORMAT` is `json`.

    Processes of the service call this first, so that errors of their start are JSON too.

    Args:
        with_output: Redirect standard output too, where commands print their results.
        level: See `configure_logging`.
    """
    if is_json_only():
        configure_logging("json", level)
        redirect_streams(with_output=with_output)


def log_address(sentence: str) -> bool:
    """Log the address of the service, at any log level, if logs are JSON.

    Returns:
        True if it was logged.
    """
    if is_json_only():
        _ADDRESSES.setLevel(logging.INFO)
        _ADDRESSES.info(sentence)
    return is_json_only()


def flush_logs() -> None:
    """Write the log lines that are still buffered."""
    for handler in logging.root.handlers:
        handler.flush()


def log_request(
    request_id: str, method: str, *, route: str, status: int, milliseconds: float
) -> None:
    """Log a finished request; JSON lines are buffered for up to 50 ms."""
    if not _requests.isEnabledFor(logging.INFO):
        return
    handlers = logging.root.handlers
    if len(handlers) == 1 and isinstance(handlers[0], _JsonLines):
        handlers[0].buffer(request_id, method, route, status, milliseconds)
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
    """Writes JSON log lines, and formats lines of requests without structlog's processors.

    The lines of all requests have the same members, which contain no free text of clients. Using
    the processors for such a line, or writing it separately, takes longer than the lookup of a
    record. So these lines are written together, up to 50 ms late, and before any later line.
    """

    def __init__(self, stream: TextIO, ids_of_span: Callable[[], Mapping[str, str]]) -> None:
        super().__init__(stream)
        self._ids_of_span = ids_of_span
        self._buffered: list[_RequestLine] = []

    def buffer(
        self, request_id: str, method: str, route: str, status: int, milliseconds: float
    ) -> None:
        """Buffer the line of a request. Call it only in the thread of the event loop."""
        span = "".join(f', "{name}": "{value}"' for name, value in self._ids_of_span().items())
        self._buffered.append((request_id, method, route, status, milliseconds, time.time(), span))
        if len(self._buffered) == 1:
            asyncio.get_running_loop().call_later(_BUFFER_SECONDS, self.flush)
        elif len(self._buffered) >= _MAX_BUFFERED:
            self.flush()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line after the buffered ones."""
        self.flush()
        super().emit(record)

    def flush(self) -> None:
        """Write the buffered lines."""
        with self.lock or nullcontext():
            lines, self._buffered = self._buffered, []
            if lines:
                self.stream.write("".join(_request_line(*item) for item in lines))
            super().flush()


def _request_line(
    request_id: str, method: str, route: str, status: int, milliseconds: float, at: float, span: str
) -> str:
    """Return the log line of a request, as the processors would format it."""
    timestamp = datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
    return (
        f'{{"request_id": "{request_id}", "method": "{method}", '
        f'"route": {encode_basestring_ascii(route)}, "status": {status}, '
        f'"milliseconds": {milliseconds}, "event": "request", "level": "info", '
        f'"logger": "{_REQUESTS}", "timestamp": "{timestamp}"{span}}}\n'
    )


def _is_not_logged_yet(record: logging.LogRecord) -> bool:
    """Return whether to log a line of uvicorn: false if the service logs the same event itself.

    The service logs unexpected exceptions with their request, and WebSockets without their query.
    """
    message = record.getMessage()
    logged = (
        "Exception in ASGI application",
        "ASGI callable returned without completing handshake",
    )
    return not message.startswith(logged) and '"WebSocket ' not in message
