"""The transaction of a page: row, levels, search words and links, written together."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import anyio.to_thread

from app.errors import ConflictError, NotFoundError, PayloadTooLargeError
from app.models.limits import Limits
from app.models.page import Body, Level, Page, PageVersion, StoredPage
from app.models.resource import Resource
from app.models.search import SearchWords
from app.services.inline_media.data_uris import load_forms
from app.services.pages.contents import SettledContent
from app.services.pages.events import note_written
from app.services.pages.preparing import PreparedPage, with_levels
from app.services.pages.versions import (
    Stamp,
    page_version,
    read_page,
    resource_ids,
    same_fields,
    stored_levels,
)
from app.stores.records import UnitOfWork
from app.stores.records.page_search import IndexedPage

PAGE = "page"


@dataclass(frozen=True, slots=True)
class WrittenPage:
    """A page as it is now stored, and whether this request made it."""

    page: StoredPage
    is_new: bool


@dataclass(frozen=True, slots=True)
class PageChange:
    """What a stored page becomes.

    `page` has all its levels, `settled` its content as it is shown. `words` are those a search
    finds it by, `None` where they are what they were.
    """

    page: Page
    settled: SettledContent
    words: SearchWords | None
    resources: Mapping[str, Resource]
    fetched_resource_id: str | None
    now: datetime


async def first_version(prepared: PreparedPage, limits: Limits) -> PageVersion:
    """The first version of a page.

    Raises:
        PayloadTooLargeError: What is said about the page is too long.
    """
    stamp = Stamp(1, prepared.now, prepared.now)
    return await anyio.to_thread.run_sync(_version, prepared.page, prepared.settled, stamp, limits)


def _version(page: Page, settled: SettledContent, stamp: Stamp, limits: Limits) -> PageVersion:
    version = page_version(page, settled, stamp)
    if len(version.descriptor) > limits.page_fields_bytes:
        raise PayloadTooLargeError(
            "Caption, transcript, scenes, metadata and the other fields of a page may have "
            f"{limits.page_fields_bytes} bytes in all. Store what is longer as a resource or as a "
            "page of its own. Nothing was stored."
        )
    return version


def write_beside(unit: UnitOfWork, inserted: Mapping[int, PreparedPage]) -> None:
    """Write what belongs to pages just inserted, by their numbers."""
    changes = {
        number: PageChange(
            prepared.page, prepared.settled, prepared.words, prepared.resources, None, prepared.now
        )
        for number, prepared in inserted.items()
    }
    _write_words_and_levels(unit, changes)
    referred = {number: _referred(unit, change) for number, change in changes.items()}
    # All resources first, in one order: two batches that share some would wait for each other.
    unit.resources.ensure_all(
        {key: resource for kept in referred.values() for key, resource in kept.items()}.values()
    )
    for number, kept in referred.items():
        # Nothing is linked to what is new, and most pages refer to nothing.
        if kept:
            _link(unit, changes[number], kept)
    written = [change.page for change in changes.values()]
    now = next(iter(changes.values())).now
    note_written(unit, "page:created", written, version=1, now=now)


def replace_page(
    unit: UnitOfWork, current: StoredPage, prepared: PreparedPage, limits: Limits
) -> StoredPage:
    """Make a stored page, whose row is held, the prepared one.

    Levels that a client supplied stay as long as the content does. What is the same already is
    left as it is.
    """
    before = read_page(current, unit.page_levels.of(current.page_id))
    page, settled = prepared.page, prepared.settled
    if not settled.forms:
        # What was read is written back: the references in it still stand for what was moved.
        settled = replace(settled, forms=load_forms(current.inline_form))
    stamp = Stamp(current.version, current.created_at, prepared.now)
    version = _version(page, settled, stamp, limits)
    same_content = (version.content, version.body) == (current.content, current.body)
    if not same_content:
        settled = prepared.settled
    elif same_fields(page.fields, before.fields) and version.inline_form == current.inline_form:
        return current
    if same_content and (supplied := supplied_levels(before)):
        page = with_levels(page, supplied=supplied, reduced=prepared.reduced, text=prepared.text)
    # The words are made of the fields and the content alone, so those prepared still hold.
    change = PageChange(
        page,
        settled,
        prepared.words,
        prepared.resources,
        current.fetched_resource_id if same_content else None,
        prepared.now,
    )
    return change_page(unit, current, change, limits)


def change_page(
    unit: UnitOfWork, current: StoredPage, change: PageChange, limits: Limits
) -> StoredPage:
    """Write the next version of a stored page, whose row is held."""
    stamp = Stamp(current.version + 1, current.created_at, change.now)
    version = _version(change.page, change.settled, stamp, limits)
    unit.pages.replace(current.page_number, version, fetched_resource_id=change.fetched_resource_id)
    _write_words_and_levels(unit, {current.page_number: change})
    _link(unit, change, _referred(unit, change))
    note_written(unit, "page:updated", [change.page], version=version.version, now=change.now)
    return replace(
        current,
        version=version.version,
        descriptor=version.descriptor,
        content=version.content,
        body=version.body,
        inline_form=version.inline_form,
        digest=version.digest,
        fetched_resource_id=change.fetched_resource_id,
    )


def held(unit: UnitOfWork, page_id: str) -> StoredPage:
    """The page, its row held until the transaction ends.

    Raises:
        NotFoundError: The project has none.
    """
    stored = unit.pages.hold(page_id)
    if stored is None:
        raise NotFoundError("page")
    return stored


def found(unit: UnitOfWork, page_id: str) -> tuple[StoredPage, Page]:
    """The page as it is stored, and as it is read.

    Raises:
        NotFoundError: The project has none.
    """
    stored = unit.pages.find(page_id, with_content=True)
    if stored is None:
        raise NotFoundError("page")
    return stored, read_page(stored, unit.page_levels.of(page_id))


def contended() -> ConflictError:
    """What is raised where a page was changed every time it was to be written."""
    return ConflictError(
        "Others are changing this page all the time. Nothing was changed: send it again.",
        code="page-contended",
    )


def supplied_levels(page: Page) -> dict[Level, Body]:
    """The levels a client has supplied."""
    return {
        level: representation.body
        for level, representation in page.levels.items()
        if representation.origin == "supplied"
    }


def settled_again(stored: StoredPage, page: Page) -> SettledContent:
    """The content of a stored page as it was settled; its resources are known by the page."""
    return SettledContent(page.full, page.full.value, load_forms(stored.inline_form))


def _write_words_and_levels(unit: UnitOfWork, changes: Mapping[int, PageChange]) -> None:
    unit.page_levels.replace_many(
        {change.page.page_id: stored_levels(change.page, change.now) for change in changes.values()}
    )
    unit.page_search.index_all(
        {
            number: IndexedPage(
                change.words, change.page.fields.session_id, change.page.fields.modality
            )
            for number, change in changes.items()
            if change.words is not None
        }
    )


def _referred(unit: UnitOfWork, change: PageChange) -> dict[str, Resource]:
    """Everything a page is made of in the store, by id."""
    wanted = resource_ids(change.page)
    for form in change.settled.forms.values():
        wanted |= form.resource_ids
    if change.fetched_resource_id:
        wanted.add(change.fetched_resource_id)
    kept = {key: resource for key, resource in change.resources.items() if key in wanted}
    missing = wanted - kept.keys()
    return kept | unit.resources.find_all(missing) if missing else kept


def _link(unit: UnitOfWork, change: PageChange, kept: Mapping[str, Resource]) -> None:
    unit.resources.relink(
        kept.values(),
        owner_kind=PAGE,
        owner_id=change.page.page_id,
        session_id=change.page.fields.session_id,
    )
