"""OpenTelemetry's conventions for generative AI: messages of parts, in attributes of spans."""

import json
from collections.abc import Iterator

from pagefault_dialects.dialects.envelope import DialectTables, Envelope, Wrapper
from pagefault_dialects.dialects.foreign_message import (
    ForeignMessage,
    call_block,
    compose_message,
    medium_block,
    result_block,
    text_block,
    thought_block,
)
from pagefault_dialects.dialects.message_forms import (
    ConversationForm,
    InnerReader,
    MessageForm,
)
from pagefault_dialects.dialects.shapes import (
    accept_any,
    is_array,
    is_object_array,
    is_string,
    one_of,
    shape,
)
from pagefault_dialects.json.values import JsonObject, JsonValue


def _make_response_envelope(member: str) -> Envelope:
    """Return the envelope of a part with the result of a call, which is in this member."""
    return Envelope(
        marks=(("type", "tool_call_response"),),
        shape=shape(
            {"type": one_of("tool_call_response"), "id": is_string, member: accept_any},
            nullable=("id", member),
        ),
        contents=((member,),),
        call_id=("id",),
    )


_ROLES = {
    **{role: role for role in ("system", "user", "assistant", "tool")},
    "developer": "system",
    "model": "assistant",
}
_DISTINCTIVE_TYPES = frozenset(
    {
        *("tool_call", "tool_call_response", "blob", "uri", "file", "server_tool_call"),
        *("server_tool_call_response", "compaction"),
    }
)
_SYSTEM_ATTRIBUTE = "gen_ai.system_instructions"
_MESSAGE_ATTRIBUTES = ("gen_ai.input.messages", "gen_ai.output.messages")


_is_role = one_of(*_ROLES)
_has_distinctive_type = one_of(*_DISTINCTIVE_TYPES)
_has_common_type = one_of("text", "reasoning")


def _is_message(value: JsonObject) -> bool:
    parts = value["parts"]
    return _is_role(value.get("role")) and is_object_array(parts) and any(map(_is_part, parts))


def _is_part(part: JsonObject) -> bool:
    kind = part.get("type")
    return _has_distinctive_type(kind) or (_has_common_type(kind) and "content" in part)


def _read_message(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    del reader
    parts = [(f"/parts/{index}", _convert_part(part)) for index, part in enumerate(value["parts"])]
    yield compose_message(_ROLES[value["role"]], parts, pointer)


def _convert_part(part: JsonObject) -> JsonValue:
    """Return a part in common form."""
    content = part.get("content")
    match part.get("type"):
        case "text" | "compaction" if isinstance(content, str):
            return text_block(content)
        case "reasoning":
            return thought_block(content)
        case "tool_call" | "server_tool_call" as kind:
            arguments = part.get("arguments") if kind == "tool_call" else _without_type(part, kind)
            return call_block(part.get("id"), part.get("name"), arguments)
        case "tool_call_response" | "server_tool_call_response" as kind:
            is_function = kind == "tool_call_response"
            response = part.get("response", part.get("result", ""))
            output = response if is_function else _without_type(part, kind)
            return result_block(part.get("id"), None, output)
        case "blob" | "uri":
            data = content if part["type"] == "blob" else part.get("uri")
            kind = part.get("modality")
            media_kind = kind if kind in ("image", "audio", "video") else "file"
            return medium_block(str(media_kind), data, part.get("mime_type"), None)
        case _:
            return part


def _without_type(part: JsonObject, member: str) -> JsonValue:
    """Return the member of a part, without its `type` if it is an object."""
    value = part.get(member)
    if not isinstance(value, dict):
        return value
    return {name: item for name, item in value.items() if name != "type"}


def _has_messages(value: JsonObject) -> bool:
    return any(_read_list(value.get(name)) for name in _MESSAGE_ATTRIBUTES)


def _read_list(value: JsonValue) -> list[JsonObject]:
    """Return the list of objects in an attribute. Most exporters write it as JSON text."""
    if isinstance(value, str) and value.startswith("["):
        try:
            value = json.loads(value)
        except ValueError:
            return []
    return value if is_object_array(value) else []


def _read_attributes(value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Yield the input and the output messages in the attributes of a span."""
    for name in _MESSAGE_ATTRIBUTES:
        for index, item in enumerate(_read_list(value.get(name))):
            yield f"/{name}/{index}", item


def _read_prompt(value: JsonObject) -> JsonObject:
    """Return the system instructions and the model in the attributes of a span."""
    texts = [
        part["content"] for part in _read_list(value.get(_SYSTEM_ATTRIBUTE)) if "content" in part
    ]
    model = value.get("gen_ai.request.model")
    prompt = {"instructions": "\n\n".join(map(str, texts)), "model": model}
    return {name: item for name, item in prompt.items() if item}


DIALECT = DialectTables(
    "otel-genai",
    (
        _make_response_envelope("response"),
        # Earlier versions of the conventions used this name.
        _make_response_envelope("result"),
        Wrapper(
            marks=(("role", "tool"),),
            shape=shape(
                {"role": one_of("tool"), "parts": is_array},
                {"name": is_string, "finish_reason": is_string},
            ),
            inner="parts",
            label="message",
        ),
    ),
    messages=(MessageForm(marks=("parts",), accepts=_is_message, read=_read_message),),
    conversations=(
        ConversationForm(
            marks=_MESSAGE_ATTRIBUTES,
            accepts=_has_messages,
            read=_read_attributes,
            prompt=_read_prompt,
        ),
    ),
)
