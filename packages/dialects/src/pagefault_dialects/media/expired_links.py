"""Read the expiry of signed URLs from their query parameters, without fetching them.

S3 and compatible stores, Google Cloud Storage, Azure, CloudFront and Discord sign URLs with an
expiry.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, urlsplit

from pagefault_dialects.model.resource import Damage
from pagefault_dialects.model.timestamps import rfc3339

# Pairs of parameters: the time of the signature, and the seconds for which it is valid.
_SIGNED_FOR_SECONDS = (("x-amz-date", "x-amz-expires"), ("x-goog-date", "x-goog-expires"))
# The parameter with the expiry in seconds since 1970, another parameter that has to be present, and
# the base in which the seconds are written.
_SINCE_1970 = (("expires", "signature", 10), ("expires", "key-pair-id", 10), ("ex", "hm", 16))
_BASIC_FORMAT = "%Y%m%dT%H%M%SZ"


def check_link_expiry(url: str, now: datetime) -> Damage | None:
    """Return the damage of a medium whose link has expired; `None` for other links."""
    expires_at = read_link_expiry(url)
    if expires_at is None or expires_at > now:
        return None
    return Damage("expired-link", f"The link ended at {rfc3339(expires_at)}.")


def read_link_expiry(url: str) -> datetime | None:
    """Return when a signed URL expires; `None` for URLs without a readable expiry."""
    try:
        query = urlsplit(url).query
        # The first of repeated parameters counts.
        parameters = {name.lower(): value for name, value in reversed(parse_qsl(query))}
        return _parse_expiry(parameters)
    except (ValueError, OverflowError, OSError):
        return None


def _parse_expiry(parameters: Mapping[str, str]) -> datetime | None:
    for date_name, seconds_name in _SIGNED_FOR_SECONDS:
        if date_name in parameters and seconds_name in parameters:
            signed_at = datetime.strptime(parameters[date_name], _BASIC_FORMAT)
            valid_for = timedelta(seconds=int(parameters[seconds_name]))
            return signed_at.replace(tzinfo=UTC) + valid_for
    for name, required_name, base in _SINCE_1970:
        if name in parameters and required_name in parameters:
            return datetime.fromtimestamp(int(parameters[name], base), UTC)
    # Azure.
    if parameters.keys() >= {"se", "sig"}:
        expires_at = datetime.fromisoformat(parameters["se"])
        return expires_at if expires_at.tzinfo else expires_at.replace(tzinfo=UTC)
    return None
