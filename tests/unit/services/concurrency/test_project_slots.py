"""Slots that one project does not take from the others."""

import anyio
import pytest

from app.services.concurrency.project_slots import ProjectSlots

pytestmark = pytest.mark.anyio


async def test_a_third_of_one_project_waits_and_one_of_another_does_not() -> None:
    slots, begun, ends = ProjectSlots(8, 2), list[str](), anyio.Event()

    async def hold(project_id: str) -> None:
        async with slots.slot(project_id):
            begun.append(project_id)
            await ends.wait()

    async with anyio.create_task_group() as tasks:
        for project_id in ("one", "one", "one", "another"):
            tasks.start_soon(hold, project_id)
        await anyio.wait_all_tasks_blocked()
        assert sorted(begun) == ["another", "one", "one"]
        ends.set()
    assert sorted(begun) == ["another", "one", "one", "one"]


async def test_there_are_no_more_slots_than_for_all_projects() -> None:
    slots, begun, ends = ProjectSlots(2, 2), list[str](), anyio.Event()

    async def hold(project_id: str) -> None:
        async with slots.slot(project_id):
            begun.append(project_id)
            await ends.wait()

    async with anyio.create_task_group() as tasks:
        for project_id in ("one", "two", "three"):
            tasks.start_soon(hold, project_id)
        await anyio.wait_all_tasks_blocked()
        assert sorted(begun) == ["one", "two"]
        ends.set()
