"""URLs, taken apart once: what is judged is what is dialled.

A second parser that reads the same text differently is how guards are fooled, so the text is
parsed in one place only, and everything later works on the pieces.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from urllib.parse import urljoin

import httpx

from app.errors import FetchBlockedError
from app.services.fetching.addresses import IPAddress

DEFAULT_PORTS = {"http": 80, "https": 443}

_USER_INFO = re.compile(r"[^/?#]*//[^/?#]*@")
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*\Z")


@dataclass(frozen=True, slots=True)
class Target:
    """A URL that may be worth fetching.

    `url` has no user name, no password and no fragment. `host` is a name in lower case ASCII
    without a dot at its end, or an IP address without brackets; `literal` is that address.
    """

    url: httpx.URL
    host: str
    port: int
    literal: IPAddress | None

    @property
    def scheme(self) -> str:
        """`http` or `https`."""
        return self.url.scheme

    @property
    def authority(self) -> str:
        """The host, and the port unless it is the scheme's own: the value of `Host`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    def at(self, address: IPAddress) -> httpx.URL:
        """The URL that reaches the same resource at one address and asks no resolver."""
        return self.url.copy_with(host=str(address))


def parse_target(url: str) -> Target:
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
    return Target(url=parsed.copy_with(fragment=None), host=host, port=port, literal=literal)


def redirect_target(origin: Target, location: str) -> Target:
    """Where a redirect leads, relative to the URL that was asked for.

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
    if origin.scheme == "https" and target.scheme == "http":
        raise FetchBlockedError("The URL redirects from https to http.")
    return target


def parse_host(host: str) -> tuple[str, IPAddress | None]:
    """A host as it is compared and dialled, and the address if it is one.

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
