"""Allowed targets of connections: public addresses on the web's ports, and listed ones.

URLs are taken apart once: a second parser that reads the same text differently is how guards are
fooled, so everything later works on the pieces, and what is judged is what is dialled. Nothing is
resolved and nothing is dialled here.

`ipaddress.is_global` does not tell what belongs to the public internet: it says yes to multicast,
to cloud hosts' private services, and to IPv6 forms that carry a private IPv4 address. So a v6
address has to lie in what is handed out to networks (2000::/3), and whatever carries a v4 address
is judged by it.
Source: the IANA IPv4 and IPv6 special-purpose address registries (RFC 6890 and its updates).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias
from urllib.parse import urljoin

import httpx

from app.errors import FetchBlockedError, UpstreamError

IPAddress: TypeAlias = IPv4Address | IPv6Address

_PRIVATE_V4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # "this network"
        "10.0.0.0/8",
        "100.64.0.0/10",  # carriers' NAT, and some clouds' metadata
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's host, a public address that is not
        "169.254.0.0/16",  # link-local, and most clouds' metadata
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments, and Oracle's metadata
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)

# All of `::/96` (IPv4-compatible), fc00::/7, fe80::/10, fec0::/10, ff00::/8, 64:ff9b:1::/48 (a
# NAT64 that is local by definition), 100::/64 and 5f00::/16 lie outside.
_HANDED_OUT_V6 = IPv6Network("2000::/3")

_PRIVATE_V6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments: Teredo, benchmarking, ORCHID
        "2001:db8::/32",  # documentation
        "3ffe::/16",  # the 6bone, given back
        "3fff::/20",  # documentation
    )
)

_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR = IPv6Network("2002::/16")
DEFAULT_PORTS = {"http": 80, "https": 443}

_USER_INFO = re.compile(r"[^/?#]*//[^/?#]*@")
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*\Z")
_WEB_PORTS = (80, 443)


def is_public(ip: IPAddress) -> bool:
    """Return whether the address is one of the public internet, whatever it is wrapped in.

    An IPv4-mapped, NAT64 or 6to4 address is as public as the IPv4 address inside. Teredo and
    IPv4-compatible addresses are never public, nor is an address with a zone.
    """
    if isinstance(ip, IPv4Address):
        return ip.is_global and not any(ip in network for network in _PRIVATE_V4)
    if ip.scope_id is not None:
        return False
    inside = _embedded_v4(ip)
    if inside is not None:
        return is_public(inside)
    if ip not in _HANDED_OUT_V6 or any(ip in network for network in _PRIVATE_V6):
        return False
    return ip.is_global


def _embedded_v4(ip: IPv6Address) -> IPv4Address | None:
    if ip in _MAPPED or ip in _NAT64:
        return IPv4Address(ip.packed[-4:])
    if ip in _SIX_TO_FOUR:
        return IPv4Address(ip.packed[2:6])
    return None


@dataclass(frozen=True, slots=True)
class FetchTarget:
    """A URL that may be worth fetching.

    `url` has no user name, no password and no fragment. `host` is a name in lower case ASCII
    without a dot at its end, or an IP address without brackets; `literal` is that address.
    """

    url: httpx.URL
    host: str
    port: int
    literal: IPAddress | None

    @property
    def authority(self) -> str:
        """The host, and the port unless it is the scheme's own: the value of `Host`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.url.scheme] else f"{host}:{self.port}"

    def at(self, address: IPAddress) -> httpx.URL:
        """Return the URL that reaches the same resource at one address and asks no resolver."""
        return self.url.copy_with(host=str(address))


def parse_target(url: str) -> FetchTarget:
    """Take a URL apart.

    Raises:
        FetchBlockedError: It is not http or https, has a user name, or holds characters or a host
            that no two programs read the same way.
    """
    if any(character in " \\" or not character.isprintable() for character in url):
        raise FetchBlockedError("The URL holds blanks, control characters or backslashes.")
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as exc:
        raise FetchBlockedError("The URL is not a valid one.") from exc
    if parsed.scheme not in DEFAULT_PORTS:
        raise FetchBlockedError("Only http and https URLs are fetched.")
    if _USER_INFO.match(url):
        raise FetchBlockedError("A URL with a user name or password is not fetched.")
    host, literal = parse_host(parsed.raw_host.decode("ascii"))
    port = DEFAULT_PORTS[parsed.scheme] if parsed.port is None else parsed.port
    return FetchTarget(url=parsed.copy_with(fragment=None), host=host, port=port, literal=literal)


