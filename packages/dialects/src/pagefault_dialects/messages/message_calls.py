"""Tool calls and tool results in messages, in the shapes of all dialects.

OpenAI and LangChain list calls beside the content: `list_calls` finds them, and `read_listed_call`
reads one. Anthropic, Bedrock, Gemini and the Vercel AI SDK have blocks for calls and results, which
`read_call` and `read_tool_result` read. Some dialects have the members of a call in the block
itself, others in an object inside it, such as `{"toolUse": {…}}`.

The `note_unread_…` functions list the members that the readers ignore, for the loss account.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pagefault_dialects.dialects.vercel import DENIED
from pagefault_dialects.errors import InvalidJsonError, PayloadTooLargeError
from pagefault_dialects.json.pointers import child_pointer
from pagefault_dialects.json.values import (
    JsonValue,
    parse_embedded_json,
    parse_repaired_json,
    text_member,
)
from pagefault_dialects.messages.message_content import is_object, note_unread_members
from pagefault_dialects.messages.provider_blocks import find_call_signature
from pagefault_dialects.model.conversation import Omission, TurnCall
from pagefault_dialects.results.call_tool_results import CallToolResult, read_call_tool_result

_REASONING_TYPES = frozenset(
    {"thinking", "redacted_thinking", "reasoning", "reasoning_content", "redacted-reasoning"}
)
_CALL_TYPES = frozenset({"tool_use", "tool_call", "tool-call", "function_call", "custom_tool_call"})
_RESULT_TYPES = frozenset(
    {"tool_result", "tool-result", "function_call_output", "custom_tool_call_output"}
)
# Members of a block whose value is an object with the call or the result.
_CALL_MEMBERS = ("toolUse", "functionCall", "function_call")
_RESULT_MEMBERS = ("toolResult", "functionResponse", "function_response")

# Spellings of members, by priority: the first that is present is read.
_IDS = ("toolCallId", "tool_use_id", "toolUseId", "tool_call_id", "call_id", "id")
_NAMES = ("toolName", "name")
_ARGUMENTS = ("input", "args", "arguments")
_CONTENTS = ("content", "output", "result", "response")
# The member of a result with what people see; the model gets the other members.
_DISPLAY = "_display"
_CONTENT_WRAPPERS = frozenset({"value", "reason", "output", "result", "error"})

_SURROGATE_ESCAPE = "\\ud"
_MAX_DEPTH = 1_024
_MAX_NODES = 250_000


@dataclass(frozen=True, slots=True)
class ToolResultBlock:
    """The result of a call, as read from a block."""

    call_id: str
    """The id of the call; empty in dialects without ids."""
    name: str
    """The tool; empty in dialects that name it in the call only."""
    content: JsonValue
    """A text, a list of blocks, or any JSON value."""
    is_error: bool = False
    parts: tuple[JsonValue, ...] = ()
    """Blocks beside the content."""
    structured: tuple[JsonValue] | None = None
    """The `structuredContent` of an MCP result in a tuple of one; `None` if it has none."""


def read_call(block: JsonValue, seq: int, index: int) -> TurnCall | None:
    """Return the call in a block; `None` if the block is no call.

    Args:
        block: The block.
        seq: The number of the entry. A call without an id gets one from `seq` and `index`.
        index: The index of the call among the calls of the message.
    """
    members = _find_members(block, _CALL_TYPES, _CALL_MEMBERS)
    if members is None or not is_object(block):
        return None
    return _make_call(members, seq, index, block)


def note_unread_call_members(block: dict[str, JsonValue], pointer: str) -> Iterator[Omission]:
    """Yield a note for each member of a call in a block that `read_call` ignores."""
    members = _find_members(block, _CALL_TYPES, _CALL_MEMBERS) or {}
    yield from _note_unread(block, members, _read_names(members, _ARGUMENTS), pointer)


def list_calls(message: Mapping[str, Any]) -> list[tuple[str, dict[str, JsonValue]]]:
    """Return the calls beside the content of a message, each with its pointer."""
    calls = message.get("tool_calls")
    found = [
        (f"/tool_calls/{index}", call)
        for index, call in enumerate(calls if isinstance(calls, list) else [])
        if is_object(call)
    ]
    if is_object(legacy := message.get("function_call")):
        found.append(("/function_call", legacy))
    return found


def read_listed_call(block: dict[str, JsonValue], seq: int, index: int) -> TurnCall:
    """Return the call in an element of `list_calls`. For the other arguments see `read_call`."""
    return _make_call({**block, **_inner_object(block)}, seq, index)


def note_unread_listed_call_members(
    block: dict[str, JsonValue], pointer: str
) -> Iterator[Omission]:
    """Yield a note for each member of a listed call that `read_listed_call` ignores."""
    inner = _inner_object(block)
    read_names = _read_names({**block, **inner}, _ARGUMENTS)
    inner_names = _names_of(block, inner)
    yield from note_unread_members(block, (read_names - inner.keys()) | inner_names, pointer)
    for name in inner_names:
        yield from note_unread_members(inner, read_names, child_pointer(pointer, name))


def read_tool_result(block: JsonValue) -> ToolResultBlock | None:
    """Return the tool result in a block; `None` if the block is none."""
    members = _find_members(block, _RESULT_TYPES, _RESULT_MEMBERS)
    if members is None:
        return None
    content, is_error = _unwrap_content(members)
    parts = members.get("parts")
    result = ToolResultBlock(
        call_id=_id_text(_first_value(members, _IDS)),
        name=_id_text(_first_value(members, _NAMES)),
        content=content,
        is_error=is_error or has_error_mark(members),
        parts=tuple(parts) if isinstance(parts, list) else (),
    )
    mcp_result = _read_mcp_result(content)
    if mcp_result is None:
        return result
    extras = (mcp_result.get("toolResult"), mcp_result.extras or None)
    structured = mcp_result.get("structuredContent")
    return replace(
        result,
        content=mcp_result.get("content"),
        is_error=result.is_error or mcp_result.get("isError") is True,
        parts=(*(extra for extra in extras if extra is not None), *result.parts),
        structured=None if structured is None else (structured,),
    )


def has_id(call: Mapping[str, JsonValue]) -> bool:
    """Return whether a call or a tool result was sent with an id."""
    return bool(_id_text(_first_value(call, _IDS)))


def note_unread_result_members(block: dict[str, JsonValue], pointer: str) -> Iterator[Omission]:
    """Yield a note for each member of a tool result that `read_tool_result` ignores."""
    members = _find_members(block, _RESULT_TYPES, _RESULT_MEMBERS) or {}
    read_names = _read_names(members, _CONTENTS) | (
        {"parts"} if isinstance(members.get("parts"), list) else set()
    )
    yield from _note_unread(block, members, read_names, pointer)
    wrapper, (content, _) = _first_value(members, _CONTENTS), _unwrap_content(members)
    content_pointer = child_pointer(
        _pointer_to(block, members, pointer), _first_name(members, _CONTENTS)
    )
    if is_object(wrapper) and content is not wrapper:
        yield from note_unread_members(wrapper, _CONTENT_WRAPPERS, content_pointer)
        content_pointer = _pointer_to(wrapper, content, content_pointer)
    if is_object(content) and _read_mcp_result(content) is not None:
        read_names = frozenset(content.keys() - {_DISPLAY})
        yield from note_unread_members(content, read_names, content_pointer)


def has_error_mark(members: Mapping[str, JsonValue]) -> bool:
    """Return whether a tool result is marked as an error, in any dialect."""
    flags = (members.get("is_error"), members.get("isError"))
    return True in flags or members.get("status") == "error"


def is_reasoning(block: JsonValue) -> bool:
    """Return whether a block is a thought of a model."""
    if not is_object(block):
        return False
    contents = (block.get(name) for name in ("text", "inlineData", "inline_data"))
    is_gemini_thought = block.get("thought") is True and any(
        content is not None for content in contents
    )
    is_typed = text_member(block, "type") in _REASONING_TYPES
    return is_typed or block.get("reasoningContent") is not None or is_gemini_thought


def _find_members(
    block: JsonValue, types: frozenset[str], names: tuple[str, ...]
) -> dict[str, JsonValue] | None:
    """Return the object with the members of a call or a result; `None` if the block has neither.

    The object is the block itself, if it has one of the types, or the value of one of the names.
    """
    if not is_object(block):
        return None
    if text_member(block, "type") in types:
        return block
    return next((members for name in names if is_object(members := block.get(name))), None)


def _note_unread(
    block: dict[str, JsonValue],
    members: dict[str, JsonValue],
    read_names: frozenset[str],
    pointer: str,
) -> Iterator[Omission]:
    """Yield notes for the unread members of a block, and of the object `members` inside it."""
    if members is not block:
        yield from note_unread_members(block, _names_of(block, members), pointer)
    yield from note_unread_members(members, read_names, _pointer_to(block, members, pointer))


def _pointer_to(block: dict[str, JsonValue], inner: JsonValue, pointer: str) -> str:
    """Return the pointer of an object in a block; that of the block, if they are the same."""
    return next((child_pointer(pointer, name) for name in _names_of(block, inner)), pointer)


def _names_of(block: dict[str, JsonValue], inner: JsonValue) -> frozenset[str]:
    """Return the names of the members of a block whose value is an inner object."""
    return frozenset(name for name, value in block.items() if value is inner)


def _unwrap_content(members: dict[str, JsonValue]) -> tuple[JsonValue, bool]:
    """Return the content of a tool result without a wrapper, and whether the wrapper is an error.

    The Vercel AI SDK and Gemini wrap the content in an object that says whether it is an error.
    """
    value = _first_value(members, _CONTENTS)
    if not is_object(value):
        return value, False
    content: dict[str, JsonValue] = value
    kind = text_member(content, "type") if members.get("output") is content else ""
    if kind and text_member(members, "type") == "tool-result":
        # The output of the Vercel AI SDK has a type of its own.
        if kind == "execution-denied":
            return content.get("reason") or DENIED, True
        return content.get("value", content), kind.startswith("error")
    if members.get("response") is content and len(content) == 1:
        for name in ("output", "result", "error"):
            if name in content:
                return content[name], name == "error"
    return content, False


def _read_mcp_result(content: JsonValue) -> CallToolResult | None:
    """Return the MCP result that is the content of a tool result; `None` if it is none."""
    if not is_object(content):
        return None
    return read_call_tool_result({key: content[key] for key in content if key != _DISPLAY})


def _inner_object(listed_call: dict[str, JsonValue]) -> dict[str, JsonValue]:
    inner = listed_call.get("function") or listed_call.get("custom")
    return inner if is_object(inner) else {}


def _make_call(
    members: Mapping[str, JsonValue],
    seq: int,
    index: int,
    block: Mapping[str, JsonValue] | None = None,
) -> TurnCall:
    arguments = _first_value(members, _ARGUMENTS)
    if isinstance(arguments, str):
        arguments = _parse_arguments(arguments)
    if not isinstance(arguments, dict):
        arguments = {} if arguments is None else {"input": arguments}
    call_id = _id_text(_first_value(members, _IDS)) or f"call_{seq}_{index + 1}"
    cache_control = members.get("cache_control")
    return TurnCall(
        call_id,
        _id_text(_first_value(members, _NAMES)),
        arguments,
        thought_signature=find_call_signature(block or members),
        cache_control=cache_control if is_object(cache_control) else None,
    )


def _parse_arguments(text: str) -> JsonValue:
    """Return the value of a JSON text, or the text itself: a model may have written any text."""
    if not text.strip():
        return None
    try:
        value = parse_embedded_json(text, max_depth=_MAX_DEPTH, max_nodes=_MAX_NODES)
        if _SURROGATE_ESCAPE not in text.lower():
            return value
        # Escapes in the text may be halves of surrogate pairs, which no response can contain.
        return parse_repaired_json(
            text.encode(), max_depth=_MAX_DEPTH, max_nodes=_MAX_NODES, keeps_spelling=True
        )
    except (InvalidJsonError, PayloadTooLargeError, RecursionError):
        return text


def _read_names(members: Mapping[str, JsonValue], contents: tuple[str, ...]) -> frozenset[str]:
    """Return the names of the members from which id, tool and content are read.

    Args:
        members: The members of a call or a tool result.
        contents: The spellings of the member with the arguments or the content.
    """
    names = (_first_name(members, spellings) for spellings in (_IDS, _NAMES))
    return frozenset(
        {*(name for name in names if _id_text(members.get(name))), _first_name(members, contents)}
    )


def _first_name(members: Mapping[str, JsonValue], names: tuple[str, ...]) -> str:
    """Return the first of some names that has a value, or an empty text."""
    return next((name for name in names if members.get(name) is not None), "")


def _first_value(members: Mapping[str, JsonValue], names: tuple[str, ...]) -> JsonValue:
    return members.get(_first_name(members, names))


def _id_text(value: JsonValue) -> str:
    """Return an id or a name as text. Some hosts use numbers; other values have no text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else ""
