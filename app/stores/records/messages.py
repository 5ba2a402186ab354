"""Messages of a model's dialect in a session's history, other than tool results."""

from typing import Any

from sqlalchemy import Row, bindparam

from app.models.message import StoredHistoryMessage
from app.stores.records.lookups import Lookup
from app.stores.records.scope import ProjectScope, scoped_select
from app.stores.records.tables import messages

_FIND_CALL = Lookup(
    scoped_select(messages, messages.c.message_id)
    .where(
        messages.c.session_id == bindparam("session_id"),
        messages.c.tool_call_id == bindparam("tool_call_id"),
    )
    .order_by(messages.c.seq)
    .limit(1)
)


class MessageRecords:
    """The messages of one project."""

    def __init__(self, scope: ProjectScope) -> None:
        self._scope = scope

    def add(self, message: StoredHistoryMessage, *, session_id: str) -> None:
        """Store a new message; its history entry is appended beside it."""
        self._scope.insert(
            messages,
            message_id=message.message_id,
            session_id=session_id,
            seq=message.seq,
            tool_call_id=message.tool_call_id,
            request_digest=message.request_digest,
            created_at=message.created_at,
            message=message.message,
            inline_form=message.inline_form,
        )

    def find(self, message_id: str) -> StoredHistoryMessage | None:
        """The message with this id."""
        row = self._scope.first(
            self._scope.select(messages).where(messages.c.message_id == message_id)
        )
        return stored_message(row) if row else None

    def find_call(self, session_id: str, tool_call_id: str) -> StoredHistoryMessage | None:
        """The first message that answered a tool call of a session."""
        rows = self._scope.look_up(_FIND_CALL, session_id=session_id, tool_call_id=tool_call_id)
        return self.find(rows[0].message_id) if rows else None


def stored_message(row: Row[Any], *, is_page_fault: bool = False) -> StoredHistoryMessage:
    """The message in a row of `messages`."""
    return StoredHistoryMessage(
        seq=row.seq,
        message_id=row.message_id,
        created_at=row.created_at,
        tool_call_id=row.tool_call_id,
        request_digest=row.request_digest,
        message=row.message,
        inline_form=row.inline_form,
        is_page_fault=is_page_fault,
    )
