"""Reads the body of `POST /tool-results`: JSON in, a checked request out.

A call of a session has one result: what it was answered with before is looked up here, too.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict

from app.errors import ConflictError, Fault, InvalidPayloadError
from app.models.identity import CLIENT_ID_PATTERN
from app.models.json_value import JsonValue, parse_json
from app.models.surrogates import without_lone_surrogates
from app.models.tool_result import StoredToolResult
from app.models.validation_errors import faults_of
from app.services.requests.identity import RequestIdentity, how_compared
from app.stores.records import UnitOfWork
from app.stores.records.tool_results import RecordedCall

_EXAMPLE: JsonDict = {
    "toolName": "browser.screenshot",
    "toolCallId": "call_1",
    "sessionId": "demo",
    "result": {
        "content": [
            {"type": "text", "text": "Opened the page."},
            {"type": "image", "data": "iVBORw0KGgoAAAANSUhEUgAA…", "mimeType": "image/png"},
        ]
    },
}
_NAME = Field(min_length=1, max_length=512)


class ToolResultRequest(BaseModel):
    """A raw tool result as the agent runtime hands it over."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        strict=True,
        json_schema_extra={"examples": [_EXAMPLE]},
    )

    tool_name: Annotated[str, _NAME]
    tool_call_id: Annotated[str, _NAME]
    success: bool = True
    session_id: Annotated[str | None, Field(pattern=CLIENT_ID_PATTERN)] = None
    result: Annotated[Any, Field(description="What the tool returned: any JSON value at all.")]


@dataclass(frozen=True, slots=True)
class ReadToolResult:
    """A request, and the JSON value that it was read from."""

    request: ToolResultRequest
    value: JsonValue


def read_tool_result_request(body: bytes, *, max_depth: int, max_nodes: int) -> ReadToolResult:
    """Parse and check a body.

    Raises:
        InvalidJsonError: Not JSON, not UTF-8, or a number that is not finite.
        PayloadTooLargeError: Nested too deep or too many values.
        InvalidPayloadError: Not a tool result; the faults point to what is wrong.
    """
    value = parse_json(body, max_depth=max_depth, max_nodes=max_nodes)
    return ReadToolResult(_checked(value), value)


def _checked(value: JsonValue) -> ToolResultRequest:
    if isinstance(value, dict):
        # The members around the result have no warnings to carry, so they are repaired silently.
        value = {
            key: member if key == "result" else _repaired(member) for key, member in value.items()
        }
    try:
        return ToolResultRequest.model_validate(value)
    except ValidationError as exc:
        raise InvalidPayloadError(
            "The body is not a tool result: it takes toolName, toolCallId, result, and "
            "optionally success and sessionId.",
            faults=faults_of(exc),
        ) from exc


def _repaired(member: JsonValue) -> JsonValue:
    return without_lone_surrogates(member) if isinstance(member, str) else member


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
