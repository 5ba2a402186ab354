"""The expiry of links, read from their parameters; nothing is fetched.

Signed links of object stores and content networks have it: S3 and compatible stores, Google Cloud
Storage, Azure, CloudFront, Discord.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, urlsplit

from pagefault_dialects.model.moments import rfc3339
from pagefault_dialects.model.resource import Damage

_SIGNED_FOR_SECONDS = (("x-amz-date", "x-amz-expires"), ("x-goog-date", "x-goog-expires"))
# For each, a second parameter that has to be present, and the base of the number.
_SINCE_1970 = (("expires", "signature", 10), ("expires", "key-pair-id", 10), ("ex", "hm", 16))
_BASIC = "%Y%m%dT%H%M%SZ"


def damage_of_link(url: str, now: datetime) -> Damage | None:
    """Return the damage of a medium at an expired link; `None` for other links."""
    ended_at = expiry_of(url)
    if ended_at is None or ended_at > now:
        return None
    return Damage("expired-link", f"The link ended at {rfc3339(ended_at)}.")


def expiry_of(url: str) -> datetime | None:
    """Return when a link expires; `None` if it does not say."""
    try:
        query = urlsplit(url).query
        # The first of repeated parameters counts.
        named = {name.lower(): value for name, value in reversed(parse_qsl(query))}
        return _expiry(named)
    except (ValueError, OverflowError, OSError):
        return None


def _expiry(named: Mapping[str, str]) -> datetime | None:
    for begins, lasts in _SIGNED_FOR_SECONDS:
        if begins in named and lasts in named:
            signed_at = datetime.strptime(named[begins], _BASIC).replace(tzinfo=UTC)
            return signed_at + timedelta(seconds=int(named[lasts]))
    for name, required, base in _SINCE_1970:
        if name in named and required in named:
            return datetime.fromtimestamp(int(named[name], base), UTC)
    if named.keys() >= {"se", "sig"}:
        ends = datetime.fromisoformat(named["se"])
        return ends if ends.tzinfo else ends.replace(tzinfo=UTC)
    return None
