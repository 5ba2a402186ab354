"""Answers hold half of the memory budget, and who reads slowly makes room for others."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from app.errors import OverloadedError
from app.services.memory_budget import responses as answer_room
from app.services.memory_budget.budget import MemoryBudget
from app.services.memory_budget.responses import GRACE_SECONDS, PACE_BYTES, ResponseBudget

pytestmark = pytest.mark.anyio

LIMIT_BYTES = 80_000


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(answer_room, "monotonic", clock)
    return clock


class Crowd:
    """Readers of answers, each with its name; those who were cut off."""

    def __init__(self, stack: ExitStack, clock: Clock) -> None:
        self.memory = MemoryBudget(LIMIT_BYTES)
        self.room = ResponseBudget(self.memory)
        self.cut: list[str] = []
        self._stack = stack
        self._clock = clock

    def reads(self, name: str, *, size_bytes: int, bytes_per_second: float) -> None:
        """Have somebody read for as long as the grace is, and let the last piece wait."""
        held = self.room.take(size_bytes)
        self._stack.callback(held.release)
        cut = self.cut.append
        reader = self._stack.enter_context(self.room.reading(held, lambda: cut(name)))
        began = self._clock.now
        with reader.sending(round(bytes_per_second * GRACE_SECONDS)):
            self._clock.now += GRACE_SECONDS
        self._clock.now = began

    def look(self) -> list[str]:
        self.room.cut_slow(self._clock.now)
        return self.cut


@pytest.fixture
def crowd(clock: Clock) -> Iterator[Crowd]:
    with ExitStack() as stack:
        yield Crowd(stack, clock)


@pytest.mark.promise(
    "security.md#memory-and-processor",
    (
        "When memory runs short, the slowest readers of answers are cut off after a grace of "
        "10 seconds"
    ),
    kept_by="app/services/memory_budget/responses.py",
    tried="below 256 KiB a second",
)
async def test_slowest_readers_are_cut_off_until_a_quarter_is_free(crowd: Crowd) -> None:
    crowd.reads("slow", size_bytes=10_000, bytes_per_second=PACE_BYTES / 2)
    crowd.reads("slowest", size_bytes=10_000, bytes_per_second=PACE_BYTES / 4)
    crowd.reads("quick", size_bytes=10_000, bytes_per_second=PACE_BYTES)
    assert crowd.look() == []
    crowd.reads("late", size_bytes=5_000, bytes_per_second=PACE_BYTES / 3)
    assert crowd.look() == ["slowest"]


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "An answer that finds no room ends a slow reader to make room",
    kept_by="app/services/memory_budget/responses.py",
    tried="the slowest first",
)
async def test_slow_reader_makes_room_for_an_answer_that_finds_none(crowd: Crowd) -> None:
    crowd.reads("slow", size_bytes=10_000, bytes_per_second=1)
    assert crowd.look() == []
    with pytest.raises(OverloadedError):
        crowd.room.take(LIMIT_BYTES // 2)
    assert crowd.cut == ["slow"]


async def test_readers_that_keep_the_pace_are_not_cut_off(crowd: Crowd) -> None:
    crowd.reads("quick", size_bytes=40_000, bytes_per_second=PACE_BYTES)
    assert crowd.look() == []


async def test_slow_readers_are_cut_off_where_others_take_the_budget(crowd: Crowd) -> None:
    crowd.reads("slow", size_bytes=1_000, bytes_per_second=1)
    crowd.memory.take_more(LIMIT_BYTES - 2_000)
    assert crowd.look() == ["slow"]


async def test_reader_has_a_grace(crowd: Crowd, clock: Clock) -> None:
    held = crowd.room.take(40_000)
    with crowd.room.reading(held, lambda: crowd.cut.append("new")) as reader, reader.sending(1):
        clock.now += GRACE_SECONDS - 1
        assert crowd.look() == []
        clock.now += 1
        assert crowd.look() == ["new"]
    held.release()


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Long texts of answers hold at most half of the memory budget together",
    kept_by="app/services/memory_budget/responses.py",
    tried="0 bytes left",
)
async def test_answers_hold_half_of_the_budget_and_give_it_back() -> None:
    memory = MemoryBudget(LIMIT_BYTES)
    room = ResponseBudget(memory)
    larger_than_all = await room.reserve(LIMIT_BYTES)
    assert (memory.held_bytes, larger_than_all.size_bytes) == (LIMIT_BYTES // 2, LIMIT_BYTES // 2)
    with pytest.raises(OverloadedError):
        room.take(1)
    with pytest.raises(OverloadedError):
        await room.reserve(1)
    larger_than_all.resize(10)
    assert memory.held_bytes == 10
    larger_than_all.release()
    assert (memory.held_bytes, room.take(LIMIT_BYTES // 2).size_bytes) == (0, LIMIT_BYTES // 2)


async def test_answer_without_room_in_the_whole_budget_leaves_its_half_alone() -> None:
    memory = MemoryBudget(LIMIT_BYTES)
    room = ResponseBudget(memory)
    memory.take_more(LIMIT_BYTES)
    with pytest.raises(OverloadedError):
        room.take(10)
    with pytest.raises(OverloadedError):
        await room.reserve(10)
    memory.release(LIMIT_BYTES)
    assert room.take(LIMIT_BYTES // 2).size_bytes == LIMIT_BYTES // 2