def redirect_target(origin: FetchTarget, location: str) -> FetchTarget:
    """Return where a redirect leads, relative to the URL that was asked for.

    Raises:
        FetchBlockedError: Nowhere the service goes, or from https back to http.
    """
    try:
        joined = urljoin(str(origin.url), location)
    except ValueError as exc:
        raise FetchBlockedError("The URL redirects to something that is not a URL.") from exc
    # Joining drops line breaks, which would make a refused address into an accepted one.
    if any(not character.isprintable() for character in location):
        raise FetchBlockedError("The URL redirects to something that is not a URL.")
    target = parse_target(joined)
    if (origin.url.scheme, target.url.scheme) == ("https", "http"):
        raise FetchBlockedError("The URL redirects from https to http.")
    return target


def parse_host(host: str) -> tuple[str, IPAddress | None]:
    """Return a host as it is compared and dialled, and the address if it is one.

    Args:
        host: ASCII, without brackets and without a port.

    Raises:
        FetchBlockedError: It is neither a host name nor an address, or has an IPv6 zone.
    """
    # One dot at the end is the same name, spelled in full.
    name = host.lower().removesuffix(".")
    try:
        literal = ip_address(name)
    except ValueError:
        if not _HOST_NAME.match(name):
            raise FetchBlockedError("The URL has no valid host.") from None
        return name, None
    if isinstance(literal, IPv6Address) and literal.scope_id is not None:
        raise FetchBlockedError("An address with a zone is not fetched.")
    return str(literal), literal


class FetchRules:
    """Decides about targets; connects to nothing itself.

    Args:
        allow: `host` or `host:port` of servers that may have any address. A bare host is allowed
            on ports 80 and 443; IPv6 addresses with a port stand in brackets. Names are compared,
            never addresses: listing a name opens nothing else on its machine.

    Raises:
        ValueError: An entry is not of that form.
    """

    def __init__(self, allow: Sequence[str] = ()) -> None:
        self._allowed = frozenset(place for entry in allow for place in _places(entry))

    def check_port(self, target: FetchTarget) -> None:
        """Refuse ports that are neither the web's nor listed.

        Raises:
            FetchBlockedError: The port is not fetched from.
        """
        if target.port not in _WEB_PORTS and not self._is_listed(target):
            raise FetchBlockedError(
                "URLs are fetched from ports 80 and 443 only, and from hosts and ports that the "
                "operator lists in PAGEFAULT_FETCH__ALLOW."
            )

    def check_addresses(self, target: FetchTarget, addresses: Sequence[IPAddress]) -> None:
        """Refuse a host if any of its addresses is not public.

        One bad answer is enough: a name that resolves to both is somebody trying.

        Raises:
            FetchBlockedError: An address is not public.
            UpstreamError: There is no address.
        """
        if not addresses:
            raise UpstreamError("The URL's host name does not resolve.")
        if self._is_listed(target):
            return
        if not all(is_public(address) for address in addresses):
            raise FetchBlockedError(
                "The URL leads to an address that is not on the public internet. The operator can "
                "list its host in PAGEFAULT_FETCH__ALLOW."
            )

    def _is_listed(self, target: FetchTarget) -> bool:
        return (target.host, target.port) in self._allowed


def _places(entry: str) -> list[tuple[str, int]]:
    try:
        # Two colons without brackets can only be an IPv6 address without a port.
        is_bare = entry.count(":") > 1 and not entry.startswith("[")
        # A scheme without a default port keeps every port that is spelled out.
        parsed = httpx.URL(f"allow://[{entry}]" if is_bare else f"allow://{entry}")
        host, _ = parse_host(parsed.raw_host.decode("ascii"))
        if parsed.userinfo or parsed.raw_path not in (b"", b"/"):
            raise FetchBlockedError("There is more than a host and a port.")
    except (httpx.InvalidURL, FetchBlockedError) as exc:
        msg = f"{entry!r} is not a host or host:port"
        raise ValueError(msg) from exc
    ports = _WEB_PORTS if parsed.port is None else (parsed.port,)
    return [(host, port) for port in ports]
