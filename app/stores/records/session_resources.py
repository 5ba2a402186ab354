"""The resources that sessions use, and the sources of their titles."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, case, func, or_

from app.models.search_entry import EntrySource, IndexedKind
from app.models.session import INTERACTION, MESSAGE, ResourceRelease, ResourceUsage, SessionUse
from app.stores.records.derived_images import DerivedImageRecords
from app.stores.records.entry_sources import read_sources
from app.stores.records.prepared_statements import IsAmong
from app.stores.records.resources import stored_resource
from app.stores.records.scope import (
    AnyTable,
    in_batches,
    scoped_from,
    scoped_select,
)
from app.stores.records.tables import (
    history_entries,
    pages,
    resource_links,
    resources,
    sessions,
    tool_results,
)
from app.stores.records.unit_of_work import Repository, UnitOfWork
from pagefault_dialects.model.resource import Resource, ResourceKind

# A title is looked for in so many of the first messages: those before may be the system's.
_OPENINGS = 3
_SUMS = ("resources", "images", "bytes_referenced", "bytes_inline")


def _counting(table: AnyTable, *conditions: ColumnElement[bool]) -> Select[Any]:
    """Select how many rows of a table some sessions have that meet conditions."""
    session_id, rows = table.c.session_id, func.count().label("rows")
    among = IsAmong(session_id, "session_ids")
    return scoped_select(table, session_id, rows).where(among, *conditions).group_by(session_id)


def _opening(place: int) -> ColumnElement[Any]:
    """Select the id of a session's message or interaction by its place among them."""
    entries = history_entries.c
    is_opening = or_(entries.kind == MESSAGE, entries.kind == INTERACTION)
    in_session = entries.session_id == sessions.c.session_id
    openings = scoped_select(history_entries, entries.entry_id).where(in_session, is_opening)
    found = openings.order_by(entries.seq).limit(1).offset(place)
    return found.scalar_subquery().label(f"opening_{place}")


