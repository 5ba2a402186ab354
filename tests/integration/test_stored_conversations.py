"""Stored conversations in memory: which of them are cached."""

from datetime import UTC, datetime

import pytest

from app.services.agents import conversation_units
from app.services.agents.conversation_units import StoredConversations
from app.stores.records.records import Records
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork

pytestmark = [pytest.mark.anyio, pytest.mark.engines("embedded")]
NOW = datetime(2026, 1, 2, tzinfo=UTC)


async def test_sessions_without_messages_are_cached_up_to_the_limit(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"s{number}" for number in range(12)]

    def write(unit: UnitOfWork) -> None:
        for name in names:
            unit[SessionRecords].ensure(name, NOW)

    await records.write("p", write)
    monkeypatch.setattr(conversation_units, "MAX_UNITS", 20)
    conversations = StoredConversations(records)
    loaded = [await conversations.load("p", name) for name in names]
    assert [(stored.exists, stored.units) for stored in loaded] == [(True, ())] * 12
    assert [*conversations._cache] == [("p", name) for name in names[-4:]]
