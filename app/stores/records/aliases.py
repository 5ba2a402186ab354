"""Aliases: rows that name resources, and go with them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, Select, Update, and_, func

from app.models.resource import Alias, Resource
from app.stores.records.columns import stands_before
from app.stores.records.resources import stored_resource
from app.stores.records.scope import ProjectScope
from app.stores.records.tables import aliases, resources

_AT_ONCE = 500
_NAMED_AT = "named_at"


@dataclass(frozen=True, slots=True)
class NamedResource:
    """Which resource an alias names, and since when."""

    resource_id: str
    created_at: datetime


class AliasRecords:
    """The aliases of one project.

    Whoever gives a resource an alias holds the row of the resource first.
    """

    def __init__(self, scope: ProjectScope) -> None:
        self._scope = scope

    def find(self, alias: str) -> Alias | None:
        """Return an alias with its resource."""
        row = self._scope.first(self._joined().where(aliases.c.alias == alias))
        return _alias(row) if row else None

    def find_all(self, wanted: Collection[str]) -> dict[str, Resource]:
        """Return the resources that these aliases name, by alias."""
        found: dict[str, Resource] = {}
        for batch in _batches(wanted):
            rows = self._scope.all(self._joined().where(aliases.c.alias.in_(batch)))
            found |= {row.alias: stored_resource(row) for row in rows}
        return found

    def ensure(self, alias: str, resource_id: str, *, now: datetime) -> tuple[NamedResource, bool]:
        """Store an alias unless it is there; return what it names then, and whether it is new.

        Its row is held until the transaction ends: of two who store it, one waits for the other.
        """
        row = {"alias": alias, "resource_id": resource_id, "created_at": now}
        while not self._scope.insert_if_absent(aliases, **row):
            held = self._scope.first(self._holding(alias).returning(*aliases.c))
            # It may have been removed in between, by who had it then.
            if held is not None:
                return NamedResource(held.resource_id, held.created_at), False
        return NamedResource(resource_id, now), True

    def move(self, alias: str, resource_id: str, *, now: datetime) -> None:
        """Let an alias, whose row the caller holds, name another resource."""
        self._scope.run(
            self._scope.update(aliases)
            .where(aliases.c.alias == alias)
            .values(resource_id=resource_id, created_at=now)
        )

    def remove(self, alias: str) -> None:
        """Remove an alias; its resource stays."""
        self._scope.run(self._scope.delete(aliases).where(aliases.c.alias == alias))

    def hold(self, alias: str) -> Alias | None:
        """Return an alias with its resource, its row held until the transaction ends."""
        held = self._scope.run(self._holding(alias))
        return self.find(alias) if held else None

    def list(
        self, *, before: tuple[datetime, str] | None, resource_id: str | None, limit: int
    ) -> Sequence[Alias]:
        """Return up to `limit` aliases, newest first, behind a (created_at, alias) position.

        With `resource_id`, only those of this resource.
        """
        statement = self._joined()
        if resource_id is not None:
            statement = statement.where(aliases.c.resource_id == resource_id)
        if before is not None:
            statement = statement.where(
                stands_before(aliases.c.created_at, aliases.c.alias, before)
            )
        statement = statement.order_by(aliases.c.created_at.desc(), aliases.c.alias.desc())
        return [_alias(row) for row in self._scope.all(statement.limit(limit))]

    def of_resources(self, resource_ids: Collection[str]) -> dict[str, dict[str, datetime]]:
        """Return the aliases of resources by id, each with its moment, in the order of bytes."""
        found: dict[str, dict[str, datetime]] = {}
        for batch in _batches(resource_ids):
            rows = self._scope.all(
                self._scope.select(aliases).where(aliases.c.resource_id.in_(batch))
            )
            # Sorted here: the databases sort text in orders of their own.
            for row in sorted(rows, key=lambda row: str(row.alias)):
                found.setdefault(row.resource_id, {})[row.alias] = row.created_at
        return found

    def count_most(self, resource_ids: Collection[str]) -> int:
        """Return how many aliases that one of the resources has which has most."""
        most = 0
        for batch in _batches(resource_ids):
            count = func.count().label("aliases")
            rows = self._scope.all(
                self._scope.select(aliases)
                .with_only_columns(count)
                .where(aliases.c.resource_id.in_(batch))
                .group_by(aliases.c.resource_id)
            )
            most = max(most, *(row.aliases for row in rows), 0)
        return most

    def add_all(self, named: Mapping[str, NamedResource]) -> Sequence[str]:
        """Store aliases that are not there; return those that name another resource already."""
        rows = [
            {"alias": alias, "resource_id": each.resource_id, "created_at": each.created_at}
            for alias, each in sorted(named.items())
        ]
        self._scope.insert_all(aliases, rows, touch=["alias"])
        taken: list[str] = []
        for batch in _batches(named):
            found = self._scope.all(self._scope.select(aliases).where(aliases.c.alias.in_(batch)))
            taken += [row.alias for row in found if row.resource_id != named[row.alias].resource_id]
        return taken

    def _holding(self, alias: str) -> Update:
        """Change nothing of an alias, so that its row is held."""
        return self._scope.update(aliases).where(aliases.c.alias == alias).values(alias=alias)

    def _joined(self) -> Select[Any]:
        """Select aliases with the resources they name."""
        return (
            self._scope.select(aliases)
            .join_from(
                aliases,
                resources,
                and_(
                    resources.c.project_id == aliases.c.project_id,
                    resources.c.resource_id == aliases.c.resource_id,
                ),
            )
            .with_only_columns(aliases.c.alias, aliases.c.created_at.label(_NAMED_AT), *resources.c)
        )


def _alias(row: Row[Any]) -> Alias:
    return Alias(row.alias, stored_resource(row), row._mapping[_NAMED_AT])


def _batches(values: Collection[str]) -> list[list[str]]:
    ordered = sorted(values)
    return [ordered[start : start + _AT_ONCE] for start in range(0, len(ordered), _AT_ONCE)]
