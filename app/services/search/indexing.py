"""Updates the search index in small steps, soon after entries are written.

Every write adds its entry to a queue in the database (`app.stores.records.search_entries`), so
nothing is lost if a process is killed, and entries of older versions are indexed as well. A step
reads some entries, prepares their words in the event loop, and writes them in one transaction:

    in the background   the oldest entries first. The pause after a step is as long as four steps,
                        or 24 while requests keep this process busy
    in a search         the newest entries first, before the search, so that it finds them

Several processes may index at once. If two take the same entries, the second one writes nothing.
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import anyio.lowlevel
import anyio.to_thread
import structlog

from app.models.search_entry import EntrySource, WaitingEntry
from app.services.concurrency.background import log_failures, run_beside, run_to_completion
from app.services.concurrency.large_work import is_quick
from app.stores.records.records import Records
from app.stores.records.search_entries import SearchEntryRecords, find_projects_to_index
from app.stores.records.unit_of_work import UnitOfWork
from app.stores.records.word_index import IndexedPage
from app.words.entry_texts import entry_texts
from app.words.search_terms import search_words
from pagefault_dialects.errors import PagefaultError
from pagefault_dialects.model.page import MODALITIES
from pagefault_dialects.model.resource import resource_kind

_log = structlog.get_logger(__name__)
_STEP_ENTRIES = 32
_PAGES_AT_ONCE = 8
_MAX_BEFORE_SEARCH = 128
_IDLE_SECONDS = 1.0
_FAILED_SECONDS = 15.0
_PAUSE_OF_STEP = 4
_PAUSE_OF_STEP_WHEN_BUSY = 24
# The share of a processor from which on a process counts as busy, measured during a pause.
_BUSY_SHARE = 0.5
_LOG_INTERVAL = 10_000


@dataclass(frozen=True, slots=True)
class SearchIndexing:
    """Indexes queued entries of all projects."""

    records: Records

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Index in the background for the length of the block."""
        async with run_beside(self._keep_indexing()):
            yield

    async def catch_up(self, project_id: str) -> int:
        """Index the newest entries before a search; return the number of entries still queued.

        If the store refuses writes, the index is searched as it is.
        """
        if not await self.records.read(
            project_id, lambda unit: unit[SearchEntryRecords].are_waiting()
        ):
            return 0
        try:
            for _ in range(_MAX_BEFORE_SEARCH // _STEP_ENTRIES):
                if not await self._step(project_id, newest_first=True):
                    break
        except PagefaultError as exc:
            _log.warning("search index not brought up to date", code=exc.problem_code)
        return await self.records.read(
            project_id, lambda unit: unit[SearchEntryRecords].count_waiting()
        )

    async def index_all(self) -> int:
        """Run a step in every project; return the number of indexed entries."""
        projects = await self.records.read_projects(find_projects_to_index)
        return sum([await self._step(each) + await self._add_stems(each) for each in projects])

    async def _keep_indexing(self) -> None:
        indexed = logged = 0
        is_busy = False
        while True:
            began = time.monotonic()
            done = -1
            with log_failures(_log, "not indexed for searches"):
                done = await run_to_completion(self.index_all())
            took = time.monotonic() - began
            if done < 0:
                await anyio.sleep(_FAILED_SECONDS)
                continue
            indexed += done
            # Shows an operator the progress after an upgrade or a large import.
            if indexed - logged >= _LOG_INTERVAL:
                logged = indexed
                _log.info("indexed for searches", entries=indexed)
            steps = _PAUSE_OF_STEP_WHEN_BUSY if is_busy else _PAUSE_OF_STEP
            is_busy = await _pause(steps * took if done else _IDLE_SECONDS)

    async def _step(self, project_id: str, *, newest_first: bool = False) -> int:
        """Index some queued entries of a project; return their number."""

        def load(unit: UnitOfWork) -> dict[WaitingEntry, EntrySource | None]:
            entries = unit[SearchEntryRecords]
            queued = entries.waiting(limit=_STEP_ENTRIES, newest_first=newest_first)
            sources = entries.sources(queued)
            return {each: sources.get(each) for each in queued}

        loaded = await self.records.read(project_id, load)
        if not loaded:
            return 0
        prepared = {entry: await _prepare(source) for entry, source in loaded.items()}
        # Entries that are lost in a crash are indexed again, so the write need not be durable.
        return await self.records.write(
            project_id, lambda unit: unit[SearchEntryRecords].index(prepared), is_durable=False
        )

    async def _add_stems(self, project_id: str) -> int:
        if not await self.records.read(
            project_id, lambda unit: unit[SearchEntryRecords].are_stemless()
        ):
            return 0
        return await self.records.write(
            project_id,
            lambda unit: unit[SearchEntryRecords].add_stems(limit=_PAGES_AT_ONCE),
            is_durable=False,
        )


async def _pause(seconds: float) -> bool:
    """Pause; return whether this process was busy meanwhile."""
    began, used = time.monotonic(), time.process_time()
    await anyio.sleep(seconds)
    return time.process_time() - used > _BUSY_SHARE * (time.monotonic() - began)


async def _prepare(source: EntrySource | None) -> IndexedPage | None:
    """Return the words of an entry; `None` if it is not searched or was deleted."""
    if source is None or not source.is_found:
        return None
    if not is_quick(*source.contents):
        return await anyio.to_thread.run_sync(_index_words, source)
    # Other tasks of the event loop run between two entries.
    await anyio.lowlevel.checkpoint()
    return _index_words(source)


def _index_words(source: EntrySource) -> IndexedPage:
    kind = resource_kind(source.mime_type) if source.mime_type else None
    return IndexedPage(
        search_words(entry_texts(source).searchable),
        source.session_id,
        next((each for each in MODALITIES if each == kind), None),
        source.kind,
        source.other_sessions,
    )
