"""Metrics of ingest: the duration of its stages, and the bytes that it saves."""

from contextlib import AbstractContextManager
from typing import Protocol


class IngestMetrics(Protocol):
    """The metrics that ingest needs; `Metrics` has all."""

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Measure the block as one run of a stage of ingest."""
        ...

    def count_saved(self, *, bytes_in: int, bytes_kept: int) -> None:
        """Count the bytes of a request body, and those that its record saves."""
        ...
