"""Readers of targets' messages, which return the parts whose order has rules.

These parts are texts, calls, answers (the results of calls) and thoughts. `sequence_rules.py`
checks their order. Tests check the modules that write messages with these readers, so the readers
share no code with those modules.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pagefault_dialects.json.values import JsonObject, JsonValue, text_member

Side: TypeAlias = Literal["system", "user", "assistant", "tool"]
"""The role of a message, by one name for all targets."""

_SIDES: dict[str, Side] = {
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
    "model": "assistant",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "tool": "tool",
}
_TEXT_TYPES = frozenset({"text", "input_text", "output_text", "refusal"})
_THOUGHT_TYPES = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning-file"})
# Members of messages of Chat Completions, besides `content` and `tool_calls`.
_THOUGHT_MEMBERS = ("reasoning", "reasoning_content", "thinking", "reasoning_details")
_OTHER_MEMBERS = ("refusal", "audio", "images")


@dataclass(frozen=True, slots=True)
class MessagePart:
    """A part of a message."""

    kind: Literal["text", "other", "call", "answer", "thought"]
    """`other` is any other content, such as media."""
    pointer: str
    """The JSON pointer to the part."""
    text: str = ""
    call_id: str | None = None
    """The id of the call, for a call or an answer; `None` if the message has no id."""
    name: str | None = None
    """The tool, for a call or an answer; `None` if the message does not name the tool."""
    arguments: JsonValue = None
    """The arguments of a call, as the message has them."""
    is_signed: bool = False
    """True if a call, a thought or an empty text has the model's signature."""
    is_error: bool = False
    """True if an answer is marked as failed."""
    kinds: frozenset[str] = frozenset()
    """The kinds of the parts of an answer."""


@dataclass(frozen=True, slots=True)
class MessageParts:
    """The parts of a message or an item of a target."""

    pointer: str
    """The JSON pointer to the message."""
    side: Side
    parts: tuple[MessagePart, ...]

    def of_kind(self, kind: str) -> list[MessagePart]:
        """Return the parts of a kind."""
        return [part for part in self.parts if part.kind == kind]


MessageReader: TypeAlias = Callable[[JsonObject, str], MessageParts]
"""Reads a message, given the message and the JSON pointer to it."""


def read_chat(message: JsonObject, pointer: str) -> MessageParts:
    """Read a message of Chat Completions, Mistral, Ollama or LangChain."""
    side = _parse_side(text_member(message, "role") or text_member(message, "type"))
    parts: list[MessagePart] = []
    if side == "tool":
        kinds = frozenset(
            part.kind for part in _read_parts(message.get("content"), f"{pointer}/content")
        )
        answer = _make_answer(
            pointer,
            message.get("tool_call_id"),
            name=message.get("name", message.get("tool_name")),
            is_error=message.get("status") == "error",
            kinds=kinds,
        )
        return MessageParts(pointer, side, (answer,))
    parts += (
        MessagePart("thought", f"{pointer}/{name}")
        for name in _THOUGHT_MEMBERS
        if message.get(name)
    )
    parts += _read_parts(message.get("content"), f"{pointer}/content")
    parts += (
        MessagePart("other", f"{pointer}/{name}") for name in _OTHER_MEMBERS if message.get(name)
    )
    for part_pointer, call in _iterate_objects(message.get("tool_calls"), f"{pointer}/tool_calls"):
        function = next(
            (value for name in ("function", "custom") if isinstance(value := call.get(name), dict)),
            call,
        )
        # The input of a custom tool may be any text, so it counts as valid arguments.
        arguments = {} if "input" in function else function.get("arguments", function.get("args"))
        parts.append(_make_call(part_pointer, call.get("id"), function.get("name"), arguments))
    return MessageParts(pointer, side, tuple(parts))


def read_text(message: JsonObject, pointer: str) -> MessageParts:
    """Read a message of the target `text`. Its calls and answers are text, which may be empty."""
    parts = (MessagePart("other", pointer),)
    return MessageParts(pointer, _parse_side(text_member(message, "role")), parts)


def read_item(item: JsonObject, pointer: str) -> MessageParts:
    """Read an item of OpenAI's Responses."""
    kind = text_member(item, "type") or "message"
    call_id = item.get("call_id")
    if kind == "message":
        parts = tuple(_read_parts(item.get("content"), f"{pointer}/content"))
        return MessageParts(pointer, _parse_side(text_member(item, "role")), parts)
    if kind.endswith("_output") and isinstance(call_id, str):
        return MessageParts(pointer, "tool", (MessagePart("answer", pointer, call_id=call_id),))
    if kind == "reasoning":
        part = MessagePart("thought", pointer, is_signed=True)
    elif kind.endswith("_call") and isinstance(call_id, str):
        arguments = item.get("arguments") if kind == "function_call" else {}
        part = _make_call(pointer, call_id, item.get("name", kind), arguments)
    else:
        part = MessagePart("other", pointer)
    return MessageParts(pointer, "assistant", (part,))


