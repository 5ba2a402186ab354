"""Updates the search index in small steps, soon after entries are written.

Every write adds its entry to a queue in the database (`app.stores.records.search_entries`), so
nothing is lost if a process is killed, and entries of older versions are indexed as well. A step
reads some entries, prepares their words in the event loop, and writes them in one transaction:

    in the background   the oldest entries first. The pauses between steps are longer while requests
                        keep this process busy, and shorter for an older backlog
                        (`app.services.search.backlog`)
    in a search         the newest entries first, before the search, so that it finds them

Several processes may index at once. If two take the same entries, the second one writes nothing. If
the backlog is long, each process takes entries at random from the oldest ones.
"""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from secrets import SystemRandom
from typing import NamedTuple

import anyio
import anyio.lowlevel
import anyio.to_thread
import structlog

from app.models.search_entry import EntrySource, WaitingEntry
from app.services.concurrency.background import log_failures, run_beside, run_to_completion
from app.services.concurrency.large_work import is_quick
from app.services.search.backlog import BacklogGauge, choose_pause
from app.stores.records.records import Records
from app.stores.records.search_entries import SearchEntryRecords, find_projects_to_index
from app.stores.records.unit_of_work import UnitOfWork
from app.stores.records.word_index import IndexedRecord
from app.telemetry.metrics import Metrics
from app.words.entry_texts import entry_texts
from app.words.entry_tools import entry_tools
from app.words.search_terms import search_words
from pagefault_dialects.errors import PagefaultError
from pagefault_dialects.model.page import MODALITIES
from pagefault_dialects.model.resource import resource_kind

_log = structlog.get_logger(__name__)
# With 500 entries, a step would hardly be faster for each entry, and block writers four times as
# long.
_STEP_ENTRIES = 128
_PAGES_AT_ONCE = 8
# With a long backlog, a step takes entries at random from the oldest ones of this many steps.
_RANDOM_STEPS = 8
_RANDOM = SystemRandom()
_IDLE_SECONDS = 1.0
_FAILED_SECONDS = 15.0
# A process that uses more than this share of a processor during a pause counts as busy.
_BUSY_SHARE = 0.5
_LOG_INTERVAL = 10_000


