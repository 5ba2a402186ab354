"""Tool calls and their answers in messages, by the shapes that the dialects give them.

OpenAI and LangChain list calls beside the content; Anthropic, Bedrock, Gemini and the Vercel AI SDK
have blocks for calls and blocks for answers.
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
_AROUND_CONTENT = frozenset({"value", "reason", "output", "result", "error"})

_SURROGATE = "\\ud"
_DEEPEST = 1_024
_MOST_NODES = 250_000


@dataclass(frozen=True, slots=True)
class AnswerBlock:
    """The answer to a call, as a block says it.

    `content` is text, blocks, or any JSON value, and `parts` are blocks that stand beside it;
    `structured` is the `structuredContent` of an MCP result, in a tuple of one.
    """

    call_id: str
    name: str
    content: JsonValue
    is_error: bool = False
    parts: tuple[JsonValue, ...] = ()
    structured: tuple[JsonValue] | None = None


def as_call(block: JsonValue, seq: int, number: int) -> TurnCall | None:
    """Return the call that a block is, if it is one.

    Args:
        block: The block.
        seq: The entry it stands in; with `number` it makes an id where the dialect has none.
        number: How many calls stand before it in the message.
    """
    held = _find_call(block, _CALL_TYPES, _CALL_MEMBERS)
    if held is None or not is_block(block):
        return None
    return _call(held, seq, number, block)


def read_call_loss(block: dict[str, JsonValue], pointer: str) -> Iterator[Omission]:
    """Yield what a call says that no other dialect has a place for."""
    held = _find_call(block, _CALL_TYPES, _CALL_MEMBERS) or {}
    yield from _read_loss(block, held, _read(held, _ARGUMENTS), pointer)


def list_calls(message: Mapping[str, Any]) -> list[tuple[str, dict[str, JsonValue]]]:
    """Return the calls that a message lists beside its content, each with its pointer."""
    calls = message.get("tool_calls")
    found = [
        (f"/tool_calls/{index}", each)
        for index, each in enumerate(calls if isinstance(calls, list) else [])
        if is_block(each)
    ]
    if is_block(legacy := message.get("function_call")):
        found.append(("/function_call", legacy))
    return found


def as_listed_call(block: dict[str, JsonValue], seq: int, number: int) -> TurnCall:
    """Return the call that a member of such a list is; see `as_call`."""
    return _call({**block, **_inner(block)}, seq, number)


def read_listed_call_loss(block: dict[str, JsonValue], pointer: str) -> Iterator[Omission]:
    """Yield what a listed call says that no other dialect has a place for."""
    inner = _inner(block)
    read = _read({**block, **inner}, _ARGUMENTS)
    around = _around(block, inner)
    yield from read_loss_beside(block, (read - inner.keys()) | around, pointer)
    for name in around:
        yield from read_loss_beside(inner, read, child_pointer(pointer, name))


def as_answer(block: JsonValue) -> AnswerBlock | None:
    """Return the answer that a block is, if it is one."""
    held = _find_call(block, _ANSWER_TYPES, _ANSWER_MEMBERS)
    if held is None:
        return None
    content, failed = _content(held)
    parts = held.get("parts")
    answer = AnswerBlock(
        call_id=_text(_first(held, _IDS)),
        name=_text(_first(held, _NAMES)),
        content=content,
        is_error=failed or says_error(held),
        parts=tuple(parts) if isinstance(parts, list) else (),
    )
    result = _mcp_result(content)
    if result is None:
        return answer
    beside = (result.get("toolResult"), result.extras or None)
    structured = result.get("structuredContent")
    return replace(
        answer,
        content=result.get("content"),
        is_error=answer.is_error or result.get("isError") is True,
        parts=(*(each for each in beside if each is not None), *answer.parts),
        structured=None if structured is None else (structured,),
    )


def has_own_id(call: Mapping[str, JsonValue]) -> bool:
    """Return whether a call, or an answer, has an id of its own."""
    return bool(_text(_first(call, _IDS)))


def read_answer_loss(block: dict[str, JsonValue], pointer: str) -> Iterator[Omission]:
    """Yield what an answer says that no other dialect has a place for."""
    held = _find_call(block, _ANSWER_TYPES, _ANSWER_MEMBERS) or {}
    read = _read(held, _CONTENTS) | ({"parts"} if isinstance(held.get("parts"), list) else set())
    yield from _read_loss(block, held, read, pointer)
    outer, (inner, _) = _first(held, _CONTENTS), _content(held)
    here = child_pointer(_pointer_to(block, held, pointer), _name(held, _CONTENTS))
    if is_block(outer) and inner is not outer:
        yield from read_loss_beside(outer, _AROUND_CONTENT, here)
        here = _pointer_to(outer, inner, here)
    if is_block(inner) and _mcp_result(inner) is not None:
        yield from read_loss_beside(inner, frozenset(inner.keys() - {_DISPLAY}), here)


def says_error(held: Mapping[str, JsonValue]) -> bool:
    """Return whether an answer says that the tool failed, in the words of any dialect."""
    flags = (held.get("is_error"), held.get("isError"))
    return True in flags or held.get("status") == "error"


def is_reasoning(block: JsonValue) -> bool:
    """Return whether a block is what a model thought, and signed."""
    if not is_block(block):
        return False
    thought = (block.get(name) is not None for name in ("text", "inlineData", "inline_data"))
    is_thought = block.get("thought") is True and any(thought)
    is_typed = text_member(block, "type") in _REASONING_TYPES
    return is_typed or block.get("reasoningContent") is not None or is_thought


def _find_call(
    block: JsonValue, types: frozenset[str], members: tuple[str, ...]
) -> dict[str, JsonValue] | None:
    if not is_block(block):
        return None
    if text_member(block, "type") in types:
        return block
    return next((held for name in members if is_block(held := block.get(name))), None)


def _read_loss(
    block: dict[str, JsonValue], held: dict[str, JsonValue], read: frozenset[str], pointer: str
) -> Iterator[Omission]:
    if held is not block:
        yield from read_loss_beside(block, _around(block, held), pointer)
    yield from read_loss_beside(held, read, _pointer_to(block, held, pointer))


def _pointer_to(block: dict[str, JsonValue], held: JsonValue, pointer: str) -> str:
    return next((child_pointer(pointer, name) for name in _around(block, held)), pointer)


def _around(block: dict[str, JsonValue], held: JsonValue) -> frozenset[str]:
    """Return the member that holds what is read, if the block does not hold it itself."""
    return frozenset(name for name, value in block.items() if value is held)


def _content(held: dict[str, JsonValue]) -> tuple[JsonValue, bool]:
    """Return what an answer says, out of what is around it, and whether that is an error."""
    said = _first(held, _CONTENTS)
    if not is_block(said):
        return said, False
    content: dict[str, JsonValue] = said
    kind = text_member(content, "type") if held.get("output") is content else ""
    if kind and text_member(held, "type") == "tool-result":
        # The Vercel AI SDK says beside the output what it is.
        if kind == "execution-denied":
            return content.get("reason") or DENIED, True
        return content.get("value", content), kind.startswith("error")
    if held.get("response") is content and len(content) == 1:
        for name in ("output", "result", "error"):
            if name in content:
                return content[name], name == "error"
    return content, False


def _mcp_result(content: JsonValue) -> CallToolResult | None:
    """Return the MCP result that a content is, in any spelling, as results of tools are."""
    if not is_block(content):
        return None
    return read_call_tool_result({key: content[key] for key in content if key != _DISPLAY})


def _inner(listed: dict[str, JsonValue]) -> dict[str, JsonValue]:
    inner = listed.get("function") or listed.get("custom")
    return inner if is_block(inner) else {}


def _call(
    held: Mapping[str, JsonValue],
    seq: int,
    number: int,
    around: Mapping[str, JsonValue] | None = None,
) -> TurnCall:
    arguments = _first(held, _ARGUMENTS)
    if isinstance(arguments, str):
        arguments = _parsed(arguments)
    if not isinstance(arguments, dict):
        arguments = {} if arguments is None else {"input": arguments}
    call_id = _text(_first(held, _IDS)) or f"call_{seq}_{number + 1}"
    signature = thought_signature(around or held)
    mark = held.get("cache_control")
    return TurnCall(
        *(call_id, _text(_first(held, _NAMES)), arguments),
        thought_signature=signature,
        cache_control=mark if is_block(mark) else None,
    )


def _parsed(text: str) -> JsonValue:
    """Return the arguments that a text is the JSON of; a model may have written anything."""
    if not text.strip():
        return None
    try:
        value = parse_embedded_json(text, max_depth=_DEEPEST, max_nodes=_MOST_NODES)
        if _SURROGATE not in text.lower():
            return value
        # Escapes in the text may be halves of characters, which no answer can hold.
        return parse_repaired_json(
            text.encode(), max_depth=_DEEPEST, max_nodes=_MOST_NODES, spelled=True
        )
    except (InvalidJsonError, PayloadTooLargeError, RecursionError):
        return text


def _read(held: Mapping[str, JsonValue], contents: tuple[str, ...]) -> frozenset[str]:
    """Return the members that an id, a name, and what is said are read from."""
    named = (_name(held, names) for names in (_IDS, _NAMES))
    return frozenset({*(name for name in named if _text(held.get(name))), _name(held, contents)})


def _name(held: Mapping[str, JsonValue], names: tuple[str, ...]) -> str:
    return next((name for name in names if held.get(name) is not None), "")


def _first(held: Mapping[str, JsonValue], names: tuple[str, ...]) -> JsonValue:
    return held.get(_name(held, names))


def _text(value: JsonValue) -> str:
    """Return an id or a name; some hosts count their calls."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else ""
