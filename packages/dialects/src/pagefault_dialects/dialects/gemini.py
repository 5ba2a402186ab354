"""Gemini: its `Content`, in camelCase and in snake_case, and its responses."""

from collections.abc import Iterable, Iterator, Set

from pagefault_dialects.dialects.envelope import DialectTables, Envelope, Wrapper
from pagefault_dialects.dialects.foreign_message import ForeignMessage, text_block
from pagefault_dialects.dialects.message_forms import (
    ConversationForm,
    InnerReader,
    MessageBlock,
    MessageForm,
)
from pagefault_dialects.dialects.shapes import (
    Members,
    is_array,
    is_boolean,
    is_object,
    is_object_array,
    is_string,
    one_of,
    shape,
)
from pagefault_dialects.dialects.tool_output import BlockForm, Content
from pagefault_dialects.json.values import JsonObject, JsonValue

# `output` and `error` are Gemini's names; the ADK has values under `result`.
_OUTPUTS = ("error", "output", "result")


def _choose_contents(members: Members) -> Iterable[Content]:
    """Yield the output of a function, and then the parts with its media."""
    response = members["response"]
    outputs = _without_nulls(response)
    if outputs.keys() and outputs.keys() <= {*_OUTPUTS}:
        for name in _OUTPUTS:
            if name in outputs and not (name == "error" and len(outputs) > 1 and not outputs[name]):
                yield Content(outputs[name], members.path("response", name))
    elif outputs:
        yield Content(response, members.path("response"))
    if "parts" in members:
        yield Content(members["parts"], members.path("parts"), "content")


def _find_outcome(members: Members) -> bool | None:
    """Return true if a response has an `error`, or the `isError` of a whole MCP result."""
    response = _without_nulls(members["response"])
    return bool(response.get("error")) or response.get("isError") is True or None


def _without_nulls(value: object) -> dict[str, object]:
    """Return the members of an object that are not `null`; nothing for other values."""
    members = value if isinstance(value, dict) else {}
    return {key: member for key, member in members.items() if member is not None}


_MEMBERS = {"id": is_string, "parts": is_array, "willContinue": is_boolean, "scheduling": is_string}
_FUNCTION_RESPONSE = Envelope(
    marks=(),
    shape=shape({"name": is_string, "response": is_object}, _MEMBERS),
    contents=(),
    call_id=("id",),
    name=("name",),
    failure=_find_outcome,
    choose_contents=_choose_contents,
)
# Outside of a part, a response must have an id and one of the members for outputs.
_LONE_RESPONSE = Envelope(
    marks=("response",),
    shape=shape({"id": is_string, "name": is_string, "response": is_object}, _MEMBERS),
    contents=(),
    call_id=("id",),
    name=("name",),
    failure=_find_outcome,
    accepts=lambda members: (
        bool(_without_nulls(members["response"]))
        and _without_nulls(members["response"]).keys() <= {*_OUTPUTS}
    ),
    choose_contents=_choose_contents,
)
_PART = Wrapper(
    marks=("functionResponse", "function_response"),
    shape=shape(
        {"functionResponse": is_object},
        (
            *("thoughtSignature", "partMetadata", "mediaResolution", "mediaProcessing"),
            *("videoMetadata", "speechMetadata", "audioTranscription"),
        ),
    ),
    inner="functionResponse",
    label="part",
    envelope=_FUNCTION_RESPONSE,
)
_CONTENT = Wrapper(
    marks=("parts",),
    shape=shape({"parts": is_array}, {"role": one_of("user", "function", "tool", "model")}),
    inner="parts",
    label="message",
)


