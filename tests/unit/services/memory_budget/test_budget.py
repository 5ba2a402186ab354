"""The budget of memory: never exceeded, waited for only by those who hold nothing, given back."""

import asyncio

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import MemoryExhaustedError
from app.services.memory_budget.budget import MemoryBudget, MemoryReservation

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.services.memory_budget.budget.WAIT_SECONDS", 30.0)


async def test_request_waits_until_others_have_given_back_what_it_needs() -> None:
    budget = MemoryBudget(100)
    first = await budget.reserve(60)
    second = await budget.reserve(40)
    order: list[str] = []

    async def wait(name: str, size_bytes: int) -> None:
        async with budget.reserving(size_bytes):
            order.append(name)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait, "large", 70)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(wait, "small", 5)
            await anyio.wait_all_tasks_blocked()
            second.release()
            await anyio.wait_all_tasks_blocked()
            assert order == []
            first.release()
    assert order == ["large", "small"]
    assert budget.held_bytes == 0


async def test_request_that_holds_some_is_refused_at_once_and_keeps_what_it_has() -> None:
    budget = MemoryBudget(100)
    first, second = await budget.reserve(60), await budget.reserve(40)
    with pytest.raises(MemoryExhaustedError):
        second.grow(1)
    assert (second.size_bytes, budget.held_bytes) == (40, 100)
    first.resize(50)
    second.grow(10)
    assert (first.size_bytes, second.size_bytes, budget.held_bytes) == (50, 50, 100)


async def test_request_that_has_waited_long_enough_is_refused_and_holds_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.services.memory_budget.budget.WAIT_SECONDS", 0.01)
    budget = MemoryBudget(100)
    held = await budget.reserve(60)
    with pytest.raises(MemoryExhaustedError):
        await budget.reserve(41)
    assert budget.held_bytes == 60
    held.release()
    held.release()
    assert budget.held_bytes == 0


async def test_one_that_gives_up_lets_those_behind_it_go_on() -> None:
    budget = MemoryBudget(100)
    held = await budget.reserve(60)
    large = asyncio.create_task(budget.reserve(80))
    await anyio.wait_all_tasks_blocked()
    small = asyncio.create_task(budget.reserve(30))
    await anyio.wait_all_tasks_blocked()
    large.cancel()
    with anyio.fail_after(10):
        assert (await small).size_bytes == 30
    assert budget.held_bytes == 90
    held.release()


async def test_one_that_is_cancelled_when_it_was_just_served_gives_back() -> None:
    budget = MemoryBudget(100)
    held = await budget.reserve(100)
    waiting = asyncio.create_task(budget.reserve(80))
    await anyio.wait_all_tasks_blocked()
    held.release()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert budget.held_bytes == 0


async def test_more_than_the_whole_budget_is_the_whole_budget() -> None:
    budget = MemoryBudget(100)
    held = await budget.reserve(1_000)
    assert (held.size_bytes, budget.held_bytes) == (100, 100)
    held.release()
    assert budget.held_bytes == 0


@given(st.lists(st.tuples(st.sampled_from("hgrx"), st.integers(0, 120)), max_size=40))
def test_budget_is_the_sum_of_what_is_held_and_never_exceeded(
    steps: list[tuple[str, int]],
) -> None:
    async def run() -> None:
        budget = MemoryBudget(100)
        held: list[MemoryReservation] = []
        for step, number in steps:
            if step == "h" and budget.held_bytes + min(number, 100) <= 100:
                held.append(await budget.reserve(number))
            elif held and step in "gr":
                try:
                    reservation = held[number % len(held)]
                    reservation.grow(number) if step == "g" else reservation.resize(number)
                except MemoryExhaustedError:
                    pass
            elif held and step == "x":
                held.pop(number % len(held)).release()
            assert budget.held_bytes == sum(item.size_bytes for item in held) <= 100

    asyncio.run(run())


MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("limit_bytes", "fall_bytes"), [(256 * MIB, 48 * MIB), (64 * MIB, 16 * MIB)]
)
async def test_fall_is_told_once_wherever_it_begins(limit_bytes: int, fall_bytes: int) -> None:
    budget = MemoryBudget(limit_bytes)
    told: list[int] = []

    async def listen() -> None:
        while True:
            await budget.wait_for_fall()
            told.append(budget.held_bytes)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        (await budget.reserve(fall_bytes - 1)).release()
        kept, falls = await budget.reserve(1000), await budget.reserve(2 * fall_bytes)
        falls.resize(fall_bytes + 1)
        await anyio.wait_all_tasks_blocked()
        assert told == []
        falls.resize(fall_bytes)
        await anyio.wait_all_tasks_blocked()
        falls.release()
        await anyio.wait_all_tasks_blocked()
        assert told == [1000 + fall_bytes, 1000]
        (await budget.reserve(fall_bytes - 1)).release()
        await anyio.wait_all_tasks_blocked()
        assert told == [1000 + fall_bytes, 1000]
        kept.release()
        await anyio.wait_all_tasks_blocked()
        assert told == [1000 + fall_bytes, 1000, 0]
        tasks.cancel_scope.cancel()


async def test_what_goes_on_to_whoever_waited_is_no_fall() -> None:
    budget = MemoryBudget(100)
    first = await budget.reserve(80)
    async with anyio.create_task_group() as tasks:

        async def wait() -> None:
            async with budget.reserving(80):
                with anyio.move_on_after(0):
                    await budget.wait_for_fall()
                    pytest.fail("told of a fall")

        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        first.release()
    with anyio.fail_after(10):
        await budget.wait_for_fall()


async def test_fall_before_anybody_waits_is_told() -> None:
    budget = MemoryBudget(100)
    (await budget.reserve(25)).release()
    with anyio.fail_after(10):
        await budget.wait_for_fall()
