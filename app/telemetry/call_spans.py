"""Spans of tool calls through the proxy. The module is imported only if traces are exported."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Thread

from opentelemetry import context, propagate, trace

from app.telemetry.signals import exporter_names

_FLUSH_SECONDS = 3.0
_MAX_CALLS = 1_000
_tracer = trace.get_tracer("pagefault")


@contextmanager
def export_calls(warn: Callable[[str], None]) -> Iterator["CallSpans | None"]:
    """Export the traces of tool calls, and of HTTP requests that are sent while the block runs.

    Args:
        warn: Logs a reason why nothing is exported.
    """
    try:
        from app.telemetry.trace_export import open_tracer_provider  # noqa: PLC0415 - an extra

        provider = open_tracer_provider(exporter_names("traces"), "pagefault-proxy")
    except Exception as exc:  # noqa: BLE001 - the SDK raises many for invalid variables
        warn(f"no traces are exported ({exc}); they need: pip install 'pagefault[otel]'")
        yield None
        return
    try:
        yield CallSpans()
    finally:
        # A collector that does not respond must not delay the end of the program.
        flushing = Thread(target=provider.shutdown, daemon=True)
        flushing.start()
        flushing.join(_FLUSH_SECONDS)


class CallSpans:
    """Records tool calls as spans. See `CallTraces` of the proxy."""

    def __init__(self) -> None:
        self._spans: dict[str, trace.Span] = {}

    @contextmanager
    def message(self) -> Iterator[None]:
        """See `CallTraces.message`."""
        token = context.attach(context.get_current())
        try:
            yield
        finally:
            context.detach(token)

    def begin(self, call_id: str, tool: str, traceparent: str | None) -> None:
        """See `CallTraces.begin`."""
        parent = propagate.extract({"traceparent": traceparent}) if traceparent else None
        span = _tracer.start_span("tools/call", parent, attributes={"gen_ai.tool.name": tool})
        self._spans[call_id] = span
        context.attach(trace.set_span_in_context(span))
        if len(self._spans) > _MAX_CALLS:
            # The call was cancelled, or its server does not respond.
            self._spans.pop(next(iter(self._spans))).end()

    def end(self, call_id: str) -> AbstractContextManager[object]:
        """See `CallTraces.end`."""
        span = self._spans.pop(call_id, None)
        return nullcontext() if span is None else trace.use_span(span, end_on_exit=True)
