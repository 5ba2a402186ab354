"""Memory pages and their levels.

A page has an id and a number. It is found by its id; lists are in the order of the numbers, and
newer pages have higher numbers. Levels above FULL are supplied by the client, or derived and then
stored.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Row, Select, bindparam, case, func, true, tuple_

from app.stores.records.scope import in_batches, read_row, values_of
from app.stores.records.statements import (
    Lookup,
    count_rows,
    is_among,
    scoped_delete,
    scoped_select,
    scoped_update,
)
from app.stores.records.tables import page_accesses, page_levels, page_numbers, pages
from app.stores.records.unit_of_work import Repository
from pagefault_dialects.model.page import (
    Level,
    ManifestPosition,
    PageFilters,
    PageVersion,
    StoredPage,
    StoredRepresentation,
)

_PAGE_COLUMNS = (
    *(pages.c[name] for name in ("page_number", "page_id", "version", "descriptor", "body")),
    *(pages.c[name] for name in ("inline_form", "digest", "fetched_resource_id", "created_at")),
    page_accesses.c.last_accessed,
    page_accesses.c.access_count,
)
_FIND = Lookup(
    scoped_select(pages, *_PAGE_COLUMNS, by=["page_id"]).outerjoin_from(pages, page_accesses),
    large=[pages.c.descriptor, pages.c.body],
)
_FIND_WITH_CONTENT = Lookup(
    _FIND.statement.add_columns(pages.c.content),
    large=[pages.c.descriptor, pages.c.body, pages.c.content],
)
_FILTERS = tuple(values_of(PageFilters()))
_FIND_FILTER_VALUES = Lookup(
    scoped_select(pages, *(pages.c[name] for name in ("page_number", *_FILTERS)), by=["page_id"])
)
# The maximum number of pages, and of their bytes, that are read in the event loop. Reading so many
# takes 0.1 ms.
_LOOP_PAGES = 32
_LOOP_BYTES = 256 * 1024
_IS_NUMBERED = is_among(pages.c.page_number, "numbers")
# Both databases return the length of a blob without reading it.
_IS_SMALL = func.length(pages.c.content) <= bindparam("content_up_to")
# The size of everything that `_FIND_NUMBERED` reads.
_SIZE = Lookup(
    scoped_select(
        pages,
        func.sum(
            func.length(pages.c.descriptor)
            + func.length(pages.c.body)
            + case((_IS_SMALL, func.length(pages.c.content)), else_=0)
        ).label("size_bytes"),
    ).where(_IS_NUMBERED)
)
_FIND_NUMBERED = Lookup(
    scoped_select(pages, *_PAGE_COLUMNS)
    .add_columns(case((_IS_SMALL, pages.c.content), else_=None).label("content"))
    .outerjoin_from(pages, page_accesses)
    .where(_IS_NUMBERED),
    large=[pages.c.descriptor, pages.c.body],
)
_FIND_LEVELS = Lookup(
    scoped_select(page_levels, by=["page_id"]).order_by(page_levels.c.level),
    large=[page_levels.c.body],
)
_REMOVE_LEVELS = scoped_delete(page_levels).where(is_among(page_levels.c.page_id, "page_ids"))
# The condition that a page has not changed since it was read.
_IS_UNCHANGED = (
    (pages.c.page_number == bindparam("of_number"))
    & (pages.c.digest == bindparam("of_digest"))
    & pages.c.fetched_resource_id.is_not_distinct_from(bindparam("of_fetched"))
)
_REPLACE = scoped_update(pages).where(_IS_UNCHANGED)
_REMOVE = scoped_delete(pages).where(_IS_UNCHANGED)
_SET_FETCHED = scoped_update(pages, by={"page_number": "of_number", "digest": "of_digest"})
_LOCK_SESSION = (
    scoped_select(pages, pages.c.page_id, by=["session_id"])
    .order_by(pages.c.page_id)
    .with_for_update()
)
_REMOVE_SESSION = scoped_delete(pages, by=["session_id"])
_NUMBERS = scoped_select(pages, pages.c.page_number)
_MANIFEST_KEY = (pages.c.pinned, pages.c.importance, pages.c.page_number)
_SELECT_MANIFEST_KEYS = scoped_select(pages, *_MANIFEST_KEY, by=["session_id"]).order_by(
    *(column.desc() for column in _MANIFEST_KEY)
)
_COUNT_IN_SESSION = count_rows(pages, pages.c.session_id == bindparam("session_id"))


class PageRecords(Repository):
    """The pages of one project."""

    def find(self, page_id: str, *, with_content: bool) -> StoredPage | None:
        """Return the page, with its content or without."""
        lookup = _FIND_WITH_CONTENT if with_content else _FIND
        rows = self._scope.look_up(lookup, page_id=page_id)
        return _page_of_row(rows[0]) if rows else None

    def insert_absent(self, versions: Sequence[PageVersion]) -> dict[str, int]:
        """Store the pages whose ids no stored page has; return the numbers of these pages by id.

        Later items of `versions` become newer pages. If another transaction is inserting a page
        with one of the ids, this waits for the end of that transaction.
        """
        rows = [
            {**_version_columns(version), "page_id": version.page_id, "fetched_resource_id": None}
            for version in versions
        ]
        if self._scope.is_postgresql:
            # Rows are inserted, and so locked, in the order of their ids; otherwise two
            # transactions could wait for each other. The numbers have the order of `versions`, so
            # they are reserved before the rows are sorted. SQLite has one writer, and numbers rows
            # as it inserts them.
            numbers = self._scope.reserve(page_numbers, count=len(rows))
            rows = [
                row | {"page_number": number} for row, number in zip(rows, numbers, strict=True)
            ]
            rows.sort(key=lambda row: str(row["page_id"]))
        inserted = self._scope.insert_absent(pages, rows, returning=["page_id", "page_number"])
        return {row.page_id: row.page_number for row in inserted}

    def replace(
        self, current: StoredPage, version: PageVersion, *, fetched_resource_id: str | None
    ) -> bool:
        """Store a new version of a page if the page is unchanged; return whether it was stored.

        The page keeps its id and its number. Other changes of the page wait until the transaction
        ends; reads and counts of accesses do not wait.
        """
        values = {**_version_columns(version), "fetched_resource_id": fetched_resource_id}
        return self._scope.run(_REPLACE, **_identity_of(current), **values) == 1

    def set_fetched(self, page_number: int, resource_id: str, *, digest: str) -> bool:
        """Set the resource with the downloaded content of a page.

        Args:
            page_number: The page.
            resource_id: The resource.
            digest: The digest of the page when its URL was read.

        Returns:
            False if the page has changed since then.
        """
        values = {"of_number": page_number, "of_digest": digest}
        return self._scope.run(_SET_FETCHED, **values, fetched_resource_id=resource_id) == 1

    def remove(self, current: StoredPage) -> bool:
        """Remove a page, with its levels, accesses and words, if it is unchanged.

        Returns:
            True if the page was removed.
        """
        return self._scope.run(_REMOVE, **_identity_of(current)) == 1

    def remove_session(self, session_id: str) -> list[str]:
        """Remove all pages of a session; return their ids.

        The rows are locked first, in the order of their ids. Every writer of several pages uses
        this order, so that two of them do not wait for each other.
        """
        rows = self._scope.all(_LOCK_SESSION, session_id=session_id)
        self._scope.run(_REMOVE_SESSION, session_id=session_id)
        return [row.page_id for row in rows]

    def list_numbers(
        self, filters: PageFilters, *, before: int | None, limit: int
    ) -> Sequence[int]:
        """Return the numbers of up to `limit` pages, newest first, older than `before`."""
        number = pages.c.page_number
        statement = _apply_filters(_NUMBERS, filters)
        if before is not None:
            statement = statement.where(number < before)
        rows = self._scope.all(statement.order_by(number.desc()).limit(limit))
        return [row.page_number for row in rows]

    def find_number(self, page_id: str, filters: PageFilters) -> int | None:
        """Return the number of a page, or `None` if it does not exist or the filters exclude it."""
        rows = self._scope.look_up(_FIND_FILTER_VALUES, page_id=page_id)
        return rows[0].page_number if rows and _matches_filters(rows[0], filters) else None

    def find_numbered(
        self,
        numbers: Collection[int],
        *,
        content_up_to: int | None = None,
    ) -> dict[int, StoredPage]:
        """Return the pages with these numbers that exist.

        Args:
            numbers: The numbers.
            content_up_to: The size of the largest content to read; `None` to read no contents.
        """
        max_content_bytes = -1 if content_up_to is None else content_up_to
        found: dict[int, StoredPage] = {}
        for batch in in_batches(numbers):
            is_short = len(batch) <= _LOOP_PAGES
            if is_short and not self._scope.is_postgresql:
                # Larger pages are not read in the event loop.
                (size,) = self._scope.look_up(_SIZE, numbers=batch, content_up_to=max_content_bytes)
                is_short = (size.size_bytes or 0) <= _LOOP_BYTES
            rows = self._scope.look_up(
                _FIND_NUMBERED,
                is_short=is_short,
                numbers=batch,
                content_up_to=max_content_bytes,
            )
            found |= {row.page_number: _page_of_row(row) for row in rows}
        return found

    def find_manifest_positions(
        self, session_id: str, *, after: ManifestPosition | None, limit: int
    ) -> Sequence[ManifestPosition]:
        """Return the positions of up to `limit` pages of a session in its manifest, in order.

        Pinned pages come first, then more important ones, then newer ones. `after` is the last
        position of the previous list.
        """
        statement = _SELECT_MANIFEST_KEYS.limit(limit)
        if after is not None:
            last = (after.is_pinned, after.importance, after.page_number)
            statement = statement.where(tuple_(*_MANIFEST_KEY) < last)
        rows = self._scope.all(statement, session_id=session_id)
        return [ManifestPosition(row.pinned, row.importance, row.page_number) for row in rows]

    def count_in_session(self, session_id: str) -> int:
        """Count the pages of a session."""
        return int(self._scope.execute(_COUNT_IN_SESSION, session_id=session_id).scalar_one())


def _identity_of(current: StoredPage) -> dict[str, object]:
    """Return the parameters of `_IS_UNCHANGED`."""
    return {
        "of_number": current.page_number,
        "of_digest": current.digest,
        "of_fetched": current.fetched_resource_id,
    }


def _apply_filters(statement: Select[Any], filters: PageFilters) -> Select[Any]:
    """Return the select, limited to the pages that match filters."""
    values = {name: value for name, value in values_of(filters).items() if value is not None}
    session_id = values.pop("session_id", None)
    conditions = [pages.c[name] == value for name, value in values.items()]
    if session_id is None:
        return statement.where(*conditions)
    # `IS TRUE` prevents that SQLite uses an index for these conditions, so it uses the index over
    # sessions. An index over another column would return many more rows, because a session has few
    # pages.
    unindexed = (condition.is_(true()) for condition in conditions)
    return statement.where(pages.c.session_id == session_id, *unindexed)


def _matches_filters(row: Row[Any], filters: PageFilters) -> bool:
    values = values_of(filters).items()
    return all(value is None or getattr(row, name) == value for name, value in values)


def _version_columns(version: PageVersion) -> dict[str, object]:
    """Return the columns of a version, without its id."""
    values = values_of(version)
    fields = values.pop("fields")
    del values["page_id"]
    values |= {name: getattr(fields, name) for name in _FILTERS}
    level = int(version.fields.compression_level)
    return {**values, "importance": version.fields.importance, "compression_level": level}


def _page_of_row(row: Row[Any]) -> StoredPage:
    content = getattr(row, "content", None)
    return read_row(StoredPage, row, content=content, access_count=row.access_count or 0)


class PageLevelRecords(Repository):
    """The levels of one project's pages."""

    def find(self, page_id: str) -> Sequence[StoredRepresentation]:
        """Return the levels of a page, in order."""
        return [stored_level(row) for row in self._scope.look_up(_FIND_LEVELS, page_id=page_id)]

    def replace_many(
        self, levels: Mapping[str, Sequence[StoredRepresentation]], *, are_new: bool = False
    ) -> None:
        """Replace the levels of pages, by page id. The caller has locked or created the pages.

        `are_new` is true if the pages have no levels yet.
        """
        for batch in () if are_new else in_batches(levels):
            self._scope.run(_REMOVE_LEVELS, page_ids=batch)
        rows = [
            values_of(item, page_id=page_id, level=int(item.level))
            for page_id in sorted(levels)
            for item in levels[page_id]
        ]
        self._scope.insert_new(page_levels, rows)


def stored_level(row: Row[Any]) -> StoredRepresentation:
    """Return the level in a row of `page_levels`."""
    return read_row(StoredRepresentation, row, level=Level(row.level))
