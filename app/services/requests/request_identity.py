"""Identities of requests: digests by which a request is compared with an earlier one.

The digest of the JSON of a request begins with the name of its scheme. Earlier versions stored the
digest of the bytes of a request, without a scheme. Such a digest is compared with the digest of the
bytes of a new request.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.streams.json_digests import SCHEME, json_digest


@dataclass(frozen=True, slots=True)
class RequestIdentity:
    """The digests of a request."""

    digest: str
    """The digest of the JSON, which is stored."""
    digest_of_bytes: str | Callable[[], str] | None = None
    """The digest of the bytes. It is seldom needed, so it may be a function that computes it."""

    def matches(self, stored: str) -> bool:
        """Return True if a stored digest is the digest of an equal request."""
        if stored == self.digest:
            return True
        if stored.startswith(SCHEME):
            return False
        of_bytes = self.digest_of_bytes
        return stored == (of_bytes() if callable(of_bytes) else of_bytes)


def explain_comparison(stored: str) -> str:
    """Return a sentence for an error: how requests are compared with the stored digest."""
    if stored.startswith(SCHEME):
        return (
            "Requests are compared by their JSON: key order, white space and escapes make no "
            "difference."
        )
    return (
        "The first request came to an earlier version of the service, which knew requests by their "
        "bytes: only the same bytes are the same request."
    )


def identity_of_body(value: JsonValue, body: bytes, *, prefix: bytes = b"") -> RequestIdentity:
    """Return the identity of a body in memory.

    Args:
        value: The parsed JSON.
        body: The bytes of the body.
        prefix: Distinguishes the request from a request to another path with the same body.
    """
    return RequestIdentity(
        json_digest(value, prefix=prefix, body_bytes=len(body)),
        hashlib.sha256(prefix + body).hexdigest(),
    )
