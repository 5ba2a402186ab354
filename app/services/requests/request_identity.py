"""Identities of requests: the digest of their JSON, or of their bytes.

A digest of JSON begins with its scheme. A stored digest without a scheme is of an earlier version
and of the bytes of a body; it is compared with the digest of the received bytes.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.streams.json_digests import SCHEME, json_digest


@dataclass(frozen=True, slots=True)
class RequestIdentity:
    """The digest of a request's JSON, and that of its bytes, which earlier versions kept.

    The other one is hardly ever needed; where it takes time and no file, it is made when it is.
    """

    digest: str
    digest_of_bytes: str | Callable[[], str] | None = None

    def is_that_of(self, stored: str) -> bool:
        """Return whether a request whose digest was stored was this one."""
        if stored == self.digest:
            return True
        if stored.startswith(SCHEME):
            return False
        of_bytes = self.digest_of_bytes
        return stored == (of_bytes() if callable(of_bytes) else of_bytes)


def how_compared(stored: str) -> str:
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
        prefix: Distinguishes it from the same body at other places.
    """
    return RequestIdentity(
        json_digest(value, prefix=prefix, body_bytes=len(body)),
        hashlib.sha256(prefix + body).hexdigest(),
    )
