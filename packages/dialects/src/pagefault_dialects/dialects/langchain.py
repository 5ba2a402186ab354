"""LangChain: messages from `model_dump`, `messages_to_dict` and `dumpd`."""

from collections.abc import Iterator

from pagefault_dialects.dialects.envelope import DialectTables, Envelope, Wrapper, by_value
from pagefault_dialects.dialects.foreign_message import ForeignMessage
from pagefault_dialects.dialects.mark_index import Mark
from pagefault_dialects.dialects.message_forms import InnerReader, MessageForm
from pagefault_dialects.dialects.shapes import (
    Check,
    accept_any,
    is_content,
    is_object,
    is_object_array,
    is_string,
    one_of,
    shape,
)
from pagefault_dialects.json.values import JsonObject

_STATUS = one_of("success", "error")
_OTHER_MEMBERS = {
    **dict.fromkeys(("additional_kwargs", "response_metadata"), is_object),
    **dict.fromkeys(("name", "id"), is_string),
    "artifact": accept_any,
    "status": _STATUS,
    "tool_call_id": is_string,
}
_FAILURE = by_value("status", "error", success=("success",))


def _make_tool_message_envelope(*marks: Mark, requires_type: bool) -> Envelope:
    """Return the envelope of a tool message.

    Args:
        marks: The members, or values of members, by which the message is found.
        requires_type: Whether the message must have its type.
    """
    required: dict[str, Check] = {"content": is_content, "tool_call_id": is_string}
    optional = {name: check for name, check in _OTHER_MEMBERS.items() if name not in required}
    (required if requires_type else optional)["type"] = one_of("tool")
    return Envelope(
        marks=marks,
        shape=shape(required, optional),
        contents=(("content",),),
        read_as="content",
        call_id=("tool_call_id",),
        name=("name",),
        failure=_FAILURE,
        ignored_members=frozenset({"type", "status"}),
    )


# `messages_to_dict` and `dumpd` wrap the message, and write its type into the wrapper.
_INNER = _make_tool_message_envelope(requires_type=False)


def _is_tool_message(value: object) -> bool:
    """Return whether the path of a class, as `dumpd` writes it, is that of `ToolMessage`."""
    return isinstance(value, list) and value[-1:] == ["ToolMessage"]


def _read_dumped(value: JsonObject, pointer: str, reader: InnerReader) -> list[ForeignMessage]:
    """Read a message from `dumpd`, which writes the class and its arguments."""
    class_path = value.get("id")
    kind = str(class_path[-1]) if isinstance(class_path, list) and class_path else ""
    return reader.read_message({"type": kind, **value["kwargs"]}, f"{pointer}/kwargs")


def _read_data(value: JsonObject, pointer: str, reader: InnerReader) -> list[ForeignMessage]:
    """Read a message from `messages_to_dict`."""
    inner = {**value["data"], "type": value["type"]}
    return reader.read_message(inner, f"{pointer}/data")


def _read_typed(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    role = value["role"] if "role" in value else _ROLES[value["type"]]
    yield reader.read_role_message({**value, "role": role}, pointer, "langchain")


def _read_role(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    yield reader.read_role_message(value, pointer, "langchain")


def _is_untyped_result(value: JsonObject) -> bool:
    """Return whether an object is a tool message without a type.

    `model_dump(exclude_unset=True)` omits the type.
    """
    has_required = is_string(value["tool_call_id"]) and is_content(value.get("content"))
    return has_required and value.keys() <= {"content", *_OTHER_MEMBERS}


def _read_untyped_result(
    value: JsonObject, pointer: str, reader: InnerReader
) -> Iterator[ForeignMessage]:
    yield reader.read_role_message({**value, "role": "tool"}, pointer, "langchain")


def _has_langchain_members(value: JsonObject) -> bool:
    """Return whether a message with a role has calls or other members as LangChain writes them."""
    if (
        not isinstance(value.get("role"), str)
        or "content" not in value
        or _may_be_llama_index(value)
    ):
        return False
    calls = value.get("tool_calls")
    first = calls[0] if isinstance(calls, list) and calls else None
    return any(value.get(name) for name in _LANGCHAIN_MEMBERS) or (
        isinstance(first, dict) and "args" in first
    )


def _may_be_llama_index(value: JsonObject) -> bool:
    """Return whether a message may be of LlamaIndex, whose messages have only these members."""
    return value.keys() <= {"role", "content", "additional_kwargs"} and "tool_calls" not in value


_LANGCHAIN_MEMBERS = ("additional_kwargs", "response_metadata", "invalid_tool_calls")
_TYPE_ROLES = {
    **{kind: kind for kind in ("system", "tool", "function", "developer")},
    **{"human": "user", "ai": "assistant", "chat": "user"},
}
_CLASS_NAMES = {"ai": "AI"}
# The types of the class of messages with any role.
_GENERIC_TYPES = ("chat", "ChatMessage", "ChatMessageChunk", "chatMessageChunk")
# The roles of messages by their type: `ai`, `AIMessage`, `AIMessageChunk`, `aiMessageChunk`.
_ROLES = {
    spelling: role
    for kind, role in _TYPE_ROLES.items()
    for name in (_CLASS_NAMES.get(kind, kind.title()),)
    for spelling in (kind, f"{name}Message", f"{name}MessageChunk", f"{kind}MessageChunk")
}

DIALECT = DialectTables(
    "langchain",
    (
        _make_tool_message_envelope(("type", "tool"), requires_type=True),
        # `model_dump(exclude_unset=True)` omits the type.
        _make_tool_message_envelope("tool_call_id", requires_type=False),
        Wrapper(
            marks=(("type", "tool"),),
            shape=shape({"type": one_of("tool"), "data": is_object}),
            inner="data",
            label="message",
            envelope=_INNER,
        ),
        Wrapper(
            marks=(("type", "constructor"),),
            shape=shape(
                {
                    "lc": lambda value: isinstance(value, int),
                    "type": one_of("constructor"),
                    "id": _is_tool_message,
                    "kwargs": is_object,
                },
                {"name": is_string},
            ),
            inner="kwargs",
            label="constructor",
            envelope=_INNER,
            # The class is implied by the dialect.
            ignored_members=frozenset({"lc", "type", "id", "name"}),
        ),
        Wrapper(
            marks=("messages",),
            shape=shape({"messages": is_object_array}),
            inner="messages",
            label="state",
        ),
    ),
    messages=(
        MessageForm(
            marks=("lc",),
            accepts=lambda value: isinstance(value.get("kwargs"), dict),
            read=_read_dumped,
        ),
        MessageForm(
            marks=("data",),
            accepts=lambda value: (
                isinstance(value["data"], dict)
                and "content" in value["data"]
                and isinstance(value.get("type"), str)
            ),
            read=_read_data,
        ),
        MessageForm(
            marks=tuple(("type", kind) for kind in _ROLES),
            # Messages have no `role`, except those of the generic class, which accepts any role.
            accepts=lambda value: (
                "content" in value and ("role" not in value or value["type"] in _GENERIC_TYPES)
            ),
            read=_read_typed,
        ),
        MessageForm(marks=("tool_call_id",), accepts=_is_untyped_result, read=_read_untyped_result),
        MessageForm(
            marks=(*_LANGCHAIN_MEMBERS, "tool_calls"),
            accepts=_has_langchain_members,
            read=_read_role,
        ),
    ),
    ignored_members=frozenset(
        (
            *("id", "type", "example", "response_metadata", "usage_metadata", "invalid_tool_calls"),
            *("artifact", "additional_kwargs", "tool_call_chunks", "chunk_position"),
        )
    ),
)
