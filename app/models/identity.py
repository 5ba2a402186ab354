"""Ids, the current time, and cursors.

A cursor is a position in a list, in a form that clients do not interpret. It is valid only for the
list that it is from.
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
    """Return a new UUIDv7; later ids are sorted after earlier ones."""
    return str(uuid_utils.uuid7())


def is_id(text: str) -> bool:
    """Return whether a text has the form of an id of `new_id`. Other texts need no lookup."""
    return _ID.match(text) is not None


def utc_now() -> datetime:
    """Return the current time, in UTC."""
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
    "called-tools",
    "interactions",
    "aliases",
]
_MAX_CURSOR_CHARS = 1_536
_MAX_NUMBER = 2**63 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def encode_cursor(name: ListName, *position: str | int) -> str:
    """Return the cursor for a position in a list, as URL-safe text."""
    text = json.dumps([name, *position], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(name: ListName, cursor: str, shape: tuple[type, ...]) -> list[str | int]:
    """Return the position in a cursor of a list.

    Args:
        name: The list that the cursor must be from.
        cursor: The cursor of the client.
        shape: The types of the position's elements.

    Raises:
        InvalidCursorError: The cursor is not from this list.
    """
    if len(cursor) > _MAX_CURSOR_CHARS or not cursor.isascii():
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
    if not all(map(_is_storable, position)):
        raise InvalidCursorError
    return position


def digest_query(*query: JsonValue) -> str:
    """Return a digest of a query and its filters. A cursor is valid only with the same digest."""
    query_json = json_text(list(query)).encode("utf-8", "replace")
    return hashlib.sha256(query_json).hexdigest()[:16]


def encode_time_cursor(
    name: ListName, timestamp: datetime, identity: str, *query_digest: str
) -> str:
    """Return the cursor for a position in a list that is sorted by time, then by id.

    The cursors of a list with filters contain the digest of the filters: see `digest_query`.
    """
    return encode_cursor(name, (timestamp - _EPOCH) // _MICROSECOND, identity, *query_digest)


def decode_time_cursor(
    name: ListName, cursor: str | None, *query_digest: str
) -> tuple[datetime, str] | None:
    """Return the position in a cursor of `encode_time_cursor`; `None` if there is no cursor.

    Raises:
        InvalidCursorError: The cursor is from another list, or has other filters.
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


def _is_storable(element: str | int) -> bool:
    """Return whether both databases accept an element: printable ASCII, or a number of 63 bits."""
    if isinstance(element, int):
        return 0 <= element <= _MAX_NUMBER
    return element.isascii() and element.isprintable()
