"""What sessions use of the resource store, and letting go of it."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Select, func

from app.models.message import ReleasedResource, ResourceUser, SessionUse
from app.models.resource import Resource
from app.stores.records.derived_images import DerivedImageRecords
from app.stores.records.resources import stored_resource
from app.stores.records.scope import ProjectScope
from app.stores.records.tables import pages, resource_links, resources

_IDS_AT_ONCE = 1_000


class SessionResourceRecords:
    """The resources of one project's sessions."""

    def __init__(self, scope: ProjectScope, derived_images: DerivedImageRecords) -> None:
        self._scope = scope
        self._derived_images = derived_images

    def use_of(self, session_ids: Collection[str]) -> dict[str, SessionUse]:
        """What each of these sessions, at most 1,000, takes of the store."""
        paged = self._scope.all(
            self._scope.select(pages)
            .with_only_columns(pages.c.session_id, func.count().label("pages"))
            .where(pages.c.session_id.in_(session_ids))
            .group_by(pages.c.session_id)
        )
        counts = {row.session_id: int(row.pages) for row in paged}
        used = {row.session_id: row for row in self._scope.all(self._used(session_ids))}
        return {
            session_id: SessionUse(
                pages=counts.get(session_id, 0),
                resources=int(used[session_id].resources) if session_id in used else 0,
                bytes_referenced=int(used[session_id].referenced) if session_id in used else 0,
                bytes_inline=int(used[session_id].inline) if session_id in used else 0,
            )
            for session_id in session_ids
        }

    def all_of(self, session_id: str) -> Sequence[Resource]:
        """Every resource that something of a session refers to, in order of their id."""
        statement = (
            self._linked([session_id])
            .with_only_columns(*resources.c)
            .distinct()
            .order_by(resources.c.resource_id)
        )
        return [stored_resource(row) for row in self._scope.all(statement)]

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
        self._scope.run(
            self._scope.delete(resource_links).where(
                resource_links.c.session_id == session_id, resource_links.c.resource_id.in_(ids)
            )
        )
        users = self._users(ids)
        # Of one that was removed and stored anew meanwhile, somebody else holds the row.
        unused = [each for each in ids if each in held and each not in users]
        self._scope.run(self._scope.delete(resources).where(resources.c.resource_id.in_(unused)))
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
        """Links of sessions, with the resources they lead to."""
        return (
            self._scope.select(resource_links)
            .join_from(
                resource_links,
                resources,
                (resources.c.project_id == resource_links.c.project_id)
                & (resources.c.resource_id == resource_links.c.resource_id),
            )
            .where(resource_links.c.session_id.in_(session_ids))
        )

    def _used(self, session_ids: Collection[str]) -> Select[Any]:
        """Sums over the links of sessions, which are walked along once: there may be many."""
        links = resource_links.c
        # Base64 makes four characters of three bytes, and every record would have a copy.
        inline = func.sum((resources.c.size_bytes + 2) // 3 * 4).label("inline")
        blobs = (
            self._linked(session_ids)
            .with_only_columns(
                links.session_id,
                resources.c.digest,
                func.max(resources.c.size_bytes).label("size_bytes"),
                func.count(links.resource_id.distinct()).label("resources"),
                inline,
            )
            .group_by(links.session_id, resources.c.digest)
            .subquery()
        )
        return self._scope.select_from(
            blobs,
            blobs.c.session_id,
            func.sum(blobs.c.resources).label("resources"),
            func.sum(blobs.c.size_bytes).label("referenced"),
            func.sum(blobs.c.inline).label("inline"),
        ).group_by(blobs.c.session_id)
