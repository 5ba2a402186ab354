"""Decides to which servers `fetcher.py` may connect for a URL from a client or a tool.

Allowed are public addresses on ports 80 and 443, and the servers that the operator lists in
PAGEFAULT_FETCH__ALLOW. A URL is parsed once, and its parts are used for both the check and the
connection: if two parsers read the URL differently, the check would be useless. This module does
not resolve host names and makes no connections.

`ipaddress.is_global` does not mean the public internet: it is true for multicast, for private
services of cloud hosts, and for IPv6 forms with a private IPv4 address. So an IPv6 address has to
be in the range that is allocated to networks (2000::/3), and the IPv4 address in an IPv6 address is
checked.

Source: the IANA IPv4 and IPv6 special-purpose address registries (RFC 6890 and its updates).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from itertools import chain
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
        "168.63.129.16/32",  # Azure's host: in a public range, but only reachable inside of Azure
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
# NAT64 that is local by definition), 100::/64 and 5f00::/16 are outside.
_ALLOCATED_V6 = IPv6Network("2000::/3")

_PRIVATE_V6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments: Teredo, benchmarking, ORCHID
        "2001:db8::/32",  # documentation
        "3ffe::/16",  # the former 6bone test network
        "3fff::/20",  # documentation
    )
)

# IPv6 ranges whose addresses contain an IPv4 address.
_IPV4_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR = IPv6Network("2002::/16")
DEFAULT_PORTS = {"http": 80, "https": 443}
"""The default port of each scheme that is fetched."""

_USER_INFO = re.compile(r"[^/?#]*//[^/?#]*@")
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*\Z")
_WEB_PORTS = (80, 443)


def is_public(ip: IPAddress) -> bool:
    """Return True if an address is on the public internet.

    For an IPv4-mapped, NAT64 or 6to4 address, the IPv4 address in it is checked. Teredo addresses,
    IPv4-compatible addresses, and addresses with a zone are not public.
    """
    if isinstance(ip, IPv4Address):
        return ip.is_global and not any(ip in network for network in _PRIVATE_V4)
    if ip.scope_id is not None:
        return False
    embedded = _embedded_v4(ip)
    if embedded is not None:
        return is_public(embedded)
    if ip not in _ALLOCATED_V6 or any(ip in network for network in _PRIVATE_V6):
        return False
    return ip.is_global


def _embedded_v4(ip: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address contains, if it contains one."""
    if ip in _IPV4_MAPPED or ip in _NAT64:
        return IPv4Address(ip.packed[-4:])
    if ip in _SIX_TO_FOUR:
        return IPv4Address(ip.packed[2:6])
    return None


@dataclass(frozen=True, slots=True)
class FetchTarget:
    """A URL to fetch, and its parts."""

    url: httpx.URL
    """The URL without a fragment. It has no user name and no password."""
    host: str
    """A host name in lower case ASCII without a final dot, or an IP address without brackets."""
    port: int
    host_address: IPAddress | None
    """The host as an IP address; `None` if it is a name."""

    @property
    def authority(self) -> str:
        """The value of the header `Host`: the host, and the port if it is not the default port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.url.scheme] else f"{host}:{self.port}"

    def replace_host(self, address: IPAddress) -> httpx.URL:
        """Return the URL with an IP address instead of the host name."""
        return self.url.copy_with(host=str(address))


def parse_target(url: str) -> FetchTarget:
    """Parse a URL that a client or a tool has sent.

    Raises:
        FetchBlockedError: The URL is not http or https, has a user name, or has characters or a
            host that some programs read differently than others.
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
    host, host_address = parse_host(parsed.raw_host.decode("ascii"))
    port = DEFAULT_PORTS[parsed.scheme] if parsed.port is None else parsed.port
    url_without_fragment = parsed.copy_with(fragment=None)
    return FetchTarget(url_without_fragment, host, port, host_address)


