"""The messages of `gemini`: `Content`s in the spelling of REST.

All answers of a turn are in one content. An answer is an object: its text under `output`, or
`error` if the tool failed; an object that the tool returned replaces it if there is no other text.
It includes images and documents. Audio and video follow all answers, each after a line that names
its call.

The model signs its calls, and Gemini 3 and later refuse an unsigned one in the current turn. The
calls rendered here may be another model's, without a signature. The first call of a turn then has
the signature that the documentation defines for calls of other models.

Source: `providers`, `gemini`; types of google-genai 3.4; "Thought Signatures", FAQ.
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
from pagefault_dialects.pages.one_line import one_line
from pagefault_dialects.targets.base64_leaves import (
    JsonLeaf,
    Node,
    base64_leaf,
    blocks_of,
    join_texts,
    text_of,
)
from pagefault_dialects.targets.media_lines import ERROR_LINE, attached_line, frame_line
from pagefault_dialects.targets.native_messages import select_request_members, write_runs
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.targets.request_shapes import Shape, fits, fits_members

_ROLES = ("user", "model", "function", None)
_MEMBERS = frozenset({"role", "parts"})
_BESIDE = frozenset({"thought", "thoughtSignature", "thought_signature"})
_DATA: Mapping[str, Shape] = {
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
_MARKS: Shape = {"thought?": bool, "thoughtSignature?": str, "thought_signature?": str}
_WHERE = "attached after the tool results"
_FOREIGN_CALL = "skip_thought_signature_validator"
_OWN_MEMBERS = frozenset({"output", "error"})
_CALLS = frozenset({"functionCall", "function_call"})
_REFERENCE = "$ref"

# A response is a protobuf `Struct`: a level of JSON is three messages, of which readers accept 100
# nested ones, and every number is a double.
_DEEPEST = 24
_LARGEST_WHOLE = 2**53


def write(turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return resolved turns as contents, without empty turns.

    `detail` has no place in them.
    """
    return _with_calls_behind_user(
        write_runs(turns, partial(_write, profile=profile), content="parts")
    )


def _with_calls_behind_user(contents: Sequence[Node]) -> list[Node]:
    """Return contents with the model's calls in the same content as its text before them.

    "Function call turn comes immediately after a user turn or after a function response turn."
    """
    kept: list[Node] = []
    for content in contents:
        match kept[-1:], content:
            case [{"role": "model", "parts": [*said]}], {"role": "model", "parts": [*parts]} if any(
                isinstance(part, dict) and _CALLS & part.keys() for part in parts
            ):
                kept[-1] = {"role": "model", "parts": [*said, *parts]}
            case _:
                kept.append(content)
    return kept


def as_request(native: NativeMessage, options: RenderOptions) -> JsonObject | None:
    """Return a message as requests have it; `None` if it is of another dialect, or refused."""
    sent = native.message
    parts = sent.get("parts")
    is_own = native.dialect in (None, "gemini") and sent.get("role") in _ROLES
    if not is_own or not isinstance(parts, list) or not parts or not all(map(_is_part, parts)):
        return None
    return select_request_members(sent, _MEMBERS, frozenset())


def has_part(part: JsonObject, role: TurnRole) -> bool:
    """Return whether requests accept a part in a rewritten content."""
    return _is_part(part)


def _is_part(part: JsonValue) -> bool:
    # Parts with a `type` are of the Vercel AI SDK.
    if not isinstance(part, dict) or "type" in part:
        return False
    has_content = any(part[name] is not None for name in part.keys() - _BESIDE)
    return has_content and fits_members(part, _DATA) and fits(part, _MARKS)


def _write(turns: Sequence[ResolvedTurn], profile: Profile) -> list[Node]:
    contents: list[Node] = []
    for are_answers, group in groupby(turns, lambda turn: turn.role == "tool"):
        if are_answers:
            contents.append({"role": "user", "parts": _answers(group, profile)})
            continue
        for role, run in groupby(group, lambda turn: turn.role):
            parts: list[Node] = []
            for turn in run:
                parts += [*blocks_of(turn.items, _medium, _text), *_calls(turn.calls, profile)]
            if parts:
                speaker = "model" if role == "assistant" else "user"
                contents.append({"role": speaker, "parts": parts})
    return contents


