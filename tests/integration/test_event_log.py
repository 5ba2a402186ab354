"""The log of events, on both engines: numbers in the order of the commits, and what is kept."""

import json
import random
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import anyio
import pytest

from app.config.settings import Settings
from app.models.event import EventType, LogBounds, LoggedEvent, NewEvent
from app.models.message import StoredHistoryMessage
from app.models.stored_interaction import StoredInteraction
from app.models.tool_result import StoredToolResult
from app.stores.records.events import EventRecords
from app.stores.records.interactions import InteractionRecords
from app.stores.records.records import Records
from app.stores.records.sessions import SessionRecords
from app.stores.records.tool_results import ToolResultRecords
from app.wiring.services import Services
from pagefault_bundles.bundle_records import BundleRecords
from tests.integration.log_processes import (
    NOW,
    PROJECT,
    GivenUpError,
    engines_over,
    heard,
    listening_at,
    log_processes,
    page_event,
    until_one_waits,
    write,
)
from tests.kit.units import OpenUnit, reading, writing

pytestmark = pytest.mark.anyio
WRITERS = 6
ROUNDS = 12
MIB = 2**20

RESULT = StoredToolResult("r1", "s", 1, NOW, "t", "c1", b'{"parts":[]}')
MESSAGE = StoredHistoryMessage(2, "m2", NOW, None, "d" * 64, b'{"role":"user"}')
ASKED = StoredInteraction("i3", "s", 3, "text", "2023-10-27T10:00:00Z", NOW, b'"Why?"')
ANSWERED = replace(ASKED, output=b'{"role":"assistant"}', answer_seq=4, answered_at=NOW)


@pytest.fixture
async def processes(settings: Settings) -> AsyncIterator[tuple[Services, Services]]:
    async with log_processes(settings) as opened:
        yield opened


@pytest.fixture
async def records(processes: tuple[Services, Services]) -> Records:
    """The log by itself, with a second project."""
    await processes[0][Records].write_projects(lambda projects: projects.ensure("other", NOW))
    return processes[0][Records]


async def numbers(records: Records, project_id: str = PROJECT) -> list[tuple[int, str]]:
    """Return the events in the log of a project."""
    logged = await records.read(
        project_id, lambda unit: unit[EventRecords].list_after(0, limit=10_000)
    )
    return [(event.number, event.subject_id) for event in logged]


def event_of(
    event_type: EventType, subject_id: str, seq: int, size_bytes: int, **members: str
) -> NewEvent:
    return NewEvent(
        event_type,
        subject_id,
        NOW,
        session_id="s",
        seq=seq,
        size_bytes=size_bytes,
        members=dict(members),
    )


async def one_of_each(unit: OpenUnit) -> None:
    """A record of each kind that events show, and their events."""
    await unit[SessionRecords].ensure("s", NOW)
    await unit[ToolResultRecords].add(RESULT, success=True, request_digest="d")
    await unit[BundleRecords].add_messages("s", [MESSAGE])
    await unit[BundleRecords].add_interactions([ASKED])
    await unit[InteractionRecords].set_output("i3", ANSWERED.output or b"", answer_seq=4, now=NOW)
    await unit.add_event(event_of("llmservice:toolResult", "r1", 1, 12, toolName="\x00😀"))
    await unit.add_event(event_of("message:created", "m2", 2, 15, role="user"))
    await unit.add_event(event_of("interaction:created", "i3", 3, 6))
    await unit.add_event(event_of("interaction:answered", "i3", 4, 20))


@pytest.mark.parametrize("ends", ["commit", "rollback"])
async def test_later_number_waits_until_the_earlier_one_is_decided(
    processes: tuple[Services, Services], settings: Settings, ends: str
) -> None:
    """The second writer is done with all its work but the commit while the first one is held."""
    one, other = processes
    has_number, may_end = anyio.Event(), anyio.Event()

    async def write_first() -> None:
        async with writing(one[Records], PROJECT) as unit:
            await unit.add_event(page_event("first"))
            # What `write` does last is done by hand, so that the transaction is held behind it.
            assert await unit[EventRecords].flush() == 1
            has_number.set()
            await may_end.wait()
            if ends == "rollback":
                raise GivenUpError

    async def write_first_to_its_end() -> None:
        with suppress(GivenUpError):
            await write_first()

    expected = ["first", "second"] if ends == "commit" else ["second"]
    async with engines_over(settings) as engines, listening_at(other) as stream:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write_first_to_its_end)
            await has_number.wait()
            tasks.start_soon(write, other, "second")
            await until_one_waits(engines)
            assert await numbers(other[Records]) == []
            may_end.set()
        items = await heard(stream, until=len(expected))
    assert await numbers(one[Records]) == list(enumerate(expected, 1))
    told = [(item.position, json.loads(item.data)["id"]) for item in items]
    assert told == list(enumerate(expected, 1))