def resolve_redirect(origin: FetchTarget, location: str) -> FetchTarget:
    """Return the target of a redirect.

    Args:
        origin: The target that has answered with a redirect.
        location: The value of its header `Location`, which may be a relative URL.

    Raises:
        FetchBlockedError: The new URL is not allowed; see `parse_target`. Or it is http, and the
            origin is https.
    """
    try:
        joined = urljoin(str(origin.url), location)
    except ValueError as exc:
        raise FetchBlockedError("The URL redirects to something that is not a URL.") from exc
    # `urljoin` removes line breaks, so a URL that has to be refused would be accepted.
    if any(not character.isprintable() for character in location):
        raise FetchBlockedError("The URL redirects to something that is not a URL.")
    target = parse_target(joined)
    if (origin.url.scheme, target.url.scheme) == ("https", "http"):
        raise FetchBlockedError("The URL redirects from https to http.")
    return target


def parse_host(host: str) -> tuple[str, IPAddress | None]:
    """Return a host in canonical form, and as an IP address if it is an address.

    Args:
        host: A host name or an address in ASCII, without brackets and without a port.

    Raises:
        FetchBlockedError: The host is neither a host name nor an address, or has an IPv6 zone.
    """
    # A final dot only says that the name is absolute.
    name = host.lower().removesuffix(".")
    try:
        address = ip_address(name)
    except ValueError:
        if not _HOST_NAME.match(name):
            raise FetchBlockedError("The URL has no valid host.") from None
        return name, None
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        raise FetchBlockedError("An address with a zone is not fetched.")
    return str(address), address


class FetchRules:
    """The ports and addresses that may be connected to.

    Args:
        allow: The servers that may have any address, each as `host` or `host:port`. A host without
            a port is allowed on ports 80 and 443. An IPv6 address with a port is in brackets. The
            host of a URL is compared as text, so other names of the same server are not allowed.

    Raises:
        ValueError: An item of `allow` does not have this format.
    """

    def __init__(self, allow: Sequence[str] = ()) -> None:
        self._allowed = frozenset(chain.from_iterable(map(_parse_entry, allow)))

    def check_port(self, target: FetchTarget) -> None:
        """Raise an error if the port of a target is not allowed.

        Raises:
            FetchBlockedError: The port is neither 80 nor 443, and the server is not listed.
        """
        if target.port not in _WEB_PORTS and not self._is_listed(target):
            raise FetchBlockedError(
                "URLs are fetched from ports 80 and 443 only, and from hosts and ports that the "
                "operator lists in PAGEFAULT_FETCH__ALLOW."
            )

    def check_addresses(self, target: FetchTarget, addresses: Sequence[IPAddress]) -> None:
        """Raise an error if any address of a target is not public, unless the server is listed.

        A host name with public and private addresses is most likely an attack.

        Args:
            target: The target.
            addresses: All addresses to which its host name resolves.

        Raises:
            FetchBlockedError: An address is not public.
            UpstreamError: The host name has no address.
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


def _parse_entry(entry: str) -> list[tuple[str, int]]:
    """Return the hosts and ports that an item of the list of allowed servers stands for.

    Raises:
        ValueError: The item is not `host` or `host:port`.
    """
    try:
        # Two colons without brackets are an IPv6 address without a port.
        is_bare_v6 = entry.count(":") > 1 and not entry.startswith("[")
        # `httpx.URL` drops the default port of a known scheme, so the scheme is an unknown one.
        parsed = httpx.URL(f"allow://[{entry}]" if is_bare_v6 else f"allow://{entry}")
        host, _ = parse_host(parsed.raw_host.decode("ascii"))
        if parsed.userinfo or parsed.raw_path not in (b"", b"/"):
            raise FetchBlockedError("There is more than a host and a port.")
    except (httpx.InvalidURL, FetchBlockedError) as exc:
        msg = f"{entry!r} is not a host or host:port"
        raise ValueError(msg) from exc
    ports = _WEB_PORTS if parsed.port is None else (parsed.port,)
    return [(host, port) for port in ports]