def _text(text: str) -> list[Node]:
    return [] if text.isspace() else [{"text": text}]


def _medium(attachment: MediaItem) -> Node:
    return {"inlineData": _blob(attachment)}


def _calls(calls: Sequence[TurnCall], profile: Profile) -> list[Node]:
    parts: list[Node] = []
    for call in calls:
        # As text under one name, if the object would be read as a different one.
        is_kept = _is_read_as_meant(call.arguments)
        written: Node = {
            "id": profile.call_id.fit(call.call_id),
            "name": profile.tool_name.fit(call.name),
            "args": JsonLeaf(call.arguments) if is_kept else {"json": json_text(call.arguments)},
        }
        signed = call.thought_signature or (None if parts else _FOREIGN_CALL)
        signature: dict[str, Node] = {"thoughtSignature": signed} if signed else {}
        parts.append({"functionCall": written, **signature})
    return parts


def _answers(group: Iterable[ResolvedTurn], profile: Profile) -> list[Node]:
    answers: list[Node] = []
    following: list[Node] = []
    for turn in group:
        call_id = profile.call_id.fit(turn.call_id)
        answer: dict[str, Node] = {
            "id": call_id,
            "name": profile.tool_name.fit(turn.tool_name),
            "response": _response(turn),
        }
        if parts := _attached(turn.items):
            answer["parts"] = parts
        answers.append({"functionResponse": answer})
        for item in turn.items:
            if isinstance(item, MediaItem) and _is_beside(item):
                following += [{"text": frame_line(turn, item, call_id)}, _medium(item)]
    return [*answers, *following]


def _response(turn: ResolvedTurn) -> Node:
    if not turn.is_error and len(turn.items) == 1:
        item = turn.items[0]
        value = item.value if isinstance(item, DataItem) else None
        # An object that the service reads exactly is the response itself.
        is_own = isinstance(value, dict) and _OWN_MEMBERS.isdisjoint(value)
        if is_own and _is_read_as_meant(value):
            return JsonLeaf(value)
    words = join_texts(map(_words, turn.items))
    return {"error": words or ERROR_LINE} if turn.is_error else {"output": words}


def _words(item: ResolvedItem) -> str | None:
    if isinstance(item, MediaItem):
        return attached_line(item, _WHERE) if _is_beside(item) else None
    return text_of(item)


def _attached(items: Sequence[ResolvedItem]) -> list[Node]:
    parts: list[Node] = []
    names: set[str] = set()
    for item in items:
        if not isinstance(item, MediaItem) or _is_beside(item):
            continue
        blob = _blob(item)
        # Names distinguish media, so the second one of a name goes without.
        if item.filename and (name := one_line(item.filename)) not in names:
            names.add(name)
            blob["displayName"] = name
        parts.append({"inlineData": blob})
    return parts


def _blob(attachment: MediaItem) -> dict[str, Node]:
    mime_type = canonical_mime_type(attachment.mime_type) or attachment.mime_type
    return {"mimeType": mime_type, "data": base64_leaf(attachment)}


def _is_beside(attachment: MediaItem) -> bool:
    return attachment.mime_type.startswith(("audio/", "video/"))


def _is_read_as_meant(value: JsonValue) -> bool:
    """Return whether the service accepts a value, and reads each of its numbers exactly."""
    return all(depth <= _DEEPEST and _is_taken(node) for node, depth in iterate_values(value))


def _is_taken(node: JsonValue) -> bool:
    if isinstance(node, dict):
        return _REFERENCE not in node
    if isinstance(node, int | Decimal):
        # Compared without `abs`, which rounds a `Decimal`.
        return -_LARGEST_WHOLE <= node <= _LARGEST_WHOLE
    return True
