"""The signals of OpenTelemetry that the environment switches on."""

import os
from typing import Literal, TypeAlias

Signal: TypeAlias = Literal["traces", "metrics"]


def exporter_names(signal: Signal) -> tuple[str, ...]:
    """Return the names of a signal's exporters in the environment; none if it is off."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return ()
    upper = signal.upper()
    named = os.environ.get(f"OTEL_{upper}_EXPORTER")
    if not named:
        endpoints = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{upper}_ENDPOINT")
        named = "otlp" if any(map(os.environ.get, endpoints)) else "none"
    names = (name.strip() for name in named.split(","))
    return tuple(name for name in names if name not in ("", "none"))
