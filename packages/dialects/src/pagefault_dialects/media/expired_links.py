"""When a link ends, as its own parameters say; nothing is fetched.

Signed links of object stores and of networks that deliver files say it: S3 and those that speak as
it does, Google Cloud Storage, Azure, CloudFront, Discord.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, urlsplit

from pagefault_dialects.model.moments import rfc3339
from pagefault_dialects.model.resource import Damage

_SIGNED_FOR_SECONDS = (("x-amz-date", "x-amz-expires"), ("x-goog-date", "x-goog-expires"))
# Beside each, a parameter without which the number may mean anything, and its base.
_SINCE_1970 = (("expires", "signature", 10), ("expires", "key-pair-id", 10), ("ex", "hm", 16))
_BASIC = "%Y%m%dT%H%M%SZ"


def damage_of_link(url: str, now: datetime) -> Damage | None:
    """Return what is wrong with a medium at a link that has ended; `None` for any other."""
    ended_at = expiry_of(url)
    if ended_at is None or ended_at > now:
        return None
    return Damage("expired-link", f"The link ended at {rfc3339(ended_at)}.")


def expiry_of(url: str) -> datetime | None:
    """Return when a link ends; `None` for one that does not say it."""
    try:
        query = urlsplit(url).query
        # Of a parameter that is given twice, the first counts.
        named = {name.lower(): value for name, value in reversed(parse_qsl(query))}
        return _expiry(named)
    except (ValueError, OverflowError, OSError):
        return None


def _expiry(named: Mapping[str, str]) -> datetime | None:
    for begins, lasts in _SIGNED_FOR_SECONDS:
        if begins in named and lasts in named:
            signed_at = datetime.strptime(named[begins], _BASIC).replace(tzinfo=UTC)
            return signed_at + timedelta(seconds=int(named[lasts]))
    for name, beside, base in _SINCE_1970:
        if name in named and beside in named:
            return datetime.fromtimestamp(int(named[name], base), UTC)
    if named.keys() >= {"se", "sig"}:
        ends = datetime.fromisoformat(named["se"])
        return ends if ends.tzinfo else ends.replace(tzinfo=UTC)
    return None
