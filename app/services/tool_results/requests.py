"""Reads the body of `POST /tool-results`: JSON in, a checked request out."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict

from app.errors import InvalidPayloadError
from app.models.base import faults_of
from app.models.identity import CLIENT_ID_PATTERN
from app.models.json_value import JsonValue, parse_json
from app.models.text_windows import without_lone_surrogates

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
