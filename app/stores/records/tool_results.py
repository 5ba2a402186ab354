"""The records of tool results, by their ids and by the calls they answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.models.tool_result import StoredToolResult
from app.stores.records.columns import BY_CALL
from app.stores.records.prepared_statements import Lookup
from app.stores.records.scope import NewRow, read_row, scoped_select, values_of
from app.stores.records.tables import tool_results
from app.stores.records.unit_of_work import Repository

_FIND_RESULT = Lookup(
    scoped_select(tool_results, by=["tool_result_id"]), large=[tool_results.c.sanitized]
)
_FIND_RESULT_OF_CALL = Lookup(
    scoped_select(
        tool_results, tool_results.c.tool_result_id, tool_results.c.request_digest, by=BY_CALL
    )
)


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A stored result, and the SHA-256 of the request that made it."""

    result: StoredToolResult
    request_digest: str


class ToolResultRecords(Repository):
    """The tool results of one project."""

    def add(self, result: StoredToolResult, *, success: bool, request_digest: str) -> None:
        """Store a new record."""
        row = self.row(result, success=success, request_digest=request_digest)
        self._scope.insert_new(row.table, [row.values])

    @staticmethod
    def row(result: StoredToolResult, *, success: bool, request_digest: str) -> NewRow:
        """Return the row of a new record, to be stored with its history entry."""
        values = values_of(result, success=success, request_digest=request_digest)
        return NewRow(tool_results, values)

    def find(self, tool_result_id: str) -> StoredToolResult | None:
        """Return the record with this id."""
        rows = self._scope.look_up(_FIND_RESULT, tool_result_id=tool_result_id)
        return read_row(StoredToolResult, rows[0]) if rows else None

    def find_call(self, session_id: str, tool_call_id: str) -> RecordedCall | None:
        """Return what a tool call of a session has already answered."""
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
