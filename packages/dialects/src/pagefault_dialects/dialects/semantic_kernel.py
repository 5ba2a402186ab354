"""Microsoft's Semantic Kernel: chat histories, whose messages have typed items."""

from collections.abc import Iterable, Iterator

from pagefault_dialects.dialects.envelope import DialectTables, Envelope, Wrapper
from pagefault_dialects.dialects.foreign_message import (
    ForeignMessage,
    call_block,
    compose_message,
    medium_block,
    text_block,
    thought_block,
)
from pagefault_dialects.dialects.message_forms import InnerReader, MessageForm
from pagefault_dialects.dialects.shapes import (
    accept_any,
    is_array,
    is_object,
    is_object_array,
    is_string,
    one_of,
    shape,
)
from pagefault_dialects.json.values import JsonObject, JsonValue

_COMMON_MEMBERS = {
    "metadata": is_object,
    **dict.fromkeys(("ai_model_id", "encoding", "inner_content"), accept_any),
}
_RESULT = Envelope(
    marks=(("content_type", "function_result"),),
    shape=shape(
        {"content_type": one_of("function_result"), "id": is_string, "result": accept_any},
        {
            **_COMMON_MEMBERS,
            **dict.fromkeys(("call_id", "name", "function_name", "plugin_name"), is_string),
        },
    ),
    contents=(("result",),),
    call_id=("id",),
    name=("name",),
    ignored_members=frozenset({"content_type"}),
)
_MESSAGE = Wrapper(
    marks=(("content_type", "message"),),
    shape=shape(
        {"content_type": one_of("message"), "role": one_of("tool"), "items": is_array},
        {**_COMMON_MEMBERS, **dict.fromkeys(("name", "finish_reason", "status"), accept_any)},
    ),
    inner="items",
    label="message",
    ignored_members=frozenset({"content_type"}),
)
_ROLES = {
    "developer": "system",
    **{role: role for role in ("system", "user", "assistant", "tool")},
}


def _is_message(value: JsonObject) -> bool:
    role = value.get("role")
    return isinstance(role, str) and role in _ROLES and is_object_array(value.get("items"))


def _read_message(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    blocks = [
        block
        for index, item in enumerate(value["items"])
        for block in _read_item(item, f"/items/{index}", reader)
    ]
    yield compose_message(_ROLES[value["role"]], blocks, pointer)


def _read_item(
    item: JsonObject, pointer: str, reader: InnerReader
) -> Iterable[tuple[str, JsonValue]]:
    """Return the blocks of an item of a message, each after its pointer."""
    match item.get("content_type"):
        case "text":
            return [(pointer, text_block(item.get("text") or ""))]
        case "reasoning":
            return [(pointer, thought_block(item.get("text") or ""))]
        case "function_call":
            call = call_block(item.get("id"), item.get("name"), item.get("arguments"))
            return [(pointer, call)]
        case "function_result":
            return reader.read_blocks(item, pointer)
        case "image" | "audio" | "binary" as kind if data := item.get("data_uri") or item.get(
            "uri"
        ):
            medium_type = "file" if kind == "binary" else kind
            return [(pointer, medium_block(medium_type, data, None, None))]
        case _:
            return [(pointer, item)]


DIALECT = DialectTables(
    "semantic-kernel",
    (_RESULT, _MESSAGE),
    messages=(
        MessageForm(marks=(("content_type", "message"),), accepts=_is_message, read=_read_message),
    ),
)
