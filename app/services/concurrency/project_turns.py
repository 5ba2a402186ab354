"""Turns for long work, so that no project keeps the others waiting."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

import anyio

from app.errors import OverloadedError

_AT_ONCE = 16
_WAITING = 8


class ProjectTurns:
    """Gives each project one turn at a time, a few of them to all together.

    Args:
        waiting: How many of one project may wait for theirs; one more is told to come again.
    """

    def __init__(self, *, waiting: int = _WAITING) -> None:
        self._waiting = waiting
        self._projects: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()
        self._all = anyio.CapacityLimiter(_AT_ONCE)

    @asynccontextmanager
    async def turn(self, project_id: str) -> AsyncIterator[None]:
        """Have the turn of a project for the length of the block.

        Raises:
            OverloadedError: As many wait for it as may.
        """
        project = self._projects.setdefault(project_id, anyio.Lock())
        if project.statistics().tasks_waiting >= self._waiting:
            raise OverloadedError
        async with project, self._all:
            yield
