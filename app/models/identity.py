"""Ids and moments, as they are made and as they are written."""

import re
from datetime import UTC, datetime

import uuid_utils

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")

CLIENT_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$"
"""Session ids and page ids, which clients choose."""
CLIENT_ID = re.compile(CLIENT_ID_PATTERN.replace("$", r"\Z"))
"""The same, to be matched."""


def new_id() -> str:
    """A new UUIDv7: ids made later sort later."""
    return str(uuid_utils.uuid7())


def is_id(text: str) -> bool:
    """Whether a text has the form of our ids; nothing else has to be looked up."""
    return _ID.match(text) is not None


def utc_now() -> datetime:
    """Now, in UTC, to the microsecond."""
    return datetime.now(UTC)


def rfc3339(moment: datetime) -> str:
    """A moment in UTC as RFC 3339 text with `Z`, always to the microsecond."""
    # Moments from the tables are in UTC already, and to say so once more takes half of the time.
    in_utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return in_utc.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
