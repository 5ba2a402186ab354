"""Work on large values waits in a queue that has an end."""

import threading

import anyio
import anyio.to_thread
import pytest

from app.errors import OverloadedError
from app.models.limits import Limits
from app.services.concurrency.large_work import LARGE_BYTES, LargeWork

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("waiting", [0, 1, 5])
async def test_one_too_many_is_told_to_come_again_and_the_others_are_done(waiting: int) -> None:
    settings = Limits(large_bodies=2, large_bodies_waiting=waiting)
    work = LargeWork(settings)
    may_end = threading.Event()
    done: list[str] = []

    async def wait() -> None:
        await work.run(LARGE_BYTES + 1, may_end.wait)
        done.append("in its turn")

    async with anyio.create_task_group() as tasks:
        for _ in range(2 + waiting):
            tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        for _ in range(3):
            with pytest.raises(OverloadedError):
                await work.run(LARGE_BYTES + 1, str.upper, "x")
        assert await work.run(LARGE_BYTES, str.upper, "x") == "X"
        may_end.set()
    assert done == ["in its turn"] * (2 + waiting)
    assert await work.run(LARGE_BYTES + 1, str.upper, "x") == "X"
