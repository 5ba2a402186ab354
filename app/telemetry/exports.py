"""Exports of traces and metrics, configured by the standard variables `OTEL_*`.

The SDK of OpenTelemetry, in the extra `otel`, reads these variables. It is imported only if one of
them sets an exporter or a collector. If the extra is missing, an error is logged, and the service
starts without exports.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import structlog

from app.telemetry.metrics import Metrics
from app.telemetry.signals import Signal, exporter_names

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider

_log = structlog.get_logger(__name__)
# The time that the process waits at its end for the export of a signal.
_FLUSH_SECONDS = 3.0


@asynccontextmanager
async def export_traces() -> AsyncIterator[None]:
    """Export the traces of this process while the block runs, if `OTEL_*` enables this."""

    def open_provider(names: tuple[str, ...]) -> "TracerProvider":
        from app.telemetry.trace_export import open_tracer_provider  # noqa: PLC0415 - an extra

        return open_tracer_provider(names)

    async with _export_signal("traces", open_provider):
        yield


@asynccontextmanager
async def export_metrics(metrics: Metrics) -> AsyncIterator[None]:
    """Export metrics of this process while the block runs, if `OTEL_*` enables this."""
    loop = asyncio.get_running_loop()

    def open_provider(names: tuple[str, ...]) -> "MeterProvider":
        from app.telemetry.metric_export import open_meter_provider  # noqa: PLC0415 - an extra

        return open_meter_provider(metrics, loop, names)

    async with _export_signal("metrics", open_provider):
        yield


@asynccontextmanager
async def _export_signal(
    signal: Signal, open_provider: "Callable[[tuple[str, ...]], TracerProvider | MeterProvider]"
) -> AsyncIterator[None]:
    """Open the provider of a signal if exporters are configured; flush it when the block ends."""
    names = exporter_names(signal)
    provider = None
    if names:
        try:
            provider = open_provider(names)
        except ImportError as exc:
            _log.error("not exported", signal=signal, missing=exc.name, install="pagefault[otel]")
        except Exception as exc:  # noqa: BLE001 - the SDK raises errors of many types for invalid variables
            _log.error("not exported", signal=signal, exc_info=exc)
    try:
        yield
    finally:
        if provider is not None:
            with anyio.CancelScope(shield=True), anyio.move_on_after(_FLUSH_SECONDS):
                await anyio.to_thread.run_sync(provider.shutdown, abandon_on_cancel=True)
