"""The signals of OpenTelemetry that the environment enables."""

import os
from typing import Literal, TypeAlias

Signal: TypeAlias = Literal["traces", "metrics"]


def exporter_names(signal: Signal) -> tuple[str, ...]:
    """Return the names of a signal's exporters in the environment; none if it is off."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return ()
    upper = signal.upper()
    exporters = os.environ.get(f"OTEL_{upper}_EXPORTER")
    if not exporters:
        endpoints = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{upper}_ENDPOINT")
        exporters = "otlp" if any(map(os.environ.get, endpoints)) else "none"
    names = (name.strip() for name in exporters.split(","))
    return tuple(name for name in names if name not in ("", "none"))
