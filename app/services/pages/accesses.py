"""Counts the reads of pages by models in memory, and stores the counts in batches.

So a read does not wait for a write. The counts are hints for evicting pages from a context window.
A process that is stopped writes its counts first. A process that is killed loses the counts of the
last seconds.
"""

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

import anyio
import structlog

from app.services.concurrency.background import log_failures, run_beside, run_to_completion
from app.stores.records.page_accesses import PageAccessRecords
from app.stores.records.records import Records
from pagefault_dialects.errors import PagefaultError
from pagefault_dialects.model.page import StoredPage

_log = structlog.get_logger(__name__)
_FLUSH_SECONDS = 2.0


Accesses: TypeAlias = tuple[int, datetime]
"""The number of reads of a page by models that is not stored yet, and the time of the last read."""


class AccessCounts:
    """Counts the reads of pages by models in this process, and stores the counts."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._pending: dict[str, dict[str, Accesses]] = defaultdict(dict)
        self._has_reads = anyio.Event()

    def record(self, project_id: str, page_id: str, now: datetime) -> None:
        """Count a read of a page by a model."""
        pages = self._pending[project_id]
        count, _ = pages.get(page_id, (0, now))
        pages[page_id] = count + 1, now
        self._has_reads.set()

    def add_counts(self, project_id: str, stored: StoredPage) -> StoredPage:
        """Return a page with the reads of this process added to its counters."""
        reads = self._pending.get(project_id, {}).get(stored.page_id)
        if reads is None:
            return stored
        count, last_accessed = reads
        return replace(
            stored, access_count=stored.access_count + count, last_accessed=last_accessed
        )

    def forget(self, project_id: str, page_id: str) -> None:
        """Remove the counts of a deleted page, because a new page may have its id."""
        self._pending.get(project_id, {}).pop(page_id, None)

    async def flush(self) -> None:
        """Store the counts. Counts that cannot be stored are kept for the next flush."""
        for project_id in list(self._pending):
            # If a write is cancelled, it may still be committed, and retrying would count it twice.
            await run_to_completion(self._write(project_id, self._pending.pop(project_id)))

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Store the counts every few seconds during the block, and at the end of the block."""
        try:
            async with run_beside(self._flush_repeatedly()):
                yield
        finally:
            with anyio.CancelScope(shield=True):
                await self.flush()

    async def _flush_repeatedly(self) -> None:
        while True:
            await self._has_reads.wait()
            await anyio.sleep(_FLUSH_SECONDS)
            self._has_reads = anyio.Event()
            with log_failures(_log, "access counts not written"):
                await self.flush()

    async def _write(self, project_id: str, pages: dict[str, Accesses]) -> None:
        try:
            await self._records.write(project_id, lambda unit: unit[PageAccessRecords].add(pages))
        except PagefaultError as exc:
            pending = self._pending[project_id]
            for page_id, (count, last_accessed) in pages.items():
                newer_count, newer_access = pending.get(page_id, (0, last_accessed))
                pending[page_id] = count + newer_count, newer_access
            _log.warning("access counts not written", code=exc.problem_code)
