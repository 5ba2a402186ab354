"""Envelopes: the JSON around stored bytes, put there without parsing them.

What is read all the time is written member by member, a string as `json.dumps` writes it: a page of
a history has hundreds of them.
"""

from collections.abc import Sequence

from app.models.identity import rfc3339
from app.models.json_value import json_text
from app.models.page import StoredPage
from app.models.rendering import JsonPiece, joined_pieces


def page_summary(stored: StoredPage) -> bytes:
    """A page without its content: the descriptor, and the counters behind it."""
    return b"%s,%s}" % (stored.open_descriptor, _counters(stored))


def page_record(stored: StoredPage) -> bytes:
    """A page: the descriptor, the content, the counters."""
    content = stored.content or b"null"
    return b'%s,"content":%s,%s}' % (stored.open_descriptor, content, _counters(stored))


def page_record_pieces(stored: StoredPage, content: Sequence[JsonPiece]) -> Sequence[JsonPiece]:
    """A page with another content, which is made of pieces."""
    head, tail = b'%s,"content":' % stored.open_descriptor, b",%s}" % _counters(stored)
    return joined_pieces([head, *content, tail])


def search_hit(stored: StoredPage, snippet: str | None) -> bytes:
    """A page that was found, and the passage it was found by."""
    return b'%s,"snippet":%s}' % (page_summary(stored)[:-1], json_text(snippet).encode())


def _counters(stored: StoredPage) -> bytes:
    at = stored.last_accessed
    last = "null" if at is None else f'"{rfc3339(at)}"'
    return f'"last_accessed":{last},"access_count":{stored.access_count}'.encode()
