"""JSON documents with media: the nodes that targets build, and `json_pieces`, which encodes them.

A target builds its messages as plain JSON, with a `Base64Leaf` in place of the base64 of a medium.
In the encoded document, a stored medium is a piece of its own, whose bytes are read from the blob
store only when the document is sent.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import pybase64

from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.media.file_names import extension_for
from pagefault_dialects.media.types import canonical_mime_type, mime_type_for_filename
from pagefault_dialects.model.conversation import (
    DataItem,
    InlineBytes,
    Item,
    MediaItem,
    NativeBlock,
    ProviderBlock,
    ResolvedItem,
    StoredBytes,
    TextItem,
)
from pagefault_dialects.model.render_options import MediaPiece, Rendering, rendering_of
from pagefault_dialects.text_windows import without_lone_surrogates
from pagefault_dialects.texts.json_strings import MediaMarks


@dataclass(frozen=True, slots=True)
class Base64Leaf:
    """A JSON string that consists of `head` and the base64 of an attachment's bytes."""

    attachment: MediaItem
    head: str = ""
    """The beginning of the string, such as `data:image/png;base64,`; ASCII."""


@dataclass(frozen=True, slots=True)
class JsonLeaf:
    """A JSON value from a record, which may be deeply nested, and is encoded unchanged."""

    value: JsonValue


Node: TypeAlias = (
    "str | int | float | bool | list[Node] | dict[str, Node] | Base64Leaf | JsonLeaf | None"
)
"""A document, a message or a part of a message."""

# The number of list items to encode at a time. Encoding so many messages takes a millisecond.
_BATCH_ITEMS = 64

WriteMedium: TypeAlias = Callable[[MediaItem], Node]
"""Returns the block of an attachment."""
WriteText: TypeAlias = Callable[[str], list[Node]]
"""Returns the blocks of a text, which may be none."""


def base64_leaf(attachment: MediaItem) -> Node:
    """Return a leaf for the base64 of an attachment; if references are requested, its reference."""
    return attachment.address if attachment.is_reference else Base64Leaf(attachment)


def data_uri_of(attachment: MediaItem) -> Node:
    """Return the URL or the reference of an attachment; without them, a leaf for a `data:` URI."""
    if attachment.address is not None:
        return attachment.address
    return Base64Leaf(attachment, f"data:{attachment.mime_type};base64,")


def text_of(item: Item | ResolvedItem) -> str | None:
    """Return the text of a text item, or the JSON of a value; `None` for other items."""
    if isinstance(item, TextItem):
        return item.text
    return json_text(item.value) if isinstance(item, DataItem) else None


def join_texts(texts: Iterable[str | None]) -> str:
    """Join the texts that are not empty with blank lines."""
    return "\n\n".join(text for text in texts if text)


def file_name_of(attachment: MediaItem) -> str:
    """Return the file name of an attachment, with an extension that fits its type."""
    name = attachment.filename or "file"
    if mime_type_for_filename(name) == canonical_mime_type(attachment.mime_type):
        return name
    return f"{name}{extension_for(attachment.mime_type) or ''}"


def text_block(text: str) -> list[Node]:
    """Return the block of a text, as most dialects have it."""
    return [{"type": "text", "text": text}]


def visible_text_block(text: str) -> list[Node]:
    """Return the block of a text, or no block if it is blank."""
    return [] if text.isspace() else text_block(text)


def copy_provider_block(block: ProviderBlock) -> dict[str, Node]:
    """Return a block in the provider's own format, unchanged."""
    [form] = block.forms.values()
    return {
        name: JsonLeaf(value) if isinstance(value, dict | list) else value
        for name, value in form.items()
    }


def native_block_of(item: ResolvedItem) -> NativeBlock | None:
    """Return the native block that is written in place of an item; `None` without one.

    Such a block is in the target's own dialect, and is written as it was sent.
    """
    block = None if isinstance(item, DataItem) else item.block
    return None if block is None or block.node is None else block


def blocks_of(
    items: Iterable[ResolvedItem], medium: WriteMedium, text: WriteText = text_block
) -> list[Node]:
    """Return the blocks of items.

    Args:
        items: The items. Provider blocks and native blocks in them are written unchanged.
        medium: Returns the block of an attachment.
        text: Returns the blocks of a text; it is not called for an empty text.
    """
    blocks: list[Node] = []
    last: NativeBlock | None = None
    for item in items:
        native = native_block_of(item)
        if native is not None:
            # Consecutive items of one native block are written as this block, once.
            blocks += [native.node] if native is not last else []
            last = native
        elif isinstance(item, MediaItem):
            blocks.append(medium(item))
        elif isinstance(item, ProviderBlock):
            blocks.append(copy_provider_block(item))
        elif words := text_of(item):
            blocks += text(words)
    return blocks


