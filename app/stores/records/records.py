"""Run functions of services over the records of one project, each in one transaction.

`Records.write` commits when its function returns, and rolls back when it raises. Functions do not
commit, and have no access to the rows of other projects.
"""

import asyncio
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TypeAlias, TypeVar

import structlog
from sqlalchemy import Connection, text

from app.stores.records.blob_sizes import BlobSize, EndedClaim, SizesByClaim, SizeUnknownError
from app.stores.records.database import Database, WriteResult
from app.stores.records.projects import ProjectRecords
from app.stores.records.unit_of_work import UnitOfWork

_log = structlog.get_logger(__name__)
_SELECT_ONE = text("SELECT 1")
_SIZES_AT_ONCE = 16
_Result = TypeVar("_Result")
MAX_TOGETHER_BYTES = 256 * 1024
"""Larger changes are committed alone, because others in the same commit would wait for them."""

Announce: TypeAlias = Callable[[str, int], None]
"""Called with a project and the number of its newest event; must not block."""


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Runs short functions over the database. The functions must not wait for anything else.

    A function runs in a thread, or in the event loop if all its statements are lookups (see
    `Lookup`). It may run again, so it must have no effect except on its unit of work.

    Every method may raise StoreFullError or StoreUnavailableError. Then nothing was stored, or the
    outcome of the commit is unknown; the detail says which. If a caller is cancelled, a function
    that has begun is completed.
    """

    database: Database
    _: KW_ONLY
    blob_size: BlobSize | None = None
    """Returns the size of a blob that was stored again after a sweep had removed it. If this is
    `None`, all blobs that a sweep has removed count as removed."""
    announce: Announce | None = None
    """Called with a project's newest event after its commit."""

    async def read(self, project_id: str, work: Callable[[UnitOfWork], _Result]) -> _Result:
        """Run a function that reads. Each statement sees what is committed when it runs."""
        return await self.database.read(partial(_read, project_id, work), tries_event_loop=True)

    async def read_snapshot(
        self, project_id: str, work: Callable[[UnitOfWork], _Result]
    ) -> _Result:
        """Run a function that reads. All its statements see the same committed state."""
        return await self.database.read(partial(_read, project_id, work), is_snapshot=True)

    async def write(
        self,
        project_id: str,
        work: Callable[[UnitOfWork], _Result],
        *,
        is_alone: bool = False,
        is_durable: bool = True,
    ) -> _Result:
        """Run a function that writes, and commit its changes before this returns.

        If the function raises, nothing is changed. Writes that wait at the same time are committed
        together. The events of the unit of work are written with the changes, and announced after
        the commit.

        Args:
            project_id: The project.
            work: The function.
            is_alone: True to commit the changes without those of others, because the function takes
                long or writes more than `MAX_TOGETHER_BYTES`.
            is_durable: True to return only when the changes survive a power loss; otherwise they
                survive one after the next durable write.
        """
        sizes: SizesByClaim = {}

        def run_work(connection: Connection) -> WriteResult[_Result]:
            unit = UnitOfWork(connection, project_id, sizes)
            return WriteResult(work(unit), project_id, tuple(unit.new_events))

        while True:
            try:
                result, last_event = await self.database.write(
                    run_work, is_alone=is_alone, is_durable=is_durable
                )
            except SizeUnknownError as exc:
                # Transactions must not wait for the blob store. The sizes are looked up here, and
                # the transaction is run again.
                for start in range(0, len(exc.claims), _SIZES_AT_ONCE):
                    claims = exc.claims[start : start + _SIZES_AT_ONCE]
                    found = await asyncio.gather(
                        *(self._size_of(project_id, claim) for claim in claims)
                    )
                    sizes.update(zip(claims, found, strict=True))
            else:
                self._announce(project_id, last_event)
                return result

    async def read_projects(self, work: Callable[[ProjectRecords], _Result]) -> _Result:
        """Run a function that reads projects and API keys."""
        return await self.database.read(
            lambda connection: work(ProjectRecords(connection)), tries_event_loop=True
        )

    async def write_projects(self, work: Callable[[ProjectRecords], _Result]) -> _Result:
        """Run a function that changes projects and API keys, as `write` does."""

        def run_work(connection: Connection) -> WriteResult[_Result]:
            return WriteResult(work(ProjectRecords(connection)), "", ())

        result, _ = await self.database.write(run_work, is_alone=False)
        return result

    async def check(self) -> None:
        """Execute a statement, to check that the database responds."""
        await self.database.read(lambda connection: connection.execute(_SELECT_ONE).all())

    async def close(self) -> None:
        """Close all connections."""
        await self.database.close()

    async def _size_of(self, project_id: str, claim: EndedClaim) -> int | None:
        """Return the size of a blob that was stored again after a claim; otherwise `None`."""
        return None if self.blob_size is None else await self.blob_size(project_id, claim.digest)

    def _announce(self, project_id: str, last_event: int | None) -> None:
        """Announce an event. If that fails, the write is successful nevertheless."""
        try:
            if self.announce is not None and last_event is not None:
                self.announce(project_id, last_event)
        except Exception:  # noqa: BLE001 - listeners find the event when they read the log again
            _log.exception("event not announced")


def _read(
    project_id: str, work: Callable[[UnitOfWork], _Result], connection: Connection
) -> _Result:
    return work(UnitOfWork(connection, project_id, {}))