class _Work(NamedTuple):
    """The number of entries that were indexed, and the time that indexing took."""

    entries: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class SearchIndexing:
    """Indexes queued entries of all projects."""

    records: Records
    metrics: Metrics | None = None
    _retry_at: dict[str, float] = field(default_factory=dict, init=False)
    """When projects whose step failed are indexed again, on the monotonic clock."""

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Index in the background for the length of the block."""
        async with run_beside(self._keep_indexing()):
            yield

    async def catch_up(self, project_id: str) -> int:
        """Index the newest entries before a search; return the number of entries still queued.

        If the store refuses writes, the index is searched as it is.
        """
        if not await self.records.read(
            project_id, lambda unit: unit[SearchEntryRecords].has_waiting_entries()
        ):
            return 0
        try:
            await self._step(project_id, newest_first=True)
        except PagefaultError as exc:
            _log.warning("search index not brought up to date", code=exc.problem_code)
        return await self.records.read(
            project_id, lambda unit: unit[SearchEntryRecords].count_waiting()
        )

    async def index_all(self) -> int:
        """Run a step in every project; return the number of indexed entries.

        A project whose step fails is skipped for 15 seconds.
        """
        return (await self._index_all()).entries

    async def _index_all(self, *, skip: int = 0) -> _Work:
        projects = await self.records.read_projects(find_projects_to_index)
        steps: list[_Work] = []
        for project in projects:
            if self._retry_at.get(project, 0.0) > time.monotonic():
                continue
            try:
                steps += await self._steps(project, skip=skip)
            except PagefaultError:
                raise
            except Exception:  # noqa: BLE001 - a faulty entry delays its own project only
                _log.exception("not indexed for searches", project_id=project)
                self._retry_at[project] = time.monotonic() + _FAILED_SECONDS
        return _Work(*map(sum, zip(*steps, strict=True))) if steps else _Work()

    async def _keep_indexing(self) -> None:
        indexed = logged = 0
        is_busy = False
        backlog = BacklogGauge(self.records, self.metrics)
        while True:
            done: _Work | None = None
            with log_failures(_log, "not indexed for searches"):
                await backlog.measure()
                done = await run_to_completion(self._index_all(skip=_choose_skip(backlog.waiting)))
            if done is None:
                await anyio.sleep(_FAILED_SECONDS)
                continue
            indexed += done.entries
            # Shows an operator the progress after an upgrade or a large import.
            if indexed - logged >= _LOG_INTERVAL:
                logged = indexed
                _log.info("indexed for searches", entries=indexed)
            pause = choose_pause(done.seconds, backlog.age_seconds, is_busy=is_busy)
            is_busy = await _pause(pause if done.entries else _IDLE_SECONDS)

    async def _steps(self, project_id: str, *, skip: int) -> Sequence[_Work]:
        """Index some entries of a project, and add the stems of some pages."""
        step = await self._step(project_id, skip=skip)
        if skip and not step.entries:
            # The backlog is that of all projects; this project has fewer waiting entries.
            step = await self._step(project_id)
        if not step.entries:
            step = await self._step(project_id, is_outdated=True)
        return [step, await self._add_stems(project_id)]

    async def _step(
        self,
        project_id: str,
        *,
        newest_first: bool = False,
        skip: int = 0,
        is_outdated: bool = False,
    ) -> _Work:
        """Index some queued entries of a project.

        Args:
            project_id: The project.
            newest_first: True to index the newest entries, false to index the oldest.
            skip: The number of the oldest entries to skip.
            is_outdated: True to index entries again that an earlier version has indexed, instead.
        """

        def load(unit: UnitOfWork) -> dict[WaitingEntry, EntrySource | None]:
            entries = unit[SearchEntryRecords]
            if is_outdated:
                queued = entries.list_outdated(limit=_STEP_ENTRIES)
            else:
                queued = entries.list_waiting(
                    limit=_STEP_ENTRIES, newest_first=newest_first, skip=skip
                )
            sources = entries.load_sources(queued)
            return {item: sources.get(item) for item in queued}

        loaded = await self.records.read(project_id, load)
        if not loaded:
            return _Work()
        prepared: dict[WaitingEntry, IndexedRecord | None] = {}
        prepare_seconds = 0.0
        for entry, source in loaded.items():
            prepared[entry], seconds = await _prepare(source)
            prepare_seconds += seconds
        done = await self._write(project_id, lambda unit: unit[SearchEntryRecords].index(prepared))
        return _Work(done.entries, done.seconds + prepare_seconds)

    async def _add_stems(self, project_id: str) -> _Work:
        if not await self.records.read(
            project_id, lambda unit: unit[SearchEntryRecords].has_stemless_pages()
        ):
            return _Work()
        return await self._write(
            project_id, lambda unit: unit[SearchEntryRecords].add_stems(limit=_PAGES_AT_ONCE)
        )

    async def _write(self, project_id: str, index: Callable[[UnitOfWork], int]) -> _Work:
        """Run a function that indexes in a transaction, and measure its time without waits."""

        def index_and_time(unit: UnitOfWork) -> _Work:
            began = time.monotonic()
            return _Work(index(unit), time.monotonic() - began)

        # Entries that are lost in a crash are indexed again, so the write need not be durable.
        return await self.records.write(project_id, index_and_time, is_alone=True, is_durable=False)


def _choose_skip(waiting: int) -> int:
    """Return how many entries a step skips, at random, so that processes take different ones."""
    steps = min(_RANDOM_STEPS, waiting // (2 * _STEP_ENTRIES))
    return _STEP_ENTRIES * _RANDOM.randrange(steps) if steps else 0


async def _pause(seconds: float) -> bool:
    """Pause; return whether this process was busy meanwhile."""
    began, used = time.monotonic(), time.process_time()
    await anyio.sleep(seconds)
    return time.process_time() - used > _BUSY_SHARE * (time.monotonic() - began)


async def _prepare(source: EntrySource | None) -> tuple[IndexedRecord | None, float]:
    """Return the words of an entry, and the seconds of processor time that this took.

    The words are `None` if the entry is not searchable or was deleted.
    """
    if source is None or not source.is_found:
        return None, 0.0
    if not is_quick(*source.contents):
        return await anyio.to_thread.run_sync(_index_words, source)
    # Other tasks of the event loop run between two entries.
    await anyio.lowlevel.checkpoint()
    return _index_words(source)


def _index_words(source: EntrySource) -> tuple[IndexedRecord, float]:
    began = time.thread_time()
    kind = resource_kind(source.mime_type) if source.mime_type else None
    texts = entry_texts(source)
    record = IndexedRecord(
        search_words(texts.searchable),
        source.session_id,
        next((modality for modality in MODALITIES if modality == kind), None),
        source.kind,
        source.other_sessions,
        found_as="tool_result" if source.kind == "message" and texts.title == "tool" else None,
        tools=entry_tools(source),
    )
    return record, time.thread_time() - began
