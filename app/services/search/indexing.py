"""Puts what was written into the index that a search looks in: soon, in small steps, once.

Whatever is written is on a list of what waits (`app.stores.records.search_entries`), so nothing is
lost by a kill, and what was there before is indexed in the same way. A step reads some entries,
prepares their words in the event loop, a little of it at a time, and writes them in one
transaction:

    in the background   the oldest first, with a pause after each step that is as long as four
                        steps, or 24 while requests keep this process busy
    in a search         the newest first, before it looks: so it finds what was just written

Any number of processes do this at once: a step that comes second writes nothing.
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
_AT_ONCE = 32
_PAGES_AT_ONCE = 8
_MOST_BEFORE_A_SEARCH = 128
_IDLE_SECONDS = 1.0
_FAILED_SECONDS = 15.0
_PAUSE_OF_STEP = 4
_PAUSE_OF_STEP_WHEN_BUSY = 24
# So much of a processor's time, used by this process while indexing pauses, is busy.
_BUSY_SHARE = 0.5
_TOLD_EACH = 10_000


@dataclass(frozen=True, slots=True)
class SearchIndexing:
    """Indexes what waits, of all projects."""

    records: Records

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Index in the background for the length of the block."""
        async with run_beside(self._keep_indexing()):
            yield

    async def catch_up(self, project_id: str) -> int:
        """Index the newest of what waits, before a search; returns how much still waits.

        A store that takes no writes is searched as it is.
        """
        if not await self.records.read(
            project_id, lambda unit: unit[SearchEntryRecords].are_waiting()
        ):
            return 0
        try:
            for _ in range(_MOST_BEFORE_A_SEARCH // _AT_ONCE):
                if not await self._step(project_id, newest_first=True):
                    break
        except PagefaultError as exc:
            _log.warning("search index not brought up to date", code=exc.problem_code)
        return await self.records.read(
            project_id, lambda unit: unit[SearchEntryRecords].count_waiting()
        )

    async def index_all(self) -> int:
        """Index a step of what waits in every project; returns how much that was."""
        projects = await self.records.read_projects(find_projects_to_index)
        return sum([await self._step(each) + await self._add_stems(each) for each in projects])

    async def _keep_indexing(self) -> None:
        indexed = told = 0
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
            # Of an upgrade or a large import, an operator can see how far it has come.
            if indexed - told >= _TOLD_EACH:
                told = indexed
                _log.info("indexed for searches", entries=indexed)
            steps = _PAUSE_OF_STEP_WHEN_BUSY if is_busy else _PAUSE_OF_STEP
            is_busy = await _paused(steps * took if done else _IDLE_SECONDS)

    async def _step(self, project_id: str, *, newest_first: bool = False) -> int:
        """Index some of what waits in a project; returns how much."""

        def load(unit: UnitOfWork) -> dict[WaitingEntry, EntrySource | None]:
            entries = unit[SearchEntryRecords]
            waiting = entries.waiting(limit=_AT_ONCE, newest_first=newest_first)
            sources = entries.sources(waiting)
            return {each: sources.get(each) for each in waiting}

        loaded = await self.records.read(project_id, load)
        if not loaded:
            return 0
        prepared = {entry: await _prepared(source) for entry, source in loaded.items()}
        # What may be lost is indexed again: there is no need to wait for the disk.
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


async def _paused(seconds: float) -> bool:
    """Pause; return whether this process was busy meanwhile."""
    began, used = time.monotonic(), time.process_time()
    await anyio.sleep(seconds)
    return time.process_time() - used > _BUSY_SHARE * (time.monotonic() - began)


async def _prepared(source: EntrySource | None) -> IndexedPage | None:
    """Return what something is to be found by; `None` for what is not, or is gone."""
    if source is None or not source.is_found:
        return None
    if not is_quick(*source.contents):
        return await anyio.to_thread.run_sync(_indexed, source)
    # Others have their turn between two of them.
    await anyio.lowlevel.checkpoint()
    return _indexed(source)


def _indexed(source: EntrySource) -> IndexedPage:
    kind = resource_kind(source.mime_type) if source.mime_type else None
    return IndexedPage(
        search_words(entry_texts(source).searchable),
        source.session_id,
        next((each for each in MODALITIES if each == kind), None),
        source.kind,
        source.other_sessions,
    )
