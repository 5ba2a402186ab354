"""Resources, and the links that keep them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Delete, Row, bindparam, case

from app.models.resource import MediaHints, Resource
from app.stores.records.columns import stands_before
from app.stores.records.inserts import Offered
from app.stores.records.lookups import Lookup
from app.stores.records.scope import ProjectScope, scoped_select
from app.stores.records.swept_blobs import SweptBlobRecords
from app.stores.records.tables import resource_links, resources

_IDS_AT_ONCE = 1_000
_FIND = Lookup(
    scoped_select(resources, *resources.c).where(
        resources.c.resource_id == bindparam("resource_id")
    )
)


class ResourceRecords:
    """The resources of one project."""

    def __init__(self, scope: ProjectScope, swept_blobs: SweptBlobRecords) -> None:
        self._scope = scope
        self._swept_blobs = swept_blobs

    def ensure(self, resource: Resource) -> tuple[Resource, bool]:
        """Store a descriptor unless it is there; returns the stored one and whether it is new.

        The caller has put the blob into the store before. The row is held until the transaction
        ends, so a delete at the same moment waits, and then finds the link.

        Raises:
            BlobSweptError: A sweep has removed the blob meanwhile.
        """
        self._swept_blobs.guard([resource.digest])
        row = self._scope.insert_or_merge(resources, _taken_over, **_values(resource))
        stored = stored_resource(row)
        return stored, stored.created_at == resource.created_at

    def ensure_derived(self, resource: Resource) -> None:
        """Store the descriptor of something that was derived, unless the same file is there.

        Its row is held as `ensure` holds one.

        Raises:
            BlobSweptError: A sweep has removed the blob meanwhile.
        """
        self._swept_blobs.guard([resource.digest])
        values = {**_values(resource), "is_derived": True}
        self._scope.insert_all(resources, [values], touch=["mime_type"])

    def ensure_all(self, kept: Iterable[Resource]) -> None:
        """Store descriptors that are not there yet; all rows are held as `ensure` holds one.

        Raises:
            BlobSweptError: A sweep has removed one of their blobs meanwhile.
        """
        ordered = sorted(kept, key=lambda resource: resource.resource_id)
        self._swept_blobs.guard([resource.digest for resource in ordered])
        self._scope.merge_all(resources, [_values(resource) for resource in ordered], _taken_over)

    def ensure_linked(
        self,
        kept: Iterable[Resource],
        *,
        owner_kind: str,
        owner_id: str,
        session_id: str | None,
    ) -> None:
        """Store descriptors that are not there yet, and note that something refers to them all.

        A resource cannot be deleted while something refers to it. The rows are held as `ensure`
        holds one.
        """
        ordered = sorted(kept, key=lambda resource: resource.resource_id)
        self.ensure_all(ordered)
        links = [
            {
                "resource_id": resource.resource_id,
                "owner_kind": owner_kind,
                "owner_id": owner_id,
                "session_id": session_id,
            }
            for resource in ordered
        ]
        # What an owner refers to it refers to from where it is now: a page may change its session.
        self._scope.insert_all(resource_links, links, touch=["session_id"])

    def relink(
        self,
        kept: Collection[Resource],
        *,
        owner_kind: str,
        owner_id: str,
        session_id: str | None,
    ) -> None:
        """As `ensure_linked`, and the owner no longer refers to anything else."""
        self.ensure_linked(kept, owner_kind=owner_kind, owner_id=owner_id, session_id=session_id)
        self._scope.run(
            self._links_of(owner_kind, owner_id).where(
                resource_links.c.resource_id.not_in([resource.resource_id for resource in kept])
            )
        )

    def unlink(self, owner_kind: str, owner_id: str) -> None:
        """The owner refers to nothing any more."""
        self._scope.run(self._links_of(owner_kind, owner_id))

    def find(self, resource_id: str) -> Resource | None:
        """The resource with this id."""
        rows = self._scope.look_up(_FIND, resource_id=resource_id)
        return stored_resource(rows[0]) if rows else None

    def find_all(self, resource_ids: Collection[str]) -> dict[str, Resource]:
        """Those of the resources that exist, by id."""
        found: dict[str, Resource] = {}
        wanted = sorted(resource_ids)
        for start in range(0, len(wanted), _IDS_AT_ONCE):
            rows = self._scope.all(
                self._scope.select(resources).where(
                    resources.c.resource_id.in_(wanted[start : start + _IDS_AT_ONCE])
                )
            )
            found |= {row.resource_id: stored_resource(row) for row in rows}
        return found

    def find_in_session(
        self, resource_ids: Collection[str], session_id: str
    ) -> dict[str, Resource]:
        """Those of the resources that something in the session refers to, by id."""
        found: dict[str, Resource] = {}
        wanted = sorted(resource_ids)
        for start in range(0, len(wanted), _IDS_AT_ONCE):
            linked = (
                self._scope.select(resource_links)
                .with_only_columns(resource_links.c.resource_id)
                .where(
                    resource_links.c.session_id == session_id,
                    resource_links.c.resource_id.in_(wanted[start : start + _IDS_AT_ONCE]),
                )
            )
            rows = self._scope.all(
                self._scope.select(resources).where(resources.c.resource_id.in_(linked))
            )
            found |= {row.resource_id: stored_resource(row) for row in rows}
        return found

    def owners(self, resource_id: str, *, limit: int) -> list[tuple[str, str]]:
        """Up to `limit` things that refer to a resource, as (kind, id)."""
        statement = (
            self._scope.select(resource_links)
            .where(resource_links.c.resource_id == resource_id)
            .order_by(resource_links.c.owner_kind, resource_links.c.owner_id)
            .limit(limit)
        )
        return [(row.owner_kind, row.owner_id) for row in self._scope.all(statement)]

    def hold(self, resource_id: str) -> bool:
        """Hold a resource's row until the transaction ends; says whether there is one."""
        statement = (
            self._scope.update(resources)
            .where(resources.c.resource_id == resource_id)
            .values(resource_id=resource_id)
        )
        return self._scope.run(statement) == 1

    def remove(self, resource_id: str) -> None:
        """Remove a descriptor; the blob stays, as garbage."""
        self._scope.run(self._scope.delete(resources).where(resources.c.resource_id == resource_id))

    def page(self, *, before: tuple[datetime, str] | None, limit: int) -> Sequence[Resource]:
        """Up to `limit` resources, newest first, behind a (created_at, id) position."""
        statement = self._scope.select(resources)
        if before is not None:
            statement = statement.where(
                stands_before(resources.c.created_at, resources.c.resource_id, before)
            )
        statement = statement.order_by(
            resources.c.created_at.desc(), resources.c.resource_id.desc()
        ).limit(limit)
        return [stored_resource(row) for row in self._scope.all(statement)]

    def _links_of(self, owner_kind: str, owner_id: str) -> Delete:
        return self._scope.delete(resource_links).where(
            resource_links.c.owner_kind == owner_kind, resource_links.c.owner_id == owner_id
        )


