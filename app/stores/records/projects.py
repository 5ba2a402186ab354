"""Projects and their API keys: the only records that are read without the scope of one project."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    CursorResult,
    Executable,
    Row,
    Select,
    bindparam,
    select,
    update,
)

from app.models.project import ApiKey, StoredSecret
from app.stores.records.scope import in_batches, read_row, values_of
from app.stores.records.statements import Lookup, is_among, refuse_in_event_loop, upsert
from app.stores.records.tables import api_keys, projects

_FIND_SECRET = Lookup(
    select(
        api_keys.c.project_id,
        api_keys.c.secret_sha256,
        api_keys.c.revoked_at.is_not(None).label("is_revoked"),
    ).where(api_keys.c.key_id == bindparam("key_id"))
)
_VALID_KEYS = select(api_keys.c.key_id).where(
    is_among(api_keys.c.key_id, "key_ids"), api_keys.c.revoked_at.is_(None)
)
_ALL_KEYS = select(api_keys).order_by(api_keys.c.created_at, api_keys.c.key_id)
_REVOKE = (
    update(api_keys)
    .where(api_keys.c.key_id == bindparam("revoked_key"), api_keys.c.revoked_at.is_(None))
    .values(revoked_at=bindparam("now"))
)
_NEWEST_EVENTS = select(projects.c.project_id, projects.c.last_event).where(
    is_among(projects.c.project_id, "project_ids")
)
_PROJECT_IDS = select(projects.c.project_id).order_by(projects.c.project_id)


class ProjectRecords:
    """Projects and API keys on one connection.

    Args:
        connection: The connection.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def ensure(self, project_id: str, now: datetime) -> None:
        """Create the project unless it exists."""
        is_postgresql = self._connection.dialect.name == "postgresql"
        statement = upsert(projects, merge=None, is_postgresql=is_postgresql)
        self._execute(statement, {"project_id": project_id, "created_at": now})

    def list_ids(self, *conditions: ColumnElement[bool]) -> list[str]:
        """Return the ids of the projects that meet conditions, sorted."""
        return list(self._execute(_PROJECT_IDS.where(*conditions)).scalars())

    def newest_events(self, project_ids: Collection[str]) -> dict[str, int]:
        """Return the numbers of the newest events of projects, by project id."""
        return {
            row.project_id: row.last_event
            for batch in in_batches(project_ids)
            for row in self._execute(_NEWEST_EVENTS, {"project_ids": batch})
        }

    def select_one(self, statement: Select[Any]) -> Row[Any]:
        """Return the one row of a statement that counts over all projects."""
        return self._execute(statement).one()

    def add_key(self, key: ApiKey) -> None:
        """Add a key to its project, which must exist."""
        self._execute(api_keys.insert(), values_of(key))

    def find_secret(self, key_id: str) -> StoredSecret | None:
        """Return the secret of the key with this id, which may be revoked."""
        rows = _FIND_SECRET.read(self._connection, {"key_id": key_id})
        return read_row(StoredSecret, rows[0]) if rows else None

    def valid_keys(self, key_ids: Collection[str]) -> set[str]:
        """Return the ids of keys without those that are revoked or do not exist."""
        return {
            key_id
            for batch in in_batches(key_ids)
            for key_id in self._execute(_VALID_KEYS, {"key_ids": batch}).scalars()
        }

    def list_keys(self) -> list[ApiKey]:
        """Return all keys, oldest first."""
        return [read_row(ApiKey, row) for row in self._execute(_ALL_KEYS)]

    def revoke_key(self, key_id: str, now: datetime) -> bool:
        """Revoke a key; return whether there was a key that was not revoked."""
        revoked = self._execute(_REVOKE, {"revoked_key": key_id, "now": now})
        return revoked.rowcount == 1

    def _execute(
        self, statement: Executable, values: Mapping[str, object] | None = None
    ) -> CursorResult[Any]:
        refuse_in_event_loop(self._connection)
        return self._connection.execute(statement, values)
