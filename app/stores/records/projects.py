"""Projects and their keys: the only records that are looked up before the project is known."""

from datetime import datetime
from typing import Any

from sqlalchemy import Row, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from app.models.project import ApiKey
from app.stores.records.tables import api_keys, projects


class ProjectRecords:
    """Projects and API keys on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def ensure(self, project_id: str, now: datetime) -> None:
        """Create the project unless it is there."""
        insert = (
            postgresql.insert if self._connection.dialect.name == "postgresql" else sqlite.insert
        )
        statement = insert(projects).values(project_id=project_id, created_at=now)
        await self._connection.execute(statement.on_conflict_do_nothing())

    async def list_ids(self) -> list[str]:
        """The ids of all projects, in their order."""
        statement = select(projects.c.project_id).order_by(projects.c.project_id)
        return list((await self._connection.execute(statement)).scalars())

    async def add_key(self, key: ApiKey) -> None:
        """Add a key to its project, which must exist."""
        await self._connection.execute(
            api_keys.insert().values(
                key_id=key.key_id,
                project_id=key.project_id,
                label=key.label,
                secret_sha256=key.secret_sha256,
                created_at=key.created_at,
                revoked_at=key.revoked_at,
            )
        )

    async def find_key(self, key_id: str) -> ApiKey | None:
        """The key with this id, revoked or not."""
        statement = select(api_keys).where(api_keys.c.key_id == key_id)
        row = (await self._connection.execute(statement)).first()
        return _api_key(row) if row else None

    async def list_keys(self) -> list[ApiKey]:
        """All keys, oldest first."""
        statement = select(api_keys).order_by(api_keys.c.created_at, api_keys.c.key_id)
        return [_api_key(row) for row in await self._connection.execute(statement)]

    async def revoke_key(self, key_id: str, now: datetime) -> bool:
        """Revoke a key; says whether there was one to revoke."""
        statement = (
            update(api_keys)
            .where(api_keys.c.key_id == key_id, api_keys.c.revoked_at.is_(None))
            .values(revoked_at=now)
        )
        return (await self._connection.execute(statement)).rowcount == 1


def _api_key(row: Row[Any]) -> ApiKey:
    return ApiKey(**row._mapping)