def _values(resource: Resource) -> dict[str, object]:
    return {
        "resource_id": resource.resource_id,
        "digest": resource.digest,
        "mime_type": resource.mime_type,
        "filename": resource.filename,
        "size_bytes": resource.size_bytes,
        "kind": resource.kind,
        "width": resource.hints.width,
        "height": resource.hints.height,
        "duration_seconds": resource.hints.duration_seconds,
        "created_at": resource.created_at,
        "derived_in": resource.derived_in,
        "is_derived": False,
    }


def _taken_over(offered: Offered) -> Mapping[str, ColumnElement[Any]]:
    """What becomes of a descriptor that is stored again: a derived one is as if it were new."""
    stored = resources.c
    return {
        "is_derived": offered.is_derived,
        "created_at": case((stored.is_derived, offered.created_at), else_=stored.created_at),
    }


def stored_resource(row: Row[Any]) -> Resource:
    """The resource in a row of `resources`."""
    return Resource(
        resource_id=row.resource_id,
        digest=row.digest,
        mime_type=row.mime_type,
        filename=row.filename,
        size_bytes=row.size_bytes,
        kind=row.kind,
        hints=MediaHints(row.width, row.height, row.duration_seconds),
        created_at=row.created_at,
        derived_in=row.derived_in,
    )
