"""Resources, and the links that keep them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, case, func

from app.stores.records.blob_guard import BlobGuard
from app.stores.records.columns import newest_first
from app.stores.records.prepared_statements import Lookup, Offered, touch
from app.stores.records.scope import (
    read_row,
    scoped_select,
    values_of,
)
from app.stores.records.tables import resource_links, resources
from app.stores.records.unit_of_work import Repository, UnitOfWork
from pagefault_dialects.model.resource import MediaHints, Resource

_FIND = Lookup(scoped_select(resources, by=["resource_id"]))


class ResourceRecords(Repository):
    """The resources of one project."""

    def __init__(self, unit: UnitOfWork) -> None:
        super().__init__(unit)
        self._blob_guard = unit[BlobGuard]

    def ensure(self, resource: Resource) -> tuple[Resource, bool]:
        """Store a descriptor unless it is there; returns the stored one and whether it is new.

        The caller has put the blob into the store before. The row is held until the transaction
        ends, so a delete at the same moment waits, and then finds the link.

        Raises:
            BlobSweptError: A sweep has removed the blob meanwhile.
        """
        self._blob_guard.guard([resource.digest])
        row = self._scope.insert_or_merge(resources, _taken_over, **_values(resource))
        stored = stored_resource(row)
        return stored, stored.created_at == resource.created_at

    def ensure_derived(self, resource: Resource) -> None:
        """Store the descriptor of something that was derived, unless the same file is there.

        Its row is held as `ensure` holds one.

        Raises:
            BlobSweptError: A sweep has removed the blob meanwhile.
        """
        self._blob_guard.guard([resource.digest])
        values = {**_values(resource), "is_derived": True}
        self._scope.merge_all(resources, [values], touch("mime_type"))

    def ensure_all(self, kept: Iterable[Resource]) -> None:
        """Store descriptors that are not there yet; all rows are held as `ensure` holds one.

        Raises:
            BlobSweptError: A sweep has removed one of their blobs meanwhile.
        """
        ordered = sorted(kept, key=lambda resource: resource.resource_id)
        self._blob_guard.guard([resource.digest for resource in ordered])
        self._scope.merge_all(resources, [_values(resource) for resource in ordered], _taken_over)

    def ensure_linked(
        self, kept: Iterable[Resource], *, owner_kind: str, owner_id: str, session_id: str | None
    ) -> None:
        """Store descriptors that are not there yet, and note that something refers to them all.

        A resource cannot be deleted while something refers to it. The rows are held as `ensure`
        holds one.
        """
        ordered = sorted(kept, key=lambda resource: resource.resource_id)
        self.ensure_all(ordered)
        owner = {"owner_kind": owner_kind, "owner_id": owner_id, "session_id": session_id}
        links = [{"resource_id": resource.resource_id, **owner} for resource in ordered]
        # What an owner refers to it refers to from where it is now: a page may change its session.
        self._scope.merge_all(resource_links, links, touch("session_id"))

    def relink(
        self, kept: Collection[Resource], *, owner_kind: str, owner_id: str, session_id: str | None
    ) -> None:
        """Do as `ensure_linked`, and note that the owner no longer refers to anything else."""
        self.ensure_linked(kept, owner_kind=owner_kind, owner_id=owner_id, session_id=session_id)
        self.unlink(owner_kind, owner_id, but={resource.resource_id for resource in kept})

    def unlink(self, owner_kind: str, owner_id: str, *, but: Collection[str] = ()) -> None:
        """Note that the owner refers to nothing any more, but to these resources."""
        links = resource_links.c
        of_owner = (links.owner_kind == owner_kind) & (links.owner_id == owner_id)
        self._scope.remove(resource_links, of_owner, links.resource_id.not_in(but))

    def find(self, resource_id: str) -> Resource | None:
        """Return the resource with this id."""
        rows = self._scope.look_up(_FIND, resource_id=resource_id)
        return stored_resource(rows[0]) if rows else None

    def find_all(self, resource_ids: Collection[str]) -> dict[str, Resource]:
        """Return those of the resources that exist, by id."""
        rows = self._scope.rows_with(resources.c.resource_id, resource_ids)
        return {row.resource_id: stored_resource(row) for row in rows}

    def find_in_session(
        self, resource_ids: Collection[str], session_id: str | None
    ) -> dict[str, Resource]:
        """Return those of the resources that something in the session refers to, by id.

        `None` stands for what is in no session.
        """
        links, identity = resource_links.c, resources.c.resource_id
        linked = self._scope.select(
            resource_links, links.session_id == session_id, links.resource_id == identity
        )
        of_session = self._scope.select(resources, linked.exists())
        rows = self._scope.rows_with(identity, resource_ids, of_session)
        return {row.resource_id: stored_resource(row) for row in rows}

    def owners(self, resource_id: str, *, limit: int) -> list[tuple[str, str]]:
        """Return up to `limit` things that refer to a resource, as (kind, id)."""
        statement = (
            self._scope.select(resource_links, resource_links.c.resource_id == resource_id)
            .order_by(resource_links.c.owner_kind, resource_links.c.owner_id)
            .limit(limit)
        )
        return [(row.owner_kind, row.owner_id) for row in self._scope.all(statement)]

    def hold(self, resource_id: str) -> bool:
        """Hold a resource's row until the transaction ends; says whether there is one."""
        is_it = resources.c.resource_id == resource_id
        return self._scope.set_values(resources, is_it, resource_id=resource_id) == 1

    def remove(self, resource_id: str) -> None:
        """Remove a descriptor; the blob stays, as garbage."""
        self._scope.remove(resources, resources.c.resource_id == resource_id)

    def extent(self) -> tuple[int, datetime | None]:
        """Return how many there are, and when the newest was stored: another list has another."""
        columns = [
            func.count().label("resources"),
            func.max(resources.c.created_at).label("newest_at"),
        ]
        (row,) = self._scope.all(self._scope.select(resources, columns=columns))
        return row.resources, row.newest_at

    def page(self, *, before: tuple[datetime, str] | None, limit: int) -> Sequence[Resource]:
        """Return up to `limit` resources, newest first, behind a (created_at, id) position."""
        moment, identity = resources.c.created_at, resources.c.resource_id
        listed = self._scope.select(resources)
        listed = newest_first(listed, moment, identity, before=before, limit=limit)
        return [stored_resource(row) for row in self._scope.all(listed)]


def _values(resource: Resource) -> dict[str, object]:
    values = values_of(resource, **values_of(resource.hints), is_derived=False)
    del values["hints"]
    return values


def _taken_over(offered: Offered) -> Mapping[str, ColumnElement[Any]]:
    """Return what becomes of a descriptor stored again: a derived one is as if it were new."""
    stored = resources.c
    return {
        "is_derived": offered.is_derived,
        "created_at": case((stored.is_derived, offered.created_at), else_=stored.created_at),
    }


def stored_resource(row: Row[Any]) -> Resource:
    """Return the resource in a row of `resources`."""
    return read_row(Resource, row, hints=read_row(MediaHints, row))
