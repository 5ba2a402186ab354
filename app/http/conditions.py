"""Evaluate the headers of conditional requests and of content negotiation (RFC 9110 §12, §13).

Conditions are evaluated in the order of §13.2.2: If-Match, or without it If-Unmodified-Since; then
If-None-Match, or without it If-Modified-Since. `range_applies` evaluates If-Range, on which only
the use of Range depends. Invalid dates are ignored, and invalid entity-tags match nothing.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from starlette.requests import Request
from starlette.responses import Response

from app.errors import PreconditionFailedError

# Quoted tags may contain commas, so a list of tags cannot be split at commas.
_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')
_TAG_LIST_GAP = re.compile(r"[ \t]*(?:,[ \t]*)+")

# The three forms of RFC 9110 §5.6.7. `parsedate_to_datetime` accepts other forms, and time zones.
_HTTP_DATE = re.compile(
    r"[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [1-9][0-9]{3} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT"
    r"|[A-Z][a-z]{5,8}, [0-9]{2}-[A-Z][a-z]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT"
    r"|[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} [1-9][0-9]{3}"
)

_SAFE_METHODS = frozenset({"GET", "HEAD"})

LARGEST_NUMBER = 10**18
"""The largest number in headers. No content is as long, so larger numbers have the same effect."""


def evaluate_conditions(
    headers: Mapping[str, str], *, method: str, etag: str, last_modified: datetime | None
) -> bool:
    """Evaluate the conditions of a request for a resource that exists.

    Args:
        headers: The result of `join_repeated_headers`.
        method: The request method; only GET and HEAD can get a 304.
        etag: The current entity-tag, with its quotes.
        last_modified: The time of the last change, with a time zone; conditions on dates are
            ignored if it is `None`.

    Returns:
        True if the response is a 304, because the client has the current version.

    Raises:
        PreconditionFailedError: A condition is false.
    Source: RFC 9110 §13.1 and §13.2.2.
    """
    may_proceed = _passes_if_match(headers, etag, last_modified)
    is_current = _client_has_current_version(
        headers, method=method, etag=etag, last_modified=last_modified
    )
    if not may_proceed or (is_current and method not in _SAFE_METHODS):
        raise PreconditionFailedError
    return is_current


def make_write_check(headers: Mapping[str, str], method: str) -> Callable[[str | None], None]:
    """Return a check of the conditions of a write.

    Args:
        headers: The request's headers.
        method: The request method, such as PUT or DELETE.

    Returns:
        A function that takes the digest of the stored version, or `None` if nothing is stored. It
        raises PreconditionFailedError if a condition is false.
    """
    fields = join_repeated_headers(headers)

    def check(digest: str | None) -> None:
        if digest is not None:
            evaluate_conditions(
                fields, method=method, etag=make_strong_etag(digest), last_modified=None
            )
        elif "if-match" in fields:
            # If-Match is always false if nothing is stored (RFC 9110 §13.1.1).
            raise PreconditionFailedError

    return check


def make_strong_etag(digest: str) -> str:
    """Return the entity-tag, with quotes, of bytes with this SHA-256."""
    return f'"sha256-{digest}"'


def join_repeated_headers(request_headers: Mapping[str, str]) -> dict[str, str]:
    """Return the values of headers by lower-case name, joined if repeated (RFC 9110 §5.3)."""
    fields: dict[str, str] = {}
    # `Headers.items()` of Starlette has an item for each repeated header.
    for name, value in request_headers.items():
        key = name.lower()
        fields[key] = f"{fields[key]}, {value}" if key in fields else value
    return fields


def range_applies(headers: Mapping[str, str], etag: str, last_modified: datetime | None) -> bool:
    """Return whether `If-Range` permits the use of `Range`; true without `If-Range`.

    Tags are compared strongly, and dates exactly.

    Args:
        headers: The result of `join_repeated_headers`.
        etag: The current entity-tag, with its quotes.
        last_modified: The time of the last change, with a time zone.

    Source: RFC 9110 §13.1.5.
    """
    condition = headers.get("if-range")
    if condition is None:
        return True
    validator = condition.strip(" \t")
    if _TAG.fullmatch(validator):
        return _strongly_equal(validator, etag)
    date = parse_http_date(validator)
    return date is not None and last_modified is not None and date == _cut_to_second(last_modified)


def parse_http_date(text: str) -> datetime | None:
    """Parse an HTTP-date; return `None` if it is invalid (RFC 9110 §5.6.7)."""
    stripped = text.strip(" \t")
    if not _HTTP_DATE.fullmatch(stripped):
        return None
    try:
        date = parsedate_to_datetime(stripped)
    except ValueError:
        return None
    return date.replace(tzinfo=UTC)


def _passes_if_match(headers: Mapping[str, str], etag: str, last_modified: datetime | None) -> bool:
    if (tags := headers.get("if-match")) is not None:
        return _matches_any(tags, etag, are_equal=_strongly_equal)
    if (since := headers.get("if-unmodified-since")) is not None and last_modified is not None:
        date = parse_http_date(since)
        return date is None or _cut_to_second(last_modified) <= date
    return True


def _client_has_current_version(
    headers: Mapping[str, str], *, method: str, etag: str, last_modified: datetime | None
) -> bool:
    if (tags := headers.get("if-none-match")) is not None:
        return _matches_any(tags, etag, are_equal=_weakly_equal)
    if method not in _SAFE_METHODS or last_modified is None:
        return False
    date = parse_http_date(headers.get("if-modified-since", ""))
    return date is not None and _cut_to_second(last_modified) <= date


def _matches_any(tags: str, etag: str, *, are_equal: Callable[[str, str], bool]) -> bool:
    matches_all = tags.strip(" \t") == "*"
    return matches_all or any(are_equal(tag, etag) for tag in _parse_entity_tags(tags))


def _parse_entity_tags(text: str) -> list[str]:
    """Return the tags of a list of entity-tags; an empty list if the text is invalid."""
    tags: list[str] = []
    rest = text.strip(" \t,")
    position = 0
    while match := _TAG.match(rest, position):
        tags.append(match.group())
        gap = _TAG_LIST_GAP.match(rest, match.end())
        if gap is None:
            return tags if match.end() == len(rest) else []
        position = gap.end()
    return []


def _strongly_equal(tag: str, etag: str) -> bool:
    return tag == etag and not tag.startswith("W/")


def _weakly_equal(tag: str, etag: str) -> bool:
    return tag.removeprefix("W/") == etag.removeprefix("W/")


def _cut_to_second(timestamp: datetime) -> datetime:
    # HTTP-dates have no fractions of a second, so `Last-Modified` differs from the stored time.
    return timestamp.astimezone(UTC).replace(microsecond=0)


def parse_byte_count(digits: str) -> int:
    """Parse a number of bytes in a header; return at most `LARGEST_NUMBER`."""
    # The length is checked first, because converting a million digits takes long.
    significant = digits.lstrip("0") or "0"
    if len(significant) >= len(str(LARGEST_NUMBER)):
        return LARGEST_NUMBER
    return int(significant)


def prefers_media_type(headers: Mapping[str, str], media_type: str, other: str) -> bool:
    """Return whether `Accept` prefers one media type to another; false without `Accept`.

    Source: RFC 9110 §12.5.1.
    """
    accepted = headers.get("accept")
    if accepted is None:
        return False
    accepted_ranges = [_parse_accept_item(item) for item in accepted.split(",")]
    return _find_quality(accepted_ranges, media_type) > _find_quality(accepted_ranges, other)


def choose_encoding(headers: Mapping[str, str], available: Sequence[str]) -> str | None:
    """Return the content coding that `Accept-Encoding` prefers; `None` for no coding.

    Args:
        headers: The result of `join_repeated_headers`.
        available: The available codings, at least one, in the order of preference.

    Source: RFC 9110 §12.5.3.
    """
    accepted = dict(map(_parse_accept_item, headers.get("accept-encoding", "").split(",")))
    quality = {coding: accepted.get(coding, accepted.get("*", 0.0)) for coding in available}
    best = max(available, key=quality.__getitem__)
    is_preferred = quality[best] > 0.0 and quality[best] >= accepted.get("identity", 0.0)
    return best if is_preferred else None


def _parse_accept_item(item: str) -> tuple[str, float]:
    media_range, *parameters = (piece.strip().lower() for piece in item.split(";"))
    quality = next((p[2:] for p in parameters if p.startswith("q=")), "1")
    try:
        return media_range, float(quality)
    except ValueError:
        return media_range, 0.0


def _find_quality(accepted_ranges: list[tuple[str, float]], media_type: str) -> float:
    """Return the quality (`q=`) of the most specific range that includes the type."""
    for media_range in (media_type, media_type.partition("/")[0] + "/*", "*/*"):
        for accepted_range, quality in accepted_ranges:
            if accepted_range == media_range:
                return quality
    return 0.0


CACHE_FOREVER = "private, max-age=31536000, immutable"
"""The `Cache-Control` of content whose URL contains its hash. Shared caches must not store it."""

REVALIDATE = "no-cache"
"""The `Cache-Control` of records: caches may store them, but must revalidate them each time."""

# Headers that a 304 repeats (RFC 9110 §15.4.5).
_NOT_MODIFIED_HEADERS = frozenset({"cache-control", "content-location", "etag", "expires", "vary"})


def encode_headers(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Encode headers for ASGI: pairs of bytes, with names in lower case."""
    return [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]


def build_304_response(headers: Mapping[str, str]) -> Response:
    """Build the 304 that is sent instead of a response with these headers."""
    return Response(
        status_code=304,
        headers={
            name: value for name, value in headers.items() if name.lower() in _NOT_MODIFIED_HEADERS
        },
    )


def build_unchanged_response(request: Request, headers: Mapping[str, str]) -> Response | None:
    """Return a 304 if the client of a GET or HEAD has the current version, else `None`.

    Args:
        request: The request; conditions of other methods are not evaluated.
        headers: The headers of the record, with its `ETag`.

    Raises:
        PreconditionFailedError: If-Match is false.
    """
    has_condition = any(name[:3] == b"if-" for name, _ in request.scope["headers"])
    if not has_condition or request.method not in ("GET", "HEAD"):
        return None
    is_current = evaluate_conditions(
        join_repeated_headers(request.headers),
        method=request.method,
        etag=headers["ETag"],
        last_modified=None,
    )
    return build_304_response(headers) if is_current else None
