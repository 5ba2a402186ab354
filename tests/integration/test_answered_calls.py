"""Answers to the calls of a session, on both engines: numbers, long ids, old versions."""

from datetime import UTC, datetime

import pytest

from app.models.call_ids import LONGEST_CALL_ID, call_key
from app.models.message import StoredHistoryMessage, StoredMessage
from app.models.session import MESSAGE, TOOL_RESULT
from app.models.tool_result import StoredToolResult
from app.stores.records.answered_calls import AnsweredCallRecords, RecordedAnswer
from app.stores.records.history import MessageRecords, SessionHistory
from app.stores.records.records import Records
from app.stores.records.scope import ProjectScope
from app.stores.records.sessions import SessionRecords
from app.stores.records.statements import scoped_select
from app.stores.records.tables import messages, tool_results
from app.stores.records.tool_results import ToolResultRecords
from app.stores.records.unit_of_work import Repository, UnitOfWork

pytestmark = pytest.mark.anyio
PROJECT = "p"
NOW = datetime(2026, 1, 2, tzinfo=UTC)
DIGEST = "d"
# As old versions write them: they know no other columns.
OLD_RESULT = {
    "tool_result_id": "r1",
    "session_id": "s",
    "seq": 1,
    "tool_name": "t",
    "tool_call_id": "a",
    "success": True,
    "request_digest": DIGEST,
    "created_at": NOW,
    "sanitized": b"{}",
}


class _Rows(Repository):
    """Rows as an old version writes and reads them."""

    @property
    def scope(self) -> ProjectScope:
        return self._scope

    def old_ids(self) -> list[str]:
        listed = scoped_select(tool_results, tool_results.c.tool_call_id)
        return sorted(row.tool_call_id for row in self._scope.all(listed))


def result(call_id: str, number: int) -> StoredToolResult:
    return StoredToolResult(f"r{number}", "s", None, NOW, "t", call_id, b"{}", number)


def add_result(unit: UnitOfWork, call_id: str, number: int) -> int:
    stored = result(call_id, number)
    row = unit[ToolResultRecords].row(stored, success=True, request_digest=DIGEST)
    return unit[SessionRecords].append("s", TOOL_RESULT, stored.tool_result_id, row=row)


def add_message(unit: UnitOfWork, call_id: str, number: int) -> int:
    stored = StoredHistoryMessage(
        0, f"m{number}", NOW, call_id, DIGEST, b"{}", answer_number=number
    )
    row = unit[MessageRecords].row(stored, session_id="s")
    return unit[SessionRecords].append("s", MESSAGE, stored.message_id, row=row)


@pytest.mark.slow
@pytest.mark.parametrize("call_id", ["a", "a\0\x1a", "€" * LONGEST_CALL_ID, call_key("x", 2)])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 70, 300])
async def test_newest_answer_of_an_id_is_found(records: Records, call_id: str, count: int) -> None:
    def add_all(unit: UnitOfWork) -> None:
        unit[SessionRecords].ensure("s", NOW)
        for number in range(1, count + 1):
            (add_message if number % 3 == 0 else add_result)(unit, call_id, number)

    await records.write(PROJECT, add_all)
    is_result = count % 3 != 0
    newest = RecordedAnswer(
        *(call_id, count, count, f"{'r' if is_result else 'm'}{count}", DIGEST), is_result=is_result
    )
    assert newest == await records.read(
        PROJECT, lambda unit: unit[AnsweredCallRecords].newest_answer("s", call_id)
    )
    assert None is await records.read(
        PROJECT, lambda unit: unit[AnsweredCallRecords].newest_answer("s", "other")
    )
    entries = await records.read(
        PROJECT, lambda unit: unit[SessionHistory].entries("s", after_seq=0, limit=count)
    )
    named = [
        (entry.tool_call_id, entry.answer_number)
        for entry in entries
        if isinstance(entry, StoredMessage | StoredHistoryMessage)
    ]
    assert named == [(call_id, number) for number in range(1, count + 1)]


async def test_old_and_new_versions_write_side_by_side(records: Records) -> None:
    def write_as_old(unit: UnitOfWork) -> None:
        unit[SessionRecords].ensure("s", NOW)
        unit[SessionRecords].append("s", TOOL_RESULT, "r1")
        unit[_Rows].scope.insert_new(tool_results, [OLD_RESULT])

    await records.write(PROJECT, write_as_old)
    await records.write(PROJECT, lambda unit: unit[SessionRecords].ensure("s", NOW))
    await records.write(PROJECT, lambda unit: add_result(unit, "a", 2))
    newest = await records.read(
        PROJECT, lambda unit: unit[AnsweredCallRecords].newest_answer("s", "a")
    )
    assert newest == RecordedAnswer("a", 2, 2, "r2", DIGEST, is_result=True)
    # An old version shows the key of what it does not know, and refuses another answer as it did.
    ids = await records.read(PROJECT, lambda unit: unit[_Rows].old_ids())
    assert ids == sorted(["a", call_key("a", 2)])
    assert messages.c.whole_call_id.nullable
    assert tool_results.c.whole_call_id.nullable


def test_key_of_every_answer_fits_an_index() -> None:
    ids = ["a", "\U0001f600" * 512, "\U0001f600" * 513, "\0" * 512, "€" * LONGEST_CALL_ID]
    keys = [call_key(call_id, number) for call_id in ids for number in (1, 2, 10**9)]
    assert len(set(keys)) == len(keys)
    assert max(len(key.encode()) for key in keys) <= 2_048
