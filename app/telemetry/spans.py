"""Spans inside of a request that is traced.

Only the API of OpenTelemetry is used, which FastAPI imports too. Work without a traced request,
such as a sweep, has no spans.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import trace
from structlog.typing import EventDict, WrappedLogger

_tracer = trace.get_tracer("pagefault")


@contextmanager
def request_span(
    name: str,
    attributes: Mapping[str, str] | None = None,
    *,
    kind: trace.SpanKind = trace.SpanKind.INTERNAL,
) -> Iterator[None]:
    """Record the block as a span of the current trace, if there is one."""
    if not trace.get_current_span().is_recording():
        yield
        return
    with _tracer.start_as_current_span(
        name, attributes=attributes, kind=kind, record_exception=False
    ) as span:
        try:
            yield
        except Exception as exc:
            span.set_attribute("error.type", type(exc).__qualname__)
            raise


def ids_of_span() -> dict[str, str]:
    """Return `trace_id` and `span_id` of the current span; empty if there is none."""
    span = trace.get_current_span().get_span_context()
    if not span.is_valid:
        return {}
    return {
        "trace_id": trace.format_trace_id(span.trace_id),
        "span_id": trace.format_span_id(span.span_id),
    }


def add_span_ids(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Add the ids of the current span to a log line."""
    event.update(ids_of_span())
    return event
