"""Headers of answers, among them those for caches."""

from collections.abc import Mapping

from starlette.responses import Response

CACHE_FOREVER = "private, max-age=31536000, immutable"
"""For content addressed by its hash: it cannot change. Shared caches do not keep it."""

REVALIDATE = "no-cache"
"""For records: caches may store them, but must revalidate them."""

# Headers that a 304 repeats (RFC 9110 §15.4.5).
_NOT_MODIFIED_HEADERS = frozenset({"cache-control", "content-location", "etag", "expires", "vary"})


def raw_headers(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Return headers as they are sent."""
    return [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]


def not_modified(headers: Mapping[str, str]) -> Response:
    """Return the 304 in place of an answer with these headers."""
    kept = {name: value for name, value in headers.items() if name.lower() in _NOT_MODIFIED_HEADERS}
    return Response(status_code=304, headers=kept)
