"""The common form of messages, which the modules of all dialects read theirs into.

A common message has a `role` and, under `content`, texts and blocks. Calls, answers and thoughts
are blocks of these forms, and media are in any form that results of tools have them in.
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
    """Where it stands in what was sent."""
    message: dict[str, Any] | None
    """The message, with a role that dialects know; `None` for what is none."""
    dialect: Dialect | None = None
    """What it is written in, where that shows."""
    said_role: str | None = None
    """The role that it says, where no dialect knows it."""
    places: Mapping[str, str] = field(default_factory=dict)
    """Where blocks really stand, by where they stand in `message`."""
    joins: bool = False
    """Whether it belongs to the turn before it, if that is the assistant's as well."""
    is_apart: bool = False
    """Whether it is what the system says, beside the list of messages."""
    is_as_sent: bool = True
    """Whether it is in a form that requests have; not in one of files, logs or interfaces."""
    sent: JsonValue = None
    """The value that was sent, where the message is all of it."""
    reader: str = ""
    """The dialect of the registry that it shows; empty for words alone, which are of any."""

    def place(self, pointer: str) -> str:
        """Return where in what was sent a pointer into the message leads."""
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
    beside: Mapping[str, JsonValue] | None = None,
) -> ForeignMessage:
    """Return a message of blocks in common form.

    Args:
        role: `system`, `user`, `assistant` or `tool`.
        blocks: Each with the pointer in the message to what it was read from.
        pointer: To the message.
        joins: Whether it belongs to the assistant's turn before it.
        is_as_sent: Whether it is in a form that requests have.
        beside: Members that are no part of the common form, to be reported as left out.
    """
    content: list[JsonValue] = []
    places: dict[str, str] = {}
    for place, block in blocks:
        places[f"/content/{len(content)}"] = place
        content.append(block)
    message = {**(beside or {}), "role": role, "content": content}
    return ForeignMessage(pointer, message, places=places, joins=joins, is_as_sent=is_as_sent)


def text_block(text: str) -> JsonValue:
    """Return words."""
    return {"type": "text", "text": text}


def denial_text(reason: JsonValue) -> str:
    """Return what a model is told if a user has denied a call, with the reason that was given."""
    return f"[The user denied this call: {reason}]" if reason else "[The user denied this call.]"


def call_block(call_id: JsonValue, name: JsonValue, arguments: JsonValue) -> JsonValue:
    """Return a call of a tool; arguments that are a text are the JSON of an object."""
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
    """Return what a model thought, which only its own provider takes back."""
    return {"type": "thinking", "thinking": text}


def medium_block(kind: str, data: JsonValue, mime_type: JsonValue, name: JsonValue) -> JsonValue:
    """Return a medium, as base64, as a data URI, or by its address.

    Args:
        kind: `image`, `audio`, `video` or `file`.
        data: The base64, the data URI or the address.
        mime_type: Its type, if that is known.
        name: The name of the file.
    """
    is_address = isinstance(data, str) and data.startswith(("http://", "https://"))
    members = {"url" if is_address else "data": data, "mimeType": mime_type, "filename": name}
    return {"type": kind, **{key: each for key, each in members.items() if each}}


def medium_kind(mime_type: JsonValue) -> str:
    """Return `image`, `audio`, `video` or `file` for a type."""
    kind = mime_type.partition("/")[0] if isinstance(mime_type, str) else ""
    return kind if kind in ("image", "audio", "video") else "file"
