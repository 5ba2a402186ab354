"""Records: functions over the database, each of one project, in one transaction.

`Records.write` commits when its function has returned and rolls back when that raises, so a service
that goes on behind it has what it wrote on disk. There is no commit inside, and no way to reach
another project's rows.
"""

import asyncio
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TypeAlias, TypeVar

import structlog
from sqlalchemy import text

from app.stores.records.blob_sizes import BlobSize, ClaimOver, KnownSizes, SizeUnknownError
from app.stores.records.database import Database, StatementConnection, Written
from app.stores.records.projects import ProjectRecords
from app.stores.records.unit_of_work import UnitOfWork

_log = structlog.get_logger(__name__)
_SIZES_AT_ONCE = 16
_Result = TypeVar("_Result")
MOST_TOGETHER_BYTES = 256 * 1024
"""Larger changes are written alone, since all in one commit wait for the slowest."""

Announce: TypeAlias = Callable[[str, int], None]
"""Takes a project and the number of the newest event in it; neither waits nor raises."""


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Runs functions over the database: short ones, of one project, that wait for nothing else.

    They run in a thread, or in the event loop if all they do is look up what is found at once. A
    function may run again, and has no effect but on its unit of work.

    Every method may raise StoreUnavailableError (the database did not answer; nothing was kept, or
    it is not known because the answer to the commit is what was lost, and the detail says so) or
    StoreFullError. If the caller of one is cancelled, what has begun is done all the same.
    """

    database: Database
    _: KW_ONLY
    blob_size: BlobSize | None = None
    """Asked where a row is to be written for a blob that a sweep has removed before; without it,
    such a blob is taken for gone."""
    announce: Announce | None = None
    """Told of a project's newest event once it is committed."""

    async def read(self, project_id: str, work: Callable[[UnitOfWork], _Result]) -> _Result:
        """Look things up; each statement sees what is committed when it runs."""
        return await self.database.read(partial(_read, project_id, work))

    async def read_snapshot(
        self, project_id: str, work: Callable[[UnitOfWork], _Result]
    ) -> _Result:
        """Look things up as all of them were at one moment, whatever is committed meanwhile."""
        return await self.database.read(partial(_read, project_id, work), is_snapshot=True)

    async def write(
        self,
        project_id: str,
        work: Callable[[UnitOfWork], _Result],
        *,
        is_alone: bool = False,
        is_durable: bool = True,
    ) -> _Result:
        """Change things: committed when this returns; nothing is changed if the work raises.

        What waits is committed together. Events that were noted are written with it, and announced
        behind the commit.

        Args:
            project_id: The project.
            work: What to do.
            is_alone: It takes so long that nobody else's changes are to wait for its commit, as
                what writes more than `MOST_TOGETHER_BYTES` does.
            is_durable: It survives a power loss when this returns; else from the next write on
                that does, which it comes before in any case.
        """
        sizes: KnownSizes = {}

        def changed(connection: StatementConnection) -> Written[_Result]:
            unit = UnitOfWork(connection, project_id, sizes)
            return Written(work(unit), project_id, tuple(unit.new_events))

        while True:
            try:
                result, last_event = await self.database.write(
                    changed, is_alone=is_alone, is_durable=is_durable
                )
            except SizeUnknownError as exc:
                # What a transaction needs from the blob store is there before it begins.
                for start in range(0, len(exc.claims), _SIZES_AT_ONCE):
                    claims = exc.claims[start : start + _SIZES_AT_ONCE]
                    asked = (self._size_of(project_id, claim) for claim in claims)
                    sizes.update(zip(claims, await asyncio.gather(*asked), strict=True))
            else:
                self._tell(project_id, last_event)
                return result

    async def read_projects(self, work: Callable[[ProjectRecords], _Result]) -> _Result:
        """Look projects and keys up, the only records that are not inside a project."""
        return await self.database.read(lambda connection: work(ProjectRecords(connection)))

    async def write_projects(self, work: Callable[[ProjectRecords], _Result]) -> _Result:
        """Change projects and keys, as `write` does."""

        def changed(connection: StatementConnection) -> Written[_Result]:
            return Written(work(ProjectRecords(connection)), "", ())

        result, _ = await self.database.write(changed, is_alone=False)
        return result

    async def check(self) -> None:
        """Ask the database for a sign of life."""
        await self.database.read(lambda connection: connection.execute(text("SELECT 1")).all())

    async def close(self) -> None:
        """Close all connections."""
        await self.database.close()

    async def _size_of(self, project_id: str, claim: ClaimOver) -> int | None:
        """Return the size of a blob that has come back behind a claim, if it has."""
        return None if self.blob_size is None else await self.blob_size(project_id, claim.digest)

    def _tell(self, project_id: str, last_event: int | None) -> None:
        """Announce an event; if that fails, the write, which is committed, still succeeds."""
        try:
            if self.announce is not None and last_event is not None:
                self.announce(project_id, last_event)
        except Exception:  # noqa: BLE001 - those who listen find the event by the next look
            _log.exception("event not announced")


def _read(
    project_id: str, work: Callable[[UnitOfWork], _Result], connection: StatementConnection
) -> _Result:
    return work(UnitOfWork(connection, project_id, {}))
