"""The records of tool results."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Integer, Row, Select, bindparam

from app.models.tool_result import StoredToolResult
from app.stores.records.answered_calls import call_columns, call_fields
from app.stores.records.scope import NewRow, read_row, values_of
from app.stores.records.statements import Lookup, scoped_select
from app.stores.records.tables import tool_results
from app.stores.records.unit_of_work import Repository

_FIND_RESULT = Lookup(
    scoped_select(tool_results, by=["tool_result_id"]), large=[tool_results.c.sanitized]
)


def _select_newest(*by: str, is_first: bool) -> Select[Any]:
    """Select records, newest first; for lists after the first one, those before an id."""
    listed = scoped_select(tool_results, by=by)
    if not is_first:
        listed = listed.where(tool_results.c.tool_result_id < bindparam("before_id"))
    newest_first = listed.order_by(tool_results.c.tool_result_id.desc())
    return newest_first.limit(bindparam("limit", type_=Integer()))


# By `is_first`, which is true for the first list.
_LIST = {is_first: _select_newest(is_first=is_first) for is_first in (True, False)}
_LIST_SESSION = {
    is_first: _select_newest("session_id", is_first=is_first) for is_first in (True, False)
}


class ToolResultRecords(Repository):
    """The tool results of one project."""

    def add(self, result: StoredToolResult, *, success: bool, request_digest: str) -> None:
        """Store a new record."""
        row = self.row(result, success=success, request_digest=request_digest)
        self._scope.insert_new(row.table, [row.values])

    @staticmethod
    def row(result: StoredToolResult, *, success: bool, request_digest: str) -> NewRow:
        """Return the row of a new record, to be stored with its history entry."""
        values = result_values(result, success=success, request_digest=request_digest)
        return NewRow(tool_results, values)

    def find(self, tool_result_id: str) -> StoredToolResult | None:
        """Return the record with this id."""
        rows = self._scope.look_up(_FIND_RESULT, tool_result_id=tool_result_id)
        return stored_result(rows[0]) if rows else None

    def list_tool_results(
        self, session_id: str | None, *, before_id: str | None, limit: int
    ) -> Sequence[StoredToolResult]:
        """Return up to `limit` records before an id, newest first, optionally of one session."""
        values = {"session_id": session_id, "before_id": before_id, "limit": limit}
        statements = _LIST if session_id is None else _LIST_SESSION
        rows = self._scope.all(statements[before_id is None], **values)
        return [stored_result(row) for row in rows]


def stored_result(row: Row[Any]) -> StoredToolResult:
    """Return the record in a row of `tool_results`."""
    return read_row(StoredToolResult, row, **call_fields(row))


def result_values(
    result: StoredToolResult, *, success: bool, request_digest: str
) -> dict[str, object]:
    """Return the columns of a record."""
    values = values_of(result, success=success, request_digest=request_digest)
    del values["answer_number"]
    return values | call_columns(result.tool_call_id, result.answer_number)
