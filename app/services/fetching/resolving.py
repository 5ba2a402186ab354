"""From host names to addresses: the only place that asks the resolver."""

from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address
from socket import SOCK_STREAM
from typing import TypeAlias

import anyio

from app.services.fetching.addresses import IPAddress

Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[IPAddress]]]
"""Every address of a host, in the order to try them; `OSError` if it has none."""


async def resolve_host(host: str, port: int) -> tuple[IPAddress, ...]:
    """Ask the system, which also turns odd spellings (`0x7f.1`) into the address they mean.

    Raises:
        OSError: The name does not resolve.
    """
    answers = await anyio.getaddrinfo(host, port, type=SOCK_STREAM)
    return tuple(dict.fromkeys(ip_address(answer[4][0]) for answer in answers))
