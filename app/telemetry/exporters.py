"""Find exporters of OpenTelemetry by name, and return the attributes of this process."""

import os
from importlib.metadata import entry_points
from typing import Any

from opentelemetry.sdk.resources import OTELResourceDetector, Resource

from app.version import VERSION

_PROTOCOLS = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}


def service_resource(name: str = "pagefault") -> Resource:
    """Return the attributes of this process. Attributes in the environment have precedence.

    `service.instance.id` is unique to the process.
    """
    defaults = Resource.create({"service.name": name, "service.version": VERSION})
    return defaults.merge(OTELResourceDetector().detect())


def exporter_class(signal: str, name: str) -> Any:  # noqa: ANN401 - of a distribution
    """Return the class of an exporter.

    Raises:
        ValueError: No installed distribution has an exporter of this name.
    """
    group = f"opentelemetry_{signal}_exporter"
    if name == "otlp":
        protocol = _read_protocol(signal)
        name = _PROTOCOLS.get(protocol, protocol)
    for entry in entry_points(group=group, name=name):
        return entry.load()
    raise ValueError(f"no installed distribution has {name} in the group {group}")


def _read_protocol(signal: str) -> str:
    of_signal = os.environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL")
    return of_signal or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"
