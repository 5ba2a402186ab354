"""The one way to write a page: planned outside of transactions, and swapped in.

    load ──> plan ──────────────────────────> write
             judge the condition,             one transaction: the row, if the page
             derive levels and words,         is still what was loaded; then levels,
             serialise the version, hash it   words, links and the event

If it is not, nothing is written, and the plan is made anew. A transaction parses nothing, derives
nothing and serialises nothing. It holds the session's row before the page's: always in this order,
so that writers never block each other.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Literal, TypeVar
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread

from app.errors import ConflictError
from app.models.event import NewEvent
from app.models.identity import utc_now
from app.services.pages.page_preparer import PageChange
from app.services.pages.stored_pages import read_descriptor, read_fields
from app.services.pages.versions import PAGE
from app.stores.records.pages import PageLevelRecords, PageRecords
from app.stores.records.records import MOST_TOGETHER_BYTES, Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.stores.records.word_index import IndexedPage
from app.stores.records.word_indexes import choose_page_index
from pagefault_dialects.errors import PagefaultError
from pagefault_dialects.model.page import PageFields, StoredPage
from pagefault_dialects.model.resource import Resource

# Writers of one process take turns, so whoever loses has lost to another process.
_ATTEMPTS = 100
_Result = TypeVar("_Result")
PageEventType = Literal["page:created", "page:updated", "page:deleted"]


@dataclass(frozen=True, slots=True)
class WrittenPage:
    """A page as it is now stored, and whether this request made it."""

    page: StoredPage
    is_new: bool


class PageChangedError(Exception):
    """What is stored is not what a change was planned for; nothing was written.

    Attributes:
        taken: Of pages that were to be created, the places of those whose ids are taken.
    """

    def __init__(self, taken: Sequence[int] = ()) -> None:
        super().__init__()
        self.taken = taken


def contended() -> ConflictError:
    """Return what is raised where a page was changed every time it was to be written."""
    return ConflictError(
        "Others are changing this page all the time. Nothing was changed: send it again.",
        code="page-contended",
    )


class PageWriter:
    """Writes what was planned for pages, and only over what it was planned for."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._turns: WeakValueDictionary[tuple[str, str], anyio.Lock] = WeakValueDictionary()

    async def settle(
        self,
        project_id: str,
        page_id: str,
        attempt: Callable[[], Awaitable[_Result]],
        *,
        lost: Callable[[], PagefaultError] = contended,
    ) -> _Result:
        """Return what an attempt to write a page returns, made again while it is overtaken.

        Args:
            project_id: The project.
            page_id: The page.
            attempt: Loads the page, plans a change and writes it; it may run again.
            lost: Makes what is raised where another process has been faster every time.
        """
        # Of writers at once each but one would have planned in vain.
        turn = self._turns.setdefault((project_id, page_id), anyio.Lock())
        async with turn:
            for _ in range(_ATTEMPTS):
                try:
                    return await attempt()
                except PageChangedError:
                    continue
        raise lost()

    async def create(
        self,
        project_id: str,
        changes: Sequence[PageChange],
        *,
        also: Callable[[UnitOfWork], None] | None = None,
    ) -> list[WrittenPage]:
        """Store new pages, all or none of them, in the order in which they are given.

        Args:
            project_id: The project.
            changes: Their first versions.
            also: What else is done in the transaction.

        Raises:
            PageChangedError: Some of their ids are taken.
        """

        def create(unit: UnitOfWork) -> list[int]:
            for session_id in sorted(
                {change.version.fields.session_id or "" for change in changes} - {""}
            ):
                unit[SessionRecords].enter(session_id, changes[0].now)
            known = unit[PageRecords].insert_absent([change.version for change in changes])
            numbers = [known.get(change.version.page_id) for change in changes]
            pairs = zip(numbers, changes, strict=True)
            written = {number: each for number, each in pairs if number is not None}
            if len(written) < len(changes):
                raise PageChangedError([place for place, at in enumerate(numbers) if at is None])
            _write_beside(unit, written, "page:created")
            if also is not None:
                also(unit)
            return list(written)

        numbers = await self._write(project_id, changes, create)
        return [_written(number, each) for number, each in zip(numbers, changes, strict=True)]

    async def replace(
        self, project_id: str, current: StoredPage, change: PageChange
    ) -> WrittenPage:
        """Store the next version of a page.

        Args:
            project_id: The project.
            current: The page as it was loaded; its content is not needed.
            change: What it becomes.

        Raises:
            PageChangedError: It has been changed or deleted since.
        """

        def swap(unit: UnitOfWork) -> None:
            if change.version.fields.session_id is not None:
                unit[SessionRecords].enter(change.version.fields.session_id, change.now)
            fetched = change.fetched_resource_id
            if not unit[PageRecords].replace(current, change.version, fetched_resource_id=fetched):
                raise PageChangedError
            _write_beside(unit, {current.page_number: change}, "page:updated")

        await self._write(project_id, [change], swap)
        return _written(current.page_number, change, current)

    async def remove(self, project_id: str, current: StoredPage) -> None:
        """Remove a page and what belongs to it.

        Raises:
            PageChangedError: It has been changed or deleted since it was loaded.
        """
        fields = read_fields(await anyio.to_thread.run_sync(read_descriptor, current))

        def remove(unit: UnitOfWork) -> None:
            if fields.session_id is not None:
                unit[SessionRecords].hold(fields.session_id)
            if not unit[PageRecords].remove(current):
                raise PageChangedError
            unit[ResourceRecords].unlink(PAGE, current.page_id)
            removed = {current.page_id: fields}
            note_written(unit, "page:deleted", removed, version=current.version, now=utc_now())

        await self._records.write(project_id, remove)

    async def _write(
        self,
        project_id: str,
        changes: Sequence[PageChange],
        work: Callable[[UnitOfWork], _Result],
    ) -> _Result:
        size_bytes = sum(len(change.version.content) for change in changes)
        is_alone = len(changes) > 1 or size_bytes > MOST_TOGETHER_BYTES
        return await self._records.write(project_id, work, is_alone=is_alone)


