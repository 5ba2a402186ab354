"""LangChain: messages in their three dumps."""

from collections.abc import Iterator

from pagefault_dialects.dialects.envelope import Dialect, Envelope, Wrapper, by_word
from pagefault_dialects.dialects.foreign_message import ForeignMessage
from pagefault_dialects.dialects.mark_index import Mark
from pagefault_dialects.dialects.message_forms import InnerReader, MessageForm
from pagefault_dialects.dialects.shapes import (
    anything,
    content,
    items,
    objects,
    one_of,
    record,
    shape,
    string,
)
from pagefault_dialects.json.values import JsonObject

_STATUS = one_of("success", "error")
_BESIDE = {
    **dict.fromkeys(("additional_kwargs", "response_metadata"), record),
    **dict.fromkeys(("name", "id"), string),
    "artifact": anything,
    "status": _STATUS,
    "tool_call_id": string,
}
_FAILURE = by_word("status", "error", success=("success",))


def _message(*marks: Mark, type_is_needed: bool) -> Envelope:
    required = {"content": content, "tool_call_id": string}
    optional = {name: check for name, check in _BESIDE.items() if name not in required}
    kind = {"type": one_of("tool")}
    return Envelope(
        marks=marks,
        shape=shape(
            {**required, **(kind if type_is_needed else {})},
            {**optional, **({} if type_is_needed else kind)},
        ),
        contents=(("content",),),
        reading="content",
        call_id=("tool_call_id",),
        name=("name",),
        failure=_FAILURE,
        frame=frozenset({"type", "status"}),
    )


# In the two wrapping dumps, the type of the message is outside as well.
_INNER = _message(type_is_needed=False)


def _is_tool_message(value: object) -> bool:
    return items(value) and isinstance(value, list) and value[-1:] == ["ToolMessage"]


def _read_dumped(value: JsonObject, pointer: str, reader: InnerReader) -> list[ForeignMessage]:
    """Return the message of `dumpd`, which has the class next to its arguments."""
    named = value.get("id")
    kind = str(named[-1]) if isinstance(named, list) and named else ""
    return reader.read_message({"type": kind, **value["kwargs"]}, f"{pointer}/kwargs")


def _read_data(value: JsonObject, pointer: str, reader: InnerReader) -> list[ForeignMessage]:
    """Return the message of `messages_to_dict`."""
    inner = {**value["data"], "type": value["type"]}
    return reader.read_message(inner, f"{pointer}/data")


def _read_typed(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    role = value["role"] if "role" in value else _ROLES[value["type"]]
    yield reader.read_role_message({**value, "role": role}, pointer, "langchain")


def _read_role(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    yield reader.read_role_message(value, pointer, "langchain")


def _is_untyped_answer(value: JsonObject) -> bool:
    """Return whether a message is a tool's, dumped without unset members such as its type."""
    has_needed = string(value["tool_call_id"]) and content(value.get("content"))
    return has_needed and value.keys() <= {"content", *_BESIDE}


def _read_answer(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    yield reader.read_role_message({**value, "role": "tool"}, pointer, "langchain")


def _has_own_members(value: JsonObject) -> bool:
    if not isinstance(value.get("role"), str) or "content" not in value or _is_bare(value):
        return False
    calls = value.get("tool_calls")
    first = calls[0] if isinstance(calls, list) and calls else None
    return any(value.get(name) for name in _OWN) or (isinstance(first, dict) and "args" in first)


def _is_bare(value: JsonObject) -> bool:
    """Return whether a message is LlamaIndex's, which has only one of the members."""
    return value.keys() <= {"role", "content", "additional_kwargs"} and "tool_calls" not in value


_OWN = ("additional_kwargs", "response_metadata", "invalid_tool_calls")
_KINDS = {
    **{kind: kind for kind in ("system", "tool", "function", "developer")},
    **{"human": "user", "ai": "assistant", "chat": "user"},
}
_CLASSES = {"ai": "AI"}
_OF_ANY_ROLE = ("chat", "ChatMessage", "ChatMessageChunk", "chatMessageChunk")
_ROLES = {
    spelled: role
    for kind, role in _KINDS.items()
    for name in (_CLASSES.get(kind, kind.title()),)
    for spelled in (kind, f"{name}Message", f"{name}MessageChunk", f"{kind}MessageChunk")
}

DIALECT = Dialect(
    "langchain",
    (
        _message(("type", "tool"), type_is_needed=True),
        # Dumps without unset members lack the type.
        _message("tool_call_id", type_is_needed=False),
        Wrapper(
            marks=(("type", "tool"),),
            shape=shape({"type": one_of("tool"), "data": record}),
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
                    "kwargs": record,
                },
                {"name": string},
            ),
            inner="kwargs",
            label="constructor",
            envelope=_INNER,
            # The dialect implies the class.
            frame=frozenset({"lc", "type", "id", "name"}),
        ),
        Wrapper(
            marks=("messages",), shape=shape({"messages": objects}), inner="messages", label="state"
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
            # Only a message of a generic role has one.
            accepts=lambda value: (
                "content" in value and ("role" not in value or value["type"] in _OF_ANY_ROLE)
            ),
            read=_read_typed,
        ),
        MessageForm(marks=("tool_call_id",), accepts=_is_untyped_answer, read=_read_answer),
        MessageForm(marks=(*_OWN, "tool_calls"), accepts=_has_own_members, read=_read_role),
    ),
    frame=frozenset(
        (
            *("id", "type", "example", "response_metadata", "usage_metadata", "invalid_tool_calls"),
            *("artifact", "additional_kwargs", "tool_call_chunks", "chunk_position"),
        )
    ),
)