def _using() -> Select[Any]:
    """Select sums over links of sessions, which are walked along once: there may be many."""
    links = resource_links.c
    # Base64 makes four characters of three bytes, and every record would have a copy.
    inline = func.sum((resources.c.size_bytes + 2) // 3 * 4).label("inline")
    image = case((resources.c.kind == "image", links.resource_id))
    columns = (
        links.session_id,
        resources.c.digest,
        func.max(resources.c.size_bytes).label("size_bytes"),
        func.count(links.resource_id.distinct()).label("resources"),
        func.count(image.distinct()).label("images"),
        inline,
    )
    linked = scoped_select(resource_links, *columns).join_from(resource_links, resources)
    among = IsAmong(links.session_id, "session_ids")
    blobs = linked.where(among).group_by(links.session_id, resources.c.digest).subquery()
    return scoped_from(
        blobs,
        blobs.c.session_id,
        func.sum(blobs.c.resources).label("resources"),
        func.sum(blobs.c.images).label("images"),
        func.sum(blobs.c.size_bytes).label("bytes_referenced"),
        func.sum(blobs.c.inline).label("bytes_inline"),
    ).group_by(blobs.c.session_id)


_COUNT_PAGES = _counting(pages)
_COUNT_FAILURES = _counting(tool_results, tool_results.c.success.is_(False))
_USED = _using()
_FIND_OPENINGS = scoped_select(
    sessions, sessions.c.session_id, *map(_opening, range(_OPENINGS))
).where(IsAmong(sessions.c.session_id, "session_ids"))


class SessionResourceRecords(Repository):
    """The resources of one project's sessions."""

    def __init__(self, unit: UnitOfWork) -> None:
        super().__init__(unit)
        self._derived_images = unit[DerivedImageRecords]

    def use_of(self, session_ids: Collection[str]) -> dict[str, SessionUse]:
        """Return what each of these sessions, at most 1,000, takes of the store."""
        counts = self._counts(_COUNT_PAGES, session_ids)
        failures = self._counts(_COUNT_FAILURES, session_ids)
        sums = self._scope.kept(_USED, session_ids=session_ids)
        used: dict[str, dict[str, Any]] = {
            row.session_id: {name: int(getattr(row, name)) for name in _SUMS} for row in sums
        }
        return {
            each: SessionUse(
                counts.get(each, 0), failures=failures.get(each, 0), **used.get(each, {})
            )
            for each in session_ids
        }

    def _counts(self, counting: Select[Any], session_ids: Collection[str]) -> dict[str, int]:
        rows = self._scope.kept(counting, session_ids=session_ids)
        return {row.session_id: int(row.rows) for row in rows}

    def openings(self, session_ids: Collection[str]) -> dict[str, list[EntrySource]]:
        """Return what the first messages and interactions of some sessions say, in order."""
        ids: dict[str, list[str]] = {}
        for row in self._scope.kept(_FIND_OPENINGS, session_ids=session_ids):
            openings: Sequence[Any] = row[1:]
            ids[row.session_id] = [str(each) for each in openings if each is not None]
        wanted = {entry_id for named in ids.values() for entry_id in named}
        # An id is that of a message or of an interaction.
        kinds: Sequence[IndexedKind] = ("message", "interaction")
        sources = (each for kind in kinds for each in read_sources(self._scope, kind, wanted))
        found = {source.entry_id: source for source in sources}
        return {
            session_id: [found[each] for each in named if each in found]
            for session_id, named in ids.items()
        }

    def all_of(self, session_id: str) -> Sequence[Resource]:
        """Return every resource that something of a session refers to, in order of their id."""
        rows = self._scope.all(self._linked(session_id).order_by(resources.c.resource_id))
        return [stored_resource(row) for row in rows]

    def newest(
        self, session_id: str, *, kind: ResourceKind | None, limit: int
    ) -> Sequence[Resource]:
        """Return up to `limit` resources that something of a session refers to, newest first."""
        statement = self._linked(session_id)
        if kind is not None:
            statement = statement.where(resources.c.kind == kind)
        newest = statement.order_by(resources.c.created_at.desc(), resources.c.resource_id.desc())
        return [stored_resource(row) for row in self._scope.all(newest.limit(limit))]

    def release(self, session_id: str) -> list[ResourceRelease]:
        """Drop a session's links, and the resources that nothing else uses, in order of their id.

        What was derived from these goes with them. Their rows are held until the transaction ends.
        The blobs stay, as garbage.
        """
        used = self.all_of(session_id)
        held = self._derived_images.hold_sources(used)
        ids = [each.resource_id for each in used]
        of_session, linked = resource_links.c.session_id == session_id, resource_links.c.resource_id
        for batch in in_batches(ids):
            self._scope.remove(resource_links, of_session, linked.in_(batch))
        users = self._users(ids)
        # Of one that was removed and stored anew meanwhile, somebody else holds the row.
        unused = [each for each in ids if each in held and each not in users]
        for batch in in_batches(unused):
            self._scope.remove(resources, resources.c.resource_id.in_(batch))
        self._derived_images.remove_sourceless({each.digest for each in used})
        return [
            ResourceRelease(
                each.resource_id, each.size_bytes, tuple(users.get(each.resource_id, ()))
            )
            for each in used
        ]

    def _users(self, ids: Collection[str]) -> dict[str, list[ResourceUsage]]:
        links = resource_links.c
        by_kind = (links.resource_id, links.owner_kind)
        owners, example = func.count().label("owners"), func.min(links.owner_id).label("example_id")
        counted = self._scope.select(resource_links, columns=[*by_kind, owners, example])
        ordered = counted.group_by(*by_kind).order_by(*by_kind)
        users: dict[str, list[ResourceUsage]] = {}
        for row in self._scope.rows_with(links.resource_id, ids, ordered):
            user = ResourceUsage(row.owner_kind, row.owners, row.example_id)
            users.setdefault(row.resource_id, []).append(user)
        return users

    def _linked(self, session_id: str) -> Select[Any]:
        """Select the resources that links of a session lead to, each once."""
        of_session = resource_links.c.session_id == session_id
        linked = self._scope.select(resource_links, of_session, columns=[*resources.c])
        return linked.join_from(resource_links, resources).distinct()
