"""Formats times as RFC 3339 text."""

from datetime import UTC, datetime, timedelta


def rfc3339(timestamp: datetime) -> str:
    """Return a time as RFC 3339 text in UTC with `Z`, always with microseconds."""
    # Times from the database are in UTC already, and a conversion would take as long as the rest.
    in_utc = timestamp if timestamp.tzinfo is UTC else timestamp.astimezone(UTC)
    return in_utc.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def format_timestamp(timestamp: datetime) -> str:
    """Return a time as RFC 3339 text with its own offset, `Z` for UTC."""
    text = timestamp.isoformat()
    return text.removesuffix("+00:00") + "Z" if timestamp.utcoffset() == timedelta() else text
