"""The records of a session's history, on both engines: tool results and messages in one order."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.models.message import StoredHistoryMessage, StoredMessage
from app.models.session import PAGE_FAULT, TOOL_RESULT
from app.models.tool_result import StoredToolResult
from app.stores.records.answered_calls import AnsweredCallRecords
from app.stores.records.history import SessionHistory
from app.stores.records.records import Records
from app.stores.records.sessions import SessionRecords
from app.stores.records.tool_results import ToolResultRecords
from pagefault_bundles.bundle_records import BundleRecords
from tests.kit.units import reading, writing

pytestmark = pytest.mark.anyio
PROJECT = "p"
NOW = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)


def message(number: int, tool_call_id: str | None) -> StoredHistoryMessage:
    return StoredHistoryMessage(
        seq=number,
        message_id=f"m{number}",
        created_at=NOW,
        tool_call_id=tool_call_id,
        request_digest="d" * 64,
        message=b'{"role":"tool"}\x00',
    )


async def test_history_has_results_and_messages_in_order(records: Records) -> None:
    expected: list[StoredMessage | StoredHistoryMessage] = []
    async with writing(records, PROJECT) as unit:
        await unit[SessionRecords].ensure("s", NOW)
        for number in range(1, 8):
            if number % 3:
                await unit[SessionRecords].append("s", PAGE_FAULT, f"m{number}")
                await unit[BundleRecords].add_messages("s", [message(number, "c\x00")])
                expected.append(replace(message(number, "c\x00"), is_page_fault=True))
                continue
            await unit[SessionRecords].append("s", TOOL_RESULT, f"r{number}")
            result = StoredToolResult(f"r{number}", "s", number, NOW, "t", f"c{number}", b"{}")
            await unit[ToolResultRecords].add(result, success=True, request_digest="d")
            expected.append(StoredMessage(number, f"r{number}", NOW, f"c{number}", "t", b"{}"))
    async with reading(records, PROJECT) as unit:
        assert await unit[SessionHistory].entries("s", after_seq=0, limit=99) == expected
        assert await unit[SessionHistory].entries("s", after_seq=2, limit=3) == expected[2:5]
        assert await unit[SessionHistory].entries("s", after_seq=7, limit=3) == []


async def test_message_is_found_by_its_call(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        await unit[BundleRecords].add_messages("s", [message(1, "c\x00")])
        await unit[BundleRecords].add_messages("s", [message(2, None)])
        newest = unit[AnsweredCallRecords].newest_answer
        assert (await newest("s", "c\x00")).entry_id == "m1"
        assert await newest("s", "c") is None
        assert await newest("t", "c\x00") is None
    other = await records.read(
        "other", lambda unit: unit[AnsweredCallRecords].newest_answer("s", "c\x00")
    )
    assert other is None
