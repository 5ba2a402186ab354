"""Writes pages: a change is planned outside of transactions, then written if it is still valid.

    load ──> plan ──────────────────────────> write
             check the condition,             one transaction: the row, if the page
             derive levels and words,         has not changed; then levels, words,
             serialise the version, hash it   links and the event

If another request has changed the page, nothing is written, and the change is planned again. In a
transaction, nothing is parsed, derived or serialised. All transactions lock the row of the session
before the row of the page, so they never deadlock.
"""

import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
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
from app.stores.records.records import MAX_TOGETHER_BYTES, Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.stores.records.word_index import IndexedRecord
from app.stores.records.word_indexes import choose_page_index
from pagefault_dialects.errors import PagefaultError
from pagefault_dialects.model.page import PageFields, StoredPage
from pagefault_dialects.model.resource import Resource

# Writes of one process are serialised, so only other processes cause retries.
_ATTEMPTS = 100
_Result = TypeVar("_Result")
PageEventType = Literal["page:created", "page:updated", "page:deleted"]


@dataclass(frozen=True, slots=True)
class WrittenPage:
    """A stored page after a write."""

    page: StoredPage
    is_new: bool
    """True if the request has created the page."""


class PageChangedError(Exception):
    """The page was changed after a change was planned for it. Nothing was written.

    Attributes:
        existing: The indexes of the new pages whose ids exist already.
    """

    def __init__(self, existing: Sequence[int] = ()) -> None:
        super().__init__()
        self.existing = existing


def contended_error() -> ConflictError:
    """Return the error for a page that other requests changed on every attempt."""
    return ConflictError(
        f"The page was changed by other requests {_ATTEMPTS} times in a row. Nothing was changed: "
        "send the request again.",
        code="page-contended",
    )


