"""Slots: how much of one kind is under way at once, for each project and in all.

What waits for somebody else's server may take as long as that server likes. A project that has
taken all of its slots waits for one of its own, a short time, and leaves the others theirs.
"""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from app.errors import FetchesBusyError


class FetchSlots:
    """Slots of one kind. Used by the tasks of one event loop.

    Args:
        per_project: How many one project may have. As many of its tasks may wait for one.
        in_all: How many all projects together may have.
        wait_seconds: How long a task waits for a slot.
    """

    def __init__(self, *, per_project: int, in_all: int, wait_seconds: float) -> None:
        self._per_project = per_project
        self._in_all = in_all
        self._wait_seconds = wait_seconds
        self._taken: Counter[str] = Counter()
        self._waiting: Counter[str] = Counter()
        self._freed = anyio.Event()

    @asynccontextmanager
    async def slot(self, project_id: str) -> AsyncIterator[None]:
        """Hold a slot of a project for the length of the block.

        Raises:
            FetchesBusyError: See `take`.
        """
        await self.take(project_id)
        try:
            yield
        finally:
            self.give_back(project_id)

    async def take(self, project_id: str) -> None:
        """Take a slot of a project, to be given back by `give_back`.

        Raises:
            FetchesBusyError: None was free in time, or too many of the project wait already.
        """
        if not self._is_free(project_id):
            await self._wait(project_id)
        self._taken[project_id] += 1

    def give_back(self, project_id: str) -> None:
        """Give a slot back that was taken."""
        self._decrease(self._taken, project_id)
        freed, self._freed = self._freed, anyio.Event()
        freed.set()

    async def _wait(self, project_id: str) -> None:
        """Return as soon as a slot is free; nothing else runs before the caller takes it."""
        if self._waiting[project_id] >= self._per_project:
            raise FetchesBusyError
        self._waiting[project_id] += 1
        try:
            with anyio.move_on_after(self._wait_seconds):
                while not self._is_free(project_id):
                    await self._freed.wait()
        finally:
            self._decrease(self._waiting, project_id)
        # Asked again, since the time may have run out just when one was given back.
        if not self._is_free(project_id):
            raise FetchesBusyError

    def _is_free(self, project_id: str) -> bool:
        return self._taken[project_id] < self._per_project and self._taken.total() < self._in_all

    @staticmethod
    def _decrease(counts: Counter[str], project_id: str) -> None:
        counts[project_id] -= 1
        if not counts[project_id]:
            del counts[project_id]
