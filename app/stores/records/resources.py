"""Resources, and the links that keep them."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, and_, or_

from app.models.resource import MediaHints, Resource
from app.stores.records.scope import ProjectScope
from app.stores.records.tables import resource_links, resources


class ResourceRecords:
    """The resources of one project."""

    def __init__(self, scope: ProjectScope) -> None:
        self._scope = scope

    async def ensure(self, resource: Resource) -> tuple[Resource, bool]:
        """Store a descriptor unless it is there; returns the stored one and whether it is new.

        The caller has put the blob into the store before. The row is held until the transaction
        ends, so a delete at the same moment waits, and then finds the link.
        """
        row = await self._scope.insert_or_touch(
            resources,
            ["mime_type"],
            resource_id=resource.resource_id,
            digest=resource.digest,
            mime_type=resource.mime_type,
            filename=resource.filename,
            size_bytes=resource.size_bytes,
            kind=resource.kind,
            width=resource.hints.width,
            height=resource.hints.height,
            duration_seconds=resource.hints.duration_seconds,
            created_at=resource.created_at,
        )
        stored = _resource(row)
        return stored, stored.created_at == resource.created_at

    async def link(
        self, resource_id: str, *, owner_kind: str, owner_id: str, session_id: str | None
    ) -> None:
        """Note that something refers to a resource; it cannot be deleted while it does."""
        await self._scope.insert_if_absent(
            resource_links,
            resource_id=resource_id,
            owner_kind=owner_kind,
            owner_id=owner_id,
            session_id=session_id,
        )

    async def find(self, resource_id: str) -> Resource | None:
        """The resource with this id."""
        row = await self._scope.first(
            self._scope.select(resources).where(resources.c.resource_id == resource_id)
        )
        return _resource(row) if row else None

    async def find_in_session(
        self, resource_ids: Collection[str], session_id: str
    ) -> dict[str, Resource]:
        """Those of the resources that something in the session refers to, by id."""
        linked = (
            self._scope.select(resource_links)
            .with_only_columns(resource_links.c.resource_id)
            .where(
                resource_links.c.session_id == session_id,
                resource_links.c.resource_id.in_(resource_ids),
            )
        )
        rows = await self._scope.all(
            self._scope.select(resources).where(resources.c.resource_id.in_(linked))
        )
        return {row.resource_id: _resource(row) for row in rows}

    async def owners(self, resource_id: str, *, limit: int) -> list[tuple[str, str]]:
        """Up to `limit` things that refer to a resource, as (kind, id)."""
        statement = (
            self._scope.select(resource_links)
            .where(resource_links.c.resource_id == resource_id)
            .order_by(resource_links.c.owner_kind, resource_links.c.owner_id)
            .limit(limit)
        )
        return [(row.owner_kind, row.owner_id) for row in await self._scope.all(statement)]

    async def hold(self, resource_id: str) -> bool:
        """Hold a resource's row until the transaction ends; says whether there is one."""
        statement = (
            self._scope.update(resources)
            .where(resources.c.resource_id == resource_id)
            .values(resource_id=resource_id)
        )
        return await self._scope.run(statement) == 1

    async def remove(self, resource_id: str) -> None:
        """Remove a descriptor; the blob is left to the sweep."""
        await self._scope.run(
            self._scope.delete(resources).where(resources.c.resource_id == resource_id)
        )

    async def page(self, *, before: tuple[datetime, str] | None, limit: int) -> Sequence[Resource]:
        """Up to `limit` resources, newest first, behind a (created_at, id) position."""
        statement = self._scope.select(resources)
        if before is not None:
            created_at, resource_id = before
            statement = statement.where(
                or_(
                    resources.c.created_at < created_at,
                    and_(
                        resources.c.created_at == created_at,
                        resources.c.resource_id < resource_id,
                    ),
                )
            )
        statement = statement.order_by(
            resources.c.created_at.desc(), resources.c.resource_id.desc()
        ).limit(limit)
        return [_resource(row) for row in await self._scope.all(statement)]


def _resource(row: Row[Any]) -> Resource:
    return Resource(
        resource_id=row.resource_id,
        digest=row.digest,
        mime_type=row.mime_type,
        filename=row.filename,
        size_bytes=row.size_bytes,
        kind=row.kind,
        hints=MediaHints(row.width, row.height, row.duration_seconds),
        created_at=row.created_at,
    )
