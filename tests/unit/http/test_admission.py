"""Places: so many at once, the next in the order in which they came, and none for ever."""

import asyncio

import anyio
import pytest

from app.http.request_context import Admission, Slot

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.http.request_context.WAIT_SECONDS", 30.0)


async def taken(admission: Admission) -> Slot:
    slot = await admission.acquire()
    assert slot is not None
    return slot


async def test_whoever_waits_gets_the_next_place_in_the_order_of_coming() -> None:
    admission = Admission(2, max_waiting=9)
    first, second = await taken(admission), await taken(admission)
    served: list[int] = []

    async def wait(number: int) -> None:
        slot = await taken(admission)
        served.append(number)
        slot.release()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            for number in range(3):
                tasks.start_soon(wait, number)
                await anyio.wait_all_tasks_blocked()
            assert served == []
            first.release()
    assert served == [0, 1, 2]
    second.release()
    await taken(admission)
    await taken(admission)


async def test_place_that_is_left_twice_makes_room_for_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    admission = Admission(1, max_waiting=9)
    slot = await taken(admission)
    slot.release()
    slot.release()
    await taken(admission)
    monkeypatch.setattr("app.http.request_context.WAIT_SECONDS", 0.01)
    assert await admission.acquire() is None


async def test_who_has_waited_long_enough_gets_none_and_takes_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    admission = Admission(1, max_waiting=9)
    slot = await taken(admission)
    monkeypatch.setattr("app.http.request_context.WAIT_SECONDS", 0.01)
    assert await admission.acquire() is None
    slot.release()
    assert await admission.acquire() is not None


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "The number of waiting requests is limited",
    kept_by="app/http/request_context.py",
    tried="1 may wait, and the second is refused",
)
async def test_no_more_wait_than_may() -> None:
    admission = Admission(1, max_waiting=1)
    slot = await taken(admission)
    waiting = asyncio.create_task(admission.acquire())
    await anyio.wait_all_tasks_blocked()
    with anyio.fail_after(10):
        assert await admission.acquire() is None
    slot.release()
    assert await waiting is not None
    waiting = asyncio.create_task(admission.acquire())
    await anyio.wait_all_tasks_blocked()
    assert not waiting.done()
    waiting.cancel()


async def test_place_given_to_one_who_has_gone_goes_to_the_next() -> None:
    admission = Admission(1, max_waiting=9)
    slot = await taken(admission)
    served: list[str] = []

    async def wait(name: str) -> None:
        (await taken(admission)).release()
        served.append(name)

    waiting = {}
    for name in ("gone", "gone at once", "stays"):
        waiting[name] = asyncio.create_task(wait(name))
        await anyio.wait_all_tasks_blocked()
    waiting["gone"].cancel()
    await anyio.wait_all_tasks_blocked()
    # It is given the place, and goes before it can use it.
    slot.release()
    waiting["gone at once"].cancel()
    with anyio.fail_after(10):
        await asyncio.wait(waiting.values())
    assert served == ["stays"]
    await taken(admission)
