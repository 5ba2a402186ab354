"""Reservations of bytes that could not be given back, because the database was away.

Each would take room from its project until it expires, hours later. They are tried again in the
background until the database has taken them. What a process has not given back when it ends is
left to expire, as that of a killed process is.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import anyio
import structlog

from app.services.concurrency.background import log_failures, run_beside
from app.stores.records import Records, UnitOfWork

_RETRY_SECONDS = 5.0
_log = structlog.get_logger(__name__)


class LeftReservations:
    """Gives reservations back in the background.

    Args:
        records: Where they are.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        # Projects by the id of the reservation, in the order in which they came.
        self._left: dict[str, str] = {}
        self._is_any = asyncio.Event()
        self._is_ending = asyncio.Event()

    def add(self, project_id: str, reservation_id: str) -> None:
        """Give a reservation back as soon as the database takes it."""
        self._left[reservation_id] = project_id
        self._is_any.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Give back what is left for the length of the block, and once more at its end."""
        # Not cancelled: a statement that is given up would cost the connection.
        async with run_beside(self._run(), end=self._end):
            yield

    def _end(self) -> None:
        self._is_ending.set()
        self._is_any.set()

    async def _run(self) -> None:
        while True:
            await self._is_any.wait()
            with anyio.move_on_after(_RETRY_SECONDS):
                await self._is_ending.wait()
            with log_failures(_log, "reserved bytes not given back yet"):
                await self._release()
            if self._is_ending.is_set():
                return
            if not self._left:
                self._is_any.clear()

    async def _release(self) -> None:
        for reservation_id, project_id in list(self._left.items()):
            await self._records.write(project_id, partial(_release, reservation_id=reservation_id))
            del self._left[reservation_id]


def _release(unit: UnitOfWork, *, reservation_id: str) -> None:
    unit.stored_blobs.release(reservation_id)
