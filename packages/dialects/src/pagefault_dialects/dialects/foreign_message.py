"""The common form of messages, into which all dialects are read.

A common message has a `role` and, under `content`, texts and blocks. Calls, answers and thoughts
are blocks of these forms, and media have any form of media in results of tools.
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
    """The unknown role, if its role is unknown."""
    places: Mapping[str, str] = field(default_factory=dict)
    """The original places of blocks, by their places in `message`."""
    joins: bool = False
    """True if it continues the previous turn, if that is the assistant's as well."""
    is_apart: bool = False
    """True for the system text next to the list of messages."""
    is_as_sent: bool = True
    """True for forms of requests, false for those of files, logs or interfaces."""
    sent: JsonValue = None
    """The sent value, if it is one message."""
    reader: str = ""
    """The dialect in the registry that it is written in; empty for text of any dialect."""

    def place(self, pointer: str) -> str:
        """Return the original place of a pointer into the message."""
        steps = pointer.split("/", 3)
        head, rest = "/".join(steps[:3]), "".join(f"/{step}" for step in steps[3:])
        return self.pointer + self.places.get(head, head) + rest


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
        blocks: Each with the pointer to its source in the message.
        pointer: The message.
        joins: Whether it continues the assistant's previous turn.
        is_as_sent: Whether it is in a form of requests.
        extra: Members outside of the common form, to be reported as omitted.
    """
    content: list[JsonValue] = []
    places: dict[str, str] = {}
    for place, block in blocks:
        places[f"/content/{len(content)}"] = place
        content.append(block)
    message = {**(extra or {}), "role": role, "content": content}
    return ForeignMessage(pointer, message, places=places, joins=joins, is_as_sent=is_as_sent)


def text_block(text: str) -> JsonValue:
    """Return a block of text."""
    return {"type": "text", "text": text}


def denial_text(reason: JsonValue) -> str:
    """Return the text for a model about a denied call, with the user's reason."""
    return f"[The user denied this call: {reason}]" if reason else "[The user denied this call.]"


def call_block(call_id: JsonValue, name: JsonValue, arguments: JsonValue) -> JsonValue:
    """Return a call of a tool; arguments in a text are the JSON of an object."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def answer_block(
    call_id: JsonValue, name: JsonValue, content: JsonValue, *, is_error: bool = False
) -> JsonValue:
    """Return the answer to a call; its content is a text, a list of blocks, or any value."""
    return {
        "type": "tool_result",
        "tool_use_id": call_id,
        "name": name,
        "content": content,
        "is_error": is_error,
    }


def thought_block(text: JsonValue = "") -> JsonValue:
    """Return a thought of a model, which only its own provider accepts."""
    return {"type": "thinking", "thinking": text}


def medium_block(kind: str, data: JsonValue, mime_type: JsonValue, name: JsonValue) -> JsonValue:
    """Return a medium, as base64, as a data URI, or by its address.

    Args:
        kind: `image`, `audio`, `video` or `file`.
        data: The base64, the data URI or the address.
        mime_type: Its type, if known.
        name: The name of the file.
    """
    is_address = isinstance(data, str) and data.startswith(("http://", "https://"))
    members = {"url" if is_address else "data": data, "mimeType": mime_type, "filename": name}
    return {"type": kind, **{key: member for key, member in members.items() if member}}


def medium_kind(mime_type: JsonValue) -> str:
    """Return `image`, `audio`, `video` or `file` for a type."""
    kind = mime_type.partition("/")[0] if isinstance(mime_type, str) else ""
    return kind if kind in ("image", "audio", "video") else "file"
