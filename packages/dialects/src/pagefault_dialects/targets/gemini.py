"""The messages of `gemini`: `Content` objects with the names of the REST API.

All results of a turn are in one content. A result is an object with its text as `output`, or as
`error` if the tool failed. If the tool returned only an object, the result is that object. A result
includes its images and documents. Audio and video follow all results, each after a line that names
its call.

The model signs its calls, and Gemini 3 and later refuse a current turn whose first call is not
signed. A call of another model has no signature. It gets the signature that the documentation
defines for such calls.

Source: design document `providers.md`, `gemini`; types of google-genai 3.4;
"Thought Signatures", FAQ.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from itertools import groupby

from pagefault_dialects.json.values import JsonObject, JsonValue, iterate_values, json_text
from pagefault_dialects.media.types import canonical_mime_type
from pagefault_dialects.model.conversation import (
    DataItem,
    MediaItem,
    NativeMessage,
    ResolvedItem,
    ResolvedTurn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.model.render_options import ImageDetail, RenderOptions
from pagefault_dialects.pages.line_formats import escape_line_breaks
from pagefault_dialects.targets.base64_leaves import (
    JsonLeaf,
    Node,
    base64_leaf,
    blocks_of,
    join_texts,
    text_of,
)
from pagefault_dialects.targets.media_lines import (
    ERROR_LINE,
    format_attachment_line,
    format_origin_line,
)
from pagefault_dialects.targets.native_messages import select_request_members, write_or_copy_turns
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.targets.request_shapes import Shape, fits, fits_members

_ROLES = ("user", "model", "function", None)
_REQUEST_MEMBERS = frozenset({"role", "parts"})
_THOUGHT_MEMBERS = frozenset({"thought", "thoughtSignature", "thought_signature"})
_DATA_SHAPES: Mapping[str, Shape] = {
    "text": str,
    "inlineData": {"mimeType": str, "data": str},
    "inline_data": {"mime_type": str, "data": str},
    "fileData": {"fileUri": str},
    "file_data": {"file_uri": str},
    "functionCall": {"name": str, "args?": dict},
    "function_call": {"name": str, "args?": dict},
    "functionResponse": {"name": str, "response": dict},
    "function_response": {"name": str, "response": dict},
    "executableCode": {"code": str},
    "executable_code": {"code": str},
}
_THOUGHT_SHAPE: Shape = {"thought?": bool, "thoughtSignature?": str, "thought_signature?": str}
_MEDIA_LOCATION = "attached after the tool results"
_FOREIGN_CALL_SIGNATURE = "skip_thought_signature_validator"
_RESERVED_MEMBERS = frozenset({"output", "error"})
_CALL_MEMBERS = frozenset({"functionCall", "function_call"})
_REFERENCE_MEMBER = "$ref"

# Arguments and results are protobuf `Struct`s. A level of JSON takes three nested messages, and
# readers of protobuf accept 100 of them. Every number is a double.
_MAX_DEPTH = 24
_MAX_INTEGER = 2**53


def write(turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return resolved turns as contents, without empty turns.

    `detail` is not used, since these messages have no member for it.
    """
    return _merge_calls_into_contents(
        write_or_copy_turns(turns, partial(_write_turns, profile=profile), content="parts")
    )


def _merge_calls_into_contents(contents: Sequence[Node]) -> list[Node]:
    """Return contents, with each content with calls merged into a model's content before it.

    The service refuses a content with calls after a content of the model: "function call turn comes
    immediately after a user turn or after a function response turn".
    """
    merged: list[Node] = []
    for content in contents:
        match merged[-1:], content:
            case [{"role": "model", "parts": [*earlier_parts]}], {
                "role": "model",
                "parts": [*parts],
            } if any(isinstance(part, dict) and _CALL_MEMBERS & part.keys() for part in parts):
                merged[-1] = {"role": "model", "parts": [*earlier_parts, *parts]}
            case _:
                merged.append(content)
    return merged


def as_request(native: NativeMessage, options: RenderOptions) -> JsonObject | None:
    """Return a message as requests have it; `None` if they do not accept it."""
    sent = native.message
    parts = sent.get("parts")
    is_content = native.dialect in (None, "gemini") and sent.get("role") in _ROLES
    if not is_content or not isinstance(parts, list) or not parts or not all(map(_is_part, parts)):
        return None
    return select_request_members(sent, _REQUEST_MEMBERS, frozenset())


def accepts_part(part: JsonObject, role: TurnRole) -> bool:
    """Return whether requests accept a part in a rewritten content."""
    return _is_part(part)


