"""Ids and moments, as they are made and as they are written, and cursors, which are made of them.

A cursor is an opaque position in a list, which only the list that made one understands.
"""

import base64
import binascii
import hashlib
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Literal

import uuid_utils

from app.errors import InvalidCursorError
from pagefault_dialects.json.values import JsonValue, json_text

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


def new_id() -> str:
    """Return a new UUIDv7: ids made later sort later."""
    return str(uuid_utils.uuid7())


def is_id(text: str) -> bool:
    """Return whether a text has the form of our ids; nothing else has to be looked up."""
    return _ID.match(text) is not None


def utc_now() -> datetime:
    """Return the present moment, in UTC, to the microsecond."""
    return datetime.now(UTC)


ListName = Literal[
    "messages",
    "outline",
    "tool-results",
    "resources",
    "pages",
    "page-search",
    "manifest",
    "search",
    "sessions",
    "interactions",
    "aliases",
]
_LARGEST_CURSOR_CHARS = 512
_LARGEST_NUMBER = 2**63 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def encode_cursor(name: ListName, *position: str | int) -> str:
    """Return the cursor for a position in a list; url-safe."""
    text = json.dumps([name, *position], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(name: ListName, cursor: str, shape: tuple[type, ...]) -> list[str | int]:
    """Return the position in a cursor of the named list.

    Args:
        name: The list that the cursor must be from.
        cursor: The cursor of the client.
        shape: The types of the position's elements.

    Raises:
        InvalidCursorError: It is not from this list.
    """
    if len(cursor) > _LARGEST_CURSOR_CHARS or not cursor.isascii():
        raise InvalidCursorError
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        value = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError) as exc:
        raise InvalidCursorError from exc
    if not isinstance(value, list) or value[:1] != [name]:
        raise InvalidCursorError
    position = value[1:]
    if [type(element) for element in position] != list(shape):
        raise InvalidCursorError
    if not all(map(_is_sound, position)):
        raise InvalidCursorError
    return position


def digest_query(*query: JsonValue) -> str:
    """Return a digest of a query and its filters, by which their cursors are told from others."""
    query_json = json_text(list(query)).encode("utf-8", "replace")
    return hashlib.sha256(query_json).hexdigest()[:16]


def encode_moment_cursor(
    name: ListName, moment: datetime, identity: str, *query_digest: str
) -> str:
    """Return the cursor for a position in a list that is sorted by moment, then by id.

    A list with filters has the digest of these in its cursors: see `digest_query`.
    """
    return encode_cursor(name, (moment - _EPOCH) // _MICROSECOND, identity, *query_digest)


def decode_moment_cursor(
    name: ListName, cursor: str | None, *query_digest: str
) -> tuple[datetime, str] | None:
    """Return the position in such a cursor; `None` for the beginning of the list.

    Raises:
        InvalidCursorError: It is not from this list, or from one with other filters.
    """
    if cursor is None:
        return None
    shape = (int, str, *(str for _ in query_digest))
    microseconds, identity, *found_digest = decode_cursor(name, cursor, shape)
    if found_digest != [*query_digest]:
        raise InvalidCursorError
    try:
        return _EPOCH + int(microseconds) * _MICROSECOND, str(identity)
    except OverflowError as exc:
        raise InvalidCursorError from exc


def _is_sound(element: str | int) -> bool:
    """Return whether both databases take it: our ids are plain words, our numbers fit 63 bits."""
    if isinstance(element, int):
        return 0 <= element <= _LARGEST_NUMBER
    return element.isascii() and element.isprintable()
