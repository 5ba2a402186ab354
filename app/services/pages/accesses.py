"""Access counters that cost a reader nothing: counted in memory, written in batches.

A count is a hint to whoever decides what stays in a context window. A process that is killed loses
those of its last seconds; one that is stopped writes them first.
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
"""How often a model got a page, and when last, since it was last written down."""


class AccessCounts:
    """What models got in this process, as far as it is not yet in the store."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._pending: dict[str, dict[str, Accesses]] = defaultdict(dict)
        self._noted = anyio.Event()

    def note(self, project_id: str, page_id: str, now: datetime) -> None:
        """Count that a model got a page."""
        pages = self._pending[project_id]
        before, _ = pages.get(page_id, (0, now))
        pages[page_id] = before + 1, now
        self._noted.set()

    def counted(self, project_id: str, stored: StoredPage) -> StoredPage:
        """Return the page with the reads of this process among its counters."""
        noted = self._pending.get(project_id, {}).get(stored.page_id)
        if noted is None:
            return stored
        count, last_accessed = noted
        return replace(
            stored, access_count=stored.access_count + count, last_accessed=last_accessed
        )

    def forget(self, project_id: str, page_id: str) -> None:
        """Drop the reads of a page that is deleted: another may take its id."""
        self._pending.get(project_id, {}).pop(page_id, None)

    async def flush(self) -> None:
        """Write down what was counted; what cannot be written is kept for the next time."""
        for project_id in list(self._pending):
            # What is given up in the middle may be committed all the same.
            await run_to_completion(self._write(project_id, self._pending.pop(project_id)))

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Write counts down every few seconds for the length of the block, and at its end."""
        try:
            async with run_beside(self._keep()):
                yield
        finally:
            with anyio.CancelScope(shield=True):
                await self.flush()

    async def _keep(self) -> None:
        while True:
            await self._noted.wait()
            await anyio.sleep(_FLUSH_SECONDS)
            self._noted = anyio.Event()
            with log_failures(_log, "access counts not written"):
                await self.flush()

    async def _write(self, project_id: str, pages: dict[str, Accesses]) -> None:
        try:
            await self._records.write(project_id, lambda unit: unit[PageAccessRecords].add(pages))
        except PagefaultError as exc:
            newer = self._pending[project_id]
            for page_id, (count, last_accessed) in pages.items():
                newer_count, newer_access = newer.get(page_id, (0, last_accessed))
                newer[page_id] = count + newer_count, newer_access
            _log.warning("access counts not written", code=exc.problem_code)