def _read_content(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    """Yield the message of a `Content`. Without a role, it is the user's."""
    yield reader.read_role_message({"role": "user", **value}, pointer, "gemini")


def _is_content(value: JsonObject) -> bool:
    """Return whether an object with `parts` is a `Content`, and no message of another dialect."""
    parts = value["parts"]
    if any(name in value for name in _FOREIGN_MEMBERS) or not is_object_array(parts):
        return False
    if value.get("role") in _ROLES:
        return not any(map(_is_typed, parts))
    return (
        "role" not in value
        and bool(parts)
        and all(not _PART_MEMBERS.isdisjoint(part) for part in parts)
    )


def _is_typed(part: JsonObject) -> bool:
    """Return whether a part has a type, or the state of a call, as in other dialects."""
    return any(part.get(name) is not None for name in ("type", "kind", "state", "part_kind"))


def _remove_annotations(part: JsonObject) -> list[JsonValue] | None:
    """Return a part without annotations of the API; `None` for a part of another dialect."""
    without_annotations = {name: part[name] for name in part if name not in _ANNOTATIONS}
    if _PART_MEMBERS.isdisjoint(without_annotations) or _is_typed(without_annotations):
        return None
    return _read_code(without_annotations) or [without_annotations]


def _read_code(part: JsonObject) -> list[JsonValue] | None:
    """Return the code that a model ran, or its output, as text."""
    for name, member in (
        *(("executableCode", "code"), ("executable_code", "code")),
        *(("codeExecutionResult", "output"), ("code_execution_result", "output")),
    ):
        code_part = part.get(name)
        if isinstance(code_part, dict) and isinstance(code_part.get(member), str):
            return [text_block(code_part[member])]
    return None


def _read_response(body: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Yield the content of the first candidate."""
    yield "/candidates/0/content", body["candidates"][0]["content"]


def _read_calling_history(body: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Yield the history that the SDK's automatic function calling has added, then the response."""
    name = next(history for history in _HISTORY_NAMES if body.get(history))
    yield from ((f"/{name}/{index}", item) for index, item in enumerate(body[name]))
    yield from _read_response(body)


def _read_parts(parts: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Yield the messages of a list of parts. Consecutive parts of one role are one message."""
    message: JsonObject = {}
    for index, part in enumerate(parts):
        members = {name for name in part if part[name] is not None} if is_object(part) else set()
        if not (isinstance(part, str) or _are_part_members(members)):
            message = {}
            yield f"/{index}", part
            continue
        text_part = {"text": part} if isinstance(part, str) else part
        role = "user" if _CALL_MEMBERS.isdisjoint(members) else "model"
        if message.get("role") == role:
            message["parts"].append(text_part)
            continue
        message = {"role": role, "parts": [text_part]}
        yield f"/{index}", message


def _are_part_members(members: Set[str]) -> bool:
    """Return whether names are those of the members of a part with content."""
    return not _PART_MEMBERS.isdisjoint(members) and members <= _PART_MEMBERS | _ANNOTATIONS


def _has_content(body: JsonObject) -> bool:
    candidates = body["candidates"]
    first = candidates[0] if is_object_array(candidates) and candidates else {}
    return isinstance(first, dict) and isinstance(first.get("content"), dict)


def _has_calling_history(body: JsonObject) -> bool:
    history = next((body[name] for name in _HISTORY_NAMES if name in body), None)
    return is_object_array(history) and bool(history)


# Messages of other dialects that have `parts` have one of these members.
_FOREIGN_MEMBERS = ("messageId", "message_id", "artifactId", "artifact_id", "kind", "content")
_ROLES = ("user", "model", "function", "tool", "system")
# The members of a part with its content.
_PART_MEMBERS = frozenset(
    {
        *("text", "thought", "inlineData", "inline_data", "fileData", "file_data"),
        *("functionCall", "function_call", "functionResponse", "function_response"),
        *("executableCode", "executable_code", "codeExecutionResult", "code_execution_result"),
        *("toolCall", "tool_call", "toolResponse", "tool_response"),
        *("thoughtSignature", "thought_signature"),
    }
)
_CALL_MEMBERS = frozenset(("functionCall", "function_call"))
# Members of a part beside its content.
_ANNOTATIONS = frozenset(
    {
        *("videoMetadata", "video_metadata", "mediaResolution", "media_resolution"),
        *("partMetadata", "part_metadata", "speechMetadata", "speech_metadata"),
        *("mediaProcessing", "media_processing", "audioTranscription", "audio_transcription"),
    }
)
# The member of a response with the history of automatic function calling, in two spellings.
_HISTORY_NAMES = ("automaticFunctionCallingHistory", "automatic_function_calling_history")
_CODE_MEMBERS = (
    "executableCode",
    "executable_code",
    "codeExecutionResult",
    "code_execution_result",
)

DIALECT = DialectTables(
    "gemini",
    (_PART, _LONE_RESPONSE, _CONTENT),
    (
        BlockForm((("inlineData", "data"), ("inline_data", "data")), "media"),
        BlockForm((("fileData", "fileUri"), ("file_data", "file_uri")), "media"),
        BlockForm((("text",),), "text"),
    ),
    has_closed_content=True,
    messages=(MessageForm(marks=("parts",), accepts=_is_content, read=_read_content),),
    message_blocks=(
        MessageBlock(marks=_CODE_MEMBERS, read=_read_code),
        MessageBlock(marks=tuple(sorted(_ANNOTATIONS)), read=_remove_annotations),
    ),
    conversations=(
        ConversationForm(
            marks=_HISTORY_NAMES,
            accepts=lambda body: (
                "candidates" in body and _has_content(body) and _has_calling_history(body)
            ),
            read=_read_calling_history,
        ),
        ConversationForm(
            marks=tuple(sorted(_PART_MEMBERS)),
            accepts=lambda part: _are_part_members(part.keys()),
            read=_read_parts,
            is_list=True,
        ),
        ConversationForm(
            marks=("candidates",), accepts=_has_content, read=_read_response, is_response=True
        ),
    ),
)
