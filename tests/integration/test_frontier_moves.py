"""The stored moves of frontiers, those that are not kept, and those of an earlier version."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from app.config.settings import Settings
from app.stores.records.frontier_moves import MAX_MOVES, FrontierMoveRecords
from app.stores.records.records import Records
from app.stores.records.sessions import SessionRecords
from app.stores.records.statements import count_rows
from app.stores.records.tables import frontier_moves
from app.stores.records.unit_of_work import UnitOfWork
from app.wiring.stores import migrate_database, open_database
from pagefault_dialects.model.frontier import NOTHING_EVICTED, Frontier, StoredFrontier
from tests.kit.units import writing

pytestmark = pytest.mark.anyio

PROJECT = "p"
NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


@pytest.fixture
async def records(settings: Settings) -> AsyncIterator[Records]:
    """A project with a session."""
    await migrate_database(settings)
    engines = open_database(settings)
    opened = Records(engines)
    await opened.write_projects(lambda projects: projects.ensure(PROJECT, NOW))
    async with writing(opened, PROJECT) as unit:
        await unit[SessionRecords].ensure("s", NOW)
    yield opened
    await engines.close()


def at(seq: int, *orphans: int) -> StoredFrontier:
    """A frontier that has come as far as an entry."""
    return StoredFrontier("main", Frontier(tool_media=seq, orphans=orphans))


async def move(records: Records, old: StoredFrontier, new: StoredFrontier, seq: int) -> None:
    await records.write(
        PROJECT, lambda unit: unit[FrontierMoveRecords].add("s", old.frontier, new, seq)
    )


async def stood(records: Records, stored: StoredFrontier, *seqs: int) -> list[Frontier]:
    """Return a frontier as it stood at entries."""

    def read(unit: UnitOfWork) -> list[Frontier]:
        moves = unit[FrontierMoveRecords]
        return [moves.find_frontier_at("s", stored, seq) for seq in seqs]

    return await records.read(PROJECT, read)


def places(frontiers: list[Frontier]) -> list[int]:
    return [frontier.tool_media for frontier in frontiers]


async def test_frontier_stood_where_its_last_move_had_left_it(records: Records) -> None:
    await move(records, at(0), at(2), 4)
    await move(records, at(2), at(6), 9)
    await move(records, at(6), at(7), 9)
    assert places(await stood(records, at(7), 0, 3, 4, 8, 9, 50)) == [0, 0, 2, 2, 7, 7]
    other = StoredFrontier("other")
    assert await stood(records, other, 4) == [NOTHING_EVICTED]


async def test_orphans_of_an_entry_are_those_up_to_it(records: Records) -> None:
    await move(records, at(0), at(2), 4)
    assert await stood(records, at(2, 3, 5), 4) == [Frontier(tool_media=2, orphans=(3,))]
    # They are no move by themselves.
    await move(records, at(2), at(2, 3), 6)
    assert places(await stood(records, at(2, 3), 3, 6)) == [0, 2]


async def test_move_of_an_earlier_version_begins_behind_the_last_that_is_known(
    records: Records,
) -> None:
    await move(records, at(0), at(2), 4)
    assert places(await stood(records, at(6), 3, 4, 5, 9)) == [0, 2, 5, 6]
    await move(records, at(6), at(8), 10)
    assert places(await stood(records, at(8), 3, 4, 5, 9, 10)) == [0, 2, 5, 6, 8]


async def test_frontier_of_an_earlier_version_has_no_beginning(records: Records) -> None:
    assert places(await stood(records, at(6), 3, 9)) == [3, 6]
    await move(records, at(6), at(8), 10)
    assert places(await stood(records, at(8), 3, 9, 10)) == [3, 6, 8]


async def test_request_that_read_less_of_the_session_moves_it_at_the_newest_move(
    records: Records,
) -> None:
    await move(records, at(0), at(6), 9)
    await move(records, at(6), at(7), 8)
    assert places(await stood(records, at(7), 8, 9)) == [0, 7]


async def test_newest_moves_are_kept_and_the_oldest_stands_for_all_before_it(
    records: Records,
) -> None:
    rows = [
        {"session_id": "s", "name": "main", "seq": 2 * seq, "levels": f'{{"toolMedia":{seq}}}'}
        for seq in range(1, MAX_MOVES + 1)
    ]
    first, last = MAX_MOVES, 2 * MAX_MOVES
    await records.write(PROJECT, lambda unit: unit.scope.insert_new(frontier_moves, rows))
    await move(records, at(first), at(first + 1), last + 2)
    assert places(await stood(records, at(first + 1), 1, 3, 5, 6, last)) == [1, 2, 2, 3, first]
    await move(records, at(first + 1), at(first + 2), last + 4)
    assert places(await stood(records, at(first + 2), 1, 3, 7, 8, last)) == [1, 3, 3, 4, first]
    stored = await records.write(PROJECT, lambda unit: unit.scope.all(count_rows(frontier_moves)))
    assert stored == [(MAX_MOVES,)]
