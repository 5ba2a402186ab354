"""The common form of messages, into which all dialects are read.

A message in common form has a `role` and, under `content`, texts and blocks. Calls, results and
thoughts are blocks as the functions here write them; media may have any form that they have in tool
results.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from typing_extensions import TypeAliasType

from pagefault_dialects.json.values import JsonValue

Dialect = TypeAliasType(
    "Dialect",
    Literal[
        "openai-chat",
        "openai-responses",
        "anthropic",
        "gemini",
        "bedrock",
        "mcp",
        "langchain",
        "vercel",
    ],
)
DIALECTS: Sequence[Dialect] = get_args(Dialect.__value__)


@dataclass(frozen=True, slots=True)
class ForeignMessage:
    """One entry of a foreign history."""

    pointer: str
    """The pointer to it in the request."""
    message: dict[str, Any] | None
    """The message, with a known role; `None` for other values."""
    dialect: Dialect | None = None
    """The dialect, if the message is unique to it."""
    unknown_role: str | None = None
    """Its role, if that is unknown; `message` then has another one."""
    original_pointers: Mapping[str, str] = field(default_factory=dict)
    """The pointers of blocks in the message as it was sent, by their pointers in `message`."""
    joins: bool = False
    """It continues the previous turn, if that is the assistant's too."""
    is_apart: bool = False
    """It is the system text, which was next to the list of messages."""
    is_as_sent: bool = True
    """It has the form of requests, not that of files, logs or user interfaces."""
    sent: JsonValue = None
    """The value as it was sent, if that is one message."""
    reader: str = ""
    """The name of its dialect in the registry, which has more of them than `dialect`; empty if it
    may be of any."""

    def original_pointer(self, pointer: str) -> str:
        """Return the pointer, in the request as it was sent, of a pointer into `message`."""
        steps = pointer.split("/", 3)
        head, rest = "/".join(steps[:3]), "".join(f"/{step}" for step in steps[3:])
        return self.pointer + self.original_pointers.get(head, head) + rest


def compose_message(
    role: str,
    blocks: Iterable[tuple[str, JsonValue]],
    pointer: str,
    *,
    joins: bool = False,
    is_as_sent: bool = False,
    extra: Mapping[str, JsonValue] | None = None,
) -> ForeignMessage:
    """Return a message of blocks in common form.

    Args:
        role: `system`, `user`, `assistant` or `tool`.
        blocks: The blocks, each after the pointer to its source in the message.
        pointer: The pointer of the message.
        joins: It continues the assistant's previous turn.
        is_as_sent: It has the form of requests.
        extra: Members that the common form lacks; they are reported as omitted.
    """
    content: list[JsonValue] = []
    original_pointers: dict[str, str] = {}
    for block_pointer, block in blocks:
        original_pointers[f"/content/{len(content)}"] = block_pointer
        content.append(block)
    message = {**(extra or {}), "role": role, "content": content}
    return ForeignMessage(
        pointer, message, original_pointers=original_pointers, joins=joins, is_as_sent=is_as_sent
    )


def text_block(text: str) -> JsonValue:
    """Return a block of text."""
    return {"type": "text", "text": text}


def denial_text(reason: JsonValue) -> str:
    """Return the text for a model about a denied call, with the user's reason."""
    return f"[The user denied this call: {reason}]" if reason else "[The user denied this call.]"


def call_block(call_id: JsonValue, name: JsonValue, arguments: JsonValue) -> JsonValue:
    """Return the block of a call; the arguments are an object, or its JSON text."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result_block(
    call_id: JsonValue, name: JsonValue, content: JsonValue, *, is_error: bool = False
) -> JsonValue:
    """Return the block of a result; its content is a text, a list of blocks, or any value."""
    return {
        "type": "tool_result",
        "tool_use_id": call_id,
        "name": name,
        "content": content,
        "is_error": is_error,
    }


def thought_block(text: JsonValue = "") -> JsonValue:
    """Return the block of a model's thought, which only its own provider accepts."""
    return {"type": "thinking", "thinking": text}


def medium_block(kind: str, data: JsonValue, mime_type: JsonValue, name: JsonValue) -> JsonValue:
    """Return the block of a medium: base64, a data URI, or a URL.

    Args:
        kind: `image`, `audio`, `video` or `file`.
        data: The base64, the data URI or the URL.
        mime_type: Its type, if known.
        name: The name of the file.
    """
    is_url = isinstance(data, str) and data.startswith(("http://", "https://"))
    members = {"url" if is_url else "data": data, "mimeType": mime_type, "filename": name}
    return {"type": kind, **{key: member for key, member in members.items() if member}}


def medium_kind(mime_type: JsonValue) -> str:
    """Return `image`, `audio`, `video` or `file` for a type."""
    kind = mime_type.partition("/")[0] if isinstance(mime_type, str) else ""
    return kind if kind in ("image", "audio", "video") else "file"
