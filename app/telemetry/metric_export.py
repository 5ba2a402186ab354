"""Export the Prometheus metrics with OpenTelemetry.

Counters and gauges are observable instruments, whose callbacks read the Prometheus registry.
OpenTelemetry has no observable histogram, so cumulative histograms are added to each export.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from time import monotonic, time_ns
from typing import Any

from opentelemetry.metrics import CallbackOptions, Meter, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics import export as otlp
from prometheus_client import Metric
from prometheus_client.samples import Sample

from app.telemetry.exporters import exporter_class, service_resource
from app.telemetry.metrics import Metrics
from app.version import VERSION

_MAX_AGE_SECONDS = 0.5
_WAIT_SECONDS = 5.0
_NANOSECONDS = 1_000_000_000


class RegistrySnapshot:
    """The metrics of the registry, which are collected again if they are older than 0.5 seconds.

    Args:
        metrics: The registry.
        loop: The event loop. Metrics change there, so they are also collected there.
    """

    def __init__(self, metrics: Metrics, loop: asyncio.AbstractEventLoop) -> None:
        self._metrics = metrics
        self._loop = loop
        self._collected: Mapping[str, Metric] = {}
        self._collected_at = 0.0

    def read(self) -> Mapping[str, Metric]:
        """Return all metrics by name. It is called in the threads of exporters."""
        if monotonic() - self._collected_at > _MAX_AGE_SECONDS:
            collecting = asyncio.run_coroutine_threadsafe(self._collect(), self._loop)
            self._collected = collecting.result(_WAIT_SECONDS)
            self._collected_at = monotonic()
        return self._collected

    async def _collect(self) -> Mapping[str, Metric]:
        return {metric.name: metric for metric in self._metrics.collect()}


def open_meter_provider(
    metrics: Metrics, loop: asyncio.AbstractEventLoop, names: Iterable[str]
) -> MeterProvider:
    """Return a meter provider that sends metrics to exporters.

    Args:
        metrics: The registry.
        loop: The event loop.
        names: The names of the exporters.

    Raises:
        ValueError: There is no exporter with one of the names.
    """
    snapshot = RegistrySnapshot(metrics, loop)
    exporters = [_with_histograms(exporter_class("metrics", name), snapshot) for name in names]
    provider = MeterProvider(
        [otlp.PeriodicExportingMetricReader(exporter) for exporter in exporters],
        resource=service_resource(),
        shutdown_on_exit=False,
    )
    meter = provider.get_meter("pagefault", VERSION)
    for metric in metrics.collect():
        _add_instrument(meter, metric, snapshot)
    return provider


def _add_instrument(meter: Meter, metric: Metric, snapshot: RegistrySnapshot) -> None:
    observe = partial(_observe, snapshot, metric.name)
    if metric.type == "counter":
        meter.create_observable_counter(metric.name, [observe], description=metric.documentation)
    elif metric.type == "gauge":
        meter.create_observable_gauge(metric.name, [observe], description=metric.documentation)


def _observe(snapshot: RegistrySnapshot, name: str, _: CallbackOptions) -> Iterable[Observation]:
    for sample in snapshot.read()[name].samples:
        if not sample.name.endswith("_created"):
            yield Observation(sample.value, sample.labels)


def _with_histograms(base_class: Any, snapshot: RegistrySnapshot) -> otlp.MetricExporter:  # noqa: ANN401 - a class of another installed package
    """Return an exporter of this class that also exports the histograms of the registry."""

    class RegistryExporter(base_class):  # type: ignore[misc] # the class is chosen at run time
        def export(self, metrics_data: otlp.MetricsData, **options: float) -> Any:  # noqa: ANN401
            return super().export(_add_histograms(metrics_data, snapshot.read()), **options)

    registry_exporter: otlp.MetricExporter = RegistryExporter()
    return registry_exporter


def _add_histograms(data: otlp.MetricsData, metrics: Mapping[str, Metric]) -> otlp.MetricsData:
    histograms = [
        _histogram(metric)
        for metric in metrics.values()
        if metric.type == "histogram" and metric.samples
    ]
    (resource,) = data.resource_metrics
    (scope,) = resource.scope_metrics
    scope = replace(scope, metrics=[*scope.metrics, *histograms])
    return replace(data, resource_metrics=[replace(resource, scope_metrics=[scope])])


def _histogram(metric: Metric) -> otlp.Metric:
    by_labels: dict[tuple[tuple[str, str], ...], list[Sample]] = {}
    for sample in metric.samples:
        labels = tuple((name, value) for name, value in sample.labels.items() if name != "le")
        by_labels.setdefault(labels, []).append(sample)
    points = [_data_point(dict(labels), samples) for labels, samples in by_labels.items()]
    return otlp.Metric(
        metric.name,
        metric.documentation,
        # All histograms of this service measure seconds.
        "s",
        otlp.Histogram(points, otlp.AggregationTemporality.CUMULATIVE),
    )


def _data_point(labels: Mapping[str, str], samples: Iterable[Sample]) -> otlp.HistogramDataPoint:
    bounds: list[float] = []
    counts: list[int] = []
    totals: dict[str, float] = {}
    for sample in samples:
        if "le" in sample.labels:
            bounds.append(float(sample.labels["le"]))
            counts.append(int(sample.value))
        else:
            totals[sample.name.rpartition("_")[2]] = sample.value
    # Buckets of Prometheus are cumulative, and the last bucket has no bound.
    bucket_counts = [count - before for count, before in zip(counts, [0, *counts], strict=False)]
    return otlp.HistogramDataPoint(
        attributes=labels,
        start_time_unix_nano=int(totals.get("created", 0) * _NANOSECONDS),
        time_unix_nano=time_ns(),
        count=counts[-1],
        sum=totals["sum"],
        bucket_counts=bucket_counts,
        explicit_bounds=bounds[:-1],
        # Both are optional, and Prometheus has neither.
        min=None,  # type: ignore[arg-type]
        max=None,  # type: ignore[arg-type]
    )
