"""The host that a request is for, and the path on it (RFC 9112 §3.2).

A request names its host in the `Host` header, and may do so in its target as well
(`GET http://host/path`). Whatever decides by the host must find one, and the same one everywhere.
"""

import re
from collections.abc import Sequence

from app.errors import MalformedRequestError

RawHeader = tuple[bytes, bytes]

# A registered name or an IPv4 address, or an IPv6 address in brackets, then perhaps a port. The
# grammar of RFC 3986 has more characters, and no name of the DNS or of a container has any of them.
_AUTHORITY = re.compile(rb"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*\])(?::[0-9]{0,5})?\Z")
_ABSOLUTE = re.compile(rb"https?://([^/?#]*)(.*)\Z", re.IGNORECASE | re.DOTALL)
_WITHOUT_HOST = frozenset({"0.9", "1.0"})


def resolve_target(
    target: bytes, headers: Sequence[RawHeader], *, http_version: str
) -> tuple[bytes, list[RawHeader]]:
    """Return the target as a path with its query, and the headers with at most one `Host`.

    The host of an absolute target takes the place of the one in the header, as RFC 9112 §3.2.2
    asks. Only HTTP/1.0 may name no host.

    Raises:
        MalformedRequestError: There are several hosts, none, or one that is no host and port; or
            the target is neither a path nor a URL.
    """
    hosts = [value for name, value in headers if name == b"host"]
    if len(hosts) > 1 or (not hosts and http_version not in _WITHOUT_HOST):
        raise MalformedRequestError("Send exactly one Host header.")
    if hosts:
        hosts = [_checked(hosts[0])]
    if absolute := _ABSOLUTE.match(target):
        hosts = [_checked(absolute[1])]
        path = absolute[2]
        target = path if path.startswith(b"/") else b"/" + path
    if not target.startswith(b"/") and target != b"*":
        raise MalformedRequestError("The target of a request is a path or an http URL.")
    other_headers = [(name, value) for name, value in headers if name != b"host"]
    return target, [*((b"host", host) for host in hosts), *other_headers]


def _checked(authority: bytes) -> bytes:
    # Blanks around a value are no part of it (RFC 9110 §5.5), and the parser leaves some.
    authority = authority.strip(b" \t")
    if not _AUTHORITY.match(authority):
        raise MalformedRequestError("The host is neither a name nor an address with a port.")
    return authority
