"""Resources, and the links of their owners to them, which prevent their deletion.

An *owner* is a record that refers to a resource: a message, a tool result, an interaction, a page
or a page fault.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Integer, Row, bindparam, case, func

from app.stores.records.blob_guard import BlobGuard
from app.stores.records.columns import sort_newest_first
from app.stores.records.scope import in_batches, read_row, values_of
from app.stores.records.statements import (
    Excluded,
    Lookup,
    is_among,
    overwrite,
    scoped_delete,
    scoped_select,
    scoped_update,
)
from app.stores.records.tables import resource_links, resources
from app.stores.records.unit_of_work import Repository, UnitOfWork
from pagefault_dialects.model.resource import MediaHints, Resource

_FIND = Lookup(scoped_select(resources, by=["resource_id"]))
_FIND_BY_DIGEST = Lookup(
    scoped_select(resources, by=["digest"])
    .where(resources.c.is_derived.is_(False))
    .order_by(resources.c.created_at, resources.c.resource_id)
    .limit(1)
)
_FIND_IN_SESSION = scoped_select(resources).where(
    is_among(resources.c.resource_id, "values"),
    scoped_select(resource_links)
    .where(
        resource_links.c.session_id.is_not_distinct_from(bindparam("of_session")),
        resource_links.c.resource_id == resources.c.resource_id,
    )
    .exists(),
)
# Sets the id to itself, which locks the row on both databases.
_LOCK = scoped_update(resources, by={"resource_id": "locked_id"}).values(
    resource_id=resources.c.resource_id
)
_REMOVE = scoped_delete(resources, by=["resource_id"])
_LIST = scoped_select(resources)
_SELECT_EXTENT = scoped_select(
    resources,
    func.count().label("resources"),
    func.max(resources.c.created_at).label("newest_at"),
)
_OWNERS = (
    scoped_select(resource_links, by=["resource_id"])
    .order_by(resource_links.c.owner_kind, resource_links.c.owner_id)
    .limit(bindparam("limit", type_=Integer()))
)
_UNLINK = scoped_delete(resource_links, by=["owner_kind", "owner_id"]).where(
    resource_links.c.resource_id.not_in(bindparam("kept", expanding=True))
)


class ResourceRecords(Repository):
    """The resources of one project.

    A *derived* resource is a smaller image that the service has made from a stored image.
    """

    def __init__(self, unit: UnitOfWork) -> None:
        super().__init__(unit)
        self._blob_guard = unit[BlobGuard]

    def ensure(self, resource: Resource) -> tuple[Resource, bool]:
        """Store a resource unless it exists; return the stored resource, and whether it is new.

        A resource that was only derived before is new too.

        The caller has stored the blob before. The row is locked until the transaction ends, so a
        concurrent deletion waits, and then finds the links that this transaction has added.

        Raises:
            BlobSweptError: A sweep has removed the blob.
        """
        self._blob_guard.guard([resource.digest])
        row = self._scope.insert_or_merge(resources, _merge, **_resource_columns(resource))
        stored = stored_resource(row)
        return stored, stored.created_at == resource.created_at

    def ensure_derived(self, resource: Resource) -> None:
        """Store a derived resource unless it exists; its row is locked, as in `ensure`.

        Raises:
            BlobSweptError: A sweep has removed the blob.
        """
        self._blob_guard.guard([resource.digest])
        values = {**_resource_columns(resource), "is_derived": True}
        # Resources with the same id have the same type, so this only locks an existing row.
        self._scope.merge_all(resources, [values], overwrite("mime_type"))

    def ensure_all(self, required: Iterable[Resource]) -> None:
        """Store the resources that do not exist; all rows are locked, as in `ensure`.

        Raises:
            BlobSweptError: A sweep has removed one of their blobs.
        """
        ordered = sorted(required, key=lambda resource: resource.resource_id)
        self._blob_guard.guard([resource.digest for resource in ordered])
        self._scope.merge_all(
            resources, [_resource_columns(resource) for resource in ordered], _merge
        )

    def ensure_linked(
        self, linked: Iterable[Resource], *, owner_kind: str, owner_id: str, session_id: str | None
    ) -> None:
        """Store the resources that do not exist, and link all of them to an owner.

        A resource cannot be deleted while it has links. The rows are locked, as in `ensure`.
        """
        ordered = sorted(linked, key=lambda resource: resource.resource_id)
        self.ensure_all(ordered)
        owner = {"owner_kind": owner_kind, "owner_id": owner_id, "session_id": session_id}
        links = [{"resource_id": resource.resource_id, **owner} for resource in ordered]
        # A link has the session of its owner. A memory page may move to another session.
        self._scope.merge_all(resource_links, links, overwrite("session_id"))

    def relink(
        self,
        linked: Collection[Resource],
        *,
        owner_kind: str,
        owner_id: str,
        session_id: str | None,
    ) -> None:
        """Link resources as `ensure_linked` does, and remove all other links of the owner."""
        self.ensure_linked(linked, owner_kind=owner_kind, owner_id=owner_id, session_id=session_id)
        self.unlink(owner_kind, owner_id, except_ids={resource.resource_id for resource in linked})

    def unlink(self, owner_kind: str, owner_id: str, *, except_ids: Collection[str] = ()) -> None:
        """Remove the links of an owner, except those to the resources in `except_ids`."""
        owner = {"owner_kind": owner_kind, "owner_id": owner_id}
        self._scope.run(_UNLINK, **owner, kept=sorted(except_ids))

    def find(self, resource_id: str) -> Resource | None:
        """Return the resource with this id."""
        rows = self._scope.look_up(_FIND, resource_id=resource_id)
        return stored_resource(rows[0]) if rows else None

    def find_by_digest(self, digest: str) -> Resource | None:
        """Return the oldest resource with this blob that is not derived."""
        rows = self._scope.look_up(_FIND_BY_DIGEST, digest=digest)
        return stored_resource(rows[0]) if rows else None

    def find_all(self, resource_ids: Collection[str]) -> dict[str, Resource]:
        """Return the resources that exist, by id."""
        rows = self._scope.rows_with(resources.c.resource_id, resource_ids)
        return {row.resource_id: stored_resource(row) for row in rows}

    def find_in_session(
        self, resource_ids: Collection[str], session_id: str | None
    ) -> dict[str, Resource]:
        """Return the resources that have an owner in a session, by id.

        With `None`, return those that have an owner without a session.
        """
        found: dict[str, Resource] = {}
        for batch in in_batches(resource_ids):
            rows = self._scope.all(_FIND_IN_SESSION, values=batch, of_session=session_id)
            found |= {row.resource_id: stored_resource(row) for row in rows}
        return found

    def list_owners(self, resource_id: str, *, limit: int) -> list[tuple[str, str]]:
        """Return up to `limit` owners of a resource, as (kind, id)."""
        rows = self._scope.all(_OWNERS, resource_id=resource_id, limit=limit)
        return [(row.owner_kind, row.owner_id) for row in rows]

    def lock(self, resource_id: str) -> bool:
        """Lock a resource's row until the transaction ends; return whether it exists."""
        return self._scope.run(_LOCK, locked_id=resource_id) == 1

    def remove(self, resource_id: str) -> None:
        """Remove a resource. A sweep removes its blob later, if no other row needs it."""
        self._scope.run(_REMOVE, resource_id=resource_id)

    def extent(self) -> tuple[int, datetime | None]:
        """Return the number of resources, and the time of the newest one if there are any.

        While both stay the same, the list of resources stays the same.
        """
        (row,) = self._scope.all(_SELECT_EXTENT)
        return row.resources, row.newest_at

    def list_resources(
        self, *, before: tuple[datetime, str] | None, limit: int
    ) -> Sequence[Resource]:
        """Return up to `limit` resources, newest first; `before` is a (created_at, id)."""
        timestamp, identity = resources.c.created_at, resources.c.resource_id
        listed = sort_newest_first(_LIST, timestamp, identity, before=before, limit=limit)
        return [stored_resource(row) for row in self._scope.all(listed)]


def _resource_columns(resource: Resource) -> dict[str, object]:
    values = values_of(resource, **values_of(resource.hints), is_derived=False)
    del values["hints"]
    return values


def _merge(excluded: Excluded) -> Mapping[str, ColumnElement[Any]]:
    """Return the columns to set if a resource is stored again.

    A derived resource becomes a normal one, with a new `created_at`.
    """
    stored = resources.c
    return {
        "is_derived": excluded.is_derived,
        "created_at": case((stored.is_derived, excluded.created_at), else_=stored.created_at),
    }


def stored_resource(row: Row[Any]) -> Resource:
    """Return the resource in a row of `resources`."""
    return read_row(Resource, row, hints=read_row(MediaHints, row))
