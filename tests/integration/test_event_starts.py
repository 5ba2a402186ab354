"""Starts of event streams in the log itself, on both engines."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from app.config.settings import Settings
from app.models.event import LogBounds, NewEvent
from app.services.events.stream import StreamStart, find_start
from app.services.maintenance.sweep import Sweep, SweepReport
from app.stores.records.events import EventRecords
from app.stores.records.records import Records
from app.stores.records.sessions import SessionRecords
from tests.contract.session_requests import append
from tests.integration.sweep_stores import PROJECT, Stores, opened_stores
from tests.kit.event_streams import heard, listening
from tests.kit.servers import Backends, Engine, serving
from tests.kit.units import reading, writing

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
AGES = timedelta(days=365 * 50)
DAY_SECONDS = 24 * 3600.0
RESET = True


class GivenUpError(Exception):
    """An error that rolls a transaction back."""


@pytest.fixture
async def stores(settings: Settings) -> AsyncIterator[Stores]:
    async with opened_stores(settings) as opened:
        yield opened


@pytest.fixture
def records(stores: Stores) -> Records:
    return stores.records


async def write(records: Records, *session_ids: str, fails: bool = False) -> None:
    """One write to each of some sessions, each in a transaction of its own."""
    for session_id in session_ids:
        async with writing(records, PROJECT) as unit:
            await unit[SessionRecords].ensure(session_id, NOW)
            seq = await unit[SessionRecords].take_numbers(session_id)
            members = {"version": 1, "modality": "text", "pageType": "artifact"}
            await unit.add_event(
                NewEvent("page:created", "p", NOW, session_id=session_id, seq=seq, members=members)
            )
            if fails:
                raise GivenUpError


async def delete(records: Records, session_id: str) -> None:
    """Delete a session as its service does."""
    async with writing(records, PROJECT) as unit:
        session = await unit[SessionRecords].find_and_lock(session_id)
        assert session is not None
        await unit[SessionRecords].remove(session_id)
        await unit[EventRecords].remove_session(session_id)
        seq = session.last_seq + 1
        await unit.add_event(
            NewEvent("session:deleted", session_id, NOW, session_id=session_id, seq=seq)
        )


async def start(records: Records, after: int | None, session_id: str | None = "s") -> StreamStart:
    return await records.read_snapshot(PROJECT, lambda unit: find_start(unit, session_id, after))


async def starts(
    records: Records, places: Sequence[int | None], session_id: str | None = "s"
) -> list[StreamStart]:
    return [await start(records, after, session_id) for after in places]


async def told(records: Records, after: int, session_id: str = "s") -> list[tuple[str, int | None]]:
    """Return the events of a stream that begins there, without a reset."""
    begin = await start(records, after, session_id)
    assert not begin.is_reset
    events = await records.read_snapshot(
        PROJECT,
        lambda unit: unit[EventRecords].list_after(begin.number, session_id=session_id, limit=100),
    )
    return [(event.type, event.seq) for event in events]


async def sweep(stores: Stores, *, kept: timedelta = AGES, most: int = 10**6) -> int:
    """Remove old events; returns how many."""
    run = Sweep(stores.records, stores.blobs, events_kept=kept, max_events=most)
    return (await run.run(DAY_SECONDS)).expired_events


async def test_log_without_events_begins_at_0(records: Records) -> None:
    for session_id in (None, "s"):
        assert await starts(records, [None, 0, 1], session_id) == [
            StreamStart(0, 0),
            StreamStart(0, 0),
            StreamStart(0, 0, RESET),
        ]


async def test_project_begins_behind_any_number_it_has(records: Records) -> None:
    await write(records, "s", "t", "s")
    assert await starts(records, [None, 0, 1, 3, 4, 2**63 - 2], None) == [
        StreamStart(3, 3),
        StreamStart(0, 0),
        StreamStart(1, 1),
        StreamStart(3, 3),
        StreamStart(3, 3, RESET),
        StreamStart(3, 3, RESET),
    ]


async def test_session_begins_behind_the_event_that_took_the_number(records: Records) -> None:
    await write(records, "t", "s", "t", "t", "s", "s", "t")
    assert await starts(records, [None, 0, 1, 2, 3, 4, 2**63 - 2]) == [
        StreamStart(7, 3),
        StreamStart(1, 0),
        StreamStart(2, 1),
        StreamStart(5, 2),
        StreamStart(6, 3),
        StreamStart(7, 3, RESET),
        StreamStart(7, 3, RESET),
    ]


async def test_session_of_another_project_is_none(stores: Stores) -> None:
    await write(stores.records, "s", "s")
    found = await stores.records.read_snapshot(
        "other",
        lambda unit: [find_start(unit, item, after) for item in (None, "s") for after in (None, 2)],
    )
    assert found == [StreamStart(0, 0), StreamStart(0, 0, RESET)] * 2


async def test_write_that_is_rolled_back_is_never_there_and_gives_its_number_back(
    stores: Stores,
) -> None:
    announced: list[tuple[str, int]] = []
    records = Records(stores.engines, announce=lambda *event: announced.append(event))
    await write(records, "s")
    for session_id in ("s", "t"):
        with pytest.raises(GivenUpError):
            await write(records, session_id, fails=True)
    await write(records, "s")
    async with reading(records, PROJECT) as unit:
        logged = await unit[EventRecords].list_after(0, limit=10)
        sessions = [await unit[SessionRecords].find(name) for name in ("s", "t")]
    assert [(event.number, event.session_id, event.seq) for event in logged] == [
        (1, "s", 1),
        (2, "s", 2),
    ]
    assert announced == [(PROJECT, 1), (PROJECT, 2)]
    assert [session and session.last_seq for session in sessions] == [2, None]


async def test_deletion_is_told_to_whoever_has_not_seen_it(records: Records) -> None:
    await write(records, "s", "s", "s", "t")
    await delete(records, "s")
    for after in range(4):
        assert await told(records, after) == [("session:deleted", 4)]
    assert await told(records, 4) == []
    assert await start(records, None) == StreamStart(5, 0)
    assert (await start(records, 5)).is_reset


async def test_deletion_and_what_is_new_are_told_in_this_order(records: Records) -> None:
    await write(records, "s", "s", "s")
    await delete(records, "s")
    await write(records, "s")
    anew = [("page:created", 1)]
    assert await told(records, 0) == anew
    assert await told(records, 2) == [("session:deleted", 4), *anew]
    assert await told(records, 3) == [("session:deleted", 4), *anew]
    assert await told(records, 4) == anew


async def test_position_that_two_sessions_of_a_name_have_had_is_no_place(records: Records) -> None:
    """A listener at 2 may have seen the 2 of the old session, and missed its end and the new 1."""
    await write(records, "s", "s", "s")
    await delete(records, "s")
    await write(records, "s", "s", "s")
    assert [item.is_reset for item in await starts(records, [None, 0, 1, 2, 3])] == [
        *(False, False, RESET, RESET, RESET)
    ]
    assert await told(records, 0) == [("page:created", number) for number in (1, 2, 3)]


@pytest.mark.promise(
    "durability.md#the-process-dies",
    (
        "A position in a deleted session is not taken for one in a new session of the same "
        "name, though the log no longer has the deletion"
    ),
    kept_by="app/services/events/stream.py",
    tried="2 deletions, both engines",
)
async def test_position_of_a_session_that_ended_is_no_place_though_its_deletion_is_forgotten(
    stores: Stores,
) -> None:
    """The log holds the new session's events alone; a position above the old one's is its own."""
    records = stores.records
    await write(records, *("s" for _ in range(5)))
    await delete(records, "s")
    await write(records, "s", "s")
    await delete(records, "s")
    await write(records, *("s" for _ in range(8)), "t")
    assert await sweep(stores, most=9) == 2
    assert await starts(records, [None, 0, 1, 5, 6]) == [
        StreamStart(18, 8),
        StreamStart(9, 0),
        *[StreamStart(18, 8, RESET)] * 3,
    ]
    assert await starts(records, [7, 8]) == [StreamStart(16, 7), StreamStart(17, 8)]
    assert await sweep(stores, most=0) == 9
    assert [item.is_reset for item in await starts(records, [1, 6, 7, 8])] == [
        *(RESET, RESET, RESET, False)
    ]
    assert await start(records, 1, "t") == StreamStart(18, 1)


async def test_place_whose_event_is_removed_is_reset_to_now(stores: Stores) -> None:
    records = stores.records
    await write(records, "s", "s", "t", "s", "s")
    assert await sweep(stores, most=2) == 3
    assert await starts(records, [None, 0, 2, 3, 5], None) == [
        StreamStart(5, 5),
        StreamStart(5, 5, RESET),
        StreamStart(5, 5, RESET),
        StreamStart(3, 3),
        StreamStart(5, 5),
    ]
    assert await starts(records, [None, 0, 1, 2, 3, 4]) == [
        StreamStart(5, 4),
        StreamStart(5, 4, RESET),
        StreamStart(5, 4, RESET),
        StreamStart(3, 2),
        StreamStart(4, 3),
        StreamStart(5, 4),
    ]
    assert await starts(records, [0, 1, 2], "t") == [
        StreamStart(5, 1, RESET),
        StreamStart(5, 1),
        StreamStart(5, 1, RESET),
    ]


@pytest.mark.parametrize("limits", [{"most": 0}, {"kept": timedelta(0)}])
async def test_nothing_is_kept_and_yet_the_end_is_a_place(
    stores: Stores, limits: dict[str, int]
) -> None:
    records = stores.records
    await write(records, "s", "t", "s")
    assert await sweep(stores, **limits) == 3  # type: ignore[arg-type]
    assert await sweep(stores, **limits) == 0  # type: ignore[arg-type]
    assert await records.read(PROJECT, lambda unit: unit[EventRecords].read_bounds()) == LogBounds(
        3, 3
    )
    assert (
        await records.read(PROJECT, lambda unit: unit[EventRecords].list_after(0, limit=10)) == []
    )
    assert await starts(records, [3, 2], None) == [StreamStart(3, 3), StreamStart(3, 3, RESET)]
    assert await starts(records, [2, 1]) == [StreamStart(3, 2), StreamStart(3, 2, RESET)]
    await write(records, "s")
    assert await told(records, 2) == [("page:created", 3)]
    assert await start(records, 3, None) == StreamStart(3, 3)


async def test_sweep_that_only_counts_removes_no_event(stores: Stores) -> None:
    await write(stores.records, "s", "s")
    run = Sweep(stores.records, stores.blobs, events_kept=AGES, max_events=0)
    assert await run.run(DAY_SECONDS, dry_run=True) == SweepReport(expired_events=2)
    assert await start(stores.records, 0, None) == StreamStart(0, 0)


@pytest.mark.promise(
    "durability.md#the-process-dies",
    (
        "A listener of a session that was deleted long ago gets a reset when a session of its"
        " name begins"
    ),
    kept_by="app/services/events/stream.py",
    tried="1 deletion, both engines",
)
def test_listener_of_a_session_that_ended_long_ago_is_reset_by_the_next_of_its_name(
    backends: Backends, engine: Engine, tmp_path: Path
) -> None:
    settings = backends.settings(engine, tmp_path / "data")

    async def forget_all_events() -> None:
        async with opened_stores(settings) as stores:
            await Sweep(stores.records, stores.blobs, events_kept=timedelta(0), max_events=0).run(
                DAY_SECONDS
            )

    with serving(settings) as service, service.client() as client:
        for _ in range(3):
            append(client, "s", content="old")
        assert client.delete("/api/sessions/s").status_code == 200
        for _ in range(2):
            append(client, "s", content="new")
        anyio.run(forget_all_events)
        with listening(client, "/api/sessions/s/events", last_event_id=2) as stream:
            told = stream.next()
            assert (stream.opening.id, told.event, told.position) == (None, "reset", 2)
            append(client, "s", content="newer")
            assert stream.next().position == 3


def test_listener_whose_place_is_swept_is_reset_and_hears_what_is_new(
    backends: Backends, tmp_path: Path
) -> None:
    settings = backends.settings("embedded", tmp_path / "data")

    async def sweep_now() -> None:
        async with opened_stores(settings) as stores:
            await sweep(stores, most=1)

    with serving(settings) as service, service.client() as client:
        for session_id in ("s", "s", "t"):
            append(client, session_id, content="x")
        anyio.run(sweep_now)
        for path, lost, last in [("/api/events", 1, 3), ("/api/sessions/s/events", 1, 2)]:
            with listening(client, path, last_event_id=lost) as stream:
                reset = stream.next()
                told = (stream.opening.id, reset.event, reset.position)
                assert told == (None, "reset", last)
        assert [item.event for item in heard(client, after=2, count=1)] == ["message:created"]
        with listening(client, "/api/sessions/s/events", last_event_id=2) as stream:
            append(client, content="new")
            assert stream.next().position == 3
