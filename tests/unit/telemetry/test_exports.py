"""Which signals the standard variables switch on, and an extra that is not installed."""

import os
import sys

import pytest
from structlog.testing import capture_logs

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
