"""Tool results: the canonical record's bytes, and what it is found by."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, bindparam

from app.models.tool_result import StoredToolResult
from app.stores.records.lookups import Lookup
from app.stores.records.scope import ProjectScope, scoped_select
from app.stores.records.tables import tool_results

_STORED = (
    tool_results.c.tool_result_id,
    tool_results.c.session_id,
    tool_results.c.seq,
    tool_results.c.created_at,
    tool_results.c.tool_name,
    tool_results.c.tool_call_id,
    tool_results.c.sanitized,
)
_FIND = Lookup(
    scoped_select(tool_results, *_STORED).where(
        tool_results.c.tool_result_id == bindparam("tool_result_id")
    ),
    large=[tool_results.c.sanitized],
)
_FIND_CALL = Lookup(
    scoped_select(tool_results, tool_results.c.tool_result_id, tool_results.c.request_digest).where(
        tool_results.c.session_id == bindparam("session_id"),
        tool_results.c.tool_call_id == bindparam("tool_call_id"),
    )
)


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A stored result, and the SHA-256 of the request that made it."""

    result: StoredToolResult
    request_digest: str


class ToolResultRecords:
    """The tool results of one project."""

    def __init__(self, scope: ProjectScope) -> None:
        self._scope = scope

    def add(self, result: StoredToolResult, *, success: bool, request_digest: str) -> None:
        """Store a new record."""
        self._scope.insert(
            tool_results,
            tool_result_id=result.tool_result_id,
            session_id=result.session_id,
            seq=result.seq,
            tool_name=result.tool_name,
            tool_call_id=result.tool_call_id,
            success=success,
            request_digest=request_digest,
            created_at=result.created_at,
            sanitized=result.sanitized,
        )

    def find(self, tool_result_id: str) -> StoredToolResult | None:
        """The record with this id."""
        rows = self._scope.look_up(_FIND, tool_result_id=tool_result_id)
        return _stored(rows[0]) if rows else None

    def find_call(self, session_id: str, tool_call_id: str) -> RecordedCall | None:
        """What a tool call of a session has already answered."""
        rows = self._scope.look_up(_FIND_CALL, session_id=session_id, tool_call_id=tool_call_id)
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
        return [_stored(row) for row in self._scope.all(statement)]


def _stored(row: Row[Any]) -> StoredToolResult:
    return StoredToolResult(
        tool_result_id=row.tool_result_id,
        session_id=row.session_id,
        seq=row.seq,
        created_at=row.created_at,
        tool_name=row.tool_name,
        tool_call_id=row.tool_call_id,
        sanitized=row.sanitized,
    )
