"""What sessions use of the resource store, and what they begin with."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Row, ScalarSelect, Select, case, func, or_

from app.models.message import (
    INTERACTION,
    MESSAGE,
    ReleasedResource,
    ResourceUser,
    SessionUse,
)
from app.models.resource import Resource, ResourceKind
from app.models.search_entry import EntrySource, IndexedKind
from app.stores.records.derived_images import DerivedImageRecords
from app.stores.records.resources import stored_resource
from app.stores.records.scope import ProjectScope
from app.stores.records.search_sources import read_sources
from app.stores.records.tables import (
    history_entries,
    pages,
    resource_links,
    resources,
    sessions,
    tool_results,
)


def _use(pages: int, failures: int, used: Row[Any] | None) -> SessionUse:
    if used is None:
        return SessionUse(pages, failures=failures)
    return SessionUse(
        pages,
        resources=int(used.resources),
        images=int(used.images),
        failures=failures,
        bytes_referenced=int(used.referenced),
        bytes_inline=int(used.inline),
    )


_IDS_AT_ONCE = 1_000
# A title is looked for in so many of the first messages: those before may be the system's.
_OPENINGS = 3


class SessionResourceRecords:
    """The resources of one project's sessions."""

    def __init__(self, scope: ProjectScope, derived_images: DerivedImageRecords) -> None:
        self._scope = scope
        self._derived_images = derived_images

    def use_of(self, session_ids: Collection[str]) -> dict[str, SessionUse]:
        """Return what each of these sessions, at most 1,000, takes of the store."""
        paged = self._scope.all(
            self._scope.select(pages)
            .with_only_columns(pages.c.session_id, func.count().label("pages"))
            .where(pages.c.session_id.in_(session_ids))
            .group_by(pages.c.session_id)
        )
        counts = {row.session_id: int(row.pages) for row in paged}
        failures = {
            row.session_id: int(row.failures) for row in self._scope.all(self._failed(session_ids))
        }
        used = {row.session_id: row for row in self._scope.all(self._used(session_ids))}
        return {
            each: _use(counts.get(each, 0), failures.get(each, 0), used.get(each))
            for each in session_ids
        }

    def openings(self, session_ids: Collection[str]) -> dict[str, list[EntrySource]]:
        """Return what the first messages and interactions of some sessions say, in order."""
        firsts = [self._opening(place).label(f"opening_{place}") for place in range(_OPENINGS)]
        rows = self._scope.all(
            self._scope.select(sessions, sessions.c.session_id.in_(session_ids)).with_only_columns(
                sessions.c.session_id, *firsts
            )
        )
        ids: dict[str, list[str]] = {}
        for row in rows:
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

    def _opening(self, place: int) -> ScalarSelect[Any]:
        entries = history_entries.c
        is_opening = or_(entries.kind == MESSAGE, entries.kind == INTERACTION)
        return (
            self._scope.select(
                history_entries, entries.session_id == sessions.c.session_id, is_opening
            )
            .with_only_columns(entries.entry_id)
            .order_by(entries.seq)
            .limit(1)
            .offset(place)
            .scalar_subquery()
        )

    def _failed(self, session_ids: Collection[str]) -> Select[Any]:
        return (
            self._scope.select(tool_results, tool_results.c.success.is_(False))
            .with_only_columns(tool_results.c.session_id, func.count().label("failures"))
            .where(tool_results.c.session_id.in_(session_ids))
            .group_by(tool_results.c.session_id)
        )

    def all_of(self, session_id: str) -> Sequence[Resource]:
        """Return every resource that something of a session refers to, in order of their id."""
        statement = (
            self._linked([session_id])
            .with_only_columns(*resources.c)
            .distinct()
            .order_by(resources.c.resource_id)
        )
        return [stored_resource(row) for row in self._scope.all(statement)]

    def newest(
        self, session_id: str, *, kind: ResourceKind | None, limit: int
    ) -> Sequence[Resource]:
        """Return up to `limit` resources that something of a session refers to, newest first."""
        statement = self._linked([session_id]).with_only_columns(*resources.c).distinct()
        if kind is not None:
            statement = statement.where(resources.c.kind == kind)
        newest = statement.order_by(resources.c.created_at.desc(), resources.c.resource_id.desc())
        return [stored_resource(row) for row in self._scope.all(newest.limit(limit))]

    def release(self, session_id: str) -> list[ReleasedResource]:
        """Drop a session's links, and the resources that nothing else uses, in order of their id.

        What was derived from these goes with them. Their rows are held until the transaction ends.
        The blobs stay, as garbage.
        """
        used = self.all_of(session_id)
        held = self._derived_images.hold_sources(used)
        released = []
        for start in range(0, len(used), _IDS_AT_ONCE):
            batch = used[start : start + _IDS_AT_ONCE]
            released += self._release(session_id, batch, held)
        self._derived_images.remove_sourceless({each.digest for each in used})
        return released

    def _release(
        self, session_id: str, batch: Sequence[Resource], held: Collection[str]
    ) -> list[ReleasedResource]:
        ids = [resource.resource_id for resource in batch]
        self._scope.remove(
            resource_links,
            resource_links.c.session_id == session_id,
            resource_links.c.resource_id.in_(ids),
        )
        users = self._users(ids)
        # Of one that was removed and stored anew meanwhile, somebody else holds the row.
        unused = [each for each in ids if each in held and each not in users]
        self._scope.remove(resources, resources.c.resource_id.in_(unused))
        return [
            ReleasedResource(
                each.resource_id, each.size_bytes, tuple(users.get(each.resource_id, ()))
            )
            for each in batch
        ]

    def _users(self, ids: Collection[str]) -> dict[str, list[ResourceUser]]:
        links = resource_links.c
        rows = self._scope.all(
            self._scope.select(resource_links)
            .with_only_columns(
                links.resource_id,
                links.owner_kind,
                func.count().label("owners"),
                func.min(links.owner_id).label("example_id"),
            )
            .where(links.resource_id.in_(ids))
            .group_by(links.resource_id, links.owner_kind)
            .order_by(links.resource_id, links.owner_kind)
        )
        users: dict[str, list[ResourceUser]] = {}
        for row in rows:
            user = ResourceUser(row.owner_kind, row.owners, row.example_id)
            users.setdefault(row.resource_id, []).append(user)
        return users

    def _linked(self, session_ids: Collection[str]) -> Select[Any]:
        """Select links of sessions, with the resources they lead to."""
        return (
            self._scope.select(resource_links)
            .join_from(resource_links, resources)
            .where(resource_links.c.session_id.in_(session_ids))
        )

    def _used(self, session_ids: Collection[str]) -> Select[Any]:
        """Select sums over links of sessions, which are walked along once: there may be many."""
        links = resource_links.c
        # Base64 makes four characters of three bytes, and every record would have a copy.
        inline = func.sum((resources.c.size_bytes + 2) // 3 * 4).label("inline")
        image = case((resources.c.kind == "image", links.resource_id))
        blobs = (
            self._linked(session_ids)
            .with_only_columns(
                links.session_id,
                resources.c.digest,
                func.max(resources.c.size_bytes).label("size_bytes"),
                func.count(links.resource_id.distinct()).label("resources"),
                func.count(image.distinct()).label("images"),
                inline,
            )
            .group_by(links.session_id, resources.c.digest)
            .subquery()
        )
        return self._scope.select_from(
            blobs,
            blobs.c.session_id,
            func.sum(blobs.c.resources).label("resources"),
            func.sum(blobs.c.images).label("images"),
            func.sum(blobs.c.size_bytes).label("referenced"),
            func.sum(blobs.c.inline).label("inline"),
        ).group_by(blobs.c.session_id)
