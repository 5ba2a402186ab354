"""Long answers are counted in the budget of memory from before their first byte to their last."""

from time import monotonic

import anyio
import pytest
from starlette.responses import Response
from starlette.types import Message, Scope

from app.errors import OverloadedError, PreconditionFailedError
from app.http.response_memory import (
    FREE_BYTES,
    PIECE_BYTES,
    build_response_with_memory,
    reserve_response_memory,
)
from app.services.memory_budget.budget import MemoryBudget, MemoryReservation
from app.services.memory_budget.responses import GRACE_SECONDS, ResponseBudget
from app.wiring.services import Services

pytestmark = pytest.mark.anyio


class Served:
    """A request whose reader takes what it is told to."""

    def __init__(self, limit_bytes: int) -> None:
        self.memory = MemoryBudget(limit_bytes)
        self.answers = ResponseBudget(self.memory)
        self.is_read = anyio.Event()
        self.is_cut = False
        self.method = "GET"
        self.held: list[int] = []
        self.body = b""

    @property
    def scope(self) -> Scope:
        services = Services((), {MemoryBudget: self.memory, ResponseBudget: self.answers})
        return {
            "type": "http",
            "method": self.method,
            "state": {"services": services, "abort": self.abort},
        }

    def abort(self) -> None:
        self.is_cut = True

    async def receive(self) -> Message:
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """As a server: what follows a long piece waits until that is read."""
        self.held.append(self.memory.held_bytes)
        if len(self.body) > FREE_BYTES:
            await self.is_read.wait()
        self.body += message.get("body", b"")

    async def answer(self, body: bytes) -> None:
        await reserve_response_memory(Response(body))(self.scope, self.receive, self.send)


@pytest.mark.promise(
    "security.md#memory-and-processor",
    (
        "An answer above 64 KiB counts in the memory budget until it is read; if there is no "
        "room, it is a 503 before its first byte"
    ),
    kept_by="app/http/response_memory.py",
    tried="0 bytes left",
)
async def test_long_answer_is_counted_until_it_is_read() -> None:
    body = b"x" * (FREE_BYTES + 1)
    served = Served(10 * FREE_BYTES)
    async with anyio.create_task_group() as group:
        group.start_soon(served.answer, body)
        await anyio.wait_all_tasks_blocked()
        assert served.memory.held_bytes == len(body)
        served.is_read.set()
    assert (served.body, served.memory.held_bytes) == (body, 0)
    assert served.held == [len(body)] * 3


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "The memory of what a client has already read is released while the rest is sent",
    kept_by="app/http/response_memory.py",
    tried="pieces of 256 KiB",
)
async def test_what_a_reader_has_taken_is_given_back_before_the_rest_is() -> None:
    body = bytes(range(256)) * (4 * PIECE_BYTES // 256)
    served = Served(10 * len(body))
    served.is_read.set()
    await served.answer(body)
    left = [4, 4, 4, 3, 2, 1]
    assert (served.body, served.held) == (body, [pieces * PIECE_BYTES for pieces in left])
    assert served.memory.held_bytes == 0


async def test_what_an_answer_was_made_of_is_given_back_before_it_is_sent() -> None:
    body = b"x" * (2 * FREE_BYTES)
    served = Served(20 * FREE_BYTES)
    held = await served.answers.reserve(3 * len(body))
    answer = build_response_with_memory(lambda: Response(body), held)
    assert served.memory.held_bytes == 3 * len(body)
    served.is_read.set()
    await answer(served.scope, served.receive, served.send)
    assert (served.body, served.held) == (body, [len(body)] * 3)
    assert served.memory.held_bytes == 0


async def test_memory_of_an_answer_that_is_not_made_is_given_back() -> None:
    served = Served(20 * FREE_BYTES)
    held = await served.answers.reserve(FREE_BYTES)

    def fail() -> Response:
        raise PreconditionFailedError

    with pytest.raises(PreconditionFailedError):
        build_response_with_memory(fail, held)
    assert served.memory.held_bytes == 0


async def test_slow_reader_is_cut_off_through_its_connection() -> None:
    served = Served(4 * FREE_BYTES)
    async with anyio.create_task_group() as group:
        group.start_soon(served.answer, b"x" * (2 * FREE_BYTES))
        await anyio.wait_all_tasks_blocked()
        now = monotonic()
        cuts = []
        for seconds in (0, GRACE_SECONDS):
            served.answers.cut_slow(now + seconds)
            cuts.append(served.is_cut)
        assert cuts == [False, True]
        group.cancel_scope.cancel()
    assert served.memory.held_bytes == 0


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A client that goes away releases the memory of its answer",
    kept_by="app/http/response_memory.py",
    tried="0 bytes left",
)
async def test_reader_that_goes_away_gives_back_what_its_answer_held() -> None:
    served = Served(10 * FREE_BYTES)
    async with anyio.create_task_group() as group:
        group.start_soon(served.answer, b"x" * (FREE_BYTES + 1))
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert served.memory.held_bytes == 0


async def test_answer_without_room_is_refused_before_anything_is_sent() -> None:
    served = Served(4 * FREE_BYTES)
    others = MemoryReservation(served.memory, 0)
    others.grow(3 * FREE_BYTES)
    with pytest.raises(OverloadedError):
        await served.answer(b"x" * (2 * FREE_BYTES))
    assert (served.held, served.memory.held_bytes) == ([], 3 * FREE_BYTES)


async def test_answer_to_a_write_is_sent_though_there_is_no_room_for_it() -> None:
    served = Served(4 * FREE_BYTES)
    served.method = "POST"
    served.is_read.set()
    others = MemoryReservation(served.memory, 0)
    others.grow(3 * FREE_BYTES)
    await served.answer(b"x" * (2 * FREE_BYTES))
    assert (len(served.body), served.memory.held_bytes) == (2 * FREE_BYTES, 3 * FREE_BYTES)


async def test_short_answer_goes_out_as_it_is() -> None:
    served = Served(1)
    await served.answer(b"x" * FREE_BYTES)
    assert (len(served.body), served.held) == (FREE_BYTES, [0, 0])
