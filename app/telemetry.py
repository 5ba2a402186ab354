"""What operators see: one JSON object a line on standard error, and Prometheus metrics.

Logs name the route, the outcome and the request id. They never hold bodies, keys, tokens or URL
queries; nothing here is ever given one.
"""

import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import structlog
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
    multiprocess,
)
from structlog.typing import Processor

STAGES = ("normalization", "persistence", "packaging", "commit")


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
        [_json_tracebacks(), structlog.processors.JSONRenderer()]
        if chosen == "json"
        else [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
    )
    handler = logging.StreamHandler(sys.stderr)
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


def _json_tracebacks() -> Processor:
    # Never with local variables: among them are keys and pieces of bodies.
    return structlog.processors.ExceptionRenderer(
        structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
    )


def _is_not_told_already(record: logging.LogRecord) -> bool:
    """Whether a line of the server is news: an unexpected exception is logged with its request."""
    return not record.getMessage().startswith("Exception in ASGI application")


class Metrics:
    """The service's metrics, in a registry of their own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "pagefault_requests",
            "Requests answered.",
            ["method", "route", "status"],
            registry=self._registry,
        )
        self._latency = Histogram(
            "pagefault_request_seconds",
            "Time from a request's first byte to its answer's last.",
            ["method", "route"],
            registry=self._registry,
        )
        self._bytes_in = Counter(
            "pagefault_ingested_bytes",
            "Bytes of tool results as they came in.",
            registry=self._registry,
        )
        self._bytes_saved = Counter(
            "pagefault_saved_bytes",
            "Bytes readers of history are spared, against tool results kept as they came in.",
            registry=self._registry,
        )
        self._stages = Histogram(
            "pagefault_stage_seconds",
            "Time a stage of ingest took.",
            ["stage"],
            registry=self._registry,
        )
        for name in STAGES:
            self._stages.labels(name)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """See `app.services.stage_clock.StageClock`."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._stages.labels(name).observe(time.perf_counter() - started)

    def count_saved(self, *, bytes_in: int, bytes_kept: int) -> None:
        """See `app.services.stage_clock.StageClock`."""
        self._bytes_in.inc(bytes_in)
        self._bytes_saved.inc(max(0, bytes_in - bytes_kept))

    def observe_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request under its route's template, never its path."""
        self._requests.labels(method, route, str(status)).inc()
        self._latency.labels(method, route).observe(seconds)

    def exposition(self) -> bytes:
        """All metrics in Prometheus' text format, of all worker processes together."""
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return generate_latest(self._registry)
        everyone = CollectorRegistry()
        multiprocess.MultiProcessCollector(everyone)  # type: ignore[no-untyped-call]
        return generate_latest(everyone)
