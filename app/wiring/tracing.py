"""Wrap stores and metrics so that they record spans, if traces are exported.

Otherwise the code that records spans is not imported.
"""

from app.stores.blobs.store import BlobStore
from app.stores.records.database import Database
from app.stores.records.engine import Engines
from app.telemetry.metrics import Metrics
from app.telemetry.signals import exporter_names


def create_metrics() -> Metrics:
    """Create the metrics of a process. If traces are exported, each stage also records a span."""
    if not exporter_names("traces"):
        return Metrics()
    from app.telemetry.traced_services import TracedMetrics  # noqa: PLC0415

    return TracedMetrics()


def trace_database(engines: Engines) -> Database:
    """Return the database. If traces are exported, it is wrapped: each call records a span."""
    if not exporter_names("traces"):
        return engines
    from app.telemetry.traced_services import TracedDatabase  # noqa: PLC0415

    return TracedDatabase(engines, engines.writer.dialect.name)


def trace_blobs(blobs: BlobStore) -> BlobStore:
    """Return the blob store. If traces are exported, it is wrapped: each call records a span."""
    if not exporter_names("traces"):
        return blobs
    from app.telemetry.traced_services import TracedBlobStore  # noqa: PLC0415

    return TracedBlobStore(blobs)
