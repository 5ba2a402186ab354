"""The resources of sessions, the sizes of sessions, and the entries that make their titles."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Integer,
    Row,
    Select,
    and_,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    or_,
)

from app.models.search_entry import EntrySource, IndexedKind
from app.models.session import (
    INTERACTION,
    MESSAGE,
    TOOL_RESULT,
    ResourceRelease,
    ResourceUsage,
    SessionUse,
)
from app.stores.records.derived_images import DerivedImageRecords
from app.stores.records.entry_sources import read_sources
from app.stores.records.resources import stored_resource
from app.stores.records.scope import in_batches
from app.stores.records.statements import (
    AnyTable,
    is_among,
    scoped_delete,
    scoped_from,
    scoped_select,
)
from app.stores.records.tables import (
    history_entries,
    messages,
    pages,
    resource_links,
    resources,
    sessions,
    tool_results,
)
from app.stores.records.unit_of_work import Repository, UnitOfWork
from pagefault_dialects.model.resource import Resource, ResourceKind
from pagefault_dialects.pages.sizes import (
    CHARS_PER_TOKEN,
    PIXELS_PER_TOKEN,
    SMALLEST_IMAGE_TOKENS,
)

# The number of entries from which the title of a session is made. The first one may be a system
# message.
_TITLE_ENTRIES = 3
_SUMS = ("resources", "images", "bytes_referenced", "bytes_inline")
_ENTRY_KINDS = (MESSAGE, INTERACTION, TOOL_RESULT)


def _count(table: AnyTable, *conditions: ColumnElement[bool]) -> Select[Any]:
    """Count, for each session in `session_ids`, the rows of a table that meet conditions."""
    session_id, rows = table.c.session_id, func.count().label("rows")
    among = is_among(session_id, "session_ids")
    return scoped_select(table, session_id, rows).where(among, *conditions).group_by(session_id)


def _select_title_entry(index: int) -> ColumnElement[Any]:
    """Select the id of the first message or interaction of a session, or of a later one.

    `index` is the number of messages and interactions before it.
    """
    entries = history_entries.c
    has_title = or_(entries.kind == MESSAGE, entries.kind == INTERACTION)
    in_session = entries.session_id == sessions.c.session_id
    selected = scoped_select(history_entries, entries.entry_id).where(in_session, has_title)
    found = selected.order_by(entries.seq).limit(1).offset(index)
    return found.scalar_subquery().label(f"title_entry_{index}")


def _select_use() -> Select[Any]:
    """Select sums over the links of each session in `session_ids`, reading each link once."""
    links = resource_links.c
    # The size of the files if every record contained a copy in base64.
    inline = func.sum((resources.c.size_bytes + 2) // 3 * 4).label("inline")
    image = case((resources.c.kind == "image", links.resource_id))
    is_shown = and_(resources.c.kind == "image", links.owner_kind.in_(_ENTRY_KINDS))
    # Entries have ids in the order of their writes, so the greatest id is that of the last image.
    last_image = func.max(case((is_shown, links.owner_id + " " + links.resource_id)))
    columns = (
        links.session_id,
        resources.c.digest,
        func.max(resources.c.size_bytes).label("size_bytes"),
        func.count(links.resource_id.distinct()).label("resources"),
        func.count(image.distinct()).label("images"),
        inline,
        last_image.label("last_image"),
        func.sum(case((is_shown, _image_tokens()), else_=0)).label("image_tokens"),
    )
    linked = scoped_select(resource_links, *columns).join_from(resource_links, resources)
    among = is_among(links.session_id, "session_ids")
    blobs = linked.where(among).group_by(links.session_id, resources.c.digest).subquery()
    return scoped_from(
        blobs,
        blobs.c.session_id,
        func.sum(blobs.c.resources).label("resources"),
        func.sum(blobs.c.images).label("images"),
        func.sum(blobs.c.size_bytes).label("bytes_referenced"),
        func.sum(blobs.c.inline).label("bytes_inline"),
        func.max(blobs.c.last_image).label("last_image"),
        func.sum(blobs.c.image_tokens).label("image_tokens"),
    ).group_by(blobs.c.session_id)


def _image_tokens() -> ColumnElement[Any]:
    """Select the tokens of an image, as `estimate_image_tokens` counts them."""
    width, height = (
        cast(func.coalesce(side, 0), BigInteger) for side in (resources.c.width, resources.c.height)
    )
    pixels = width * height
    tokens = (pixels + PIXELS_PER_TOKEN - 1) // PIXELS_PER_TOKEN
    return case((tokens < SMALLEST_IMAGE_TOKENS, SMALLEST_IMAGE_TOKENS), else_=tokens)


_COUNT_PAGES = _count(pages)
_SUM_HISTORY_BYTES = (
    scoped_select(
        history_entries,
        history_entries.c.session_id,
        func.sum(history_entries.c.size_bytes).label("rows"),
    )
    .where(is_among(history_entries.c.session_id, "session_ids"))
    .group_by(history_entries.c.session_id)
)
_COUNT_FAILURES = _count(tool_results, tool_results.c.success.is_(False))
_COUNT_FAILURES_OF_MESSAGES = (
    scoped_select(messages, messages.c.session_id, func.sum(messages.c.failures).label("rows"))
    .where(
        is_among(messages.c.session_id, "session_ids"), messages.c.failures > literal_column("0")
    )
    .group_by(messages.c.session_id)
)
_SELECT_USE = _select_use()
_LINKED = (
    scoped_select(resource_links, *resources.c, by=["session_id"])
    .join_from(resource_links, resources)
    .distinct()
)
_SELECT_ALL = _LINKED.order_by(resources.c.resource_id)
_SELECT_NEWEST = _LINKED.order_by(
    resources.c.created_at.desc(), resources.c.resource_id.desc()
).limit(bindparam("limit", type_=Integer()))
_SELECT_NEWEST_OF_KIND = _SELECT_NEWEST.where(resources.c.kind == bindparam("kind"))
_UNLINK = scoped_delete(resource_links, by=["session_id"]).where(
    is_among(resource_links.c.resource_id, "resource_ids")
)
_REMOVE = scoped_delete(resources).where(is_among(resources.c.resource_id, "resource_ids"))
_LINKS_BY_KIND = (resource_links.c.resource_id, resource_links.c.owner_kind)
_COUNT_USERS = (
    scoped_select(
        resource_links,
        *_LINKS_BY_KIND,
        func.count().label("owners"),
        func.min(resource_links.c.owner_id).label("example_id"),
    )
    .where(is_among(resource_links.c.resource_id, "values"))
    .group_by(*_LINKS_BY_KIND)
    .order_by(*_LINKS_BY_KIND)
)
_FIND_TITLE_ENTRIES = scoped_select(
    sessions, sessions.c.session_id, *map(_select_title_entry, range(_TITLE_ENTRIES))
).where(is_among(sessions.c.session_id, "session_ids"))


def _use_of_row(row: Row[Any] | None, size_bytes: int) -> dict[str, Any]:
    """Return the fields of `SessionUse` about files and tokens.

    Args:
        row: The row of the session in `_SELECT_USE`, if it has one.
        size_bytes: The size of the records of its history.
    """
    tokens = -(-size_bytes // CHARS_PER_TOKEN)
    if row is None:
        return {"tokens": tokens}
    sums = {name: int(getattr(row, name)) for name in _SUMS}
    last_image = row.last_image.rpartition(" ")[2] if row.last_image else None
    return {**sums, "tokens": tokens + int(row.image_tokens), "last_image": last_image}


class SessionResourceRecords(Repository):
    """The resources of one project's sessions."""

    def __init__(self, unit: UnitOfWork) -> None:
        super().__init__(unit)
        self._derived_images = unit[DerivedImageRecords]

    def measure_use(self, session_ids: Collection[str]) -> dict[str, SessionUse]:
        """Return the pages, failures, files and tokens of at most 1,000 sessions, by session id."""
        page_counts = self._read_numbers(_COUNT_PAGES, session_ids)
        failures = Counter(self._read_numbers(_COUNT_FAILURES, session_ids))
        failures.update(self._read_numbers(_COUNT_FAILURES_OF_MESSAGES, session_ids))
        sizes = self._read_numbers(_SUM_HISTORY_BYTES, session_ids)
        used = {
            row.session_id: row for row in self._scope.all(_SELECT_USE, session_ids=[*session_ids])
        }
        return {
            session_id: SessionUse(
                page_counts.get(session_id, 0),
                failures=failures[session_id],
                **_use_of_row(used.get(session_id), sizes.get(session_id, 0)),
            )
            for session_id in session_ids
        }

    def _read_numbers(self, statement: Select[Any], session_ids: Collection[str]) -> dict[str, int]:
        """Return the `rows` that a statement has counted or added up, by session id."""
        rows = self._scope.all(statement, session_ids=[*session_ids])
        return {row.session_id: int(row.rows) for row in rows}

    def find_title_entries(self, session_ids: Collection[str]) -> dict[str, list[EntrySource]]:
        """Return the first messages and interactions of sessions, in order, by session id."""
        ids: dict[str, list[str]] = {}
        for row in self._scope.all(_FIND_TITLE_ENTRIES, session_ids=[*session_ids]):
            found_ids: Sequence[Any] = row[1:]
            ids[row.session_id] = [str(item) for item in found_ids if item is not None]
        entry_ids = {entry_id for in_session in ids.values() for entry_id in in_session}
        # An id is either of a message or of an interaction.
        kinds: Sequence[IndexedKind] = ("message", "interaction")
        found = {
            source.entry_id: source
            for kind in kinds
            for source in read_sources(self._scope, kind, entry_ids)
        }
        return {
            session_id: [found[entry_id] for entry_id in in_session if entry_id in found]
            for session_id, in_session in ids.items()
        }

    def all_of(self, session_id: str) -> Sequence[Resource]:
        """Return all resources that a session links to, in order of their ids."""
        rows = self._scope.all(_SELECT_ALL, session_id=session_id)
        return [stored_resource(row) for row in rows]

    def newest(
        self, session_id: str, *, kind: ResourceKind | None, limit: int
    ) -> Sequence[Resource]:
        """Return up to `limit` resources that a session links to, newest first."""
        statement = _SELECT_NEWEST if kind is None else _SELECT_NEWEST_OF_KIND
        rows = self._scope.all(statement, session_id=session_id, kind=kind, limit=limit)
        return [stored_resource(row) for row in rows]

    def release(self, session_id: str) -> list[ResourceRelease]:
        """Remove a session's links, and the resources that have no other links.

        Files that were derived from removed resources are removed as well. A sweep removes the
        blobs later. The rows are locked until the transaction ends.

        Returns:
            All resources that the session linked to, in order of their ids, with their other users.
        """
        used = self.all_of(session_id)
        locked = self._derived_images.lock_sources(used)
        ids = [resource.resource_id for resource in used]
        for batch in in_batches(ids):
            self._scope.run(_UNLINK, session_id=session_id, resource_ids=batch)
        users = self._find_users(ids)
        # A resource that another transaction has stored again meanwhile is not in `locked`.
        unused = [key for key in ids if key in locked and key not in users]
        for batch in in_batches(unused):
            self._scope.run(_REMOVE, resource_ids=batch)
        self._derived_images.remove_sourceless({item.digest for item in used})
        return [
            ResourceRelease(
                file.resource_id, file.size_bytes, tuple(users.get(file.resource_id, ()))
            )
            for file in used
        ]

    def _find_users(self, ids: Collection[str]) -> dict[str, list[ResourceUsage]]:
        """Return the records that link to each resource, counted by kind, by resource id."""
        users: dict[str, list[ResourceUsage]] = {}
        for row in self._scope.rows_in_batches(_COUNT_USERS, ids):
            user = ResourceUsage(row.owner_kind, row.owners, row.example_id)
            users.setdefault(row.resource_id, []).append(user)
        return users
