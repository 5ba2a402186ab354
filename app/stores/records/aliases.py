"""Aliases: names that other systems use for resources. They are removed with their resource."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, bindparam, func

from app.errors import ConflictError
from app.models.resource_descriptor import MAX_ALIASES, Alias
from app.stores.records.columns import sort_newest_first
from app.stores.records.resources import stored_resource
from app.stores.records.scope import values_of
from app.stores.records.statements import (
    is_among,
    overwrite,
    scoped_delete,
    scoped_select,
    scoped_update,
)
from app.stores.records.tables import aliases, resources
from app.stores.records.unit_of_work import Repository
from pagefault_dialects.model.resource import Resource

_SELECT = scoped_select(
    aliases, aliases.c.alias, aliases.c.created_at.label("alias_created_at"), *resources.c
).join_from(aliases, resources)
_FIND = _SELECT.where(aliases.c.alias == bindparam("alias"))
_FIND_ALL = _SELECT.where(is_among(aliases.c.alias, "values"))
_UPDATE = scoped_update(aliases, by={"alias": "of_alias"})
# Sets the alias to itself, which locks the row on both databases.
_LOCK = _UPDATE.values(alias=aliases.c.alias)
_LOCK_AND_FIND = _LOCK.returning(*aliases.c)
_REMOVE = scoped_delete(aliases, by=["alias"])
_COUNT = (
    scoped_select(aliases, func.count().label("aliases"))
    .where(is_among(aliases.c.resource_id, "values"))
    .group_by(aliases.c.resource_id)
)


@dataclass(frozen=True, slots=True)
class AliasTarget:
    """The id of the resource of an alias, and the time when the alias was stored."""

    resource_id: str
    created_at: datetime


class AliasRecords(Repository):
    """The aliases of one project.

    Before a caller adds an alias, it has to lock the row of the resource.
    """

    def find(self, alias: str) -> Alias | None:
        """Return an alias with its resource, if it exists."""
        row = self._scope.first(_FIND, alias=alias)
        return _alias(row) if row else None

    def find_all(self, names: Collection[str]) -> dict[str, Resource]:
        """Return the resources that these aliases name, by alias."""
        rows = self._scope.rows_in_batches(_FIND_ALL, names)
        return {row.alias: stored_resource(row) for row in rows}

    def ensure(self, alias: str, resource_id: str, *, now: datetime) -> tuple[AliasTarget, bool]:
        """Store an alias unless it exists; return its resource, and whether it is new.

        The row is locked until the transaction ends, so concurrent calls for the same alias wait.
        """
        row = {"alias": alias, "resource_id": resource_id, "created_at": now}
        while not self._scope.insert_if_absent(aliases, **row):
            found = self._scope.first(_LOCK_AND_FIND, of_alias=alias)
            # If another transaction has removed the alias meanwhile, the insert is tried again.
            if found is not None:
                return AliasTarget(found.resource_id, found.created_at), False
        return AliasTarget(resource_id, now), True

    def move(self, alias: str, resource_id: str, *, now: datetime) -> None:
        """Make an alias name another resource, and set its `created_at` to `now`.

        The caller has locked the row of the alias.
        """
        self._scope.run(_UPDATE, of_alias=alias, resource_id=resource_id, created_at=now)

    def remove(self, alias: str) -> None:
        """Remove an alias; its resource stays."""
        self._scope.run(_REMOVE, alias=alias)

    def find_and_lock(self, alias: str) -> Alias | None:
        """Return an alias with its resource, and lock its row until the transaction ends."""
        return self.find(alias) if self._scope.run(_LOCK, of_alias=alias) else None

    def list(
        self, *, before: tuple[datetime, str] | None, resource_id: str | None, limit: int
    ) -> Sequence[Alias]:
        """Return up to `limit` aliases, newest first.

        Args:
            before: The (created_at, alias) of the last alias of the previous list.
            resource_id: The resource whose aliases are returned; `None` for all aliases.
            limit: The maximum number of aliases.
        """
        statement = _SELECT
        if resource_id is not None:
            statement = statement.where(aliases.c.resource_id == resource_id)
        timestamp, identity = aliases.c.created_at, aliases.c.alias
        listed = sort_newest_first(statement, timestamp, identity, before=before, limit=limit)
        return [_alias(row) for row in self._scope.all(listed)]

    def of_resources(self, resource_ids: Collection[str]) -> dict[str, dict[str, datetime]]:
        """Return the `created_at` of the aliases of resources, by resource id and alias.

        Aliases are sorted by code point.
        """
        found: dict[str, dict[str, datetime]] = {}
        rows = self._scope.rows_with(aliases.c.resource_id, resource_ids)
        # Sorted here, because the collations of databases differ.
        for row in sorted(rows, key=lambda row: str(row.alias)):
            found.setdefault(row.resource_id, {})[row.alias] = row.created_at
        return found

    def check_count(self, resource_ids: Collection[str]) -> None:
        """Check that no resource has more than `MAX_ALIASES` aliases.

        Raises:
            ConflictError: A resource has too many aliases.
        """
        rows = self._scope.rows_in_batches(_COUNT, resource_ids)
        if any(row.aliases > MAX_ALIASES for row in rows):
            raise ConflictError(
                f"A resource may have {MAX_ALIASES} aliases. Delete one that is no longer needed "
                "first. Nothing was stored.",
                code="too-many-aliases",
            )

    def add_all(self, targets: Mapping[str, AliasTarget]) -> Sequence[str]:
        """Store the aliases that do not exist; return those that exist for another resource."""
        rows = [values_of(target, alias=alias) for alias, target in sorted(targets.items())]
        # An existing row gets its own alias again, which changes nothing and locks the row.
        self._scope.merge_all(aliases, rows, overwrite("alias"))
        found = self._scope.rows_with(aliases.c.alias, targets)
        return [row.alias for row in found if row.resource_id != targets[row.alias].resource_id]


def _alias(row: Row[Any]) -> Alias:
    return Alias(row.alias, stored_resource(row), row.alias_created_at)
