"""The parts of a target's messages whose order matters: texts, calls, answers and thoughts.

The readers are independent of the writers, so that one checks the other.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pagefault_dialects.json.values import JsonObject, JsonValue, text_member

Side: TypeAlias = Literal["system", "user", "assistant", "tool"]

_SIDES: dict[str, Side] = {
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
    "model": "assistant",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "tool": "tool",
}
_TEXTS = frozenset({"text", "input_text", "output_text", "refusal"})
_THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning-file"})
_MEMBERS_OF_THOUGHTS = ("reasoning", "reasoning_content", "thinking", "reasoning_details")
_MEMBERS_OF_WORDS = ("refusal", "audio", "images")


@dataclass(frozen=True, slots=True)
class MessagePart:
    """A part of a message.

    `other` is any part with content that is no text. `call_id` of a call or an answer is `None` if
    the message has no id.
    """

    kind: Literal["text", "other", "call", "answer", "thought"]
    pointer: str
    """JSON pointer."""
    text: str = ""
    call_id: str | None = None
    name: str | None = None
    arguments: JsonValue = None
    is_signed: bool = False
    """True if a call, a thought or an empty text has the model's signature."""
    is_error: bool = False
    kinds: frozenset[str] = frozenset()
    """The kinds of the blocks of an answer."""


@dataclass(frozen=True, slots=True)
class SidedMessage:
    """A message or an item of a target, with its side."""

    pointer: str
    """JSON pointer."""
    side: Side
    parts: tuple[MessagePart, ...]

    def of_kind(self, kind: str) -> list[MessagePart]:
        """Return the parts of a kind."""
        return [part for part in self.parts if part.kind == kind]


MessageReader: TypeAlias = Callable[[JsonObject, str], SidedMessage]


def read_chat(message: JsonObject, pointer: str) -> SidedMessage:
    """Read a message of Chat Completions, Mistral, Ollama or LangChain."""
    side = _side(text_member(message, "role") or text_member(message, "type"))
    parts: list[MessagePart] = []
    if side == "tool":
        kinds = frozenset(
            part.kind for part in _parts(message.get("content"), f"{pointer}/content")
        )
        answered, name = message.get("tool_call_id"), message.get("name", message.get("tool_name"))
        parts.append(
            MessagePart(
                "answer",
                pointer,
                call_id=_text_or_none(answered),
                name=_text_or_none(name),
                is_error=message.get("status") == "error",
                kinds=kinds,
            )
        )
        return SidedMessage(pointer, side, tuple(parts))
    parts += (
        MessagePart("thought", f"{pointer}/{name}")
        for name in _MEMBERS_OF_THOUGHTS
        if message.get(name)
    )
    parts += _parts(message.get("content"), f"{pointer}/content")
    parts += (
        MessagePart("other", f"{pointer}/{name}") for name in _MEMBERS_OF_WORDS if message.get(name)
    )
    for place, call in _objects(message.get("tool_calls"), f"{pointer}/tool_calls"):
        called = next(
            (value for name in ("function", "custom") if isinstance(value := call.get(name), dict)),
            call,
        )
        # A custom tool accepts any text.
        arguments = {} if "input" in called else called.get("arguments", called.get("args"))
        parts.append(_call(place, call.get("id"), called.get("name"), arguments))
    return SidedMessage(pointer, side, tuple(parts))


def read_text(message: JsonObject, pointer: str) -> SidedMessage:
    """Read a message of `text`, in which calls and answers are text, and which may be empty."""
    parts = (MessagePart("other", pointer),)
    return SidedMessage(pointer, _side(text_member(message, "role")), parts)


def read_item(item: JsonObject, pointer: str) -> SidedMessage:
    """Read an item of OpenAI's Responses."""
    kind = text_member(item, "type") or "message"
    call_id = item.get("call_id")
    if kind == "message":
        parts = tuple(_parts(item.get("content"), f"{pointer}/content"))
        return SidedMessage(pointer, _side(text_member(item, "role")), parts)
    if kind.endswith("_output") and isinstance(call_id, str):
        return SidedMessage(pointer, "tool", (MessagePart("answer", pointer, call_id=call_id),))
    if kind == "reasoning":
        part = MessagePart("thought", pointer, is_signed=True)
    elif kind.endswith("_call") and isinstance(call_id, str):
        arguments = item.get("arguments") if kind == "function_call" else {}
        part = _call(pointer, call_id, item.get("name", kind), arguments)
    else:
        part = MessagePart("other", pointer)
    return SidedMessage(pointer, "assistant", (part,))


