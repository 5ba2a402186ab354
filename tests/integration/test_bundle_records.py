"""Whole sessions read at one moment, on both engines."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import exc as sql

from app.errors import StoreUnavailableError
from app.models.identity import new_id
from app.models.message import StoredHistoryMessage
from app.settings import Settings
from app.stores.records import Records, UnitOfWork
from app.stores.records.sessions import MESSAGE
from app.wiring import migrate_database, open_database

pytestmark = pytest.mark.anyio
PROJECT = "p"
NOW = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)


@pytest.fixture
async def records(settings: Settings) -> AsyncIterator[Records]:
    await migrate_database(settings)
    opened = Records(open_database(settings))
    async with opened.projects() as projects:
        await projects.ensure(PROJECT, NOW)
    yield opened
    await opened.close()


async def append(records: Records, text: bytes = b"{}") -> None:
    async with records.write(PROJECT) as unit:
        await unit.sessions.enter("s", NOW)
        message_id = new_id()
        seq = await unit.sessions.append("s", MESSAGE, message_id)
        stored = StoredHistoryMessage(seq, message_id, NOW, None, "0" * 64, text)
        await unit.messages.add(stored, session_id="s")


async def history(unit: UnitOfWork) -> list[int]:
    return [entry.seq async for entry, recorded in unit.bundles.history("s") if recorded]


async def test_snapshot_sees_nothing_that_is_committed_after_its_first_look(
    records: Records,
) -> None:
    await append(records)
    async with records.snapshot(PROJECT) as unit:
        before = await history(unit)
        await append(records)
        again, session = await history(unit), await unit.sessions.find("s")
    async with records.snapshot(PROJECT) as unit:
        after = await history(unit)
    assert session is not None
    assert (before, again, session.last_seq, after) == ([1], [1], 1, [1, 2])


async def test_connection_of_a_snapshot_is_used_again_without_it(records: Records) -> None:
    for _ in range(30):
        async with records.snapshot(PROJECT) as unit:
            await history(unit)
        await append(records)
    async with records.read(PROJECT) as unit:
        session = await unit.sessions.find("s")
    assert session is not None
    assert session.last_seq == 30


async def test_snapshot_cannot_be_written_to(records: Records) -> None:
    with pytest.raises((sql.InternalError, StoreUnavailableError)):
        async with records.snapshot(PROJECT) as unit:
            await unit.sessions.enter("s", NOW)


async def test_history_of_large_messages_is_read_in_order(records: Records) -> None:
    for _ in range(5):
        await append(records, b'"' + b"x" * 2_500_000 + b'"')
    async with records.snapshot(PROJECT) as unit:
        assert await history(unit) == [1, 2, 3, 4, 5]


async def test_ids_that_are_taken_are_named_and_not_overwritten(records: Records) -> None:
    await append(records, b'"first"')
    async with records.read(PROJECT) as unit:
        [(entry, _)] = [each async for each in unit.bundles.history("s")]
    other = StoredHistoryMessage(9, entry.entry_id, NOW, None, "0" * 64, b'"other"')
    free = StoredHistoryMessage(8, new_id(), NOW, None, "0" * 64, b'"free"')
    async with records.write(PROJECT) as unit:
        taken = await unit.bundles.add_messages("s-2", [other, free])
    async with records.read(PROJECT) as unit:
        kept = [await unit.messages.find(each.message_id) for each in (other, free)]
    assert taken == [entry.entry_id]
    assert [each and each.message for each in kept] == [b'"first"', b'"free"']
