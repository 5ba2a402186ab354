"""Which signals the standard variables switch on, and an extra that is not installed."""

import os
import sys

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import ConsoleSpanExporter
from structlog.testing import capture_logs

from app.telemetry.exporters import exporter_class
from app.telemetry.exports import export_traces
from app.telemetry.signals import exporter_names

_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_URL = "http://collector:4318"


@pytest.mark.parametrize(
    ("environment", "traces", "metrics"),
    [
        ({}, (), ()),
        ({_ENDPOINT: ""}, (), ()),
        ({"OTEL_SERVICE_NAME": "memory"}, (), ()),
        ({_ENDPOINT: _URL}, ("otlp",), ("otlp",)),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": _URL}, ("otlp",), ()),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": _URL}, (), ("otlp",)),
        ({"OTEL_TRACES_EXPORTER": "otlp, console"}, ("otlp", "console"), ()),
        ({_ENDPOINT: _URL, "OTEL_METRICS_EXPORTER": "none"}, ("otlp",), ()),
        ({_ENDPOINT: _URL, "OTEL_SDK_DISABLED": "True"}, (), ()),
        ({_ENDPOINT: _URL, "OTEL_SDK_DISABLED": "no"}, ("otlp",), ("otlp",)),
    ],
)
def test_signals_are_switched_on_by_the_standard_variables(
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    traces: tuple[str, ...],
    metrics: tuple[str, ...],
) -> None:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (exporter_names("traces"), exporter_names("metrics")) == (traces, metrics)


@pytest.mark.anyio
async def test_missing_extra_is_logged_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_ENDPOINT, _URL)
    monkeypatch.delitem(sys.modules, "app.telemetry.trace_export", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with capture_logs() as logs:
        async with export_traces():
            pass
    assert logs == [
        {
            "event": "not exported",
            "signal": "traces",
            "missing": "opentelemetry.sdk.trace",
            "install": "pagefault[otel]",
            "log_level": "error",
        }
    ]


@pytest.mark.parametrize(
    ("environment", "name", "found"),
    [
        ({}, "otlp", OTLPSpanExporter),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, "otlp", OTLPSpanExporter),
        ({}, "console", ConsoleSpanExporter),
    ],
)
def test_exporters_are_found_by_their_names(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], name: str, found: type
) -> None:
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    assert exporter_class("traces", name) is found


@pytest.mark.parametrize("protocol", ["grpc", "http/json"])
def test_protocol_without_an_exporter_is_an_error(
    monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", protocol)
    with pytest.raises(ValueError, match="opentelemetry_traces_exporter"):
        exporter_class("traces", "otlp")