def read_anthropic(message: JsonObject, pointer: str) -> SidedMessage:
    """Read a message of Anthropic, or of a prompt or a sampling of MCP."""
    content = message.get("content")
    if "role" not in message and "content" in message:
        return SidedMessage(pointer, "tool", (_result_of_mcp(message, pointer),))
    listed = content if isinstance(content, list | str) else [content]
    parts = _parts(listed, f"{pointer}/content", is_block_alone=not isinstance(content, list))
    return SidedMessage(pointer, _side(text_member(message, "role")), tuple(parts))


def _result_of_mcp(result: JsonObject, pointer: str) -> MessagePart:
    meta = result.get("_meta")
    named: JsonObject = meta if isinstance(meta, dict) else {}
    return MessagePart(
        "answer",
        pointer,
        call_id=_text_or_none(named.get("pagefault/toolCallId")),
        name=_text_or_none(named.get("pagefault/toolName")),
        is_error=result.get("isError") is True,
    )


def read_gemini(content: JsonObject, pointer: str) -> SidedMessage:
    """Read a content of Gemini."""
    parts: list[MessagePart] = []
    for place, part in _objects(content.get("parts"), f"{pointer}/parts"):
        signature = part.get("thoughtSignature", part.get("thought_signature"))
        call = part.get("functionCall", part.get("function_call"))
        answer = part.get("functionResponse", part.get("function_response"))
        if isinstance(call, dict):
            args = call.get("args", {})
            parts.append(_call(place, call.get("id"), call.get("name"), args, bool(signature)))
        elif isinstance(answer, dict):
            call_id, name = _text_or_none(answer.get("id")), _text_or_none(answer.get("name"))
            parts.append(MessagePart("answer", place, call_id=call_id, name=name))
        elif part.get("thought"):
            parts.append(MessagePart("thought", place, is_signed=bool(signature)))
        elif "text" in part:
            text = text_member(part, "text")
            parts.append(MessagePart("text", place, text=text, is_signed=bool(signature)))
        else:
            parts.append(MessagePart("other", place))
    return SidedMessage(pointer, _side(text_member(content, "role")), tuple(parts))


def read_bedrock(message: JsonObject, pointer: str) -> SidedMessage:
    """Read a message of Converse."""
    parts: list[MessagePart] = []
    for place, block in _objects(message.get("content"), f"{pointer}/content"):
        if isinstance(call := block.get("toolUse"), dict):
            parts.append(_call(place, call.get("toolUseId"), call.get("name"), call.get("input")))
        elif isinstance(answer := block.get("toolResult"), dict):
            content = _objects(answer.get("content"), place)
            kinds = frozenset(
                "text" if item.keys() <= {"text", "json"} else "other" for _, item in content
            )
            call_id, is_error = answer.get("toolUseId"), answer.get("status") == "error"
            parts.append(_answer(place, call_id, is_error=is_error, kinds=kinds))
        elif block.get("reasoningContent") is not None:
            parts.append(MessagePart("thought", place, is_signed=True))
        elif block.get("text") is not None:
            parts.append(MessagePart("text", place, text=text_member(block, "text")))
        elif block.get("cachePoint") is None:
            parts.append(MessagePart("other", place))
    return SidedMessage(pointer, _side(text_member(message, "role")), tuple(parts))


def read_vercel(message: JsonObject, pointer: str) -> SidedMessage:
    """Read a `ModelMessage` of the AI SDK, without calls that a provider ran itself."""
    side = _side(text_member(message, "role"))
    content = message.get("content")
    blocks = [*_objects(content, f"{pointer}/content")]
    run = [call.get("toolCallId") for _, call in blocks if call.get("type") == "tool-result"]
    parts: list[MessagePart] = []
    for place, block in blocks:
        kind, call_id = text_member(block, "type"), block.get("toolCallId")
        name, arguments = block.get("toolName"), block.get("input")
        is_own = not (block.get("providerExecuted") or (side == "assistant" and call_id in run))
        if kind == "tool-call" and is_own:
            parts.append(_call(place, call_id, name, arguments))
        elif kind == "tool-result" and side == "tool":
            parts.append(_answer(place, call_id, name=name))
        else:
            parts.append(_block(block, place))
    if isinstance(content, str):
        parts += _parts(content, f"{pointer}/content")
    return SidedMessage(pointer, side, tuple(parts))


