"""Reads tool calls and tool results in messages, in the shapes of all dialects.

OpenAI and LangChain list calls beside the content: `list_calls` finds them, and `read_listed_call`
reads one. Anthropic, Bedrock, Gemini and the Vercel AI SDK have blocks for calls and results, which
`read_call` and `read_tool_result` read. The members of a call are in the block itself, or in an
object inside the block, such as `{"toolUse": {…}}`.

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

# The names of a member in different dialects. The first name with a value is read.
_ID_NAMES = ("toolCallId", "tool_use_id", "toolUseId", "tool_call_id", "call_id", "id")
_TOOL_NAMES = ("toolName", "name")
_ARGUMENT_NAMES = ("input", "args", "arguments")
_CONTENT_NAMES = ("content", "output", "result", "response")
# The member of a result that is shown to people only. The model gets the other members.
_DISPLAY = "_display"
# Members of an object around the content that `_unwrap_content` reads.
_WRAPPED_NAMES = frozenset({"value", "reason", "output", "result", "error"})

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
    """Blocks of the result that are not in its content."""
    structured: tuple[JsonValue] | None = None
    """The `structuredContent` of an MCP result in a tuple of one; `None` if it has none."""


def read_call(block: JsonValue, seq: int, index: int) -> TurnCall | None:
    """Return the call in a block; `None` if the block has none.

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
    yield from _note_unread(block, members, _find_read_names(members, _ARGUMENT_NAMES), pointer)


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
    return _make_call({**block, **_find_function(block)}, seq, index)


def note_unread_listed_call_members(
    block: dict[str, JsonValue], pointer: str
) -> Iterator[Omission]:
    """Yield a note for each member of a listed call that `read_listed_call` ignores."""
    function = _find_function(block)
    read_names = _find_read_names({**block, **function}, _ARGUMENT_NAMES)
    function_names = _find_names(block, function)
    yield from note_unread_members(block, (read_names - function.keys()) | function_names, pointer)
    for name in function_names:
        yield from note_unread_members(function, read_names, child_pointer(pointer, name))


def read_tool_result(block: JsonValue) -> ToolResultBlock | None:
    """Return the tool result in a block; `None` if the block has none."""
    members = _find_members(block, _RESULT_TYPES, _RESULT_MEMBERS)
    if members is None:
        return None
    content, is_error = _unwrap_content(members)
    parts = members.get("parts")
    result = ToolResultBlock(
        call_id=_find_id(members, _ID_NAMES),
        name=_find_id(members, _TOOL_NAMES),
        content=content,
        is_error=is_error or has_error_mark(members),
        parts=tuple(parts) if isinstance(parts, list) else (),
    )
    mcp_result = _read_mcp_result(content)
    if mcp_result is None:
        return result
    # `toolResult` has the result in the first version of MCP.
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
    return bool(_find_id(call, _ID_NAMES))


def note_unread_result_members(block: dict[str, JsonValue], pointer: str) -> Iterator[Omission]:
    """Yield a note for each member of a tool result that `read_tool_result` ignores."""
    members = _find_members(block, _RESULT_TYPES, _RESULT_MEMBERS) or {}
    read_names = _find_read_names(members, _CONTENT_NAMES) | (
        {"parts"} if isinstance(members.get("parts"), list) else set()
    )
    yield from _note_unread(block, members, read_names, pointer)
    content_name = _find_first_name(members, _CONTENT_NAMES)
    content_pointer = child_pointer(_find_pointer(block, members, pointer), content_name)
    wrapper = members.get(content_name)
    content, _ = _unwrap_content(members)
    if is_object(wrapper) and content is not wrapper:
        yield from note_unread_members(wrapper, _WRAPPED_NAMES, content_pointer)
        content_pointer = _find_pointer(wrapper, content, content_pointer)
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

    The object is the block itself if it has one of the types. Otherwise it is the member of the
    block with one of the names.
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
        yield from note_unread_members(block, _find_names(block, members), pointer)
    yield from note_unread_members(members, read_names, _find_pointer(block, members, pointer))


def _find_pointer(block: dict[str, JsonValue], inner: JsonValue, pointer: str) -> str:
    """Return the pointer to a member of a block; the pointer to the block, if it is the block.

    Args:
        block: The block.
        inner: The value of the member, or the block.
        pointer: The pointer to the block.
    """
    return next((child_pointer(pointer, name) for name in _find_names(block, inner)), pointer)


def _find_names(block: dict[str, JsonValue], inner: JsonValue) -> frozenset[str]:
    """Return the names of the members of a block that have this very value."""
    return frozenset(name for name, value in block.items() if value is inner)


def _unwrap_content(members: dict[str, JsonValue]) -> tuple[JsonValue, bool]:
    """Return the content of a tool result, and whether an object around it marks an error.

    The Vercel AI SDK and Gemini wrap the content in an object that may mark it as an error.
    """
    value = members.get(_find_first_name(members, _CONTENT_NAMES))
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
    """Return the content of a tool result as a result of MCP; `None` if it is something else."""
    if not is_object(content):
        return None
    return read_call_tool_result({key: content[key] for key in content if key != _DISPLAY})


def _find_function(listed_call: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the object with name and arguments in a listed call; an empty object without one."""
    function = listed_call.get("function") or listed_call.get("custom")
    return function if is_object(function) else {}


def _make_call(
    members: Mapping[str, JsonValue],
    seq: int,
    index: int,
    block: Mapping[str, JsonValue] | None = None,
) -> TurnCall:
    """Return a call.

    Args:
        members: The members of the call.
        seq: The number of the entry.
        index: The index of the call in the message.
        block: The block around the members, which may have the signature of the call.
    """
    arguments = members.get(_find_first_name(members, _ARGUMENT_NAMES))
    if isinstance(arguments, str):
        arguments = _parse_arguments(arguments)
    if not isinstance(arguments, dict):
        arguments = {} if arguments is None else {"input": arguments}
    call_id = _find_id(members, _ID_NAMES) or f"call_{seq}_{index + 1}"
    cache_control = members.get("cache_control")
    return TurnCall(
        call_id,
        _find_id(members, _TOOL_NAMES),
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


def _find_read_names(
    members: Mapping[str, JsonValue], content_names: tuple[str, ...]
) -> frozenset[str]:
    """Return the names of the members from which id, tool, and arguments or content are read.

    Args:
        members: The members of a call or a tool result.
        content_names: The names of the member with the arguments or the content.
    """
    names = (_find_first_name(members, names) for names in (_ID_NAMES, _TOOL_NAMES))
    read_names = {name for name in names if _format_id(members.get(name))}
    return frozenset({*read_names, _find_first_name(members, content_names)})


def _find_first_name(members: Mapping[str, JsonValue], names: tuple[str, ...]) -> str:
    """Return the first of some names that has a value; an empty string if none has one."""
    return next((name for name in names if members.get(name) is not None), "")


def _find_id(members: Mapping[str, JsonValue], names: tuple[str, ...]) -> str:
    """Return the id or the tool under one of some names; an empty string without one."""
    return _format_id(members.get(_find_first_name(members, names)))


def _format_id(value: JsonValue) -> str:
    """Return an id or a name as text, also a number; an empty string for other values."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else ""
