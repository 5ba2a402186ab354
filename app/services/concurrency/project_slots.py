"""Limits how many tasks with much memory run at the same time, of each project and in total.

Unlike `ProjectTurns` (`large_work.py`), it does not limit how many tasks wait.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

import anyio


class ProjectSlots:
    """Limits concurrent tasks, so that the tasks of one project do not delay the others for long.

    Args:
        max_slots: The number of tasks of all projects that may run at the same time.
        max_per_project: The number of tasks of one project that may run at the same time.
    """

    def __init__(self, max_slots: int, max_per_project: int) -> None:
        self._slots = anyio.CapacityLimiter(max_slots)
        self._max_per_project = max_per_project
        # A limiter exists as long as a task of its project waits or runs.
        self._limiters: WeakValueDictionary[str, anyio.CapacityLimiter] = WeakValueDictionary()

    @asynccontextmanager
    async def slot(self, project_id: str) -> AsyncIterator[None]:
        """Wait for a free slot of a project, and occupy it during the block."""
        limiter = self._limiters.get(project_id)
        if limiter is None:
            limiter = anyio.CapacityLimiter(self._max_per_project)
            self._limiters[project_id] = limiter
        async with limiter, self._slots:
            yield
