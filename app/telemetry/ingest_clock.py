"""The clock of ingest: how long its stages take, and how many bytes it saves."""

from contextlib import AbstractContextManager
from typing import Protocol


class IngestClock(Protocol):
    """Takes times and sizes of ingest; see `Metrics`."""

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Measure the block as one run of a stage of ingest."""
        ...

    def count_saved(self, *, bytes_in: int, bytes_kept: int) -> None:
        """Count a body that came in, and the record every reader gets instead of it."""
        ...
