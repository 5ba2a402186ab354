"""Resolve the host and the path of a request (RFC 9112 §3.2).

The host of a request is in the `Host` header, and may be in its target as well
(`GET http://host/path`). All checks of the host have to see the same one.
"""

import re
from collections.abc import Sequence

from app.errors import MalformedRequestError

RawHeader = tuple[bytes, bytes]

# A name or an IPv4 address, or an IPv6 address in brackets, and an optional port. RFC 3986 allows
# more characters, but names in the DNS and of containers do not have them.
_AUTHORITY = re.compile(rb"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*\])(?::[0-9]{0,5})?\Z")
_ABSOLUTE = re.compile(rb"https?://([^/?#]*)(.*)\Z", re.IGNORECASE | re.DOTALL)
_WITHOUT_HOST = frozenset({"0.9", "1.0"})


def resolve_target(
    target: bytes, headers: Sequence[RawHeader], *, http_version: str
) -> tuple[bytes, list[RawHeader]]:
    """Return the target as a path with its query, and the headers with at most one `Host`.

    The host of an absolute target replaces that of the header (RFC 9112 §3.2.2). Only HTTP/1.0
    requests may have no host.

    Raises:
        MalformedRequestError: There are several hosts, none, or an invalid one; or the target is
            neither a path nor a URL.
    """
    hosts = [value for name, value in headers if name == b"host"]
    if len(hosts) > 1 or (not hosts and http_version not in _WITHOUT_HOST):
        raise MalformedRequestError("Send exactly one Host header.")
    if hosts:
        hosts = [_check_authority(hosts[0])]
    if absolute := _ABSOLUTE.match(target):
        hosts = [_check_authority(absolute[1])]
        path = absolute[2]
        target = path if path.startswith(b"/") else b"/" + path
    if not target.startswith(b"/") and target != b"*":
        raise MalformedRequestError("The target of a request is a path or an http URL.")
    other_headers = [(name, value) for name, value in headers if name != b"host"]
    return target, [*((b"host", host) for host in hosts), *other_headers]


def _check_authority(authority: bytes) -> bytes:
    # The parser leaves whitespace around values, which is not part of them (RFC 9110 §5.5).
    authority = authority.strip(b" \t")
    if not _AUTHORITY.match(authority):
        raise MalformedRequestError("The host is neither a name nor an address with a port.")
    return authority
