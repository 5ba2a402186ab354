"""What bodies hold of the memory budget: as much as work on them takes, and nothing afterwards."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import OverloadedError, PayloadTooLargeError, ServiceError
from app.models.limits import Limits
from app.services.body_memory import FREE_BYTES, BodyBudget, BodyMemory, TextWeight
from app.services.large_work import LargeWork
from app.services.memory_budget import MemoryBudget
from app.services.request_bodies import RequestBodies
from app.services.streaming.bodies import StreamedBodies
from app.setting_groups import LimitSettings
from app.stores.blobs import FilesystemBlobStore

LIMITS = Limits(**LimitSettings().model_dump())
MIB = 1024 * 1024
pytestmark = pytest.mark.anyio


def budget_of(limit_bytes: int = 64 * MIB, *, text_bytes: int = 4 * MIB) -> BodyBudget:
    return BodyBudget(MemoryBudget(limit_bytes), text_limit_bytes=text_bytes)


async def pieces_of(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def endless(sent: list[int], piece: bytes = b"x" * 65_536) -> AsyncIterator[bytes]:
    while True:
        sent.append(len(piece))
        yield piece
        await asyncio.sleep(0)


def weighed(*pieces: bytes) -> int:
    weight = TextWeight()
    for piece in pieces:
        weight.add(piece)
    return weight.work_bytes(sum(map(len, pieces)))


async def test_small_body_takes_nothing_of_the_budget() -> None:
    budget = budget_of()
    everything = await budget.memory.hold(64 * MIB)
    bodies = RequestBodies(LargeWork(LIMITS), budget)
    async with bodies.read(pieces_of(b"x" * FREE_BYTES), len) as length:
        assert length == FREE_BYTES
    assert budget.memory.held_bytes == everything.size_bytes


async def test_body_holds_what_work_on_it_takes_until_the_request_ends() -> None:
    budget = budget_of()
    bodies = RequestBodies(LargeWork(LIMITS), budget)
    async with bodies.read(pieces_of(b"x" * MIB), len):
        assert budget.memory.held_bytes == 6 * MIB
    assert budget.memory.held_bytes == budget.arriving.held_bytes == 0


@pytest.mark.parametrize(
    ("text", "copies"),
    [("a" * 1_000, 6), ("é" * 500, 6), ("\u4e2d" * 300, 9), ("\U0001f600" * 250, 15)],
)
def test_text_weighs_by_its_widest_character(text: str, copies: int) -> None:
    assert weighed(text.encode()) == copies * len(text.encode())


def test_escaped_character_weighs_as_much_wherever_it_is_cut() -> None:
    data = b"aaaa" + json.dumps("\U0001f600").encode() + b"aaaa"
    weights = {weighed(data[:cut], data[cut:]) for cut in range(len(data))}
    assert weights == {15 * len(data)}


def test_containers_weigh_more_than_their_brackets() -> None:
    assert weighed(b"[" * 1_000) == 1_000 * (6 + 240)


async def take_whole(bodies: RequestBodies | StreamedBodies, chunks: AsyncIterator[bytes]) -> None:
    received = (
        bodies.read(chunks, len)
        if isinstance(bodies, RequestBodies)
        else bodies.received("p", chunks)
    )
    async with received:
        pass


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_text_beyond_the_limit_is_refused_while_it_arrives(
    is_streamed: bool, tmp_path: Path
) -> None:
    budget = budget_of()
    sent: list[int] = []
    work = LargeWork(LIMITS)
    bodies = (
        StreamedBodies(FilesystemBlobStore(tmp_path), work, budget, limit_bytes=MIB)
        if is_streamed
        else RequestBodies(work, budget)
    )
    with pytest.raises(PayloadTooLargeError, match="POST /api/resources"):
        await take_whole(bodies, endless(sent))
    assert sum(sent) < 8 * MIB
    assert budget.memory.held_bytes == budget.arriving.held_bytes == 0


async def test_bodies_on_their_way_leave_half_of_the_budget() -> None:
    budget = budget_of(64 * MIB, text_bytes=64 * MIB)
    first, second = BodyMemory(budget), BodyMemory(budget)
    await first.keep(30 * MIB)
    await second.keep(2 * MIB)
    with pytest.raises(OverloadedError):
        await second.keep(3 * MIB)
    assert budget.memory.held_bytes == 32 * MIB
    first.release()
    second.release()
    assert budget.memory.held_bytes == budget.arriving.held_bytes == 0


@given(
    bodies=st.lists(
        st.tuples(st.integers(0, 3 * MIB), st.booleans(), st.integers(0, 40)), max_size=12
    )
)
@settings(max_examples=15, deadline=None)
def test_nothing_is_held_after_any_mix_of_requests(bodies: list[tuple[int, bool, int]]) -> None:
    budget = budget_of(8 * MIB, text_bytes=2 * MIB)
    reading = RequestBodies(LargeWork(LIMITS), budget)

    async def send(size_bytes: int, fails: bool, cancelled_after: int) -> None:
        def work(body: bytes) -> None:
            if fails:
                raise PayloadTooLargeError("no")

        async def chunks() -> AsyncIterator[bytes]:
            for turn, start in enumerate(range(0, size_bytes, 65_536)):
                if turn == cancelled_after:
                    scope.cancel()
                await asyncio.sleep(0)
                yield b"a" * min(65_536, size_bytes - start)

        with anyio.CancelScope() as scope:
            try:
                async with reading.read(chunks(), work):
                    await asyncio.sleep(0)
            except ServiceError:
                pass

    async def all_at_once() -> None:
        async with anyio.create_task_group() as tasks:
            for each in bodies:
                tasks.start_soon(send, *each)

    anyio.run(all_at_once)
    assert budget.memory.held_bytes == budget.arriving.held_bytes == 0
