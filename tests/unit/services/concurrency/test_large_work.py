"""Work on large values: two at a time, whatever waits, and what is small waits for none of it."""

import threading

import anyio
import anyio.to_thread
import pytest

from app.errors import MalformedRequestError
from app.models.limits import Limits
from app.services.concurrency.client_disconnects import wait_for_disconnect
from app.services.concurrency.large_work import LARGE_BYTES, LargeWork

pytestmark = pytest.mark.anyio
LIMITS = Limits(large_bodies=1)


@pytest.mark.promise(
    "security.md#decoders",
    "The number of images and large bodies that are worked on at once is limited",
    kept_by="app/services/concurrency/large_work.py",
    tried="as many as are set",
)
@pytest.mark.parametrize(
    ("size_bytes", "at_once", "others"),
    [
        (LARGE_BYTES, 2, [1_000, LARGE_BYTES + 1]),
        (LARGE_BYTES + 1, 1, [1_000, LARGE_BYTES]),
    ],
)
async def test_only_so_much_is_done_at_the_same_time(
    size_bytes: int, at_once: int, others: list[int]
) -> None:
    work = LargeWork(LIMITS)
    started = threading.Semaphore(0)
    may_end = threading.Event()
    done: list[str] = []

    def wait(name: str) -> None:
        started.release()
        may_end.wait()
        done.append(name)

    async with anyio.create_task_group() as tasks:
        for name in "abcde":
            tasks.start_soon(work.run, size_bytes, wait, name)
        for _ in range(at_once):
            await anyio.to_thread.run_sync(started.acquire)
        await anyio.wait_all_tasks_blocked()
        assert not started.acquire(blocking=False)
        assert [await work.run(size, str.upper, "x") for size in others] == ["X"] * len(others)
        may_end.set()
    assert sorted(done) == list("abcde")


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Work on a body is not begun if its client leaves while it waits for its turn; what has begun "
    "is finished: two bodies of up to 1 MiB, and `PAGEFAULT_LIMITS__LARGE_BODIES` larger ones, at "
    "a time, each of which takes a second of processor time for a megabyte at most",
    kept_by="app/services/concurrency/large_work.py",
    tried="one that waits behind two",
)
async def test_work_that_waits_is_not_begun_for_a_client_that_left() -> None:
    work = LargeWork(LIMITS)
    started = threading.Semaphore(0)
    may_end = threading.Event()
    left = anyio.Event()
    done: list[str] = []

    def note(name: str) -> None:
        started.release()
        may_end.wait()
        done.append(name)

    async def run_for_a_client() -> None:
        wait_for_disconnect.set(left.wait)
        with pytest.raises(MalformedRequestError):
            await work.run(LARGE_BYTES, note, "left")

    async with anyio.create_task_group() as tasks:
        for name in "ab":
            tasks.start_soon(work.run, LARGE_BYTES, note, name)
        for _ in range(2):
            await anyio.to_thread.run_sync(started.acquire)
        tasks.start_soon(run_for_a_client)
        await anyio.wait_all_tasks_blocked()
        left.set()
        await anyio.wait_all_tasks_blocked()
        may_end.set()
    assert sorted(done) == ["a", "b"]
    may_end.set()
    assert await work.run(LARGE_BYTES, str.upper, "x") == "X"
