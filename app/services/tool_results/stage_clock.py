"""What the services tell about how long their stages take and how much they save."""

from contextlib import AbstractContextManager
from typing import Protocol


class StageClock(Protocol):
    """Measures the stages of ingest; an implementation may not fail the work it measures."""

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Measure the block as one run of the named stage."""
        ...

    def count_saved(self, *, bytes_in: int, bytes_kept: int) -> None:
        """Count a body that came in, and the record every reader gets instead of it."""
        ...
