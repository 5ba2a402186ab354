"""What the entries of a history stand for: tool results, messages, interactions.

A tool result and a message never change. An interaction gets its answer once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, Select, bindparam, func

from app.models.interaction import InputKind, StoredInteraction
from app.models.json_value import json_text, parse_stored_json
from app.models.message import StoredHistoryMessage
from app.models.tool_result import StoredToolResult
from app.stores.records.prepared_statements import Lookup
from app.stores.records.scope import Repository, read_row, scoped_select, values_of
from app.stores.records.tables import interactions, messages, tool_results

MOST_BYTES = 16 * 1024 * 1024
"""What is read of a history at once, and of its events."""
_FIND_ANSWER_TO_CALL = Lookup(
    scoped_select(messages, messages.c.message_id)
    .where(
        messages.c.session_id == bindparam("session_id"),
        messages.c.tool_call_id == bindparam("tool_call_id"),
    )
    .order_by(messages.c.seq)
    .limit(1)
)
_FIND_RESULT = Lookup(
    scoped_select(tool_results, *tool_results.c).where(
        tool_results.c.tool_result_id == bindparam("tool_result_id")
    ),
    large=[tool_results.c.sanitized],
)
_FIND_RESULT_OF_CALL = Lookup(
    scoped_select(tool_results, tool_results.c.tool_result_id, tool_results.c.request_digest).where(
        tool_results.c.session_id == bindparam("session_id"),
        tool_results.c.tool_call_id == bindparam("tool_call_id"),
    )
)


class InteractionRecords(Repository):
    """The interactions of one project."""

    def add(self, interaction: StoredInteraction) -> None:
        """Store a new interaction; its history entry is appended beside it."""
        self._scope.insert(interactions, **interaction_values(interaction))

    def find(self, session_id: str, interaction_id: str) -> StoredInteraction | None:
        """The interaction of a session with this id."""
        row = self._scope.first(
            self._scope.select(
                interactions,
                interactions.c.session_id == session_id,
                interactions.c.interaction_id == interaction_id,
            )
        )
        return stored_interaction(row) if row else None

    def set_output(
        self, interaction_id: str, output: bytes, *, answer_seq: int, now: datetime
    ) -> None:
        """Note the answer of an interaction whose session the caller has entered."""
        self._scope.set_values(
            interactions,
            interactions.c.interaction_id == interaction_id,
            output=output,
            answer_seq=answer_seq,
            answered_at=now,
        )

    def page(
        self,
        session_id: str,
        *,
        input_kind: InputKind | None,
        after_seq: int,
        limit: int,
        most_bytes: int = MOST_BYTES,
    ) -> Sequence[StoredInteraction]:
        """Return up to `limit` interactions of a session after a `seq`, in order.

        They end with the one that passes `most_bytes`, as entries of a history do.
        """
        listed = self._after(session_id, input_kind, after_seq).limit(limit)
        # Both databases know the length of a blob without reading it.
        sized = self._scope.all(
            listed.with_only_columns(
                interactions.c.seq,
                (
                    func.length(interactions.c.input)
                    + func.coalesce(func.length(interactions.c.output), 0)
                ).label("size_bytes"),
            )
        )
        fitting = as_many_as_fit(sized, most_bytes)
        rows = self._scope.all(listed.limit(len(fitting))) if fitting else []
        return [stored_interaction(row) for row in rows]

    def are_more(self, session_id: str, *, input_kind: InputKind | None, after_seq: int) -> bool:
        """Whether there are interactions of a session after a `seq`."""
        rest = self._after(session_id, input_kind, after_seq)
        row = self._scope.first(rest.with_only_columns(interactions.c.seq).limit(1))
        return row is not None

    def _after(self, session_id: str, input_kind: InputKind | None, after_seq: int) -> Select[Any]:
        statement = self._scope.select(
            interactions, interactions.c.session_id == session_id, interactions.c.seq > after_seq
        )
        if input_kind is not None:
            statement = statement.where(interactions.c.input_kind == input_kind)
        return statement.order_by(interactions.c.seq)


def as_many_as_fit(sized: Sequence[Row[Any]], most_bytes: int) -> Sequence[Row[Any]]:
    """Return rows with a `size_bytes` up to the one that passes a sum: each may be that large."""
    size_bytes = 0
    for index, row in enumerate(sized):
        size_bytes += row.size_bytes
        if size_bytes > most_bytes:
            return sized[: index + 1]
    return sized


def stored_interaction(row: Row[Any]) -> StoredInteraction:
    """The interaction in a row of `interactions`."""
    bindings = {} if row.bindings is None else parse_stored_json(row.bindings.encode())
    return read_row(StoredInteraction, row, bindings=bindings)


def interaction_values(interaction: StoredInteraction) -> dict[str, object]:
    """Return the columns of an interaction; no bindings where all ids say what they name."""
    bindings = interaction.bindings
    return values_of(interaction, bindings=json_text(dict(bindings)) if bindings else None)


class MessageRecords(Repository):
    """The messages of one project."""

    def add(self, message: StoredHistoryMessage, *, session_id: str) -> None:
        """Store a new message; its history entry is appended beside it."""
        self._scope.insert(messages, **message_values(message, session_id))

    def find(self, message_id: str) -> StoredHistoryMessage | None:
        """The message with this id."""
        row = self._scope.first(self._scope.select(messages, messages.c.message_id == message_id))
        return stored_message(row) if row else None

    def find_call(self, session_id: str, tool_call_id: str) -> StoredHistoryMessage | None:
        """The first message that answered a tool call of a session."""
        rows = self._scope.look_up(
            _FIND_ANSWER_TO_CALL, session_id=session_id, tool_call_id=tool_call_id
        )
        return self.find(rows[0].message_id) if rows else None


def stored_message(row: Row[Any], *, is_page_fault: bool = False) -> StoredHistoryMessage:
    """The message in a row of `messages`."""
    return read_row(StoredHistoryMessage, row, is_page_fault=is_page_fault)


def message_values(message: StoredHistoryMessage, session_id: str) -> dict[str, object]:
    """Return the columns of a message; that it is a page fault stands in its history entry."""
    values = values_of(message, session_id=session_id)
    del values["is_page_fault"]
    return values


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A stored result, and the SHA-256 of the request that made it."""

    result: StoredToolResult
    request_digest: str


