"""Which IP addresses belong to the public internet: the one question that guards a fetch.

`ipaddress.is_global` answers another one: it says yes to multicast, to cloud hosts' private
services, and to IPv6 forms that carry a private IPv4 address. So a v6 address has to lie in what
is handed out to networks (2000::/3), and whatever carries a v4 address is judged by it.

Nothing is resolved and nothing is dialled here.
Source: the IANA IPv4 and IPv6 special-purpose address registries (RFC 6890 and its updates).
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TypeAlias

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


def is_public(ip: IPAddress) -> bool:
    """Whether the address is one of the public internet, whatever it is wrapped in.

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