def _write_beside(
    unit: UnitOfWork, changes: Mapping[int, PageChange], event_type: PageEventType
) -> None:
    """Write what belongs to pages just written, by their numbers."""
    unit[PageLevelRecords].replace_many(
        {change.version.page_id: change.levels for change in changes.values()},
        are_new=event_type == "page:created",
    )
    choose_page_index(unit).index_all(
        {
            number: IndexedPage(
                change.words, change.version.fields.session_id, change.version.fields.modality
            )
            for number, change in changes.items()
            if change.words is not None
        }
    )
    referred = [(change, _referred(unit, change)) for change in changes.values()]
    if len(referred) > 1:
        # In one order: two batches that share some would wait for each other.
        shared = {key: each for _, kept in referred for key, each in kept.items()}
        unit[ResourceRecords].ensure_all(shared.values())
    for change, kept in referred:
        # Nothing is linked to what is new, and most pages refer to nothing.
        if kept or event_type == "page:updated":
            unit[ResourceRecords].relink(
                kept.values(),
                owner_kind=PAGE,
                owner_id=change.version.page_id,
                session_id=change.version.fields.session_id,
            )
    first = next(iter(changes.values()))
    fields = {change.version.page_id: change.version.fields for change in changes.values()}
    note_written(unit, event_type, fields, version=first.version.version, now=first.now)


def _referred(unit: UnitOfWork, change: PageChange) -> dict[str, Resource]:
    """Return all that a page is made of in the store, by id."""
    stored = change.stored_resource_ids
    return {**change.resources, **(unit[ResourceRecords].find_all(stored) if stored else {})}


def _written(number: int, change: PageChange, before: StoredPage | None = None) -> WrittenPage:
    """Return a page as it is stored after a change, with the counters it had."""
    version = change.version
    stored = StoredPage(
        page_number=number,
        page_id=version.page_id,
        version=version.version,
        descriptor=version.descriptor,
        content=version.content,
        body=version.body,
        inline_form=version.inline_form,
        digest=version.digest,
        fetched_resource_id=change.fetched_resource_id,
        created_at=version.created_at,
        last_accessed=before.last_accessed if before else None,
        access_count=before.access_count if before else 0,
    )
    return WrittenPage(stored, is_new=before is None)


def note_written(
    unit: UnitOfWork,
    event_type: PageEventType,
    pages: Mapping[str, PageFields],
    *,
    version: int,
    now: datetime,
) -> None:
    """Note events of pages, by id, whose sessions, if they have one, the transaction holds.

    Each takes its session's next number, though the history does not show it.
    """
    counts = Counter(fields.session_id for fields in pages.values() if fields.session_id)
    seqs = {each: count(unit[SessionRecords].number(each, count=counts[each])) for each in counts}
    for page_id, fields in pages.items():
        unit.note(
            NewEvent(
                event_type,
                page_id,
                now,
                session_id=fields.session_id,
                seq=next(seqs[fields.session_id]) if fields.session_id else None,
                members={
                    "version": version,
                    "modality": fields.modality,
                    "pageType": fields.page_type,
                },
            )
        )