def read_anthropic(message: JsonObject, pointer: str) -> MessageParts:
    """Read a message of Anthropic, or of a prompt or a sampling of MCP."""
    content = message.get("content")
    if "role" not in message and "content" in message:
        return MessageParts(pointer, "tool", (_read_mcp_result(message, pointer),))
    blocks = content if isinstance(content, list | str) else [content]
    is_single_block = not isinstance(content, list)
    parts = _read_parts(blocks, f"{pointer}/content", is_single_block=is_single_block)
    return MessageParts(pointer, _parse_side(text_member(message, "role")), tuple(parts))


def _read_mcp_result(result: JsonObject, pointer: str) -> MessagePart:
    value = result.get("_meta")
    meta: JsonObject = value if isinstance(value, dict) else {}
    return _make_answer(
        pointer,
        meta.get("pagefault/toolCallId"),
        name=meta.get("pagefault/toolName"),
        is_error=result.get("isError") is True,
    )


def read_gemini(content: JsonObject, pointer: str) -> MessageParts:
    """Read a content of Gemini."""
    parts: list[MessagePart] = []
    for part_pointer, part in _iterate_objects(content.get("parts"), f"{pointer}/parts"):
        signature = part.get("thoughtSignature", part.get("thought_signature"))
        call = part.get("functionCall", part.get("function_call"))
        answer = part.get("functionResponse", part.get("function_response"))
        if isinstance(call, dict):
            call_id, name, args = call.get("id"), call.get("name"), call.get("args", {})
            parts.append(_make_call(part_pointer, call_id, name, args, is_signed=bool(signature)))
        elif isinstance(answer, dict):
            parts.append(_make_answer(part_pointer, answer.get("id"), name=answer.get("name")))
        elif part.get("thought"):
            parts.append(MessagePart("thought", part_pointer, is_signed=bool(signature)))
        elif "text" in part:
            text = text_member(part, "text")
            parts.append(MessagePart("text", part_pointer, text=text, is_signed=bool(signature)))
        else:
            parts.append(MessagePart("other", part_pointer))
    return MessageParts(pointer, _parse_side(text_member(content, "role")), tuple(parts))


def read_bedrock(message: JsonObject, pointer: str) -> MessageParts:
    """Read a message of Converse."""
    parts: list[MessagePart] = []
    for part_pointer, block in _iterate_objects(message.get("content"), f"{pointer}/content"):
        if isinstance(call := block.get("toolUse"), dict):
            parts.append(
                _make_call(part_pointer, call.get("toolUseId"), call.get("name"), call.get("input"))
            )
        elif isinstance(answer := block.get("toolResult"), dict):
            content = _iterate_objects(answer.get("content"), part_pointer)
            kinds = frozenset(
                "text" if item.keys() <= {"text", "json"} else "other" for _, item in content
            )
            call_id, is_error = answer.get("toolUseId"), answer.get("status") == "error"
            parts.append(_make_answer(part_pointer, call_id, is_error=is_error, kinds=kinds))
        elif block.get("reasoningContent") is not None:
            parts.append(MessagePart("thought", part_pointer, is_signed=True))
        elif block.get("text") is not None:
            parts.append(MessagePart("text", part_pointer, text=text_member(block, "text")))
        elif block.get("cachePoint") is None:
            parts.append(MessagePart("other", part_pointer))
    return MessageParts(pointer, _parse_side(text_member(message, "role")), tuple(parts))


def read_vercel(message: JsonObject, pointer: str) -> MessageParts:
    """Read a `ModelMessage` of the AI SDK; calls that a provider ran itself are `other` parts."""
    side = _parse_side(text_member(message, "role"))
    content = message.get("content")
    blocks = [*_iterate_objects(content, f"{pointer}/content")]
    results = [block.get("toolCallId") for _, block in blocks if block.get("type") == "tool-result"]
    parts: list[MessagePart] = []
    for part_pointer, block in blocks:
        kind, call_id = text_member(block, "type"), block.get("toolCallId")
        name, arguments = block.get("toolName"), block.get("input")
        has_result = side == "assistant" and call_id in results
        if kind == "tool-call" and not (block.get("providerExecuted") or has_result):
            parts.append(_make_call(part_pointer, call_id, name, arguments))
        elif kind == "tool-result" and side == "tool":
            parts.append(_make_answer(part_pointer, call_id, name=name))
        else:
            parts.append(_read_block(block, part_pointer))
    if isinstance(content, str):
        parts += _read_parts(content, f"{pointer}/content")
    return MessageParts(pointer, side, tuple(parts))


