"""Tool calls and their answers in messages, in the shapes of all dialects.

OpenAI and LangChain list calls beside the content. Anthropic, Bedrock, Gemini and the Vercel AI SDK
have blocks for calls and answers.
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
from pagefault_dialects.messages.message_content import is_block, read_loss_beside
from pagefault_dialects.messages.provider_blocks import thought_signature
from pagefault_dialects.model.conversation import Omission, TurnCall
from pagefault_dialects.results.call_tool_results import CallToolResult, read_call_tool_result

_REASONING_TYPES = frozenset(
    {"thinking", "redacted_thinking", "reasoning", "reasoning_content", "redacted-reasoning"}
)
_CALL_TYPES = frozenset({"tool_use", "tool_call", "tool-call", "function_call", "custom_tool_call"})
_ANSWER_TYPES = frozenset(
    {"tool_result", "tool-result", "function_call_output", "custom_tool_call_output"}
)
_CALL_MEMBERS = ("toolUse", "functionCall", "function_call")
_ANSWER_MEMBERS = ("toolResult", "functionResponse", "function_response")

_IDS = ("toolCallId", "tool_use_id", "toolUseId", "tool_call_id", "call_id", "id")
_NAMES = ("toolName", "name")
_ARGUMENTS = ("input", "args", "arguments")
_CONTENTS = ("content", "output", "result", "response")
_DISPLAY = "_display"
_CONTENT_WRAPPERS = frozenset({"value", "reason", "output", "result", "error"})

_SURROGATE = "\\ud"
_DEEPEST = 1_024
_MAX_NODES = 250_000


@dataclass(frozen=True, slots=True)
class AnswerBlock:
    """The answer to a call, as read from a block.

    `content` is text, blocks, or any JSON value, and `parts` are blocks beside it;
    `structured` is the `structuredContent` of an MCP result, in a tuple of one.
    """

    call_id: str
    name: str
    content: JsonValue
    is_error: bool = False
    parts: tuple[JsonValue, ...] = ()
    structured: tuple[JsonValue] | None = None


def as_call(block: JsonValue, seq: int, number: int) -> TurnCall | None:
    """Return the call of a block, if it is one.

    Args:
        block: The block.
        seq: The entry. With `number`, it is the id of calls in dialects without ids.
        number: The number of calls before it in the message.
    """
    members = _find_call(block, _CALL_TYPES, _CALL_MEMBERS)
    if members is None or not is_block(block):
        return None
    return _call(members, seq, number, block)


def read_call_loss(block: dict[str, JsonValue], pointer: str) -> Iterator[Omission]:
    """Yield the members of a call that have no place in other dialects."""
    members = _find_call(block, _CALL_TYPES, _CALL_MEMBERS) or {}
    yield from _read_loss(block, members, _read(members, _ARGUMENTS), pointer)


def list_calls(message: Mapping[str, Any]) -> list[tuple[str, dict[str, JsonValue]]]:
    """Return the calls beside the content of a message, each with its pointer."""
    calls = message.get("tool_calls")
    found = [
        (f"/tool_calls/{index}", call)
        for index, call in enumerate(calls if isinstance(calls, list) else [])
        if is_block(call)
    ]
    if is_block(legacy := message.get("function_call")):
        found.append(("/function_call", legacy))
    return found


def as_listed_call(block: dict[str, JsonValue], seq: int, number: int) -> TurnCall:
    """Return the call of an element of such a list; see `as_call`."""
    return _call({**block, **_inner(block)}, seq, number)


def read_listed_call_loss(block: dict[str, JsonValue], pointer: str) -> Iterator[Omission]:
    """Yield the members of a listed call that have no place in other dialects."""
    inner = _inner(block)
    read = _read({**block, **inner}, _ARGUMENTS)
    names = _names_of(block, inner)
    yield from read_loss_beside(block, (read - inner.keys()) | names, pointer)
    for name in names:
        yield from read_loss_beside(inner, read, child_pointer(pointer, name))


def as_answer(block: JsonValue) -> AnswerBlock | None:
    """Return the answer of a block, if it is one."""
    members = _find_call(block, _ANSWER_TYPES, _ANSWER_MEMBERS)
    if members is None:
        return None
    content, failed = _content(members)
    parts = members.get("parts")
    answer = AnswerBlock(
        call_id=_text(_first(members, _IDS)),
        name=_text(_first(members, _NAMES)),
        content=content,
        is_error=failed or says_error(members),
        parts=tuple(parts) if isinstance(parts, list) else (),
    )
    result = _mcp_result(content)
    if result is None:
        return answer
    extras = (result.get("toolResult"), result.extras or None)
    structured = result.get("structuredContent")
    return replace(
        answer,
        content=result.get("content"),
        is_error=answer.is_error or result.get("isError") is True,
        parts=(*(extra for extra in extras if extra is not None), *answer.parts),
        structured=None if structured is None else (structured,),
    )


def has_own_id(call: Mapping[str, JsonValue]) -> bool:
    """Return whether a call, or an answer, has an id of its own."""
    return bool(_text(_first(call, _IDS)))


def read_answer_loss(block: dict[str, JsonValue], pointer: str) -> Iterator[Omission]:
    """Yield the members of an answer that have no place in other dialects."""
    members = _find_call(block, _ANSWER_TYPES, _ANSWER_MEMBERS) or {}
    read = _read(members, _CONTENTS) | (
        {"parts"} if isinstance(members.get("parts"), list) else set()
    )
    yield from _read_loss(block, members, read, pointer)
    outer, (inner, _) = _first(members, _CONTENTS), _content(members)
    here = child_pointer(_pointer_to(block, members, pointer), _name(members, _CONTENTS))
    if is_block(outer) and inner is not outer:
        yield from read_loss_beside(outer, _CONTENT_WRAPPERS, here)
        here = _pointer_to(outer, inner, here)
    if is_block(inner) and _mcp_result(inner) is not None:
        yield from read_loss_beside(inner, frozenset(inner.keys() - {_DISPLAY}), here)


def says_error(members: Mapping[str, JsonValue]) -> bool:
    """Return whether an answer has the error mark of any dialect."""
    flags = (members.get("is_error"), members.get("isError"))
    return True in flags or members.get("status") == "error"


def is_reasoning(block: JsonValue) -> bool:
    """Return whether a block is a thought of a model."""
    if not is_block(block):
        return False
    thought = (block.get(name) is not None for name in ("text", "inlineData", "inline_data"))
    is_thought = block.get("thought") is True and any(thought)
    is_typed = text_member(block, "type") in _REASONING_TYPES
    return is_typed or block.get("reasoningContent") is not None or is_thought


def _find_call(
    block: JsonValue, types: frozenset[str], names: tuple[str, ...]
) -> dict[str, JsonValue] | None:
    if not is_block(block):
        return None
    if text_member(block, "type") in types:
        return block
    return next((members for name in names if is_block(members := block.get(name))), None)


def _read_loss(
    block: dict[str, JsonValue], members: dict[str, JsonValue], read: frozenset[str], pointer: str
) -> Iterator[Omission]:
    if members is not block:
        yield from read_loss_beside(block, _names_of(block, members), pointer)
    yield from read_loss_beside(members, read, _pointer_to(block, members, pointer))


def _pointer_to(block: dict[str, JsonValue], members: JsonValue, pointer: str) -> str:
    return next((child_pointer(pointer, name) for name in _names_of(block, members)), pointer)


def _names_of(block: dict[str, JsonValue], inner: JsonValue) -> frozenset[str]:
    """Return the names of the members of a block whose value is an inner object."""
    return frozenset(name for name, value in block.items() if value is inner)


def _content(members: dict[str, JsonValue]) -> tuple[JsonValue, bool]:
    """Return the content of an answer without its wrapper, and whether it is an error."""
    value = _first(members, _CONTENTS)
    if not is_block(value):
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


def _mcp_result(content: JsonValue) -> CallToolResult | None:
    """Return the MCP result in a content, in any of its spellings."""
    if not is_block(content):
        return None
    return read_call_tool_result({key: content[key] for key in content if key != _DISPLAY})


def _inner(listed: dict[str, JsonValue]) -> dict[str, JsonValue]:
    inner = listed.get("function") or listed.get("custom")
    return inner if is_block(inner) else {}


def _call(
    members: Mapping[str, JsonValue],
    seq: int,
    number: int,
    block: Mapping[str, JsonValue] | None = None,
) -> TurnCall:
    arguments = _first(members, _ARGUMENTS)
    if isinstance(arguments, str):
        arguments = _parsed(arguments)
    if not isinstance(arguments, dict):
        arguments = {} if arguments is None else {"input": arguments}
    call_id = _text(_first(members, _IDS)) or f"call_{seq}_{number + 1}"
    signature = thought_signature(block or members)
    mark = members.get("cache_control")
    return TurnCall(
        *(call_id, _text(_first(members, _NAMES)), arguments),
        thought_signature=signature,
        cache_control=mark if is_block(mark) else None,
    )


def _parsed(text: str) -> JsonValue:
    """Return the arguments in a JSON text; a model may have written any text."""
    if not text.strip():
        return None
    try:
        value = parse_embedded_json(text, max_depth=_DEEPEST, max_nodes=_MAX_NODES)
        if _SURROGATE not in text.lower():
            return value
        # Escapes in the text may be halves of surrogate pairs, which no response can contain.
        return parse_repaired_json(
            text.encode(), max_depth=_DEEPEST, max_nodes=_MAX_NODES, keeps_spelling=True
        )
    except (InvalidJsonError, PayloadTooLargeError, RecursionError):
        return text


def _read(members: Mapping[str, JsonValue], contents: tuple[str, ...]) -> frozenset[str]:
    """Return the members with the id, the name and the content."""
    named = (_name(members, names) for names in (_IDS, _NAMES))
    return frozenset(
        {*(name for name in named if _text(members.get(name))), _name(members, contents)}
    )


def _name(members: Mapping[str, JsonValue], names: tuple[str, ...]) -> str:
    return next((name for name in names if members.get(name) is not None), "")


def _first(members: Mapping[str, JsonValue], names: tuple[str, ...]) -> JsonValue:
    return members.get(_name(members, names))


def _text(value: JsonValue) -> str:
    """Return an id or a name as text; some hosts use numbers."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else ""