class Crowd:
    """Writers in two processes, some of which give up, and who goes on from what it has seen."""

    def __init__(self, processes: tuple[Services, Services]) -> None:
        chosen = random.Random(7)  # noqa: S311 - the same in every run
        self._processes = processes
        self._plans = [
            [chosen.choice([0, 1, 1, 2, 5]) for _ in range(ROUNDS)] for _ in range(WRITERS)
        ]
        self._are_done = anyio.Event()
        self.last = sum(map(sum, self._plans))
        self.seen: list[list[int]] = []

    async def write(self) -> None:
        """Write what is planned, all writers at once."""
        async with anyio.create_task_group() as writing:
            for number in range(WRITERS):
                writing.start_soon(self._run_writer, number)
        self._are_done.set()

    async def read(self, at: int) -> None:
        """Read the log again and again, a little at once."""
        seen = [0]
        while seen[-1] < self.last:
            async with reading(self._processes[at][Records], PROJECT) as unit:
                seen += [
                    event.number for event in await unit[EventRecords].list_after(seen[-1], limit=3)
                ]
        self.seen.append(seen[1:])

    async def listen(self, at: int) -> None:
        """Listen from before the first event."""
        async with listening_at(self._processes[at]) as stream:
            self.seen.append([item.position for item in await heard(stream, until=self.last)])

    async def listen_late(self, at: int) -> None:
        """Come when all has been written."""
        await self._are_done.wait()
        await self.listen(at)

    async def _run_writer(self, number: int) -> None:
        for step, count in enumerate(self._plans[number]):
            with suppress(GivenUpError):
                async with writing(self._processes[number % 2][Records], PROJECT) as unit:
                    for name in range(count or 1):
                        await unit.add_event(page_event(f"{number}-{step}-{name}"))
                    if not count:
                        await unit[EventRecords].flush()
                        raise GivenUpError


async def test_whoever_reads_at_any_moment_has_every_number_below(
    processes: tuple[Services, Services],
) -> None:
    crowd = Crowd(processes)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for at in (0, 1):
                for role in (crowd.read, crowd.listen, crowd.listen, crowd.listen_late):
                    tasks.start_soon(role, at)
            tasks.start_soon(crowd.write)
    assert crowd.seen == [list(range(1, crowd.last + 1))] * 8


async def test_what_is_rolled_back_is_neither_written_nor_announced(settings: Settings) -> None:
    announced: list[tuple[str, int]] = []
    async with log_processes(settings), engines_over(settings) as engines:
        records = Records(engines, announce=lambda *told: announced.append(told))
        with suppress(GivenUpError):
            async with writing(records, PROJECT) as unit:
                await unit.add_event(page_event("never"))
                raise GivenUpError
        await records.write(PROJECT, lambda unit: unit[SessionRecords].ensure("s", NOW))
        assert (announced, await numbers(records)) == ([], [])
        async with writing(records, PROJECT) as unit:
            await unit.add_event(page_event("a"))
            await unit.add_event(page_event("b"))
            assert announced == []
        assert (announced, await numbers(records)) == ([(PROJECT, 2)], [(1, "a"), (2, "b")])


@pytest.mark.slow
async def test_every_project_has_numbers_of_its_own(records: Records) -> None:
    for project_id, subject_id in [(PROJECT, "a"), ("other", "x"), (PROJECT, "b"), ("other", "y")]:
        async with writing(records, project_id) as unit:
            await unit.add_event(page_event(subject_id))
    assert await numbers(records) == [(1, "a"), (2, "b")]
    assert await numbers(records, "other") == [(1, "x"), (2, "y")]


async def test_event_shows_the_stored_record_and_an_interaction_as_it_is_stored(
    records: Records,
) -> None:
    async with writing(records, PROJECT) as unit:
        await one_of_each(unit)
    logged = await records.read(PROJECT, lambda unit: unit[EventRecords].list_after(0, limit=9))
    assert await records.read(PROJECT, lambda unit: unit[EventRecords].read_bounds()) == LogBounds(
        0, 4
    )
    assert logged == [
        LoggedEvent(
            *(1, "llmservice:toolResult", "r1", "s", 1, NOW),
            members='{"toolName":"\\u0000😀"}'.encode(),
            content=RESULT.sanitized,
        ),
        LoggedEvent(
            *(2, "message:created", "m2", "s", 2, NOW),
            members=b'{"role":"user"}',
            content=MESSAGE.message,
        ),
        LoggedEvent(3, "interaction:created", "i3", "s", 3, NOW, b"{}", ANSWERED),
        LoggedEvent(4, "interaction:answered", "i3", "s", 4, NOW, b"{}", ANSWERED.output),
    ]


async def test_log_is_read_behind_a_number_of_a_session_and_up_to_a_limit(
    records: Records,
) -> None:
    async with writing(records, PROJECT) as unit:
        for seq, session_id in enumerate(["s", "t", "s", None, "s"], 1):
            await unit.add_event(page_event(f"p{seq}", session_id=session_id, seq=seq))
    async with reading(records, PROJECT) as unit:

        async def read(after: int, session_id: str | None, limit: int = 9) -> list[int]:
            logged = await unit[EventRecords].list_after(after, session_id=session_id, limit=limit)
            return [event.number for event in logged]

        assert await read(0, None, 2) == [1, 2]
        assert await read(2, None) == [3, 4, 5]
        assert await read(5, None) == []
        assert await read(0, "s") == [1, 3, 5]
        assert await read(1, "s", 1) == [3]
        assert await read(0, "never") == []


