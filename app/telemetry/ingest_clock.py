"""What measures how long tool results take, for processes whose metrics are read and for others."""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class IngestClock(Protocol):
    """Takes times and sizes of ingest; see `Metrics`."""

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Measure the block as one run of a stage of ingest."""
        ...

    def count_saved(self, *, bytes_in: int, bytes_kept: int) -> None:
        """Count a body that came in, and the record every reader gets instead of it."""
        ...


class Untimed:
    """Measures nothing: nobody reads the metrics of this process."""

    def stage(self, name: str) -> AbstractContextManager[None]:
        """See `IngestClock.stage`."""
        del name
        return nullcontext()

    def count_saved(self, *, bytes_in: int, bytes_kept: int) -> None:
        """See `IngestClock.count_saved`."""
