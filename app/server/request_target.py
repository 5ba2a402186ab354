"""Determine the host and the path of a request (RFC 9112 §3.2).

The host of a request is in the `Host` header, and may also be in the target of the request
(`GET http://host/path`). Only one host is passed on, so that all checks of the host use the same.
"""

import re
from collections.abc import Sequence

from app.errors import MalformedRequestError

RawHeader = tuple[bytes, bytes]

# A name or an IPv4 address, or an IPv6 address in brackets, and an optional port. RFC 3986 allows
# more characters, which no name of the DNS or of a container has.
_AUTHORITY = re.compile(rb"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*\])(?::[0-9]{0,5})?\Z")
_ABSOLUTE_TARGET = re.compile(rb"https?://([^/?#]*)(.*)\Z", re.IGNORECASE | re.DOTALL)
_VERSIONS_WITHOUT_HOST = frozenset({"0.9", "1.0"})


def resolve_target(
    target: bytes, headers: Sequence[RawHeader], *, http_version: str
) -> tuple[bytes, list[RawHeader]]:
    """Return the target as a path with its query, and the headers with at most one `Host`.

    The host of an absolute target replaces the `Host` header (RFC 9112 §3.2.2). Requests of
    HTTP/1.0 and before may have no host.

    Args:
        target: The target of the request line: `/path`, `http://host/path` or `*`.
        headers: The headers, with names in lower case.
        http_version: The version of the request, such as `1.1`.

    Raises:
        MalformedRequestError: There are several hosts, none, or an invalid one; or the target is
            neither a path nor a URL.
    """
    hosts = [value for name, value in headers if name == b"host"]
    if len(hosts) > 1 or (not hosts and http_version not in _VERSIONS_WITHOUT_HOST):
        raise MalformedRequestError("Send exactly one Host header.")
    if hosts:
        hosts = [_check_authority(hosts[0])]
    if absolute := _ABSOLUTE_TARGET.match(target):
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
