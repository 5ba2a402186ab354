"""Identities of requests: digests by which a request is compared with an earlier request.

The digest is computed from the JSON of a request, and begins with the name of a scheme. Earlier
versions of the service stored a digest of the bytes of a request, without a scheme. Such a digest
is compared with the digest of the bytes of the new request.
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
    """The digest of the bytes, or a function that computes it, since it is seldom needed."""

    def matches(self, stored_digest: str) -> bool:
        """Return True if a stored digest is that of an equal request."""
        if stored_digest == self.digest:
            return True
        if stored_digest.startswith(SCHEME):
            return False
        digest = self.digest_of_bytes
        return stored_digest == (digest() if callable(digest) else digest)


def explain_comparison(stored_digest: str) -> str:
    """Return a sentence for the text of an error, which explains when two requests are equal.

    Args:
        stored_digest: The digest of the first request.
    """
    if stored_digest.startswith(SCHEME):
        return (
            "Requests are compared by their JSON: key order, white space and escapes make no "
            "difference."
        )
    return (
        "The first request came to an earlier version of the service, which knew requests by their "
        "bytes: only the same bytes are the same request."
    )


def identity_of_body(value: JsonValue, body: bytes, *, prefix: bytes = b"") -> RequestIdentity:
    """Compute the identity of a request whose body is in memory.

    Args:
        value: The parsed body.
        body: The bytes of the body.
        prefix: Text that is part of the digests, such as the path, to distinguish the request from
            others with the same body.
    """
    return RequestIdentity(
        json_digest(value, prefix=prefix, body_bytes=len(body)),
        hashlib.sha256(prefix + body).hexdigest(),
    )
