"""Export spans, without data that may be secret.

FastAPI makes the spans of requests, and the instrumentation of httpx those of requests to other
servers. Both record URLs, which may contain keys, tokens and ids of sessions. So only the listed
attributes are exported, and no error messages.
"""

import os
from collections.abc import Iterable

from opentelemetry import propagate, trace
from opentelemetry.context import Context
from opentelemetry.environment_variables import OTEL_PROPAGATORS
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanContext, Status
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from app.telemetry.exporters import exporter_class, service_resource

_OPT_IN = "OTEL_SEMCONV_STABILITY_OPT_IN"
_EXPORTED = frozenset(
    {
        "db.system.name",
        "error.type",
        "http.request.method",
        "http.response.status_code",
        "http.route",
        "network.protocol.name",
        "network.protocol.version",
        "url.scheme",
    }
)
# Exported only for these scopes: in others, they may be data of a request.
_EXPORTED_OF_SCOPE = {
    "pagefault": frozenset({"gen_ai.tool.name"}),
    "opentelemetry.instrumentation.httpx": frozenset({"server.address", "server.port"}),
}


# In these scopes, names of spans are routes and HTTP methods.
_NAMED_SCOPES = frozenset({"fastapi", *_EXPORTED_OF_SCOPE})
# The SDK of MCP names spans by the method and the tool of a message, which are data of a client.
_METHODS = frozenset(
    {
        "completion/complete",
        "initialize",
        "ping",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "server/discover",
        "subscriptions/listen",
        "tools/call",
        "tools/list",
    }
)


class SafeSpans(SpanProcessor):
    """Passes spans to the next processor with only the listed attributes, and without events.

    Names that may contain data of a request are shortened to the method, or replaced by the scope.

    Args:
        processor: The next processor.
    """

    def __init__(self, processor: SpanProcessor) -> None:
        self._processor = processor

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Pass the start of a span to the next processor."""
        self._processor.on_start(span, parent_context)

    def on_end(self, span: ReadableSpan) -> None:
        """Pass a reduced copy of a span to the next processor."""
        attributes = span.attributes or {}
        scope = "" if span.instrumentation_scope is None else span.instrumentation_scope.name
        exported = _EXPORTED | _EXPORTED_OF_SCOPE.get(scope, frozenset())
        self._processor.on_end(
            ReadableSpan(
                name=_safe_name(span.name, scope),
                context=_without_state(span.get_span_context()),
                parent=_without_state(span.parent),
                resource=span.resource,
                attributes={name: attributes[name] for name in exported & attributes.keys()},
                kind=span.kind,
                status=Status(span.status.status_code),
                start_time=span.start_time,
                end_time=span.end_time,
                instrumentation_scope=span.instrumentation_scope,
            )
        )

    def shutdown(self) -> None:
        """Export the waiting spans, and stop."""
        self._processor.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Export the waiting spans."""
        return self._processor.force_flush(timeout_millis)


def _without_state(span: SpanContext | None) -> SpanContext | None:
    """Return the ids of a span without `tracestate`, a header of the request."""
    return span and SpanContext(span.trace_id, span.span_id, span.is_remote, span.trace_flags)


def _safe_name(name: str, scope: str) -> str:
    method = name.partition(" ")[0]
    if scope in _NAMED_SCOPES:
        return name
    return method if method in _METHODS else scope


def open_tracer_provider(names: Iterable[str], service: str = "pagefault") -> TracerProvider:
    """Return a tracer provider with exporters, make it the global one, and instrument httpx.

    Args:
        names: The names of the exporters.
        service: The name of the service, unless the environment sets one.

    Raises:
        ValueError: There is no exporter with one of the names.
    """
    exporters = [exporter_class("traces", name)() for name in names]
    # It is shut down at the end of the lifespan, while logging still works.
    provider = TracerProvider(resource=service_resource(service), shutdown_on_exit=False)
    for exporter in exporters:
        provider.add_span_processor(SafeSpans(BatchSpanProcessor(exporter)))
    trace.set_tracer_provider(provider)
    if not os.environ.get(OTEL_PROPAGATORS):
        # Without `baggage`, a default, which would send data of a client to every other server.
        propagate.set_global_textmap(TraceContextTextMapPropagator())
    _instrument_httpx(provider)
    return provider


def _instrument_httpx(provider: TracerProvider) -> None:
    opt_in = os.environ.get(_OPT_IN)
    # The stable names of attributes, as in FastAPI. It is unset again, for child processes.
    os.environ[_OPT_IN] = opt_in or "http"
    HTTPXClientInstrumentor().instrument(
        tracer_provider=provider, meter_provider=NoOpMeterProvider()
    )
    if opt_in is None:
        del os.environ[_OPT_IN]
