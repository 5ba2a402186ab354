"""Haystack: chat messages, whose parts are texts, calls and their results."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from pagefault_dialects.dialects.envelope import DialectTables, Envelope, Wrapper, by_flag
from pagefault_dialects.dialects.foreign_message import (
    ForeignMessage,
    call_block,
    medium_block,
    thought_block,
)
from pagefault_dialects.dialects.message_forms import InnerReader, MessageBlock, MessageForm
from pagefault_dialects.dialects.shapes import (
    is_array,
    is_boolean,
    is_content,
    is_object,
    is_string,
    one_of,
    shape,
)
from pagefault_dialects.dialects.tool_output import BlockForm
from pagefault_dialects.json.values import JsonObject, JsonValue

_ORIGIN = shape(
    {"tool_name": is_string, "arguments": is_object}, {"id": is_string, "extra": is_object}
)
_RESULT = Envelope(
    marks=("origin",),
    shape=shape({"result": is_content, "origin": is_object, "error": is_boolean}),
    contents=(("result",),),
    read_as="content",
    call_id=("origin", "id"),
    name=("origin", "tool_name"),
    failure=by_flag("error"),
    ignored_members=frozenset({"error"}),
    accepts=lambda members: (
        isinstance(members["origin"], dict) and _ORIGIN.read(members["origin"]) is not None
    ),
)

# The members of messages before version 2.9.
_UNDERSCORED = ("_role", "_content", "_name", "_meta")


def _read_call(part: JsonObject) -> list[JsonValue]:
    call = part["tool_call"]
    return [call_block(call.get("id"), call.get("tool_name"), call.get("arguments"))]


def _read_thought(part: JsonObject) -> list[JsonValue]:
    return [thought_block(part["reasoning"]["reasoning_text"])]


def _read_image(part: JsonObject) -> list[JsonValue]:
    image = part["image"]
    return [medium_block("image", image["base64_image"], image.get("mime_type"), None)]


def _read_file(part: JsonObject) -> list[JsonValue]:
    file = part["file"]
    name, mime_type = file.get("filename"), file.get("mime_type")
    return [medium_block("file", file["base64_data"], mime_type, name)]


def _read_message(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    message = reader.read_role_message(value, pointer)
    # Other dialects have the same text parts, so the dialect that was found by them is replaced.
    yield replace(message, dialect=None, dialect_name="haystack", has_request_form=False)


def _is_message(value: JsonObject) -> bool:
    parts = value.get("content")
    return (
        is_string(value.get("role"))
        and isinstance(parts, list)
        and all(isinstance(part, dict) and "type" not in part for part in parts)
    )


def _read_underscored(
    value: JsonObject, pointer: str, reader: InnerReader
) -> Iterator[ForeignMessage]:
    """Yield a message of a version before 2.9, in which names of members begin with `_`."""
    renamed = {name.removeprefix("_"): item for name, item in value.items()}
    message = next(_read_message(renamed, pointer, reader))
    original_pointers = {
        f"/content/{index}": f"/_content/{index}" for index in range(len(renamed["content"]))
    }
    yield replace(message, original_pointers={"/content": "/_content", **original_pointers})


def _make_message_block(
    member: str, required: str, read: Callable[[JsonObject], list[JsonValue]]
) -> MessageBlock:
    """Return the form of a part.

    Args:
        member: The only member of the part, an object.
        required: The member that this object must have.
        read: Returns the blocks of the part in common form.
    """

    def has_required(part: JsonObject) -> bool:
        content = part[member]
        return isinstance(content, dict) and required in content

    return MessageBlock(marks=(member,), accepts=has_required, read=read)


DIALECT = DialectTables(
    "haystack",
    (
        _RESULT,
        Wrapper(
            marks=("tool_call_result",),
            shape=shape({"tool_call_result": is_object}),
            inner="tool_call_result",
            label="part",
            envelope=_RESULT,
        ),
        Wrapper(
            marks=(("role", "tool"),),
            shape=shape(
                {"role": one_of("tool"), "content": is_array},
                {"meta": is_object, "name": is_string},
            ),
            inner="content",
            label="message",
        ),
    ),
    (
        BlockForm((("text",),), "text"),
        BlockForm(
            (("image", "base64_image"),), "media", kind="image", mime_type=("image", "mime_type")
        ),
        BlockForm((("file", "base64_data"),), "media", name=("file", "filename")),
    ),
    has_closed_content=True,
    messages=(
        MessageForm(
            marks=("meta",),
            accepts=_is_message,
            read=_read_message,
        ),
        MessageForm(
            marks=("_role",),
            accepts=lambda value: (
                is_array(value.get("_content")) and value.keys() <= {*_UNDERSCORED}
            ),
            read=_read_underscored,
        ),
    ),
    message_blocks=(
        _make_message_block("tool_call", "tool_name", _read_call),
        _make_message_block("reasoning", "reasoning_text", _read_thought),
        _make_message_block("image", "base64_image", _read_image),
        _make_message_block("file", "base64_data", _read_file),
    ),
    ignored_members=frozenset(("meta", "name")),
)
