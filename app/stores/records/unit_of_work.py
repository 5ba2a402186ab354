"""Units of work: one project, one transaction.

`Records.write` commits when its block ends and rolls back when the block raises, so a service that
returns from it has what it wrote on disk. There is no commit inside, and no way to reach another
project's rows.
"""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cached_property, partial
from types import TracebackType
from typing import Any, Generic, TypeAlias, TypeVar

import structlog
from sqlalchemy import exc as sql
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.crash_points import CrashPoint, reached
from app.errors import StoreUnavailableError
from app.stores.records.aliases import AliasRecords
from app.stores.records.blob_references import BlobReferenceRecords
from app.stores.records.bundles import BundleRecords
from app.stores.records.connections import (
    PooledConnection,
    StatementConnection,
    WritingConnection,
)
from app.stores.records.database_errors import translated_errors, unconfirmed
from app.stores.records.derived_images import DerivedImageRecords
from app.stores.records.engine import Engines
from app.stores.records.events import EventRecords
from app.stores.records.group_commits import Written
from app.stores.records.idempotency import IdempotencyRecords
from app.stores.records.interactions import InteractionRecords
from app.stores.records.lookups import LoopConnection
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
from app.stores.records.stored_blobs import StoredBlobRecords
from app.stores.records.swept_blobs import (
    BlobSize,
    ClaimOver,
    KnownSizes,
    SizesOfSwept,
    SizeUnknownError,
    SweptBlobRecords,
)
from app.stores.records.tool_results import ToolResultRecords
from app.stores.records.uploads import UploadRecords

_log = structlog.get_logger(__name__)
_Repositories = TypeVar("_Repositories")
_Result = TypeVar("_Result")
Announce: TypeAlias = Callable[[str, int], None]
"""Takes a project and the number of the newest event in it; neither waits nor raises."""


class UnitOfWork:
    """The repositories of one project over one connection, each made when it is asked for."""

    def __init__(
        self,
        connection: StatementConnection,
        project_id: str,
        sizes: SizesOfSwept,
        *,
        loop: LoopConnection | None = None,
    ) -> None:
        self._scope = ProjectScope(connection, project_id, loop=loop)
        self._sizes = sizes

    @cached_property
    def blob_references(self) -> BlobReferenceRecords:
        """What refers to blobs."""
        return BlobReferenceRecords(self._scope)

    @cached_property
    def swept_blobs(self) -> SweptBlobRecords:
        """Blobs that a sweep is removing, or has removed."""
        return SweptBlobRecords(self._scope, self.blob_references, self.stored_blobs, self._sizes)

    @cached_property
    def stored_blobs(self) -> StoredBlobRecords:
        """What counts towards the quota of bytes."""
        return StoredBlobRecords(self._scope)

    @cached_property
    def sessions(self) -> SessionRecords:
        """Sessions and their history."""
        return SessionRecords(self._scope)

    @cached_property
    def tool_results(self) -> ToolResultRecords:
        """Tool results."""
        return ToolResultRecords(self._scope)

    @cached_property
    def resources(self) -> ResourceRecords:
        """Resources, and the links that keep them."""
        return ResourceRecords(self._scope, self.swept_blobs)

    @cached_property
    def aliases(self) -> AliasRecords:
        """Aliases of resources."""
        return AliasRecords(self._scope)

    @cached_property
    def derived_images(self) -> DerivedImageRecords:
        """Images made of others."""
        return DerivedImageRecords(self._scope, self.resources)

    @cached_property
    def uploads(self) -> UploadRecords:
        """Uploads in pieces."""
        return UploadRecords(self._scope, self.swept_blobs)

    @cached_property
    def interactions(self) -> InteractionRecords:
        """Interactions."""
        return InteractionRecords(self._scope)

    @cached_property
    def session_resources(self) -> SessionResourceRecords:
        """What sessions use."""
        return SessionResourceRecords(self._scope, self.derived_images)

    @cached_property
    def bundles(self) -> BundleRecords:
        """Sessions as wholes."""
        return BundleRecords(self._scope)

    @cached_property
    def events(self) -> EventRecords:
        """Events."""
        return EventRecords(self._scope)

    @cached_property
    def idempotency(self) -> IdempotencyRecords:
        """Keys of requests that are sent again."""
        return IdempotencyRecords(self._scope)

    @cached_property
    def messages(self) -> MessageRecords:
        """Messages that are not tool results."""
        return MessageRecords(self._scope)

    @cached_property
    def pages(self) -> PageRecords:
        """Pages."""
        return PageRecords(self._scope)

    @cached_property
    def page_levels(self) -> PageLevelRecords:
        """The levels of pages."""
        return PageLevelRecords(self._scope)

    @cached_property
    def page_accesses(self) -> PageAccessRecords:
        """How often pages were read."""
        return PageAccessRecords(self._scope)

    @cached_property
    def page_search(self) -> PageSearch:
        """What finds pages by their words."""
        if self._scope.is_postgresql:
            return PostgresPageSearch(self._scope)
        return SqlitePageSearch(self._scope)


