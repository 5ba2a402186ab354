"""Projects and their keys: the only records that are looked up before the project is known."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import ColumnElement, bindparam, select, update

from app.models.project import ApiKey, StoredSecret
from app.stores.records.database import StatementConnection
from app.stores.records.prepared_statements import Lookup, upserting
from app.stores.records.scope import read_row, values_of
from app.stores.records.tables import api_keys, projects

_FIND_SECRET = Lookup(
    select(
        api_keys.c.project_id,
        api_keys.c.secret_sha256,
        api_keys.c.revoked_at.is_not(None).label("is_revoked"),
    ).where(api_keys.c.key_id == bindparam("key_id"))
)


class ProjectRecords:
    """Projects and API keys on one connection.

    Args:
        connection: See `ProjectScope`.
    """

    def __init__(self, connection: StatementConnection) -> None:
        self._connection = connection

    def ensure(self, project_id: str, now: datetime) -> None:
        """Create the project unless it is there."""
        statement = upserting(projects, None, is_postgresql=self._connection.is_postgresql)
        self._connection.run_many(statement, [{"project_id": project_id, "created_at": now}])

    def list_ids(self, *conditions: ColumnElement[bool]) -> list[str]:
        """Return the ids of the projects that meet conditions, in their order."""
        statement = select(projects.c.project_id).where(*conditions).order_by(projects.c.project_id)
        return list(self._connection.execute(statement).scalars())

    def add_key(self, key: ApiKey) -> None:
        """Add a key to its project, which must exist."""
        self._connection.execute(api_keys.insert().values(values_of(key)))

    def find_secret(self, key_id: str) -> StoredSecret | None:
        """Return what lets the owner of the key with this id in; the key may be revoked."""
        rows = self._connection.look_up(_FIND_SECRET, {"key_id": key_id}, is_short=True)
        return read_row(StoredSecret, rows[0]) if rows else None

    def valid_keys(self, key_ids: Collection[str]) -> set[str]:
        """Return those of some keys that are not revoked."""
        statement = select(api_keys.c.key_id).where(
            api_keys.c.key_id.in_(key_ids), api_keys.c.revoked_at.is_(None)
        )
        return set(self._connection.execute(statement).scalars())

    def list_keys(self) -> list[ApiKey]:
        """Return all keys, oldest first."""
        statement = select(api_keys).order_by(api_keys.c.created_at, api_keys.c.key_id)
        return [read_row(ApiKey, row) for row in self._connection.execute(statement)]

    def revoke_key(self, key_id: str, now: datetime) -> bool:
        """Revoke a key; says whether there was one to revoke."""
        statement = (
            update(api_keys)
            .where(api_keys.c.key_id == key_id, api_keys.c.revoked_at.is_(None))
            .values(revoked_at=now)
        )
        return self._connection.execute(statement).rowcount == 1
