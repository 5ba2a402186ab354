"""Reads the body of `POST /tool-results`: JSON in, a checked request and its parts out.

Of a streamed body, drafts take the places of their placeholders. Where a placeholder came out as a
medium, and as nothing else, the medium is the draft. Where it came out as anything else, all is
read again with the string itself.

A call of a session has one result: what it was answered with before is looked up here, too.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict

from app.errors import ConflictError
from app.models.call_ids import CallId
from app.services.calls.answer_places import AnswerPlace, find_answer_place
from app.services.normalization import normalize_tool_result
from app.services.requests.body_reader import result_warnings
from app.services.requests.request_identity import RequestIdentity, how_compared
from app.services.requests.streamed_requests import identity_of_stream
from app.services.requests.validation import validated
from app.stores.blobs.draft_media import DraftMedia
from app.stores.blobs.store import BlobDraft
from app.stores.records.tool_results import ToolResultRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.repeated_keys import RepeatedKeys
from pagefault_dialects.json.values import JsonObject, JsonValue, parse_json, values_in
from pagefault_dialects.messages.entry_reading import entry_calls, is_flat, read_entry
from pagefault_dialects.model.base import ClientId
from pagefault_dialects.model.media import InMemoryMedia
from pagefault_dialects.model.normalized import NormalizedToolResult, Warning
from pagefault_dialects.streams.json_stream import JsonStream
from pagefault_dialects.streams.long_strings import LongString
from pagefault_dialects.streams.placeholder_reading import read_with_placeholders
from pagefault_dialects.streams.placeholders import Placeholder, PlaceholderMarks, numbers_in
from pagefault_dialects.text_windows import without_lone_surrogates

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
_NOT_ONE = (
    "The body is not a tool result: it takes toolName, toolCallId, result, and optionally success, "
    "sessionId, callMessage and newCall."
)
_NEW_CALL = (
    "A call has one result. Where another call has the same id, append the message that makes it "
    "first, send it as callMessage, or say newCall=true."
)


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
    tool_call_id: CallId
    success: bool = True
    session_id: ClientId | None = None
    call_message: Annotated[
        JsonObject | None,
        Field(
            description="The message of the model that made the call, in any dialect, as "
            "`POST /api/sessions/{session_id}/messages` takes it. It is appended before the "
            "result, in the same transaction; leave it out where the history has it."
        ),
    ] = None
    new_call: Annotated[
        bool,
        Field(
            description="Whether the call is another one than that of the same id which has its "
            "result, though no message that makes it is in the history yet. An `Idempotency-Key` "
            "makes it safe to repeat."
        ),
    ] = False
    result: Annotated[Any, Field(description="What the tool returned: any JSON value at all.")]


@dataclass(frozen=True, slots=True)
class ReadToolResult:
    """A request, the JSON value that it was read from, and warnings about that."""

    request: ToolResultRequest
    value: JsonValue
    warnings: tuple[Warning, ...] = ()


def read_tool_result_request(body: bytes, *, max_depth: int, max_nodes: int) -> ReadToolResult:
    """Parse and check a body.

    Raises:
        InvalidJsonError: Not JSON, not UTF-8, or a number that is not finite.
        PayloadTooLargeError: Nested too deep or too many values.
        InvalidPayloadError: Not a tool result; the faults point to what is wrong.
    """
    keys = RepeatedKeys()
    value = parse_json(body, max_depth=max_depth, max_nodes=max_nodes, make_object=keys.make_object)
    warnings = tuple(result_warnings(body, value, keys))
    if isinstance(value, dict) and _has_numbers_to_spell(value.get("callMessage")):
        # A message keeps its numbers as they are written; of a result their values count.
        spelled = parse_json(body, max_depth=max_depth, max_nodes=max_nodes, spelled=True)
        assert isinstance(spelled, dict)  # noqa: S101 - the same body
        value = {**value, "callMessage": spelled["callMessage"]}
    return ReadToolResult(_checked(value), value, warnings)


def _has_numbers_to_spell(message: JsonValue) -> bool:
    # `-0` is read as the integer 0, and `False` is no number.
    return any(
        isinstance(each, float) or (each == 0 and each is not False)
        for each, _ in values_in(message)
    )


def _checked(value: JsonValue) -> ToolResultRequest:
    if isinstance(value, dict):
        value = {
            key: without_lone_surrogates(member)
            if isinstance(member, str) and key != "result"
            else member
            for key, member in value.items()
        }
    request = validated(ToolResultRequest, value, _NOT_ONE)
    if request.call_message is None:
        return request
    faults = []
    if request.session_id is None:
        faults.append(Fault("/sessionId", "is missing: callMessage is appended to a session"))
    faults += _call_message_faults(request.call_message)
    if faults:
        raise InvalidPayloadError(_NOT_ONE, faults=faults)
    return request


def _call_message_faults(message: JsonObject) -> Iterator[Fault]:
    """Yield what is wrong with the message of a call: a model says it, in any dialect."""
    if is_flat(message):
        # Gemini's word for a model is `model`.
        if message.get("role") not in ("assistant", "model"):
            yield Fault("/callMessage/role", "has to be assistant or model")
        return
    try:
        role = read_entry(message).role
    except InvalidPayloadError as exc:
        yield from (Fault(f"/callMessage{each.pointer}", each.detail) for each in exc.faults)
        return
    if role != "assistant":
        yield Fault("/callMessage", f"has to be a message of the assistant, and is of the {role}")


def place_result(
    unit: UnitOfWork, request: ToolResultRequest, identity: RequestIdentity
) -> AnswerPlace:
    """Return where a result belongs among the answers of its session.

    Returns:
        The place; what exists there is this result.

    Raises:
        ConflictError: The call was answered with something else.
    """
    follows_call = _is_called_anew(request)
    place = find_answer_place(
        unit, request.session_id, request.tool_call_id, follows_call=follows_call
    )
    existing = place.existing
    if existing is None or request.new_call:
        return place.behind()
    if existing.is_result and identity.is_that_of(existing.request_digest):
        return place
    if follows_call:
        return place.behind()
    if not existing.is_result:
        raise ConflictError(
            "This tool call of the session was already answered with a message "
            f"({existing.entry_id}). {_NEW_CALL}",
            code="tool-call-answered",
        )
    # Of the earlier request only the name of the tool is known, and a digest of the rest.
    faults = []
    differs = "what differs in `result`, `success` or `callMessage`"
    recorded = unit[ToolResultRecords].find(existing.entry_id)
    if recorded is not None and recorded.tool_name != request.tool_name:
        faults.append(Fault("/toolName", "is not what it is in the record"))
        differs = "`toolName` differs, and whether other members do as well"
    raise ConflictError(
        "This tool call of the session was already answered with another result "
        f"({existing.entry_id}). {how_compared(existing.request_digest)} Of the "
        f"first one only a digest is kept: {differs} cannot be said. Read the record, and "
        f"compare. {_NEW_CALL}",
        faults=faults,
        code="tool-call-answered",
    )


def _is_called_anew(request: ToolResultRequest) -> bool:
    """Return whether the message that comes along makes the call."""
    message = request.call_message
    if message is None:
        return False
    return request.tool_call_id in {call.call_id for call in entry_calls(read_entry(message))}


@dataclass(frozen=True, slots=True)
class NormalizedRequest:
    """A request, its result normalized, and what it is known by."""

    request: ToolResultRequest
    normalized: NormalizedToolResult
    identity: RequestIdentity


def normalize_streamed(
    json: JsonStream[BlobDraft],
    read: Callable[[bytes], ReadToolResult],
    hold_text: Callable[[int], None],
) -> NormalizedRequest:
    """Return the request in a body, with its result normalized; blocks.

    Args:
        json: The body.
        read: Parses and checks it. The strings of the request it gives may be placeholders.
        hold_text: Is told of every string that is needed as text, before it is in memory.

    Raises:
        InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: As `read` and `hold_text`.
        StoreUnavailableError: What a draft holds cannot be read.
    """
    strings = json.long_strings
    if not strings:
        whole = read(json.body(()))
        identity = identity_of_stream(json, whole.value, {})
        return NormalizedRequest(whole.request, _normalized(whole), identity)
    marks = PlaceholderMarks()
    firsts: dict[str, int] = {}
    placeholders: dict[int, Placeholder] = {}
    for number, string in enumerate(strings):
        if string.must_be_text:
            continue
        first = firsts.setdefault(string.draft.digest(), number)
        if placeholder := string.placeholder(marks.mark(number, first=first)):
            placeholders[number] = placeholder

    def find_media(
        read: ReadToolResult, placeholders: dict[int, Placeholder]
    ) -> tuple[tuple[ReadToolResult, NormalizedToolResult], set[int]]:
        normalized = _normalized(read)
        settled, found = _settled(normalized, strings, placeholders)
        missing = {number for number, each in placeholders.items() if each.data not in found}
        # One medium may be in the result and in what made the call, where it is needed as text.
        shown = numbers_in(settled, marks) | numbers_in(read.request.call_message, marks)
        return (read, settled), missing | (shown & placeholders.keys())

    (settled, normalized), left = read_with_placeholders(
        json, placeholders, marks, read=read, find_media=find_media, hold_text=hold_text
    )
    return NormalizedRequest(
        settled.request, normalized, identity_of_stream(json, settled.value, left)
    )


def _normalized(read: ReadToolResult) -> NormalizedToolResult:
    request = read.request
    normalized = normalize_tool_result(
        request.result, call_id=request.tool_call_id, tool_name=request.tool_name
    )
    if not read.warnings:
        return normalized
    return replace(normalized, warnings=(*normalized.warnings, *read.warnings))


def whole_request(
    json: JsonStream[BlobDraft], request: ToolResultRequest, read: Callable[[bytes], ReadToolResult]
) -> ToolResultRequest:
    """Return the request in a body that was normalized, without placeholders; may block.

    Args:
        json: The body.
        request: What `normalize_streamed` gave, perhaps with placeholders.
        read: Parses and checks it.
    """
    strings = json.long_strings
    if not strings:
        return request
    return read(json.body(string.raw() for string in strings)).request


def _settled(
    normalized: NormalizedToolResult,
    strings: list[LongString[BlobDraft]],
    placeholders: dict[int, Placeholder],
) -> tuple[NormalizedToolResult, set[bytes]]:
    """Return the result with drafts for the media that were placeholders, and their bytes."""
    numbers = {placeholder.data: number for number, placeholder in placeholders.items()}
    media = []
    found = set()
    for medium in normalized.media:
        source = medium.source
        is_at_hand = bool(numbers) and isinstance(source, InMemoryMedia)
        data = source.head(source.size_bytes) if is_at_hand else b""
        number = numbers.get(data)
        if number is None:
            media.append(medium)
            continue
        found.add(data)
        draft = DraftMedia(strings[number].draft, source.declared_mime_type)
        media.append(replace(medium, source=draft))
    return replace(normalized, media=tuple(media)), found
