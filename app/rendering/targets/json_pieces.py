"""The JSON text of a rendering, in pieces: text, and places for the base64 of stored media."""

import json
from collections.abc import Iterator

import pybase64

from app.models.conversation import InlineBytes, StoredBytes
from app.models.json_value import json_text
from app.models.rendering import MediaPiece, Rendering, rendering_of
from app.models.text_windows import without_lone_surrogates
from app.rendering.json_text.media_marks import MediaPlaces
from app.rendering.targets.leaves import Base64Leaf, JsonLeaf, Node


def json_pieces(document: Node) -> Rendering:
    """The text of a document.

    Args:
        document: Members and items keep their order. Its own nesting is small; JSON values from
            records, which may be nested deep, are in leaves.
    """
    media = _Media()
    text = _text(document, media)
    return rendering_of(media.places.pieces(_utf8(text)))


class _Media:
    """The stored media of a document."""

    def __init__(self) -> None:
        self.places = MediaPlaces()

    def place(self, leaf: Base64Leaf) -> str:
        """What stands in the text for a leaf."""
        source = leaf.attachment.source
        if isinstance(source, InlineBytes):
            return leaf.head + pybase64.b64encode(source.data).decode()
        return leaf.head + self.places.mark(_media_piece(leaf))

    def forget(self) -> None:
        """Begin anew."""
        self.places = MediaPlaces()


def _text(document: Node, media: _Media) -> str:
    """The text with a mark in each place of a stored medium."""

    def written(leaf: object) -> object:
        if isinstance(leaf, JsonLeaf):
            return leaf.value
        if isinstance(leaf, Base64Leaf):
            return media.place(leaf)
        msg = "neither JSON nor a leaf"
        raise TypeError(msg)

    try:
        return json.dumps(
            document,
            ensure_ascii=False,
            allow_nan=False,
            separators=(",", ":"),
            default=written,
        )
    except (TypeError, RecursionError):
        # Numbers that keep their spelling, or a value nested deeper than the encoder goes.
        media.forget()
        return "".join(_written(document, media))


def _written(node: Node, media: _Media) -> Iterator[str]:
    """The same, leaf by leaf."""
    if isinstance(node, dict):
        yield "{"
        for index, (name, member) in enumerate(node.items()):
            yield f"{',' if index else ''}{json_text(name)}:"
            yield from _written(member, media)
        yield "}"
    elif isinstance(node, list):
        yield "["
        for index, item in enumerate(node):
            if index:
                yield ","
            yield from _written(item, media)
        yield "]"
    elif isinstance(node, Base64Leaf):
        yield json_text(media.place(node))
    else:
        yield json_text(node.value if isinstance(node, JsonLeaf) else node)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return without_lone_surrogates(text).encode()


def _media_piece(leaf: Base64Leaf) -> MediaPiece:
    source = leaf.attachment.source
    digest = source.digest if isinstance(source, StoredBytes) else ""
    return MediaPiece(digest, leaf.attachment.size_bytes)
