"""Parses, checks and normalizes the body of `POST /tool-results`.

While a body arrives, its long base64 strings are written to temporary files, called *drafts*. The
text that is parsed has a *placeholder* in place of each of these strings. If normalization takes a
placeholder for a medium, and it appears nowhere else, the draft becomes the medium. Otherwise the
body is parsed again with the string itself.

A call of a session has one result. `find_result_position` finds a result that is stored already.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict

from app.errors import ConflictError
from app.models.call_ids import CallId
from app.services.calls.answer_positions import AnswerPosition, find_answer_position
from app.services.normalization import normalize_tool_result
from app.services.requests.body_reader import find_result_warnings
from app.services.requests.request_identity import RequestIdentity, explain_comparison
from app.services.requests.streamed_requests import identity_of_stream
from app.services.requests.validation import validate_model
from app.stores.blobs.draft_media import DraftMedia
from app.stores.blobs.store import BlobDraft
from app.stores.records.tool_results import ToolResultRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.repeated_keys import RepeatedKeys
from pagefault_dialects.json.values import JsonObject, JsonValue, iterate_values, parse_json
from pagefault_dialects.messages.entry_reading import find_entry_calls, is_flat, read_entry
from pagefault_dialects.model.base import ClientId
from pagefault_dialects.model.media import InMemoryMedia
from pagefault_dialects.model.normalized import BodyWarning, NormalizedToolResult
from pagefault_dialects.streams.json_stream import JsonStream
from pagefault_dialects.streams.long_strings import LongString
from pagefault_dialects.streams.placeholder_reading import read_with_placeholders
from pagefault_dialects.streams.placeholders import Placeholder, PlaceholderMarks, find_numbers
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
_TOOL_NAME = Field(min_length=1, max_length=512)
_NOT_A_RESULT = (
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

    tool_name: Annotated[str, _TOOL_NAME]
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
class ParsedToolResult:
    """A parsed body, and the warnings about its JSON text."""

    request: ToolResultRequest
    value: JsonValue
    """The body as parsed JSON."""
    warnings: tuple[BodyWarning, ...] = ()


def read_tool_result_request(body: bytes, *, max_depth: int, max_nodes: int) -> ParsedToolResult:
    """Parse and check a body.

    Args:
        body: The body, which may have placeholders.
        max_depth: The maximum depth of nesting.
        max_nodes: The maximum number of values.

    Raises:
        InvalidJsonError: The body is not JSON, is not UTF-8, or has a number that is not finite.
        PayloadTooLargeError: The body is nested too deep, or has too many values.
        InvalidPayloadError: The body is not a tool result. `faults` says where.
    """
    keys = RepeatedKeys()
    value = parse_json(body, max_depth=max_depth, max_nodes=max_nodes, make_object=keys.make_object)
    warnings = tuple(find_result_warnings(body, value, keys))
    if isinstance(value, dict) and _has_ambiguous_numbers(value.get("callMessage")):
        # A message is stored with the spelling of its numbers (`1.0` or `1`), unlike a result. So
        # the body is parsed again.
        spelled = parse_json(body, max_depth=max_depth, max_nodes=max_nodes, keeps_spelling=True)
        assert isinstance(spelled, dict)  # noqa: S101 - the same body
        value = {**value, "callMessage": spelled["callMessage"]}
    return ParsedToolResult(_validate(value), value, warnings)


def _has_ambiguous_numbers(message: JsonValue) -> bool:
    """Return True if a message has numbers whose spelling does not follow from their value."""
    # `-0` is parsed as the integer 0, and `False` is not a number.
    return any(
        isinstance(item, float) or (item == 0 and item is not False)
        for item, _ in iterate_values(message)
    )


def _validate(value: JsonValue) -> ToolResultRequest:
    """Check a parsed body, and return the request; see `read_tool_result_request`."""
    if isinstance(value, dict):
        # The normalization replaces the lone surrogates in `result`.
        value = {
            key: without_lone_surrogates(member)
            if isinstance(member, str) and key != "result"
            else member
            for key, member in value.items()
        }
    request = validate_model(ToolResultRequest, value, _NOT_A_RESULT)
    if request.call_message is None:
        return request
    faults = []
    if request.session_id is None:
        faults.append(Fault("/sessionId", "is missing: callMessage is appended to a session"))
    faults += _check_call_message(request.call_message)
    if faults:
        raise InvalidPayloadError(_NOT_A_RESULT, faults=faults)
    return request


def _check_call_message(message: JsonObject) -> Iterator[Fault]:
    """Yield the errors in the member `callMessage`, which has to be a message of the model."""
    if is_flat(message):
        # Gemini calls the role `model`.
        if message.get("role") not in ("assistant", "model"):
            yield Fault("/callMessage/role", "has to be assistant or model")
        return
    try:
        role = read_entry(message).role
    except InvalidPayloadError as exc:
        yield from (Fault(f"/callMessage{fault.pointer}", fault.detail) for fault in exc.faults)
        return
    if role != "assistant":
        yield Fault("/callMessage", f"has to be a message of the assistant, and is of the {role}")


def find_result_position(
    unit: UnitOfWork, request: ToolResultRequest, identity: RequestIdentity
) -> AnswerPosition:
    """Return the position of a result among the answers to calls with the same id.

    Args:
        unit: A transaction. If it has locked the session, the position cannot change.
        request: The request with the result.
        identity: The digest of the request.

    Returns:
        The position. If `existing` is set, an equal request has stored the result already.

    Raises:
        ConflictError: The call has another answer.
    """
    follows_call = _makes_call(request)
    position = find_answer_position(
        unit, request.session_id, request.tool_call_id, follows_call=follows_call
    )
    existing = position.existing
    if existing is None or request.new_call:
        return position.after_existing()
    if existing.is_result and identity.matches(existing.request_digest):
        return position
    if follows_call:
        return position.after_existing()
    if not existing.is_result:
        raise ConflictError(
            "This tool call of the session was already answered with a message "
            f"({existing.entry_id}). {_NEW_CALL}",
            code="tool-call-answered",
        )
    # The record of the earlier request has the name of the tool, and a digest of everything else.
    faults = []
    differs = "what differs in `result`, `success` or `callMessage`"
    record = unit[ToolResultRecords].find(existing.entry_id)
    if record is not None and record.tool_name != request.tool_name:
        faults.append(Fault("/toolName", "is not what it is in the record"))
        differs = "`toolName` differs, and whether other members do as well"
    raise ConflictError(
        "This tool call of the session was already answered with another result "
        f"({existing.entry_id}). {explain_comparison(existing.request_digest)} Of the "
        f"first one only a digest is kept: {differs} cannot be said. Read the record, and "
        f"compare. {_NEW_CALL}",
        faults=faults,
        code="tool-call-answered",
    )


def _makes_call(request: ToolResultRequest) -> bool:
    """Return True if the message in `callMessage` makes the call that the result answers."""
    message = request.call_message
    if message is None:
        return False
    return request.tool_call_id in {call.call_id for call in find_entry_calls(read_entry(message))}


@dataclass(frozen=True, slots=True)
class NormalizedRequest:
    """A request with its normalized result and its identity."""

    request: ToolResultRequest
    """The request, which may have placeholders; see `load_whole_request`."""
    normalized: NormalizedToolResult
    identity: RequestIdentity
    """The digest of the body, by which a repeated request is recognised."""


def normalize_streamed(
    json: JsonStream[BlobDraft],
    parse: Callable[[bytes], ParsedToolResult],
    reserve_text: Callable[[int], None],
) -> NormalizedRequest:
    """Parse a body, and normalize its result. This takes long, so call it in a thread.

    Args:
        json: The body, with its long strings in drafts.
        parse: Parses and checks the text of the body, which may have placeholders.
        reserve_text: Reserves memory for a string that is needed as text, before it is read.

    Raises:
        InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: Raised by `parse` or
            `reserve_text`.
        StoreUnavailableError: A draft cannot be read.
    """
    strings = json.long_strings
    if not strings:
        parsed = parse(json.join_body(()))
        identity = identity_of_stream(json, parsed.value, {})
        return NormalizedRequest(parsed.request, _normalize(parsed), identity)
    marks = PlaceholderMarks()
    # Equal strings get placeholders with the number of the first of them, so that the normalization
    # finds them equal too.
    first_by_digest: dict[str, int] = {}
    placeholders: dict[int, Placeholder] = {}
    for number, string in enumerate(strings):
        if string.needs_whole_text:
            continue
        first = first_by_digest.setdefault(string.draft.digest(), number)
        if placeholder := string.make_placeholder(marks.make_mark(number, first=first)):
            placeholders[number] = placeholder

    def find_media(
        parsed: ParsedToolResult, placeholders: dict[int, Placeholder]
    ) -> tuple[tuple[ParsedToolResult, NormalizedToolResult], set[int]]:
        normalized, media = _insert_drafts(_normalize(parsed), strings, placeholders)
        not_media = {number for number, item in placeholders.items() if item.data not in media}
        # A medium may also appear in a text, or in the message of the call, which is stored as
        # text.
        in_texts = find_numbers(normalized, marks) | find_numbers(
            parsed.request.call_message, marks
        )
        return (parsed, normalized), not_media | (in_texts & placeholders.keys())

    (parsed, normalized), drafts = read_with_placeholders(
        json, placeholders, marks, read=parse, find_media=find_media, reserve_text=reserve_text
    )
    return NormalizedRequest(
        parsed.request, normalized, identity_of_stream(json, parsed.value, drafts)
    )


def _normalize(parsed: ParsedToolResult) -> NormalizedToolResult:
    """Normalize the result of a request, and add the warnings about its JSON text."""
    request = parsed.request
    normalized = normalize_tool_result(
        request.result, call_id=request.tool_call_id, tool_name=request.tool_name
    )
    return replace(normalized, warnings=(*normalized.warnings, *parsed.warnings))


def load_whole_request(
    json: JsonStream[BlobDraft],
    request: ToolResultRequest,
    parse: Callable[[bytes], ParsedToolResult],
) -> ToolResultRequest:
    """Return the request of a body with all its strings. This may read drafts, so use a thread.

    Args:
        json: The body, with its long strings in drafts.
        request: The request from `normalize_streamed`, which may have placeholders.
        parse: Parses and checks the text of the body.
    """
    strings = json.long_strings
    if not strings:
        return request
    return parse(json.join_body(string.read_raw() for string in strings)).request


def _insert_drafts(
    normalized: NormalizedToolResult,
    strings: list[LongString[BlobDraft]],
    placeholders: dict[int, Placeholder],
) -> tuple[NormalizedToolResult, set[bytes]]:
    """Replace the media whose bytes are placeholders by the drafts of the strings.

    Args:
        normalized: The result.
        strings: The long strings of the body, by their numbers.
        placeholders: The placeholders in the result, by the number of the string.

    Returns:
        The result, and the bytes of the placeholders that were replaced.
    """
    numbers = {placeholder.data: number for number, placeholder in placeholders.items()}
    media = []
    replaced = set()
    for medium in normalized.media:
        source = medium.source
        is_in_memory = bool(numbers) and isinstance(source, InMemoryMedia)
        data = source.head(source.size_bytes) if is_in_memory else b""
        number = numbers.get(data)
        if number is None:
            media.append(medium)
            continue
        replaced.add(data)
        draft = DraftMedia(strings[number].draft, source.declared_mime_type)
        media.append(replace(medium, source=draft))
    return replace(normalized, media=tuple(media)), replaced