class ToolResultRecords(Repository):
    """The tool results of one project."""

    def add(self, result: StoredToolResult, *, success: bool, request_digest: str) -> None:
        """Store a new record."""
        values = values_of(result, success=success, request_digest=request_digest)
        self._scope.insert(tool_results, **values)

    def find(self, tool_result_id: str) -> StoredToolResult | None:
        """The record with this id."""
        rows = self._scope.look_up(_FIND_RESULT, tool_result_id=tool_result_id)
        return read_row(StoredToolResult, rows[0]) if rows else None

    def find_call(self, session_id: str, tool_call_id: str) -> RecordedCall | None:
        """What a tool call of a session has already answered."""
        rows = self._scope.look_up(
            _FIND_RESULT_OF_CALL, session_id=session_id, tool_call_id=tool_call_id
        )
        # Hardly ever there is one, so that its record is read is rare.
        result = self.find(rows[0].tool_result_id) if rows else None
        return RecordedCall(result, rows[0].request_digest) if result else None

    def page(
        self, session_id: str | None, *, before_id: str | None, limit: int
    ) -> Sequence[StoredToolResult]:
        """Up to `limit` records, newest first, older than `before_id`."""
        statement = self._scope.select(tool_results)
        if session_id is not None:
            statement = statement.where(tool_results.c.session_id == session_id)
        if before_id is not None:
            statement = statement.where(tool_results.c.tool_result_id < before_id)
        statement = statement.order_by(tool_results.c.tool_result_id.desc()).limit(limit)
        return [read_row(StoredToolResult, row) for row in self._scope.all(statement)]