class Records:
    """Opens units of work over the database.

    Every method may raise StoreUnavailableError (the database did not answer; nothing was kept, or
    it is not known because the answer to the commit is what was lost, and the detail says so) or
    StoreFullError.

    Args:
        engines: The database.
        blob_size: Asked where a row is to be written for a blob that a sweep has removed before;
            without it, such a blob is taken for gone.
        announce: Told of a project's newest event once it is committed.
    """

    def __init__(
        self,
        engines: Engines,
        *,
        blob_size: BlobSize | None = None,
        announce: Announce | None = None,
    ) -> None:
        self._engines = engines
        self._blob_size = blob_size
        self._announce = announce

    def read(self, project_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        """Look things up; each statement sees what is committed when it runs."""
        connection = self._engines.reader.connect()
        return _Reading(connection, self._unit(connection, project_id, loop=self._engines.loop))

    @asynccontextmanager
    async def snapshot(self, project_id: str) -> AsyncIterator[UnitOfWork]:
        """Look things up as all of them were at one moment, whatever is committed meanwhile."""
        with translated_errors():
            if self._engines.reader.dialect.name == "postgresql":
                async with self._engines.writer.connect() as connection:
                    snapshot = await connection.execution_options(
                        isolation_level="REPEATABLE READ", postgresql_readonly=True
                    )
                    yield self._unit(snapshot, project_id)
                return
            async with self._engines.reader.connect() as connection:
                # Given back to the pool, the connection is rolled back, which ends it.
                await connection.exec_driver_sql("BEGIN")
                yield self._unit(connection, project_id)

    @asynccontextmanager
    async def write(self, project_id: str) -> AsyncIterator[UnitOfWork]:
        """Change things: committed when the block ends, rolled back when it raises.

        Events that were noted are written with them, and announced behind the commit.
        """
        is_written = False
        try:
            with translated_errors():
                async with self._engines.transaction() as connection:
                    unit = self._unit(connection, project_id)
                    yield unit
                    last_event = await _end(unit)
                    is_written = True
        except StoreUnavailableError as exc:
            if is_written and isinstance(exc.__cause__, sql.SQLAlchemyError):
                raise unconfirmed(exc) from exc.__cause__
            raise
        self._tell(project_id, last_event)

    async def write_together(
        self,
        project_id: str,
        work: Callable[[UnitOfWork], Coroutine[Any, Any, _Result]],
    ) -> _Result:
        """Do some work that takes no longer than a commit; it is committed when this returns.

        Nothing is, if the work raises. On SQLite, that of callers who wait for each other is
        committed together.

        Args:
            project_id: The project.
            work: Awaits nothing but its unit of work. It may run again, and has no effect but on
                that.
        """
        group = self._engines.group
        sizes = KnownSizes()

        async def changed(connection: WritingConnection) -> Written[_Result]:
            unit = UnitOfWork(connection, project_id, sizes)
            return Written(await work(unit), project_id, unit.events.noted)

        if group is None:
            async with self.write(project_id) as unit:
                return await work(unit)
        while True:
            try:
                result, last_event = await group.run(changed)
            except SizeUnknownError as exc:
                # What a transaction needs from the blob store is there before it begins.
                sizes.note(exc.claim, await self._size_of(project_id, exc.claim))
            else:
                self._tell(project_id, last_event)
                return result

    def _unit(
        self, connection: AsyncConnection, project_id: str, *, loop: LoopConnection | None = None
    ) -> UnitOfWork:
        return UnitOfWork(
            PooledConnection(connection), project_id, partial(self._size_of, project_id), loop=loop
        )

    async def _size_of(self, project_id: str, claim: ClaimOver) -> int | None:
        """The size of a blob that has come back behind a claim, if it has."""
        return None if self._blob_size is None else await self._blob_size(project_id, claim.digest)

    def _tell(self, project_id: str, last_event: int | None) -> None:
        """Announce an event; if that fails, the write, which is committed, still succeeds."""
        try:
            if self._announce is not None and last_event is not None:
                self._announce(project_id, last_event)
        except Exception:  # noqa: BLE001 - those who listen find the event by the next look
            _log.exception("event not announced")

    @asynccontextmanager
    async def projects(self) -> AsyncIterator[ProjectRecords]:
        """Change projects and keys, the only records that are not inside a project."""
        with translated_errors():
            async with self._engines.transaction() as connection:
                yield ProjectRecords(connection)

    def read_projects(self) -> AbstractAsyncContextManager[ProjectRecords]:
        """Look projects and keys up."""
        connection = self._engines.reader.connect()
        return _Reading(connection, ProjectRecords(connection, loop=self._engines.loop))

    async def check(self) -> None:
        """Ask the database for a sign of life."""
        with translated_errors():
            async with self._engines.reader.connect() as connection:
                await connection.execute(text("SELECT 1"))

    async def close(self) -> None:
        """Close all connections."""
        await self._engines.close()


class _Reading(Generic[_Repositories]):
    """Repositories to read from, and what they took from the pool given back at the end."""

    def __init__(self, connection: AsyncConnection, repositories: _Repositories) -> None:
        self._connection = connection
        self._repositories = repositories

    async def __aenter__(self) -> _Repositories:
        return self._repositories

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._connection.sync_connection is None and exc is None:
            return
        with translated_errors():
            if self._connection.sync_connection is not None:
                await self._connection.__aexit__(kind, exc, trace)
            if isinstance(exc, sql.SQLAlchemyError):
                raise exc


async def _end(unit: UnitOfWork) -> int | None:
    """Write the events of a unit of work; returns the number of the last, if there are any."""
    # Last, for the number of an event holds up everybody else's until the commit.
    last_event = await unit.events.flush()
    reached(CrashPoint.ROWS_WRITTEN)
    return last_event
