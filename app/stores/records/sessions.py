"""Sessions and their history."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from app.models.message import Session, StoredHistoryMessage, StoredMessage
from app.stores.records.messages import stored_message
from app.stores.records.scope import ProjectScope
from app.stores.records.tables import history_entries, messages, sessions, tool_results

TOOL_RESULT = "tool_result"
"""A history entry that stands for a row of `tool_results`."""
PAGE_FAULT = "page_fault"
"""A history entry that stands for a row of `messages`."""


class SessionRecords:
    """The sessions of one project, and what happened in them."""

    def __init__(self, scope: ProjectScope) -> None:
        self._scope = scope

    async def enter(self, session_id: str, now: datetime) -> Session:
        """Create the session or find it, and hold its row until the transaction ends.

        Writers of one session pass here one after the other, so what a writer reads next about
        the session cannot change under it.
        """
        row = await self._scope.insert_or_touch(
            sessions,
            ["updated_at"],
            session_id=session_id,
            created_at=now,
            updated_at=now,
            last_seq=0,
        )
        return _session(row)

    async def append(self, session_id: str, kind: str, entry_id: str) -> int:
        """Add an entry to the history; returns the `seq` it took: 1, 2, 3 …, without gaps.

        The number is taken inside the transaction, from a row this transaction holds: a rollback
        gives it back, and nobody sees a later one before it.
        """
        statement = (
            self._scope.update(sessions)
            .where(sessions.c.session_id == session_id)
            .values(last_seq=sessions.c.last_seq + 1)
            .returning(sessions.c.last_seq)
        )
        row = await self._scope.first(statement)
        if row is None:
            msg = "a session is entered before anything is appended to it"
            raise RuntimeError(msg)
        seq: int = row.last_seq
        await self._scope.insert(
            history_entries, session_id=session_id, seq=seq, kind=kind, entry_id=entry_id
        )
        return seq

    async def find(self, session_id: str) -> Session | None:
        """The session, if anything was ever written to it."""
        row = await self._scope.first(
            self._scope.select(sessions).where(sessions.c.session_id == session_id)
        )
        return _session(row) if row else None

    async def messages(
        self, session_id: str, *, after_seq: int, limit: int
    ) -> Sequence[StoredMessage | StoredHistoryMessage]:
        """Up to `limit` entries of the history after a `seq`, in order."""
        entries = await self._scope.all(
            self._scope.select(history_entries)
            .where(history_entries.c.session_id == session_id, history_entries.c.seq > after_seq)
            .order_by(history_entries.c.seq)
            .limit(limit)
        )
        found: dict[str, StoredMessage | StoredHistoryMessage] = {}
        if results := _ids(entries, TOOL_RESULT):
            statement = self._scope.select(tool_results)
            statement = statement.where(tool_results.c.tool_result_id.in_(results))
            found |= {row.tool_result_id: _message(row) for row in await self._scope.all(statement)}
        if faults := _ids(entries, PAGE_FAULT):
            statement = self._scope.select(messages).where(messages.c.message_id.in_(faults))
            found |= {
                row.message_id: stored_message(row) for row in await self._scope.all(statement)
            }
        return [found[entry.entry_id] for entry in entries if entry.entry_id in found]


def _ids(entries: Sequence[Row[Any]], kind: str) -> list[str]:
    return [entry.entry_id for entry in entries if entry.kind == kind]


def _session(row: Row[Any]) -> Session:
    return Session(
        session_id=row.session_id,
        created_at=row.created_at,
        updated_at=row.updated_at,
        last_seq=row.last_seq,
    )


def _message(row: Row[Any]) -> StoredMessage:
    return StoredMessage(
        seq=row.seq,
        message_id=row.tool_result_id,
        created_at=row.created_at,
        tool_call_id=row.tool_call_id,
        tool_name=row.tool_name,
        sanitized=row.sanitized,
    )
