"""Limits the concurrent work that needs much memory, for each project and for all projects."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

import anyio


class ProjectSlots:
    """Limits concurrent work, so that no project blocks the others.

    Args:
        max_slots: The number of slots of all projects.
        max_of_project: The maximum number of slots that one project may use at the same time.
    """

    def __init__(self, max_slots: int, max_of_project: int) -> None:
        self._slots = anyio.CapacityLimiter(max_slots)
        self._max_of_project = max_of_project
        self._of_projects: WeakValueDictionary[str, anyio.CapacityLimiter] = WeakValueDictionary()

    @asynccontextmanager
    async def slot(self, project_id: str) -> AsyncIterator[None]:
        """Wait for a slot of a project, and keep it during the block."""
        of_project = self._of_projects.get(project_id)
        if of_project is None:
            of_project = anyio.CapacityLimiter(self._max_of_project)
            self._of_projects[project_id] = of_project
        async with of_project, self._slots:
            yield