def read_pydantic_ai(message: JsonObject, pointer: str) -> SidedMessage:
    """Read a request or a response of pydantic-ai."""
    parts: list[MessagePart] = []
    for place, part in _objects(message.get("parts"), f"{pointer}/parts"):
        name, call_id = part.get("tool_name"), part.get("tool_call_id")
        match text_member(part, "part_kind"):
            case "tool-call":
                parts.append(_call(place, call_id, name, part.get("args")))
            case "tool-return" | "retry-prompt" if name:
                parts.append(_answer(place, call_id, name=name))
            case "thinking":
                parts.append(MessagePart("thought", place, is_signed=bool(part.get("signature"))))
            case "text" | "user-prompt" | "system-prompt":
                parts += _parts(part.get("content"), f"{place}/content") or [
                    MessagePart("text", place)
                ]
            case _:
                parts.append(MessagePart("other", place))
    side: Side = "assistant" if message.get("kind") == "response" else "user"
    return SidedMessage(pointer, side, tuple(parts))


def read_otel_genai(message: JsonObject, pointer: str) -> SidedMessage:
    """Read a message of the semantic conventions."""
    parts: list[MessagePart] = []
    for place, part in _objects(message.get("parts"), f"{pointer}/parts"):
        match text_member(part, "type"):
            case "tool_call":
                parts.append(_call(place, part.get("id"), part.get("name"), part.get("arguments")))
            case "tool_call_response":
                parts.append(_answer(place, part.get("id")))
            case "text":
                parts.append(MessagePart("text", place, text=text_member(part, "content")))
            case "reasoning":
                parts.append(MessagePart("thought", place))
            case _:
                parts.append(MessagePart("other", place))
    return SidedMessage(pointer, _side(text_member(message, "role")), tuple(parts))


def _side(role: str) -> Side:
    return _SIDES.get(role, "user")


def _parts(content: JsonValue, pointer: str, *, is_block_alone: bool = False) -> list[MessagePart]:
    """Return the parts of a content: a text, or blocks; empty for an empty text."""
    if isinstance(content, str):
        return [MessagePart("text", pointer, text=content)] if content else []
    parts: list[MessagePart] = []
    for index, block in enumerate(content if isinstance(content, list) else []):
        place = pointer if is_block_alone else f"{pointer}/{index}"
        if isinstance(block, dict):
            parts.append(_block(block, place))
        elif isinstance(block, str):
            parts.append(MessagePart("text", place, text=block))
    return parts


def _block(block: JsonObject, pointer: str) -> MessagePart:
    kind = text_member(block, "type")
    if kind in _TEXTS:
        text = text_member(block, "text") or text_member(block, "refusal")
        return MessagePart("text", pointer, text=text)
    if kind in _THOUGHTS:
        is_signed = kind != "thinking" or bool(block.get("signature"))
        return MessagePart("thought", pointer, is_signed=is_signed)
    if kind == "tool_use":
        return _call(pointer, block.get("id"), block.get("name"), block.get("input"))
    if kind == "tool_result":
        content = block.get("content")
        kinds = frozenset(part.kind for part in _parts(content, pointer))
        is_error = block.get("is_error") is True or block.get("isError") is True
        answered = block.get("tool_use_id", block.get("toolUseId"))
        return _answer(pointer, answered, is_error=is_error, kinds=kinds)
    return MessagePart("other", pointer)


def _call(
    pointer: str,
    call_id: JsonValue,
    name: JsonValue,
    arguments: JsonValue,
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


def _answer(
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


def _objects(value: JsonValue, pointer: str) -> Iterator[tuple[str, JsonObject]]:
    listed: Sequence[JsonValue] = value if isinstance(value, list) else ()
    for index, item in enumerate(listed):
        if isinstance(item, dict):
            yield f"{pointer}/{index}", item
