"""Units of work: one project, one transaction.

`Records.write` commits when its block ends and rolls back when the block raises, so a service that
returns from it has what it wrote on disk. There is no commit inside, and no way to reach another
project's rows.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from sqlalchemy import exc as sql
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.errors import StoreFullError, StoreUnavailableError
from app.stores.records.blob_references import BlobReferenceRecords
from app.stores.records.bundles import BundleRecords
from app.stores.records.derived_images import DerivedImageRecords
from app.stores.records.engine import Engines
from app.stores.records.idempotency import IdempotencyRecords
from app.stores.records.interactions import InteractionRecords
from app.stores.records.messages import MessageRecords
from app.stores.records.page_accesses import PageAccessRecords
from app.stores.records.page_levels import PageLevelRecords
from app.stores.records.page_search import PageSearch
from app.stores.records.page_search_postgresql import PostgresPageSearch
from app.stores.records.page_search_sqlite import SqlitePageSearch
from app.stores.records.pages import PageRecords
from app.stores.records.projects import ProjectRecords
from app.stores.records.resources import ResourceRecords
from app.stores.records.scope import ProjectScope
from app.stores.records.session_resources import SessionResourceRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.swept_blobs import BlobExists, SweptBlobRecords
from app.stores.records.tool_results import ToolResultRecords
from app.stores.records.uploads import UploadRecords


class UnitOfWork:
    """The repositories of one project over one connection."""

    def __init__(
        self, connection: AsyncConnection, project_id: str, blob_exists: BlobExists | None
    ) -> None:
        scope = ProjectScope(connection, project_id)
        self.blob_references = BlobReferenceRecords(scope)
        self.swept_blobs = SweptBlobRecords(scope, self.blob_references, blob_exists)
        self.sessions = SessionRecords(scope)
        self.tool_results = ToolResultRecords(scope)
        self.resources = ResourceRecords(scope, self.swept_blobs)
        self.derived_images = DerivedImageRecords(scope, self.resources)
        self.uploads = UploadRecords(scope, self.swept_blobs)
        self.interactions = InteractionRecords(scope)
        self.session_resources = SessionResourceRecords(scope, self.derived_images)
        self.bundles = BundleRecords(scope)
        self.idempotency = IdempotencyRecords(scope)
        self.messages = MessageRecords(scope)
        self.pages = PageRecords(scope)
        self.page_levels = PageLevelRecords(scope)
        self.page_accesses = PageAccessRecords(scope)
        self.page_search: PageSearch = (
            PostgresPageSearch(scope) if scope.is_postgresql else SqlitePageSearch(scope)
        )


class Records:
    """Opens units of work over the database.

    Every method may raise StoreUnavailableError (the database did not answer; nothing was kept)
    or StoreFullError.

    Args:
        engines: The database.
        blob_exists: Asked where a row is to be written for a blob that a sweep has removed before;
            without it, such a blob is taken for gone.
    """

    def __init__(self, engines: Engines, *, blob_exists: BlobExists | None = None) -> None:
        self._engines = engines
        self._blob_exists = blob_exists

    @asynccontextmanager
    async def read(self, project_id: str) -> AsyncIterator[UnitOfWork]:
        """Look things up; each statement sees what is committed when it runs."""
        with translated_errors():
            async with self._engines.reader.connect() as connection:
                yield UnitOfWork(connection, project_id, self._blob_exists)

    @asynccontextmanager
    async def snapshot(self, project_id: str) -> AsyncIterator[UnitOfWork]:
        """Look things up as all of them were at one moment, whatever is committed meanwhile."""
        with translated_errors():
            if self._engines.reader.dialect.name == "postgresql":
                async with self._engines.writer.connect() as connection:
                    snapshot = await connection.execution_options(
                        isolation_level="REPEATABLE READ", postgresql_readonly=True
                    )
                    yield UnitOfWork(snapshot, project_id, self._blob_exists)
                return
            async with self._engines.reader.connect() as connection:
                # Given back to the pool, the connection is rolled back, which ends it.
                await connection.exec_driver_sql("BEGIN")
                yield UnitOfWork(connection, project_id, self._blob_exists)

    @asynccontextmanager
    async def write(self, project_id: str) -> AsyncIterator[UnitOfWork]:
        """Change things: committed when the block ends, rolled back when it raises."""
        with translated_errors():
            async with self._engines.writer.begin() as connection:
                yield UnitOfWork(connection, project_id, self._blob_exists)

    @asynccontextmanager
    async def projects(self) -> AsyncIterator[ProjectRecords]:
        """Change projects and keys, the only records that are not inside a project."""
        with translated_errors():
            async with self._engines.writer.begin() as connection:
                yield ProjectRecords(connection)

    @asynccontextmanager
    async def read_projects(self) -> AsyncIterator[ProjectRecords]:
        """Look projects and keys up."""
        with translated_errors():
            async with self._engines.reader.connect() as connection:
                yield ProjectRecords(connection)

    async def check(self) -> None:
        """Ask the database for a sign of life."""
        with translated_errors():
            async with self._engines.reader.connect() as connection:
                await connection.execute(text("SELECT 1"))

    async def close(self) -> None:
        """Close all connections."""
        await self._engines.close()


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise the database's own faults as ours; mistakes of ours pass through."""
    try:
        yield
    except (sql.OperationalError, sql.InterfaceError, sql.TimeoutError) as exc:
        if _is_full(str(exc)):
            raise StoreFullError from exc
        raise StoreUnavailableError("database") from exc


def _is_full(message: str) -> bool:
    # SQLITE_FULL; PostgreSQL's class 53 names the file it could not extend.
    return "disk is full" in message or "No space left on device" in message
