"""The leaves of messages that are not written as they are: the bytes of media.

A target builds its messages of plain JSON; where bytes belong it puts a leaf. `json_pieces` makes a
text of it that has a place for each, so that no medium is held in memory.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from app.media.types import canonical_mime_type, mime_type_for_filename
from app.models.conversation import Attachment, SettledItem, TextItem
from app.models.json_value import JsonValue, json_text
from app.rendering.names.download_names import extension_for


@dataclass(frozen=True, slots=True)
class Base64Leaf:
    """A JSON string: the base64 of an attachment's bytes, after a text that is ASCII."""

    attachment: Attachment
    head: str = ""


@dataclass(frozen=True, slots=True)
class JsonLeaf:
    """A JSON value from a record, at whatever depth, written as it is."""

    value: JsonValue


Node: TypeAlias = (
    "str | int | float | bool | list[Node] | dict[str, Node] | Base64Leaf | JsonLeaf | None"
)
"""A message, or a piece of one."""


def b64(attachment: Attachment) -> Node:
    """The plain base64 of an attachment; its `@blob:` reference where references are wanted."""
    return attachment.address if attachment.is_reference else Base64Leaf(attachment)


def data_uri_of(attachment: Attachment) -> Node:
    """What an attachment is loaded from: its URL, its reference, else a `data:` URI."""
    if attachment.address is not None:
        return attachment.address
    return Base64Leaf(attachment, f"data:{attachment.mime_type};base64,")


def text_of(item: SettledItem) -> str | None:
    """The words of an item: a text, or JSON written as one; `None` for an attachment."""
    if isinstance(item, TextItem):
        return item.text
    return None if isinstance(item, Attachment) else json_text(item.value)


def joined(texts: Iterable[str | None]) -> str:
    """Texts as one, a blank line between them; what is empty or no text is left out."""
    return "\n\n".join(text for text in texts if text)


def file_name_of(attachment: Attachment) -> str:
    """The name a file is sent under, with the extension that providers tell its type by."""
    name = attachment.filename or "file"
    if mime_type_for_filename(name) == canonical_mime_type(attachment.mime_type):
        return name
    return f"{name}{extension_for(attachment.mime_type) or ''}"


def blocks_of(items: Iterable[SettledItem], medium: Callable[[Attachment], Node]) -> list[Node]:
    """A text block for each text that is not empty, and what `medium` makes of each attachment."""
    blocks: list[Node] = []
    for item in items:
        if isinstance(item, Attachment):
            blocks.append(medium(item))
        elif text := text_of(item):
            blocks.append({"type": "text", "text": text})
    return blocks


def content_of(
    items: Sequence[SettledItem], medium: Callable[[Attachment], Node]
) -> str | list[Node]:
    """One string where there is only text, else as `blocks_of`."""
    if any(isinstance(item, Attachment) for item in items):
        return blocks_of(items, medium)
    return joined(map(text_of, items))
