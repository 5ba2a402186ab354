"""Sessions and their history."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, and_, or_

from app.models.interaction import StoredAnswer, StoredInteraction
from app.models.message import (
    EntryCounts,
    EntryKind,
    HistoryEntry,
    Session,
    StoredMessage,
)
from app.stores.records.interactions import as_many_as_fit, stored_interaction
from app.stores.records.messages import stored_message
from app.stores.records.scope import ProjectScope
from app.stores.records.tables import (
    history_entries,
    interactions,
    messages,
    sessions,
    tool_results,
)

TOOL_RESULT: EntryKind = "tool_result"
"""A history entry that stands for a row of `tool_results`."""
PAGE_FAULT: EntryKind = "page_fault"
"""A history entry that stands for a row of `messages`, written by the service."""
MESSAGE: EntryKind = "message"
"""A history entry that stands for a row of `messages`, written by a client."""
INTERACTION: EntryKind = "interaction"
"""A history entry that stands for a row of `interactions`."""
ANSWER: EntryKind = "answer"
"""A history entry that stands for the output of a row of `interactions`, set later."""


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

    async def add(self, session: Session) -> bool:
        """Store a session as it is, unless there is one; says whether it was stored."""
        return await self._scope.insert_if_absent(
            sessions,
            session_id=session.session_id,
            created_at=session.created_at,
            updated_at=session.updated_at,
            last_seq=session.last_seq,
            tool_result_count=session.counts.tool_results,
            page_fault_count=session.counts.page_faults,
            message_count=session.counts.messages,
            interaction_count=session.counts.interactions,
            answer_count=session.counts.answers,
        )

    async def append(
        self, session_id: str, kind: EntryKind, entry_id: str, *, size_bytes: int = 0
    ) -> int:
        """Add an entry to the history; returns the `seq` it took: 1, 2, 3 …, without gaps.

        `size_bytes` is that of what the entry shows.

        The number is taken inside the transaction, from a row this transaction holds: a rollback
        gives it back, and nobody sees a later one before it.
        """
        counted = sessions.c[f"{kind}_count"]
        statement = (
            self._scope.update(sessions)
            .where(sessions.c.session_id == session_id)
            .values({sessions.c.last_seq: sessions.c.last_seq + 1, counted: counted + 1})
            .returning(sessions.c.last_seq)
        )
        row = await self._scope.first(statement)
        if row is None:
            msg = "a session is entered before anything is appended to it"
            raise RuntimeError(msg)
        seq: int = row.last_seq
        await self._scope.insert(
            history_entries,
            session_id=session_id,
            seq=seq,
            kind=kind,
            entry_id=entry_id,
            size_bytes=size_bytes,
        )
        return seq

    async def find(self, session_id: str) -> Session | None:
        """The session, if anything was ever written to it."""
        row = await self._scope.first(
            self._scope.select(sessions).where(sessions.c.session_id == session_id)
        )
        return _session(row) if row else None

    async def hold(self, session_id: str) -> Session | None:
        """The session, its row held until the transaction ends, so that nobody writes to it."""
        row = await self._scope.first(
            self._scope.select(sessions)
            .where(sessions.c.session_id == session_id)
            .with_for_update()
        )
        return _session(row) if row else None

    async def page(self, *, before: tuple[datetime, str] | None, limit: int) -> Sequence[Session]:
        """Up to `limit` sessions, last written to first, behind an (updated_at, id) position."""
        statement = self._scope.select(sessions)
        if before is not None:
            updated_at, session_id = before
            statement = statement.where(
                or_(
                    sessions.c.updated_at < updated_at,
                    and_(sessions.c.updated_at == updated_at, sessions.c.session_id < session_id),
                )
            )
        statement = statement.order_by(sessions.c.updated_at.desc(), sessions.c.session_id.desc())
        return [_session(row) for row in await self._scope.all(statement.limit(limit))]

    async def entries(
        self, session_id: str, *, after_seq: int, limit: int
    ) -> Sequence[HistoryEntry]:
        """Up to `limit` entries of the history after a `seq`, in order.

        They end with the one that passes 16 MiB: entries may be that large each.
        """
        rows = await self._scope.all(
            self._scope.select(history_entries)
            .where(history_entries.c.session_id == session_id, history_entries.c.seq > after_seq)
            .order_by(history_entries.c.seq)
            .limit(limit)
        )
        rows = as_many_as_fit(rows)
        found = {**await self._tool_results(rows), **await self._messages(rows)}
        asked = await self._interactions(rows)
        entries: list[HistoryEntry] = []
        for row in rows:
            if row.kind == INTERACTION and row.entry_id in asked:
                entries.append(asked[row.entry_id])
            elif row.kind == ANSWER and row.entry_id in asked:
                entries.append(_answer(row.seq, asked[row.entry_id]))
            elif row.entry_id in found:
                entries.append(found[row.entry_id])
        return entries

    async def remove(self, session_id: str) -> None:
        """Remove a session the caller holds, with its history and everything the history shows.

        Its pages and its links to resources are for the caller to remove before.
        """
        for table in (history_entries, tool_results, messages, interactions, sessions):
            await self._scope.run(self._scope.delete(table).where(table.c.session_id == session_id))

    async def _tool_results(self, entries: Sequence[Row[Any]]) -> dict[str, HistoryEntry]:
        if not (ids := _ids(entries, TOOL_RESULT)):
            return {}
        statement = self._scope.select(tool_results).where(tool_results.c.tool_result_id.in_(ids))
        return {row.tool_result_id: _message(row) for row in await self._scope.all(statement)}

    async def _messages(self, entries: Sequence[Row[Any]]) -> dict[str, HistoryEntry]:
        faults = set(_ids(entries, PAGE_FAULT))
        if not (ids := [*faults, *_ids(entries, MESSAGE)]):
            return {}
        rows = await self._scope.all(
            self._scope.select(messages).where(messages.c.message_id.in_(ids))
        )
        return {
            row.message_id: stored_message(row, is_page_fault=row.message_id in faults)
            for row in rows
        }

    async def _interactions(self, entries: Sequence[Row[Any]]) -> dict[str, StoredInteraction]:
        if not (ids := {*_ids(entries, INTERACTION), *_ids(entries, ANSWER)}):
            return {}
        rows = await self._scope.all(
            self._scope.select(interactions).where(interactions.c.interaction_id.in_(ids))
        )
        return {row.interaction_id: stored_interaction(row) for row in rows}


def _ids(entries: Sequence[Row[Any]], kind: EntryKind) -> list[str]:
    return [entry.entry_id for entry in entries if entry.kind == kind]


def _session(row: Row[Any]) -> Session:
    return Session(
        session_id=row.session_id,
        created_at=row.created_at,
        updated_at=row.updated_at,
        last_seq=row.last_seq,
        counts=EntryCounts(
            tool_results=row.tool_result_count,
            page_faults=row.page_fault_count,
            messages=row.message_count,
            interactions=row.interaction_count,
            answers=row.answer_count,
        ),
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


def _answer(seq: int, interaction: StoredInteraction) -> StoredAnswer:
    return StoredAnswer(
        seq=seq,
        interaction_id=interaction.interaction_id,
        created_at=interaction.answered_at or interaction.created_at,
        output=interaction.output or b"null",
    )