def _is_part(part: JsonValue) -> bool:
    # A part with a `type` is one of the Vercel AI SDK.
    if not isinstance(part, dict) or "type" in part:
        return False
    has_content = any(part[name] is not None for name in part.keys() - _THOUGHT_MEMBERS)
    return has_content and fits_members(part, _DATA_SHAPES) and fits(part, _THOUGHT_SHAPE)


def _write_turns(turns: Sequence[ResolvedTurn], profile: Profile) -> list[Node]:
    contents: list[Node] = []
    for are_results, group in groupby(turns, lambda turn: turn.role == "tool"):
        if are_results:
            contents.append({"role": "user", "parts": _write_results(group, profile)})
            continue
        for role, run in groupby(group, lambda turn: turn.role):
            parts: list[Node] = []
            for turn in run:
                parts += [
                    *blocks_of(turn.items, _write_medium, _write_text),
                    *_write_calls(turn.calls, profile),
                ]
            if parts:
                gemini_role = "model" if role == "assistant" else "user"
                contents.append({"role": gemini_role, "parts": parts})
    return contents


def _write_text(text: str) -> list[Node]:
    return [] if text.isspace() else [{"text": text}]


def _write_medium(attachment: MediaItem) -> Node:
    return {"inlineData": _write_blob(attachment)}


def _write_calls(calls: Sequence[TurnCall], profile: Profile) -> list[Node]:
    parts: list[Node] = []
    for call in calls:
        # Arguments that the service would read differently are sent as text.
        is_exact = _is_read_exactly(call.arguments)
        written: Node = {
            "id": profile.call_id.fit(call.call_id),
            "name": profile.tool_name.fit(call.name),
            "args": JsonLeaf(call.arguments) if is_exact else {"json": json_text(call.arguments)},
        }
        signed = call.thought_signature or (None if parts else _FOREIGN_CALL_SIGNATURE)
        signature: dict[str, Node] = {"thoughtSignature": signed} if signed else {}
        parts.append({"functionCall": written, **signature})
    return parts


def _write_results(group: Iterable[ResolvedTurn], profile: Profile) -> list[Node]:
    results: list[Node] = []
    media: list[Node] = []
    for turn in group:
        call_id = profile.call_id.fit(turn.call_id)
        response: dict[str, Node] = {
            "id": call_id,
            "name": profile.tool_name.fit(turn.tool_name),
            "response": _write_response(turn),
        }
        if parts := _write_attachments(turn.items):
            response["parts"] = parts
        results.append({"functionResponse": response})
        for item in turn.items:
            if isinstance(item, MediaItem) and _follows_results(item):
                media += [{"text": format_origin_line(turn, item, call_id)}, _write_medium(item)]
    return [*results, *media]


def _write_response(turn: ResolvedTurn) -> Node:
    if not turn.is_error and len(turn.items) == 1:
        item = turn.items[0]
        value = item.value if isinstance(item, DataItem) else None
        # An object that the service reads exactly is sent as the response.
        is_object = isinstance(value, dict) and _RESERVED_MEMBERS.isdisjoint(value)
        if is_object and _is_read_exactly(value):
            return JsonLeaf(value)
    words = join_texts(map(_item_text, turn.items))
    return {"error": words or ERROR_LINE} if turn.is_error else {"output": words}


def _item_text(item: ResolvedItem) -> str | None:
    if isinstance(item, MediaItem):
        return format_attachment_line(item, _MEDIA_LOCATION) if _follows_results(item) else None
    return text_of(item)


def _write_attachments(items: Sequence[ResolvedItem]) -> list[Node]:
    parts: list[Node] = []
    names: set[str] = set()
    for item in items:
        if not isinstance(item, MediaItem) or _follows_results(item):
            continue
        blob = _write_blob(item)
        # The model could not distinguish two media with the same name, so only one has it.
        if item.filename and (name := escape_line_breaks(item.filename)) not in names:
            names.add(name)
            blob["displayName"] = name
        parts.append({"inlineData": blob})
    return parts


def _write_blob(attachment: MediaItem) -> dict[str, Node]:
    mime_type = canonical_mime_type(attachment.mime_type) or attachment.mime_type
    return {"mimeType": mime_type, "data": base64_leaf(attachment)}


def _follows_results(attachment: MediaItem) -> bool:
    return attachment.mime_type.startswith(("audio/", "video/"))


def _is_read_exactly(value: JsonValue) -> bool:
    """Return whether the service accepts a value, and reads each of its numbers exactly."""
    return all(depth <= _MAX_DEPTH and _is_exact(node) for node, depth in iterate_values(value))


def _is_exact(node: JsonValue) -> bool:
    if isinstance(node, dict):
        return _REFERENCE_MEMBER not in node
    if isinstance(node, int | Decimal):
        # Compared without `abs`, which rounds a `Decimal`.
        return -_MAX_INTEGER <= node <= _MAX_INTEGER
    return True
