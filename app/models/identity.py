"""Ids and moments, as they are made and as they are written."""

from datetime import UTC, datetime

import uuid_utils

CLIENT_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$"
"""Session ids and page ids, which clients choose."""


def new_id() -> str:
    """A new UUIDv7: ids made later sort later."""
    return str(uuid_utils.uuid7())


def utc_now() -> datetime:
    """Now, in UTC, to the microsecond."""
    return datetime.now(UTC)


def rfc3339(moment: datetime) -> str:
    """A moment in UTC as RFC 3339 text with `Z`, always to the microsecond."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
