"""Turns for long work: one of each project at a time, and a queue that does not grow."""

import anyio
import anyio.lowlevel
import pytest

from app.errors import OverloadedError
from app.services.concurrency.large_work import ProjectTurns

pytestmark = pytest.mark.anyio


class Work:
    """Work that takes until it is told to end, in turns."""

    def __init__(self, turns: ProjectTurns) -> None:
        self._turns = turns
        self.running: list[str] = []
        self.max_running = 0
        self.refused: list[str] = []
        self.done: list[str] = []
        self.end = anyio.Event()

    async def run(self, project_id: str) -> None:
        try:
            async with self._turns.turn(project_id):
                self.running.append(project_id)
                self.max_running = max(self.max_running, self.running.count(project_id))
                await self.end.wait()
                self.running.remove(project_id)
                self.done.append(project_id)
        except OverloadedError:
            self.refused.append(project_id)


async def test_one_works_some_wait_and_the_rest_are_told_to_come_again() -> None:
    work = Work(ProjectTurns(max_waiting=2))
    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(work.run, "p")
        await anyio.wait_all_tasks_blocked()
        assert (work.running, work.refused) == (["p"], ["p", "p"])
        work.end.set()
    assert (work.done, work.max_running) == (["p"] * 3, 1)


async def test_projects_do_not_wait_for_each_other() -> None:
    work = Work(ProjectTurns(max_waiting=1))
    async with anyio.create_task_group() as tasks:
        for project_id in ("p", "p", "q", "r"):
            tasks.start_soon(work.run, project_id)
        await anyio.wait_all_tasks_blocked()
        assert work.running == ["p", "q", "r"]
        work.end.set()
    assert work.refused == []


async def test_who_goes_away_gives_the_place_back() -> None:
    work = Work(ProjectTurns(max_waiting=1))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work.run, "p")
        await anyio.wait_all_tasks_blocked()
        async with anyio.create_task_group() as gone:
            gone.start_soon(work.run, "p")
            await anyio.wait_all_tasks_blocked()
            gone.cancel_scope.cancel()
        tasks.start_soon(work.run, "p")
        await anyio.wait_all_tasks_blocked()
        assert work.refused == []
        work.end.set()
    assert work.done == ["p", "p"]


async def test_project_that_has_all_turns_leaves_the_next_one_to_another() -> None:
    turns = ProjectTurns(max_running=2, max_per_project=2)
    began: list[str] = []
    ends = [anyio.Event() for _ in range(5)]

    async def run(project_id: str, end: anyio.Event) -> None:
        async with turns.turn(project_id):
            began.append(project_id)
            await end.wait()

    async with anyio.create_task_group() as tasks:
        for project_id, end in zip(("p", "p", "p", "p", "q"), ends, strict=True):
            tasks.start_soon(run, project_id, end)
            await anyio.wait_all_tasks_blocked()
        assert began == ["p", "p"]
        ends[0].set()
        await anyio.wait_all_tasks_blocked()
        assert began == ["p", "p", "q"]
        for end in ends:
            end.set()
    assert began == ["p", "p", "q", "p", "p"]