def read_pydantic_ai(message: JsonObject, pointer: str) -> MessageParts:
    """Read a request or a response of pydantic-ai."""
    parts: list[MessagePart] = []
    for part_pointer, part in _iterate_objects(message.get("parts"), f"{pointer}/parts"):
        name, call_id = part.get("tool_name"), part.get("tool_call_id")
        match text_member(part, "part_kind"):
            case "tool-call":
                parts.append(_make_call(part_pointer, call_id, name, part.get("args")))
            case "tool-return" | "retry-prompt" if name:
                parts.append(_make_answer(part_pointer, call_id, name=name))
            case "thinking":
                parts.append(
                    MessagePart("thought", part_pointer, is_signed=bool(part.get("signature")))
                )
            case "text" | "user-prompt" | "system-prompt":
                parts += _read_parts(part.get("content"), f"{part_pointer}/content") or [
                    MessagePart("text", part_pointer)
                ]
            case _:
                parts.append(MessagePart("other", part_pointer))
    side: Side = "assistant" if message.get("kind") == "response" else "user"
    return MessageParts(pointer, side, tuple(parts))


def read_otel_genai(message: JsonObject, pointer: str) -> MessageParts:
    """Read a message of the semantic conventions."""
    parts: list[MessagePart] = []
    for part_pointer, part in _iterate_objects(message.get("parts"), f"{pointer}/parts"):
        match text_member(part, "type"):
            case "tool_call":
                parts.append(
                    _make_call(
                        part_pointer, part.get("id"), part.get("name"), part.get("arguments")
                    )
                )
            case "tool_call_response":
                parts.append(_make_answer(part_pointer, part.get("id")))
            case "text":
                parts.append(MessagePart("text", part_pointer, text=text_member(part, "content")))
            case "reasoning":
                parts.append(MessagePart("thought", part_pointer))
            case _:
                parts.append(MessagePart("other", part_pointer))
    return MessageParts(pointer, _parse_side(text_member(message, "role")), tuple(parts))


def _parse_side(role: str) -> Side:
    return _SIDES.get(role, "user")


def _read_parts(
    content: JsonValue, pointer: str, *, is_single_block: bool = False
) -> list[MessagePart]:
    """Return the parts of content, which is a text or blocks.

    Args:
        content: The content.
        pointer: The JSON pointer to it.
        is_single_block: True if the message has one block instead of an array.
    """
    if isinstance(content, str):
        return [MessagePart("text", pointer, text=content)] if content else []
    parts: list[MessagePart] = []
    for index, block in enumerate(content if isinstance(content, list) else []):
        part_pointer = pointer if is_single_block else f"{pointer}/{index}"
        if isinstance(block, dict):
            parts.append(_read_block(block, part_pointer))
        elif isinstance(block, str):
            parts.append(MessagePart("text", part_pointer, text=block))
    return parts


def _read_block(block: JsonObject, pointer: str) -> MessagePart:
    kind = text_member(block, "type")
    if kind in _TEXT_TYPES:
        text = text_member(block, "text") or text_member(block, "refusal")
        return MessagePart("text", pointer, text=text)
    if kind in _THOUGHT_TYPES:
        is_signed = kind != "thinking" or bool(block.get("signature"))
        return MessagePart("thought", pointer, is_signed=is_signed)
    if kind == "tool_use":
        return _make_call(pointer, block.get("id"), block.get("name"), block.get("input"))
    if kind == "tool_result":
        content = block.get("content")
        kinds = frozenset(part.kind for part in _read_parts(content, pointer))
        is_error = block.get("is_error") is True or block.get("isError") is True
        call_id = block.get("tool_use_id", block.get("toolUseId"))
        return _make_answer(pointer, call_id, is_error=is_error, kinds=kinds)
    return MessagePart("other", pointer)


def _make_call(
    pointer: str,
    call_id: JsonValue,
    name: JsonValue,
    arguments: JsonValue,
    *,
    is_signed: bool = False,
) -> MessagePart:
    return MessagePart(
        "call",
        pointer,
        call_id=_text_or_none(call_id),
        name=_text_or_none(name),
        arguments=arguments,
        is_signed=is_signed,
    )


def _make_answer(
    pointer: str,
    call_id: JsonValue,
    *,
    name: JsonValue = None,
    is_error: bool = False,
    kinds: Iterable[str] = (),
) -> MessagePart:
    return MessagePart(
        "answer",
        pointer,
        call_id=_text_or_none(call_id),
        name=_text_or_none(name),
        is_error=is_error,
        kinds=frozenset(kinds),
    )


def _text_or_none(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None


def _iterate_objects(value: JsonValue, pointer: str) -> Iterator[tuple[str, JsonObject]]:
    """Yield the objects in an array, each after its pointer; nothing for other values."""
    items: Sequence[JsonValue] = value if isinstance(value, list) else ()
    for index, item in enumerate(items):
        if isinstance(item, dict):
            yield f"{pointer}/{index}", item
