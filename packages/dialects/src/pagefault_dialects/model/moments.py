"""Moments as RFC 3339 text."""

from datetime import UTC, datetime, timedelta


def rfc3339(moment: datetime) -> str:
    """Return a moment in UTC as RFC 3339 text with `Z`, always to the microsecond."""
    # Moments from the database are in UTC already; converting them takes half of the time.
    in_utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return in_utc.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def moment_text(moment: datetime) -> str:
    """Return a moment with its offset as RFC 3339 text, `Z` for UTC."""
    text = moment.isoformat()
    return text.removesuffix("+00:00") + "Z" if moment.utcoffset() == timedelta() else text
