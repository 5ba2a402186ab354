"""Whole sessions are read in one snapshot, on both engines."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import exc as sql

from app.config.settings import Settings
from app.errors import StoreUnavailableError
from app.models.identity import new_id
from app.models.message import StoredHistoryMessage
from app.models.session import MESSAGE
from app.stores.records.history import MessageRecords
from app.stores.records.records import Records
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wiring.stores import migrate_database, open_database
from pagefault_bundles.bundle_records import BundleRecords
from tests.kit.units import reading, snapshot_of

pytestmark = pytest.mark.anyio
PROJECT = "p"
NOW = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)


@pytest.fixture
async def records(settings: Settings) -> AsyncIterator[Records]:
    await migrate_database(settings)
    opened = Records(open_database(settings))
    await opened.write_projects(lambda projects: projects.ensure(PROJECT, NOW))
    yield opened
    await opened.close()


async def append(records: Records, text: bytes = b"{}") -> None:
    def write(unit: UnitOfWork) -> None:
        unit[SessionRecords].ensure("s", NOW)
        message_id = new_id()
        seq = unit[SessionRecords].append("s", MESSAGE, message_id)
        stored = StoredHistoryMessage(seq, message_id, NOW, None, "0" * 64, text)
        unit[BundleRecords].add_messages("s", [stored])

    await records.write(PROJECT, write)


def history(unit: UnitOfWork) -> list[int]:
    return [entry.seq for entry, recorded in unit[BundleRecords].history("s") if recorded]


async def test_snapshot_does_not_see_commits_after_its_first_read(
    records: Records,
) -> None:
    await append(records)
    async with snapshot_of(records, PROJECT) as unit:
        before = await unit.run(history)
        await append(records)
        again, session = await unit.run(history), await unit[SessionRecords].find("s")
    after = await records.read_snapshot(PROJECT, history)
    assert session is not None
    assert (before, again, session.last_seq, after) == ([1], [1], 1, [1, 2])


async def test_connection_of_a_snapshot_is_used_again_without_it(records: Records) -> None:
    for _ in range(30):
        await records.read_snapshot(PROJECT, history)
        await append(records)
    session = await records.read(PROJECT, lambda unit: unit[SessionRecords].find("s"))
    assert session is not None
    assert session.last_seq == 30


async def test_snapshot_cannot_be_written_to(records: Records) -> None:
    with pytest.raises((sql.InternalError, StoreUnavailableError)):
        await records.read_snapshot(PROJECT, lambda unit: unit[SessionRecords].ensure("s", NOW))


async def test_history_of_large_messages_is_read_in_order(records: Records) -> None:
    for _ in range(5):
        await append(records, b'"' + b"x" * 2_500_000 + b'"')
    assert await records.read_snapshot(PROJECT, history) == [1, 2, 3, 4, 5]


async def test_existing_ids_are_returned_and_not_overwritten(records: Records) -> None:
    await append(records, b'"first"')
    [(entry, _)] = await records.read(PROJECT, lambda unit: [*unit[BundleRecords].history("s")])
    other = StoredHistoryMessage(9, entry.entry_id, NOW, None, "0" * 64, b'"other"')
    free = StoredHistoryMessage(8, new_id(), NOW, None, "0" * 64, b'"free"')
    existing = await records.write(
        PROJECT, lambda unit: unit[BundleRecords].add_messages("s-2", [other, free])
    )
    async with reading(records, PROJECT) as unit:
        kept = [await unit[MessageRecords].find(item.message_id) for item in (other, free)]
    assert existing == [entry.entry_id]
    assert [item and item.message for item in kept] == [b'"first"', b'"free"']
