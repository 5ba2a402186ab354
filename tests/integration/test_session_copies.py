"""Long forks, on both engines: they are copied in the background, and are there as a whole."""

from datetime import UTC, datetime

import anyio
import pytest

from app.errors import ConflictError, OverloadedError
from app.models.identity import new_id
from app.models.session import MESSAGE, ForkOrigin, HistoryCounts, Session
from app.services.sessions import forks
from app.services.sessions.forks import PendingSession, SessionForks
from app.services.sessions.sessions import SessionWithUse
from app.stores.records.history import SessionHistory
from app.stores.records.records import Records
from app.stores.records.sessions import SessionRecords
from app.stores.records.tables import history_entries, messages
from app.stores.records.unit_of_work import UnitOfWork

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 1, 2, tzinfo=UTC)
LONG = 10_001
SAID = b'{"role": "user", "content": "Words."}'


async def fill(records: Records, count: int) -> None:
    """Write a session of many messages."""
    ids = [new_id() for _ in range(count)]
    entry: dict[str, object] = {"session_id": "s", "kind": MESSAGE, "size_bytes": len(SAID)}
    message: dict[str, object] = {
        "session_id": "s",
        "request_digest": "",
        "created_at": NOW,
        "message": SAID,
    }

    def write(unit: UnitOfWork) -> None:
        unit[SessionRecords].add(Session("s", NOW, NOW, count, HistoryCounts(messages=count)))
        rows = [{**entry, "seq": seq, "entry_id": item} for seq, item in enumerate(ids, 1)]
        unit.scope.insert_new(history_entries, rows)
        rows = [{**message, "seq": seq, "message_id": item} for seq, item in enumerate(ids, 1)]
        unit.scope.insert_new(messages, rows)

    await records.write("p", write, is_alone=True)


async def find(records: Records, session_id: str) -> Session | None:
    return await records.read("p", lambda unit: unit[SessionRecords].find(session_id))


@pytest.mark.slow
async def test_long_fork_is_copied_in_the_background(records: Records) -> None:
    await fill(records, LONG)
    service = SessionForks(records)
    pending = PendingSession("copy", ForkOrigin("s", LONG), LONG)
    async with service.lifespan():
        assert await service.fork("p", "s", up_to=LONG, fork_id="copy") == pending
        assert await service.fork("p", "s", up_to=LONG, fork_id="copy") == pending
        with pytest.raises(ConflictError):
            await service.fork("p", "s", up_to=LONG - 1, fork_id="copy")
    copied = await find(records, "copy")
    assert copied is not None
    assert (copied.last_seq, copied.counts.messages) == (LONG, LONG)
    last = await records.read(
        "p", lambda unit: unit[SessionHistory].entries("copy", after_seq=LONG - 1, limit=2)
    )
    assert [(entry.seq, entry.message) for entry in last] == [(LONG, SAID)]  # type: ignore[union-attr]
    again = await service.fork("p", "s", up_to=LONG, fork_id="copy")
    assert isinstance(again, SessionWithUse)
    assert (again.session, again.is_new) == (copied, False)


@pytest.mark.slow
async def test_long_fork_that_is_asked_for_twice_at_once_is_copied_once(records: Records) -> None:
    await fill(records, LONG)
    service = SessionForks(records)
    forked: list[SessionWithUse | PendingSession] = []

    async def fork() -> None:
        forked.append(await service.fork("p", "s", up_to=LONG, fork_id="copy"))

    async with service.lifespan():
        async with anyio.create_task_group() as group:
            group.start_soon(fork)
            group.start_soon(fork)
        assert forked[0] is forked[1]
    assert await find(records, "copy") is not None


@pytest.mark.slow
async def test_more_long_forks_than_may_wait_are_refused(records: Records) -> None:
    await fill(records, LONG)
    service = SessionForks(records)
    async with service.lifespan():
        for number in range(forks.MAX_PENDING):
            await service.fork("p", "s", up_to=LONG, fork_id=f"copy-{number}")
        with pytest.raises(OverloadedError):
            await service.fork("p", "s", up_to=LONG, fork_id="one-more")
