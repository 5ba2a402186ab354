"""Where the service may connect to: public addresses on the web's ports, and what is listed."""

from collections.abc import Sequence

import httpx

from app.errors import FetchBlockedError, UpstreamError
from app.services.fetching.addresses import IPAddress, is_public
from app.services.fetching.targets import Target, parse_host

_WEB_PORTS = (80, 443)


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

    def check_port(self, target: Target) -> None:
        """Refuse ports that are neither the web's nor listed.

        Raises:
            FetchBlockedError: The port is not fetched from.
        """
        if target.port not in _WEB_PORTS and not self._is_listed(target):
            raise FetchBlockedError(
                "URLs are fetched from ports 80 and 443 only, and from hosts and ports that the "
                "operator lists in PAGEFAULT_FETCH__ALLOW."
            )

    def check_addresses(self, target: Target, addresses: Sequence[IPAddress]) -> None:
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

    def _is_listed(self, target: Target) -> bool:
        return (target.host, target.port) in self._allowed


def _places(entry: str) -> list[tuple[str, int]]:
    try:
        # A scheme without a default port keeps every port that is spelled out.
        parsed = httpx.URL(f"allow://{_bracketed(entry)}")
        host, _ = parse_host(parsed.raw_host.decode("ascii"))
    except (httpx.InvalidURL, FetchBlockedError) as exc:
        msg = f"{entry!r} is not a host or host:port"
        raise ValueError(msg) from exc
    if str(parsed.userinfo, "ascii") or parsed.raw_path not in (b"", b"/"):
        msg = f"{entry!r} is not a host or host:port"
        raise ValueError(msg)
    ports = _WEB_PORTS if parsed.port is None else (parsed.port,)
    return [(host, port) for port in ports]


def _bracketed(entry: str) -> str:
    # Two colons without brackets can only be an IPv6 address without a port.
    return f"[{entry}]" if entry.count(":") > 1 and not entry.startswith("[") else entry