def content_of(
    items: Sequence[ResolvedItem], medium: WriteMedium, text: WriteText = text_block
) -> str | list[Node]:
    """Return one string if the items are only texts; else the result of `blocks_of`."""
    if any(isinstance(item, MediaItem | ProviderBlock) for item in items):
        return blocks_of(items, medium, text)
    return join_texts(map(text_of, items))


def json_pieces(document: Node) -> Rendering:
    """Encode a document as JSON, with each stored medium as a piece of its own.

    Long lists are encoded in batches, since other threads cannot run while the encoder does.

    Args:
        document: The document. Values of records, which may be deeply nested, are in a `JsonLeaf`.
    """
    marks = MediaMarks()
    encoder = json.JSONEncoder(
        ensure_ascii=False,
        allow_nan=False,
        separators=(",", ":"),
        default=partial(_encode_leaf, encode_base64=partial(_base64_text, marks=marks)),
    )
    try:
        text = b"".join(map(_encode_utf8, _encode_in_batches(document, encoder)))
    except (TypeError, RecursionError):
        # The encoder does not accept numbers that keep their spelling, and very deep values.
        marks = MediaMarks()
        text = _encode_utf8("".join(_write_node(document, marks)))
    return rendering_of(marks.split(text))


def _encode_in_batches(document: Node, encoder: json.JSONEncoder) -> Iterator[str]:
    """Yield the JSON of a document, with at most 64 items of its lists at a time."""
    if not isinstance(document, dict):
        yield encoder.encode(document)
        return
    separator = "{"
    for name, member in document.items():
        yield f"{separator}{json_text(name)}:"
        separator = ","
        if not isinstance(member, list) or len(member) <= _BATCH_ITEMS:
            yield encoder.encode(member)
            continue
        for start in range(0, len(member), _BATCH_ITEMS):
            yield "," if start else "["
            # Without the brackets of the batch.
            yield encoder.encode(member[start : start + _BATCH_ITEMS])[1:-1]
        yield "]"
    yield "}" if document else "{}"


def node_digest(node: Node) -> bytes:
    """Return a digest of a node. Of stored media, it has their digests instead of their bytes."""
    try:
        text = _DIGEST_ENCODER.encode(node)
    except (TypeError, RecursionError):
        return str(json_pieces(node).digest).encode()
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _encode_leaf(leaf: object, *, encode_base64: Callable[[Base64Leaf], JsonValue]) -> JsonValue:
    """Return the JSON value of a leaf, for the `default` of an encoder.

    Raises:
        TypeError: The object is no leaf.
    """
    if isinstance(leaf, Base64Leaf):
        return encode_base64(leaf)
    if isinstance(leaf, JsonLeaf):
        return leaf.value
    msg = "neither JSON nor a leaf"
    raise TypeError(msg)


def _base64_identity(leaf: Base64Leaf) -> JsonValue:
    """Return a value that is equal for two leaves only if their strings are equal."""
    source = leaf.attachment.source
    if isinstance(source, InlineBytes):
        return [leaf.head, hashlib.sha256(source.data).hexdigest()]
    digest = source.digest if isinstance(source, StoredBytes) else ""
    return [leaf.head, digest, leaf.attachment.size_bytes]


# Created once, since that takes as long as encoding a short message.
_DIGEST_ENCODER = json.JSONEncoder(
    ensure_ascii=False,
    separators=(",", ":"),
    default=partial(_encode_leaf, encode_base64=_base64_identity),
)


def _base64_text(leaf: Base64Leaf, marks: MediaMarks) -> str:
    """Return the string of a leaf. For a stored medium, a placeholder is in place of the base64."""
    source, size_bytes = leaf.attachment.source, leaf.attachment.size_bytes
    if isinstance(source, InlineBytes):
        return leaf.head + pybase64.b64encode(source.data).decode()
    digest = source.digest if isinstance(source, StoredBytes) else ""
    return leaf.head + marks.add(MediaPiece(digest, size_bytes))


def _write_node(node: Node, marks: MediaMarks) -> Iterator[str]:
    """Yield the JSON of a document, value by value. This is slow, but has no limit of depth."""
    if isinstance(node, dict):
        yield "{"
        for index, (name, member) in enumerate(node.items()):
            yield f"{',' if index else ''}{json_text(name)}:"
            yield from _write_node(member, marks)
        yield "}"
    elif isinstance(node, list):
        yield "["
        for index, item in enumerate(node):
            if index:
                yield ","
            yield from _write_node(item, marks)
        yield "]"
    elif isinstance(node, Base64Leaf):
        yield json_text(_base64_text(node, marks))
    else:
        yield json_text(node.value if isinstance(node, JsonLeaf) else node)


def _encode_utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return without_lone_surrogates(text).encode()