class PageWriter:
    """Writes planned changes of pages, unless other requests have changed the pages since."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._locks: WeakValueDictionary[tuple[str, str], anyio.Lock] = WeakValueDictionary()

    async def retry(
        self,
        project_id: str,
        page_id: str,
        attempt: Callable[[], Awaitable[_Result]],
        *,
        failure: Callable[[], PagefaultError] = contended_error,
    ) -> _Result:
        """Run an attempt to write a page, and retry it if another request changes the page.

        In one process, writes to the same page are serialised, so no plan has to be made twice.

        Args:
            project_id: The project.
            page_id: The page.
            attempt: Loads the page, plans a change and writes it.
            failure: Returns the error to raise after the last attempt.
        """
        lock = self._locks.setdefault((project_id, page_id), anyio.Lock())
        async with lock:
            for _ in range(_ATTEMPTS):
                try:
                    return await attempt()
                except PageChangedError:
                    continue
        raise failure()

    async def create(
        self,
        project_id: str,
        changes: Sequence[PageChange],
        *,
        write_more: Callable[[UnitOfWork], None] | None = None,
    ) -> list[WrittenPage]:
        """Store new pages in their order. If one of their ids exists, no page is stored.

        Args:
            project_id: The project.
            changes: The first versions of the pages.
            write_more: Called with the transaction, to write something else in it.

        Raises:
            PageChangedError: Some of the ids exist.
        """

        def create(unit: UnitOfWork) -> list[int]:
            for session_id in sorted(
                {change.version.fields.session_id or "" for change in changes} - {""}
            ):
                unit[SessionRecords].ensure(session_id, changes[0].now)
            inserted = unit[PageRecords].insert_absent([change.version for change in changes])
            numbers = [inserted.get(change.version.page_id) for change in changes]
            pairs = zip(numbers, changes, strict=True)
            written = {number: change for number, change in pairs if number is not None}
            if len(written) < len(changes):
                raise PageChangedError(
                    [index for index, number in enumerate(numbers) if number is None]
                )
            _write_related(unit, written, "page:created")
            if write_more is not None:
                write_more(unit)
            return list(written)

        numbers = await self._write(project_id, changes, create)
        written = zip(numbers, changes, strict=True)
        return [_build_written(number, change) for number, change in written]

    async def replace(
        self, project_id: str, current: StoredPage, change: PageChange
    ) -> WrittenPage:
        """Store the next version of a page.

        Args:
            project_id: The project.
            current: The page as it was loaded, with or without its content.
            change: The next version.

        Raises:
            PageChangedError: The page has been changed or deleted since.
        """

        def store_version(unit: UnitOfWork) -> None:
            if change.version.fields.session_id is not None:
                unit[SessionRecords].ensure(change.version.fields.session_id, change.now)
            fetched = change.fetched_resource_id
            if not unit[PageRecords].replace(current, change.version, fetched_resource_id=fetched):
                raise PageChangedError
            _write_related(unit, {current.page_number: change}, "page:updated")

        await self._write(project_id, [change], store_version)
        return _build_written(current.page_number, change, current)

    async def remove(self, project_id: str, current: StoredPage) -> None:
        """Delete a page with its levels, words and links.

        Raises:
            PageChangedError: The page has been changed or deleted since it was loaded.
        """
        fields = read_fields(await anyio.to_thread.run_sync(read_descriptor, current))

        def remove(unit: UnitOfWork) -> None:
            if fields.session_id is not None:
                unit[SessionRecords].find_and_lock(fields.session_id)
            if not unit[PageRecords].remove(current):
                raise PageChangedError
            unit[ResourceRecords].unlink(PAGE, current.page_id)
            removed = {current.page_id: fields}
            add_events(unit, "page:deleted", removed, version=current.version, now=utc_now())

        await self._records.write(project_id, remove)

    async def _write(
        self,
        project_id: str,
        changes: Sequence[PageChange],
        work: Callable[[UnitOfWork], _Result],
    ) -> _Result:
        size_bytes = sum(len(change.version.content) for change in changes)
        is_alone = len(changes) > 1 or size_bytes > MAX_TOGETHER_BYTES
        return await self._records.write(project_id, work, is_alone=is_alone)


def _write_related(
    unit: UnitOfWork, changes: Mapping[int, PageChange], event_type: PageEventType
) -> None:
    """Write the levels, words, links and events of pages that the transaction has written.

    Args:
        unit: The transaction.
        changes: The changes of the pages, by page number.
        event_type: The type of the events.
    """
    unit[PageLevelRecords].replace_many(
        {change.version.page_id: change.levels for change in changes.values()},
        are_new=event_type == "page:created",
    )
    choose_page_index(unit).index_all(
        {
            number: IndexedRecord(
                change.words, change.version.fields.session_id, change.version.fields.modality
            )
            for number, change in changes.items()
            if change.words is not None
        }
    )
    referenced = [(change, _find_resources(unit, change)) for change in changes.values()]
    if len(referenced) > 1:
        # `ensure_all` locks the resources in one order, so that two batches do not deadlock.
        shared = {key: value for _, resources in referenced for key, value in resources.items()}
        unit[ResourceRecords].ensure_all(shared.values())
    for change, resources in referenced:
        # New pages have no links yet, and most pages have no references.
        if resources or event_type == "page:updated":
            unit[ResourceRecords].relink(
                resources.values(),
                owner_kind=PAGE,
                owner_id=change.version.page_id,
                session_id=change.version.fields.session_id,
            )
    first = next(iter(changes.values()))
    fields = {change.version.page_id: change.version.fields for change in changes.values()}
    add_events(unit, event_type, fields, version=first.version.version, now=first.now)


def _find_resources(unit: UnitOfWork, change: PageChange) -> dict[str, Resource]:
    """Return the resources that a page refers to, by id."""
    stored = change.stored_resource_ids
    return {**change.resources, **(unit[ResourceRecords].find_all(stored) if stored else {})}


def _build_written(
    number: int, change: PageChange, previous: StoredPage | None = None
) -> WrittenPage:
    """Return the stored page after a change, with the counters of its previous version."""
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
        last_accessed=previous.last_accessed if previous else None,
        access_count=previous.access_count if previous else 0,
    )
    return WrittenPage(stored, is_new=previous is None)


def add_events(
    unit: UnitOfWork,
    event_type: PageEventType,
    pages: Mapping[str, PageFields],
    *,
    version: int,
    now: datetime,
) -> None:
    """Add the events of pages to the log.

    Each event takes the next `seq` of its session, although the history has no entry for it.

    Args:
        unit: The transaction, which has locked the sessions of the pages.
        event_type: The type of the events.
        pages: The fields of the pages, by page id.
        version: The version of all pages.
        now: The time of the events.
    """
    counts = Counter(fields.session_id for fields in pages.values() if fields.session_id)
    # For each session, an iterator over its new numbers.
    seqs = {
        session_id: itertools.count(unit[SessionRecords].take_numbers(session_id, count=events))
        for session_id, events in counts.items()
    }
    for page_id, fields in pages.items():
        unit.add_event(
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
