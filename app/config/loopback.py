"""Addresses of this machine, for programs that need no settings."""

import ipaddress


def is_loopback(host: str) -> bool:
    """Return whether a listening address is reachable from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
