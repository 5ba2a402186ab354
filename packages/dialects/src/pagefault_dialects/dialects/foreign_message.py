"""The common form of messages, to which the messages of all dialects are converted.

A message in common form has a `role` and, under `content`, texts and blocks. The functions of this
module make such messages and blocks. The block of a medium may have any form that media have in
tool results.
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
"""The dialects that a diagnosis distinguishes. `registry.DIALECTS` has all dialects."""
DIALECTS: Sequence[Dialect] = get_args(Dialect.__value__)


@dataclass(frozen=True, slots=True)
class ForeignMessage:
    """A message of any dialect, converted to common form; or a value that is no message."""

    pointer: str
    """The pointer to the message in the request."""
    message: dict[str, Any] | None
    """The message in common form, with a known role; `None` if the value is no message."""
    dialect: Dialect | None = None
    """The dialect, if only this dialect has such messages."""
    unknown_role: str | None = None
    """The role that was sent, if it is unknown; `message` then has another role."""
    original_pointers: Mapping[str, str] = field(default_factory=dict)
    """The pointers of blocks in the message as it was sent, by their pointers in `message`."""
    continues_turn: bool = False
    """True if the message continues the turn before it, provided that both are the assistant's."""
    is_system_prompt: bool = False
    """True if the message is the system prompt, which was sent beside the list of messages."""
    has_request_form: bool = True
    """True if the message has the form of requests; false for files, logs and user interfaces."""
    sent: JsonValue = None
    """The value as it was sent; `None` if the message is only a part of that value."""
    dialect_name: str = ""
    """The name of the dialect in the registry, which has more dialects than `Dialect`. Empty if
    several dialects have such messages."""

    def original_pointer(self, pointer: str) -> str:
        """Return the pointer into the request that corresponds to a pointer into `message`."""
        tokens = pointer.split("/", 3)
        block_pointer = "/".join(tokens[:3])
        inner_pointer = "".join(f"/{token}" for token in tokens[3:])
        original = self.original_pointers.get(block_pointer, block_pointer)
        return self.pointer + original + inner_pointer


def compose_message(
    role: str,
    blocks: Iterable[tuple[str, JsonValue]],
    pointer: str,
    *,
    continues_turn: bool = False,
    has_request_form: bool = False,
    extra: Mapping[str, JsonValue] | None = None,
) -> ForeignMessage:
    """Return a message in common form, made of blocks.

    Args:
        role: `system`, `user`, `assistant` or `tool`.
        blocks: The blocks, each after the pointer to its source in the message.
        pointer: The pointer of the message.
        continues_turn: Whether the message continues the assistant's turn before it.
        has_request_form: Whether the message was sent in the form of requests.
        extra: Members that the common form lacks. The loss account reports them as omitted.
    """
    content: list[JsonValue] = []
    original_pointers: dict[str, str] = {}
    for block_pointer, block in blocks:
        original_pointers[f"/content/{len(content)}"] = block_pointer
        content.append(block)
    message = {**(extra or {}), "role": role, "content": content}
    return ForeignMessage(
        pointer,
        message,
        original_pointers=original_pointers,
        continues_turn=continues_turn,
        has_request_form=has_request_form,
    )


def text_block(text: str) -> JsonValue:
    """Return a block of text."""
    return {"type": "text", "text": text}


def denial_text(reason: JsonValue) -> str:
    """Return the text for a model about a denied call, with the user's reason."""
    return f"[The user denied this call: {reason}]" if reason else "[The user denied this call.]"


def call_block(call_id: JsonValue, name: JsonValue, arguments: JsonValue) -> JsonValue:
    """Return the block of a call. The arguments are an object, or the JSON text of an object."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result_block(
    call_id: JsonValue, name: JsonValue, content: JsonValue, *, is_error: bool = False
) -> JsonValue:
    """Return the block of a tool result. The content is a text, a list of blocks, or any value."""
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
        mime_type: The MIME type, if known.
        name: The name of the file.
    """
    is_url = isinstance(data, str) and data.startswith(("http://", "https://"))
    members = {"url" if is_url else "data": data, "mimeType": mime_type, "filename": name}
    return {"type": kind, **{key: member for key, member in members.items() if member}}


def medium_kind(mime_type: JsonValue) -> str:
    """Return the kind of block for a MIME type: `image`, `audio`, `video` or `file`."""
    kind = mime_type.partition("/")[0] if isinstance(mime_type, str) else ""
    return kind if kind in ("image", "audio", "video") else "file"
