"""Write points in time as RFC 3339 text."""

from datetime import UTC, datetime, timedelta


def rfc3339(moment: datetime) -> str:
    """Return a point in time as RFC 3339 text in UTC with `Z`, always with microseconds."""
    # Times from the database are in UTC already, and a conversion would double the time.
    in_utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return in_utc.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def moment_text(moment: datetime) -> str:
    """Return a point in time as RFC 3339 text with its own offset, `Z` for UTC."""
    text = moment.isoformat()
    return text.removesuffix("+00:00") + "Z" if moment.utcoffset() == timedelta() else text