async def test_hundreds_of_events_of_one_transaction_follow_each_other(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        await unit[BundleRecords].add_messages("s", [MESSAGE])
        for number in range(1_201):
            await unit.add_event(event_of("message:created", "m2", number, 15))
    logged = await records.read(PROJECT, lambda unit: unit[EventRecords].list_after(0, limit=2_000))
    assert [event.number for event in logged] == list(range(1, 1_202))
    assert {event.content for event in logged} == {MESSAGE.message}


async def test_reader_gets_no_more_than_it_can_hold(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        await unit[BundleRecords].add_messages("s", [MESSAGE])
        for number, size_bytes in enumerate([10 * MIB, 10 * MIB, 1, 40 * MIB, 1], 1):
            await unit.add_event(event_of("message:created", "m2", number, size_bytes))
    async with reading(records, PROJECT) as unit:
        read = [
            [event.number for event in await unit[EventRecords].list_after(after, limit=9)]
            for after in (0, 2, 4)
        ]
    assert read == [[1, 2], [3, 4], [5]]


async def test_event_whose_record_is_gone_is_passed_over(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        await one_of_each(unit)
        await unit.add_event(page_event("p"))
    await records.write(PROJECT, lambda unit: unit[SessionRecords].remove("s"))
    assert await numbers(records) == [(5, "p")]


async def test_what_the_events_of_a_session_said_goes_with_it_and_its_deletions_stay(
    records: Records,
) -> None:
    for round_ in range(2):
        async with writing(records, PROJECT) as unit:
            for seq in (1, 2):
                await unit.add_event(page_event(f"p{round_}", session_id="s", seq=seq))
            await unit.add_event(page_event("p", session_id="t", seq=1))
        async with writing(records, PROJECT) as unit:
            await unit[EventRecords].remove_session("s")
            await unit.add_event(
                page_event("s", event_type="session:deleted", session_id="s", seq=3)
            )
    assert await numbers(records) == [(3, "p"), (4, "s"), (7, "p"), (8, "s")]
    async with reading(records, PROJECT) as unit:
        found = [await unit[EventRecords].find_deletion_after("s", seq) for seq in (0, 2, 3)]
        assert found == [8, 8, None]
        assert await unit[EventRecords].find_deletion_after("t", 0) is None
        assert await unit[EventRecords].read_bounds() == LogBounds(0, 8)


async def test_newest_event_of_a_seq_is_found(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        await unit.add_event(page_event("p", session_id="s", seq=1))
        await unit.add_event(page_event("p", event_type="page:deleted", session_id="s", seq=1))
        await unit.add_event(page_event("p", session_id="t", seq=1))
    async with reading(records, PROJECT) as unit:
        assert await unit[EventRecords].find_newest_with("s", 1) == 2
        assert await unit[EventRecords].find_newest_with("s", 2) is None
        assert await unit[EventRecords].find_newest_with("never", 1) is None


async def expire(records: Records, *, age: timedelta, keep: int, limit: int = 99) -> int:
    return await records.write(
        PROJECT, lambda unit: unit[EventRecords].expire(before=NOW + age, keep=keep, limit=limit)
    )


async def kept(records: Records) -> tuple[LogBounds, list[int]]:
    bounds = await records.read(PROJECT, lambda unit: unit[EventRecords].read_bounds())
    return bounds, [number for number, _ in await numbers(records)]


async def test_oldest_events_expire_by_age_and_by_number_a_few_at_once(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        for number in range(1, 9):
            event = replace(page_event("p"), created_at=NOW + timedelta(seconds=number))
            await unit.add_event(event)
    assert await expire(records, age=timedelta(seconds=1), keep=8) == 0
    assert await kept(records) == (LogBounds(0, 8), [1, 2, 3, 4, 5, 6, 7, 8])
    assert await expire(records, age=timedelta(seconds=3), keep=8) == 2
    assert await kept(records) == (LogBounds(2, 8), [3, 4, 5, 6, 7, 8])
    assert await expire(records, age=timedelta(), keep=3, limit=2) == 2
    assert await kept(records) == (LogBounds(4, 8), [5, 6, 7, 8])
    assert await expire(records, age=timedelta(), keep=3, limit=2) == 1
    assert await kept(records) == (LogBounds(5, 8), [6, 7, 8])
    assert await expire(records, age=timedelta(hours=1), keep=99) == 3
    assert await kept(records) == (LogBounds(8, 8), [])
    async with writing(records, PROJECT) as unit:
        await unit.add_event(page_event("p"))
    assert await kept(records) == (LogBounds(8, 9), [9])


async def test_expiring_passes_over_numbers_that_a_deleted_session_left(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        for seq in range(1, 6):
            await unit.add_event(page_event("p", session_id="s", seq=seq))
        await unit.add_event(page_event("p"))
    await records.write(PROJECT, lambda unit: unit[EventRecords].remove_session("s"))
    assert await expire(records, age=timedelta(), keep=3) == 0
    assert await kept(records) == (LogBounds(3, 6), [6])
