"""Slices of lists, joined from items that are JSON already, without copying each item.

Each item is encoded by its own shape, and `list_page` adds the envelope.
"""

from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from pagefault_dialects.json.values import json_text
from pagefault_dialects.model.base import WireModel
from pagefault_dialects.model.render_options import JsonPiece, joined_pieces

_Item = TypeVar("_Item")


class ListPage(WireModel, Generic[_Item]):
    """Items of a list, and the cursor of the next ones: null at the end."""

    items: tuple[_Item, ...]
    next_cursor: str | None


def list_page(items: Iterable[bytes], next_cursor: str | None) -> bytes:
    """Return the JSON of a `ListPage`; the cursor is null on the last page."""
    return b'{"items":[' + b",".join(items) + _end(next_cursor)


def list_page_pieces(
    items: Iterable[Sequence[JsonPiece]], next_cursor: str | None
) -> Sequence[JsonPiece]:
    """Return the same as `list_page`, in pieces, for items that consist of pieces."""
    pieces: list[JsonPiece] = [b'{"items":[']
    for index, item in enumerate(items):
        pieces += [b",", *item] if index else item
    return joined_pieces([*pieces, _end(next_cursor)])


def _end(next_cursor: str | None) -> bytes:
    return b'],"nextCursor":%s}' % json_text(next_cursor).encode()
