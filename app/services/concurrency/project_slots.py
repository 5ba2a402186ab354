"""Slots for work that takes much memory: so many at once, and of one project fewer than that."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

import anyio


class ProjectSlots:
    """Limits how much of something is done at once, so that no project holds up the others.

    Args:
        most: How many slots there are.
        max_of_project: How many of them one project may hold.
    """

    def __init__(self, most: int, max_of_project: int) -> None:
        self._slots = anyio.CapacityLimiter(most)
        self._max_of_project = max_of_project
        self._of_projects: WeakValueDictionary[str, anyio.CapacityLimiter] = WeakValueDictionary()

    @asynccontextmanager
    async def slot(self, project_id: str) -> AsyncIterator[None]:
        """Hold a slot of a project in the block; wait for one in the order of the requests."""
        of_project = self._of_projects.get(project_id)
        if of_project is None:
            of_project = anyio.CapacityLimiter(self._max_of_project)
            self._of_projects[project_id] = of_project
        async with of_project, self._slots:
            yield
