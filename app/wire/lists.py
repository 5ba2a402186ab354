"""Slices of lists. They are joined from items that are JSON already, without a copy of each.

An item is therefore written by its own shape, and what is around the items by `list_page`.
"""

from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from pagefault_dialects.json.values import json_text
from pagefault_dialects.model.base import WireModel
from pagefault_dialects.model.render_options import JsonPiece, joined_pieces

_Item = TypeVar("_Item")


class ListPage(WireModel, Generic[_Item]):
    """Items of a list, and where it goes on: null at its end."""

    items: tuple[_Item, ...]
    next_cursor: str | None


def list_page(items: Iterable[bytes], next_cursor: str | None) -> bytes:
    """Return the JSON of a `ListPage`; the cursor is null on the last page."""
    return b'{"items":[' + b",".join(items) + _end(next_cursor)


def list_page_pieces(
    items: Iterable[Sequence[JsonPiece]], next_cursor: str | None
) -> Sequence[JsonPiece]:
    """Return what `list_page` returns, for items that are made of pieces."""
    pieces: list[JsonPiece] = [b'{"items":[']
    for index, item in enumerate(items):
        pieces += [b",", *item] if index else item
    return joined_pieces([*pieces, _end(next_cursor)])


def _end(next_cursor: str | None) -> bytes:
    return b'],"nextCursor":%s}' % json_text(next_cursor).encode()
