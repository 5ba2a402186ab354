"""The aliases that name resources and go with them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, Select, Update, func

from app.errors import ConflictError
from app.models.resource_descriptor import MOST_ALIASES, Alias
from app.stores.records.columns import newest_first
from app.stores.records.prepared_statements import touch
from app.stores.records.resources import stored_resource
from app.stores.records.scope import values_of
from app.stores.records.tables import aliases, resources
from app.stores.records.unit_of_work import Repository
from pagefault_dialects.model.resource import Resource


@dataclass(frozen=True, slots=True)
class NamedResource:
    """Which resource an alias names, and since when."""

    resource_id: str
    created_at: datetime


class AliasRecords(Repository):
    """The aliases of one project.

    Whoever gives a resource an alias holds the row of the resource first.
    """

    def find(self, alias: str) -> Alias | None:
        """Return an alias with its resource."""
        row = self._scope.first(self._joined().where(aliases.c.alias == alias))
        return _alias(row) if row else None

    def find_all(self, wanted: Collection[str]) -> dict[str, Resource]:
        """Return the resources that these aliases name, by alias."""
        rows = self._scope.rows_with(aliases.c.alias, wanted, self._joined())
        return {row.alias: stored_resource(row) for row in rows}

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
        self._scope.set_values(
            aliases, aliases.c.alias == alias, resource_id=resource_id, created_at=now
        )

    def remove(self, alias: str) -> None:
        """Remove an alias; its resource stays."""
        self._scope.remove(aliases, aliases.c.alias == alias)

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
        moment, identity = aliases.c.created_at, aliases.c.alias
        listed = newest_first(statement, moment, identity, before=before, limit=limit)
        return [_alias(row) for row in self._scope.all(listed)]

    def of_resources(self, resource_ids: Collection[str]) -> dict[str, dict[str, datetime]]:
        """Return the aliases of resources by id, each with its moment, in the order of bytes."""
        found: dict[str, dict[str, datetime]] = {}
        rows = self._scope.rows_with(aliases.c.resource_id, resource_ids)
        # Sorted here: the databases sort text in orders of their own.
        for row in sorted(rows, key=lambda row: str(row.alias)):
            found.setdefault(row.resource_id, {})[row.alias] = row.created_at
        return found

    def check_count(self, resource_ids: Collection[str]) -> None:
        """Make sure that none of some resources has more aliases than it may.

        Raises:
            ConflictError: One has.
        """
        identity = aliases.c.resource_id
        counted = self._scope.select(aliases, columns=[func.count().label("aliases")])
        rows = self._scope.rows_with(identity, resource_ids, counted.group_by(identity))
        if any(row.aliases > MOST_ALIASES for row in rows):
            raise ConflictError(
                f"A resource may have {MOST_ALIASES} aliases. Delete one that is no longer needed "
                "first. Nothing was stored.",
                code="too-many-aliases",
            )

    def add_all(self, named: Mapping[str, NamedResource]) -> Sequence[str]:
        """Store aliases that are not there; return those that name another resource already."""
        rows = [values_of(each, alias=alias) for alias, each in sorted(named.items())]
        self._scope.merge_all(aliases, rows, touch("alias"))
        found = self._scope.rows_with(aliases.c.alias, named)
        return [row.alias for row in found if row.resource_id != named[row.alias].resource_id]

    def _holding(self, alias: str) -> Update:
        """Change nothing of an alias, so that its row is held."""
        return self._scope.update(aliases).where(aliases.c.alias == alias).values(alias=alias)

    def _joined(self) -> Select[Any]:
        """Select aliases with the resources they name."""
        columns = [aliases.c.alias, aliases.c.created_at.label("named_at"), *resources.c]
        return self._scope.select(aliases, columns=columns).join_from(aliases, resources)


def _alias(row: Row[Any]) -> Alias:
    return Alias(row.alias, stored_resource(row), row.named_at)
