"""Exporters of OpenTelemetry by their names, and the attributes of this process."""

import os
from importlib.metadata import entry_points
from typing import Any

from opentelemetry.sdk.resources import OTELResourceDetector, Resource

from app.version import VERSION

_PROTOCOLS = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}


def service_resource(name: str = "pagefault") -> Resource:
    """Return the attributes of this process; those in the environment replace ours.

    `service.instance.id` is another one in each process.
    """
    own = Resource.create({"service.name": name, "service.version": VERSION})
    return own.merge(OTELResourceDetector().detect())


def exporter_class(signal: str, name: str) -> Any:  # noqa: ANN401 - of a distribution
    """Return the class of an exporter.

    Raises:
        ValueError: No distribution that is installed has an exporter of this name.
    """
    group = f"opentelemetry_{signal}_exporter"
    if name == "otlp":
        protocol = _read_protocol(signal)
        name = _PROTOCOLS.get(protocol, protocol)
    for entry in entry_points(group=group, name=name):
        return entry.load()
    raise ValueError(f"no installed distribution has {name} in the group {group}")


def _read_protocol(signal: str) -> str:
    own = os.environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL")
    return own or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"
