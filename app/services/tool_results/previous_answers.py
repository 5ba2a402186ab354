"""What a call of a session was answered with before: a call has one result."""

from app.errors import ConflictError, Fault
from app.models.tool_result import StoredToolResult
from app.services.requests.identity import RequestIdentity, how_compared
from app.services.tool_results.requests import ToolResultRequest
from app.stores.records import UnitOfWork
from app.stores.records.history_records import RecordedCall


def previous_answer(
    unit: UnitOfWork, request: ToolResultRequest, identity: RequestIdentity
) -> StoredToolResult | None:
    """Return what this call of the session was answered with before; `None` if it was not.

    Raises:
        ConflictError: It was answered with something else.
    """
    if request.session_id is None:
        return None
    recorded = unit.tool_results.find_call(request.session_id, request.tool_call_id)
    if recorded is not None and identity.is_that_of(recorded.request_digest):
        return recorded.result
    if recorded is not None:
        raise _another_result(recorded, request)
    answer = unit.messages.find_call(request.session_id, request.tool_call_id)
    if answer is None:
        return None
    raise ConflictError(
        "This tool call of the session was already answered with a message "
        f"({answer.message_id}). A call has one result: take a new toolCallId.",
        code="tool-call-answered",
    )


def _another_result(recorded: RecordedCall, request: ToolResultRequest) -> ConflictError:
    """Return the error about a call with another answer.

    Of the earlier request only the name of the tool is known, and a digest of the rest.
    """
    faults = []
    differs = "what differs in `result` or `success`"
    if recorded.result.tool_name != request.tool_name:
        faults.append(Fault("/toolName", "is not what it is in the record"))
        differs = "`toolName` differs, and whether `result` or `success` do as well"
    return ConflictError(
        "This tool call of the session was already answered with another result "
        f"({recorded.result.tool_result_id}). {how_compared(recorded.request_digest)} Of the first "
        f"one only a digest is kept: {differs} cannot be said. Read the record, and compare. A "
        "call has one result: take a new toolCallId for another.",
        faults=faults,
        code="tool-call-answered",
    )
