"""Reservations of bodies in the memory budget: as much as the work takes, nothing afterwards."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import anyio
import anyio.to_thread
import pybase64
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import OverloadedError
from app.models.limits import Limits
from app.services.concurrency.large_work import LargeWork
from app.services.memory_budget.budget import MemoryBudget
from app.services.memory_budget.request_bodies import UNRESERVED_BYTES, BodyBudget, BodyMemory
from app.services.requests.streamed_bodies import StreamedBodies
from app.services.requests.whole_bodies import RequestBodies
from app.stores.blobs.filesystem import FilesystemBlobStore
from pagefault_dialects.errors import PagefaultError, PayloadTooLargeError
from pagefault_dialects.streams.text_weight import TextWeight

LIMITS = Limits()
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


async def until(is_met: Callable[[], bool]) -> None:
    while True:
        if is_met():
            return
        await asyncio.sleep(0)


def weighed(*pieces: bytes) -> int:
    weight = TextWeight()
    for piece in pieces:
        weight.add(piece)
    return weight.estimate_bytes(sum(map(len, pieces)))


async def test_small_body_takes_nothing_of_the_budget() -> None:
    budget = budget_of()
    everything = await budget.memory.reserve(64 * MIB)
    bodies = RequestBodies(LargeWork(LIMITS), budget)
    async with bodies.read(pieces_of(b"x" * UNRESERVED_BYTES), len) as length:
        assert length == UNRESERVED_BYTES
    assert budget.memory.held_bytes == everything.size_bytes


async def test_body_holds_what_work_on_it_takes_until_the_request_ends() -> None:
    budget = budget_of()
    bodies = RequestBodies(LargeWork(LIMITS), budget)
    async with bodies.read(pieces_of(b"x" * MIB), len):
        assert budget.memory.held_bytes == 5 * MIB
    assert budget.memory.held_bytes == budget.arriving.held_bytes == 0


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Work on a text reserves memory by its widest character",
    kept_by="app/services/memory_budget/request_bodies.py",
    tried="5 to 11 times its bytes",
)
@pytest.mark.parametrize(
    ("text", "copies"),
    [("a" * 1_000, 5), ("é" * 500, 5), ("\u4e2d" * 300, 7), ("\U0001f600" * 250, 11)],
)
def test_text_weighs_by_its_widest_character(text: str, copies: int) -> None:
    assert weighed(text.encode()) == copies * len(text.encode())


def test_escaped_character_weighs_as_much_wherever_it_is_cut() -> None:
    data = b"aaaa" + json.dumps("\U0001f600").encode() + b"aaaa"
    weights = {weighed(data[:cut], data[cut:]) for cut in range(len(data))}
    assert weights == {11 * len(data)}


def test_containers_weigh_more_than_their_brackets() -> None:
    assert weighed(b"[" * 1_000) == 1_000 * (5 + 320)


def test_commas_and_brackets_within_strings_weigh_as_text_wherever_they_are_cut() -> None:
    data = b'["a,[{,\\\\",{"b,\\"[,":"{,"}]'
    expected = 5 * len(data) + 2 * 320 + 96
    cuts = [(first, second) for first in range(len(data)) for second in range(first, len(data))]
    assert {weighed(data[:first], data[first:second], data[second:]) for first, second in cuts} == {
        expected
    }


async def test_body_that_has_just_become_large_holds_little_more_than_arrived() -> None:
    budget = budget_of()
    memory = BodyMemory(budget)
    await memory.keep(UNRESERVED_BYTES + 1)
    assert budget.arriving.held_bytes == budget.memory.held_bytes == 2 * UNRESERVED_BYTES
    memory.release()


@pytest.mark.promise(
    "security.md#memory-and-processor",
    (
        "Slow senders do not keep others out: when the share of arriving bodies is full, the "
        "slowest are ended"
    ),
    kept_by="app/services/memory_budget/request_bodies.py",
    tried="503 for those behind 64 KiB a second by more than 4 seconds",
)
async def test_slow_bodies_are_ended_for_one_that_comes() -> None:
    budget = budget_of()
    outcomes: list[type[Exception]] = []
    all_wait = anyio.Event()

    async def one_that_stops() -> AsyncIterator[bytes]:
        yield b"x" * 4 * MIB
        if len(budget.bodies) == 8:
            all_wait.set()
        await anyio.sleep_forever()

    bodies = RequestBodies(LargeWork(LIMITS), budget)

    async def send() -> None:
        try:
            await take_whole(bodies, one_that_stops())
        except OverloadedError as exc:
            outcomes.append(type(exc))

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(send)
        await all_wait.wait()
        with pytest.raises(OverloadedError):
            await take_whole(bodies, pieces_of(b"x" * 20_000))
        for body in budget.bodies:
            # As if all of them had paused since.
            body._credit_seconds -= 60
        await take_whole(bodies, pieces_of(b"x" * 20_000))
        assert outcomes == [OverloadedError]
        assert len(budget.bodies) == 7
        tasks.cancel_scope.cancel()
    assert budget.memory.held_bytes == budget.arriving.held_bytes == 0


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Work on a text that has arrived waits for its memory; small bodies overtake it",
    kept_by="app/services/memory_budget/request_bodies.py",
    tried="10 seconds at most",
)
async def test_work_on_a_body_that_arrived_waits_for_its_memory() -> None:
    budget = budget_of()
    bodies = RequestBodies(LargeWork(LIMITS), budget)
    async with (
        bodies.read(pieces_of(b"x" * 4 * MIB), len),
        bodies.read(pieces_of(b"x" * 4 * MIB), len),
        bodies.read(pieces_of(b"x" * 2 * MIB), len) as length,
        anyio.create_task_group() as tasks,
    ):
        assert length == 2 * MIB
        tasks.start_soon(take_whole, bodies, pieces_of(b"x" * 4 * MIB))
        await until(lambda: bool(budget.memory._low_priority_waiting))
        # Only among those that arrive, and nobody with a small body waits behind it.
        assert budget.memory.held_bytes == 50 * MIB
        await take_whole(bodies, pieces_of(b"x" * MIB))
        budget.memory.release(10 * MIB)
        await until(lambda: not budget.memory._low_priority_waiting)
        budget.memory.held_bytes += 10 * MIB
    assert budget.memory.held_bytes == budget.arriving.held_bytes == 0


async def take_whole(bodies: RequestBodies | StreamedBodies, chunks: AsyncIterator[bytes]) -> None:
    received = (
        bodies.read(chunks, len)
        if isinstance(bodies, RequestBodies)
        else bodies.receive("p", chunks)
    )
    async with received:
        pass


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Text beyond the limit is refused while it arrives",
    kept_by="app/services/memory_budget/request_bodies.py",
    tried="413; at most 8 MiB read of an endless body, of 4 MiB allowed",
)
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


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A string that turns out not to be base64 is counted before it is loaded into memory",
    kept_by="packages/dialects/src/pagefault_dialects/streams/json_stream.py",
    tried="a body of 14 MiB: all of it",
)
async def test_string_put_back_late_is_counted_before_it_is_there(tmp_path: Path) -> None:
    budget = budget_of(64 * MIB, text_bytes=16 * MIB)
    bodies = StreamedBodies(
        FilesystemBlobStore(tmp_path), LargeWork(LIMITS), budget, limit_bytes=64 * MIB
    )
    encoded = pybase64.b64encode(bytes(range(256)) * 12_288 * 3)
    head = b'{"toolName":"x","toolCallId":"a","result":"' + encoded + b"!" + b"A" * 2 * MIB
    all_sent = anyio.Event()

    async def unfinished() -> AsyncIterator[bytes]:
        for start in range(0, len(head), 65_536):
            yield head[start : start + 65_536]
        all_sent.set()
        await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(take_whole, bodies, unfinished())
        await all_sent.wait()
        assert len(head) < budget.arriving.held_bytes == budget.memory.held_bytes < 20 * MIB
        tasks.cancel_scope.cancel()
    assert budget.memory.held_bytes == budget.arriving.held_bytes == 0


async def test_strings_put_back_count_together(tmp_path: Path) -> None:
    budget = budget_of(256 * MIB, text_bytes=4 * MIB)
    bodies = StreamedBodies(
        FilesystemBlobStore(tmp_path), LargeWork(LIMITS), budget, limit_bytes=64 * MIB
    )
    string = b'"' + pybase64.b64encode(bytes(range(256)) * 12 * 512) + b'!",'
    with pytest.raises(PayloadTooLargeError, match="POST /api/resources"):
        await take_whole(bodies, pieces_of(b"[", string * 3))
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


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "After any mix of requests no memory stays reserved",
    kept_by="app/services/memory_budget/request_bodies.py",
    tried="any sizes, failures and cancellations",
)
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
            except PagefaultError:
                pass

    async def all_at_once() -> None:
        async with anyio.create_task_group() as tasks:
            for item in bodies:
                tasks.start_soon(send, *item)

    anyio.run(all_at_once)
    assert budget.memory.held_bytes == budget.arriving.held_bytes == 0
