"""Refuse requests of foreign web pages: DNS rebinding, and cross-site writes.

Any web page can make a browser send requests to loopback and to private networks. Such requests are
recognized by these headers:

- `Host` is the host of the URL. If the host of a page resolves to 127.0.0.1 (DNS rebinding), page
  and service have the same origin for the browser, and only `Host` shows the foreign name. It is
  checked if authentication is off, or if host names are configured.
- `Origin` and `Sec-Fetch-Site` identify the page that sends a request. A page of another origin
  cannot read the response, but its writes would be executed: browsers send bodies as `text/plain`,
  as a form or without a type, without a preflight.

Programs send neither `Origin` nor `Sec-Fetch-Site`, so their requests pass. The origin of reads
(GET, HEAD, OPTIONS) is not checked: browsers protect the responses, and the CORS middleware handles
preflights. A WebSocket handshake is checked like a write, because browsers let every page read from
a socket.

Source: RFC 9110 §7.4 (421), RFC 6454 (Origin), W3C Fetch Metadata Request Headers.
"""

import ipaddress
from collections.abc import Collection
from functools import lru_cache

from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import ForbiddenOriginError, MisdirectedRequestError
from app.http.problem_types import build_problem_response
from pagefault_dialects.errors import PagefaultError

_READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_HTTP_SCHEMES = {"http": b"http", "ws": b"http", "https": b"https", "wss": b"https"}
_DEFAULT_PORTS = {b"http": b":80", b"https": b":443"}
_FOREIGN_SITES = frozenset({b"cross-site", b"same-site"})
_LABEL_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_")
_LOOPBACK_6 = ipaddress.IPv6Address("::1")
# A name has 253 characters at most, and an address with its port fewer.
_MAX_HOST_LENGTH = 260
_MAX_PORT_LENGTH = 5


class BrowserGuard:
    """Middleware that sends a 421 for a foreign `Host`, and a 403 for writes of foreign pages.

    Args:
        app: The application.
        needs_no_key: True if requests need no key. Then the origin of a page must be exactly the
            origin of the request, so a proxy must not change `Host` or terminate TLS.
        hosts: Allowed values of `Host`, in lower case, in addition to loopback names. A name
            without a port allows any port. With `None`, `Host` is not checked.
        own_origins: Origins of the service, such as that of its public URL.
        allowed_origins: Foreign origins whose pages may write.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        needs_no_key: bool,
        hosts: Collection[str] | None,
        own_origins: Collection[str],
        allowed_origins: Collection[str],
    ) -> None:
        self._app = app
        self._needs_no_key = needs_no_key
        self._checks_hosts = hosts is not None
        self._hosts = frozenset(host.encode() for host in hosts or ())
        self._own_origins = frozenset(origin.encode() for origin in own_origins)
        self._allowed_origins = frozenset(origin.encode() for origin in allowed_origins)
        # Clients use few values of `Host`, so most requests find the result in the cache.
        self._is_allowed_host = lru_cache(maxsize=256)(self._allows_host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
        if scope["type"] == "lifespan" or (error := self._find_error(scope)) is None:
            await self._app(scope, receive, send)
        else:
            await _send_error(error, scope, receive, send)

    def _find_error(self, scope: Scope) -> PagefaultError | None:
        is_reading = scope["type"] == "http" and scope["method"] in _READ_METHODS
        if is_reading and not self._checks_hosts:
            return None
        fields: dict[bytes, list[bytes]] = {b"host": [], b"origin": [], b"sec-fetch-site": []}
        for name, value in scope["headers"]:
            if name in fields:
                fields[name].append(value.strip())
        hosts, origins, sites = fields.values()
        # Several `Host` headers are ambiguous, so such a request is refused.
        host = hosts[0].lower() if len(hosts) == 1 else b""
        if self._checks_hosts and not (
            len(host) <= _MAX_HOST_LENGTH and self._is_allowed_host(host)
        ):
            return MisdirectedRequestError()
        sites = [site.lower() for site in sites]
        if is_reading or self._may_write(scope["scheme"], host, origins, sites):
            return None
        return ForbiddenOriginError()

    def _may_write(
        self, scheme: str, host: bytes, origins: list[bytes], sites: list[bytes]
    ) -> bool:
        if not origins:
            # The client is a program; or a browser, and page and service have the same origin, or
            # the user has typed the address.
            return not _FOREIGN_SITES.intersection(sites)
        if len(origins) > 1:
            return False
        origin = origins[0]
        if origin in self._allowed_origins:
            return True
        if b"cross-site" in sites:
            return False
        return origin in self._own_origins or self._is_origin_of_request(
            origin, scheme, host, sites
        )

    def _is_origin_of_request(
        self, origin: bytes, scheme: str, host: bytes, sites: list[bytes]
    ) -> bool:
        """Return whether an origin is that of the request's URL."""
        if self._needs_no_key:
            return origin == _build_origin(_HTTP_SCHEMES.get(scheme, b""), host)
        # A proxy may have changed `Host`. The browser has compared the original host, for `sites`.
        return sites == [b"same-origin"] or origin in (
            _build_origin(default_port, host) for default_port in _DEFAULT_PORTS
        )

    def _allows_host(self, host: bytes) -> bool:
        name, port = _split_host(host)
        if port and not (len(port) <= _MAX_PORT_LENGTH and port.isdigit()):
            return False
        is_listed = host in self._hosts or name.removesuffix(b".") in self._hosts
        return is_listed or _is_loopback(name)


def _split_host(host: bytes) -> tuple[bytes, bytes]:
    """Return the name and the port of a `Host`; the port is empty if there is none."""
    if host.endswith(b"]"):
        return host, b""
    name, colon, port = host.rpartition(b":")
    return (name, port) if colon else (host, b"")


def _is_loopback(name: bytes) -> bool:
    """Return whether a name always means this machine, without a DNS query.

    `localhost` and names that end in `.localhost` are local (RFC 6761 §6.3). Loopback addresses are
    accepted in the form of browsers: four decimal numbers, or IPv6 in brackets.
    """
    labels = name.removesuffix(b".").split(b".")
    if labels[-1] == b"localhost":
        return all(label and _LABEL_BYTES.issuperset(label) for label in labels)
    try:
        text = name.decode("ascii")
        if text.startswith("[") and text.endswith("]") and "%" not in text:
            return ipaddress.IPv6Address(text[1:-1]) == _LOOPBACK_6
        return ipaddress.IPv4Address(text).is_loopback
    except ValueError:
        return False


def _build_origin(scheme: bytes, host: bytes) -> bytes:
    """Return the origin of a page that was loaded from a `Host`, in the form of browsers."""
    return scheme + b"://" + host.removesuffix(_DEFAULT_PORTS.get(scheme, b":"))


async def _send_error(error: PagefaultError, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket" and "websocket.http.response" not in scope.get(
        "extensions", {}
    ):
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
        return
    request_id = str(scope.get("state", {}).get("request_id", "-"))
    response = build_problem_response(error, instance=scope["path"], request_id=request_id)
    await response(scope, receive, send)
