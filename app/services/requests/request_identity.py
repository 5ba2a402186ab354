"""Identities of requests: the digest of their JSON, or of their bytes.

A digest of JSON begins with its scheme. A stored digest without a scheme was written by an earlier
version; it is compared with the digest of the bytes of a body.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.streams.json_digests import SCHEME, json_digest


@dataclass(frozen=True, slots=True)
class RequestIdentity:
    """The digest of a request's JSON, and that of its bytes, which earlier versions stored.

    The digest of the bytes is seldom needed, so it may be a function that computes it.
    """

    digest: str
    digest_of_bytes: str | Callable[[], str] | None = None

    def matches(self, stored: str) -> bool:
        """Return whether a stored digest is that of this request."""
        if stored == self.digest:
            return True
        if stored.startswith(SCHEME):
            return False
        of_bytes = self.digest_of_bytes
        return stored == (of_bytes() if callable(of_bytes) else of_bytes)


def explain_comparison(stored: str) -> str:
    """Return a sentence about how requests are compared with the one whose digest was stored."""
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
        prefix: Distinguishes the request from one with the same body for another path.
    """
    return RequestIdentity(
        json_digest(value, prefix=prefix, body_bytes=len(body)),
        hashlib.sha256(prefix + body).hexdigest(),
    )
