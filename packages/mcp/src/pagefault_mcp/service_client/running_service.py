"""The service at `--url`: parsing its address and headers, and checking that it responds."""

import ipaddress
import os
import re
from collections.abc import Sequence
from typing import TypeAlias

import httpx
import typer

from pagefault_mcp.errors import unreachable_reason
from pagefault_mcp.service_client.service_exchange import ServiceRequestError
from pagefault_mcp.service_client.service_store import parse_detail, parse_object

Headers: TypeAlias = Sequence[tuple[str, str]]

FIRST_SECONDS = 30.0
"""The timeout of the first response."""
CONNECT_SECONDS = 10.0
LIMITS = httpx.Limits(keepalive_expiry=2.0)
"""Shorter than the five seconds after which a service closes an idle connection."""
_PORTS = 65_536
_KEY_VARIABLE = "PAGEFAULT_API_KEY"
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def service_address(
    url: str, option: str = "--url", example: str = "http://127.0.0.1:8000"
) -> httpx.URL:
    """Return the parsed URL of a service; raise `typer.BadParameter` if it is invalid.

    Args:
        url: The value of the option.
        option: The name of the option, for the error.
        example: A valid URL, for the error.
    """
    try:
        address = httpx.URL(url)
        host = address.host
    except (httpx.InvalidURL, UnicodeError):
        address, host = httpx.URL(), ""
    # httpx escapes invalid characters of a host.
    is_web = address.scheme in ("http", "https") and host and "%" not in host
    if not is_web or not 0 < (address.port or 80) < _PORTS:
        raise typer.BadParameter(f"has to be as in {example}", param_hint=option)
    return address


def is_local(address: httpx.URL) -> bool:
    """Return whether a service is on this machine, where `HTTP_PROXY` does not apply."""
    if address.host == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.host).is_loopback
    except ValueError:
        return False


def parse_header(header: str) -> tuple[str, str]:
    """Return name and value of `NAME: VALUE`."""
    name, colon, value = header.partition(":")
    name, value = name.strip(), value.strip()
    if not colon or not name:
        raise typer.BadParameter("has to be NAME: VALUE", param_hint="--header")
    # The value may be secret, so errors do not repeat it.
    if not _HEADER_NAME.fullmatch(name):
        raise typer.BadParameter(
            "its name may have letters from A to Z, digits and !#$%&'*+-.^_`|~",
            param_hint="--header",
        )
    if not (value.isascii() and value.isprintable()):
        raise typer.BadParameter(
            "its value may have the printable characters of ASCII, on one line",
            param_hint="--header",
        )
    return name, value


def with_key(headers: Headers = ()) -> httpx.Headers:
    """Return headers with the key of the environment, unless they have an `Authorization`.

    The key is removed from the environment, so that no child process inherits it.
    """
    all_headers = httpx.Headers(list(headers))
    if key := os.environ.pop(_KEY_VARIABLE, "").strip():
        if not (key.isascii() and key.isprintable()):
            raise typer.BadParameter("has characters that no key has", param_hint=_KEY_VARIABLE)
        all_headers.setdefault("Authorization", f"Bearer {key}")
    return all_headers


async def find_problem(
    client: httpx.AsyncClient, request: httpx.Request, *, has_header_option: bool
) -> str | None:
    """Send a first request; return a sentence about its failure, or `None` if it succeeds.

    Args:
        client: The client of the service.
        request: The request, whose response is a JSON object.
        has_header_option: The command has `--header` for requests to the service.
    """
    # Without the parts of the URL that may be secret.
    address = request.url.copy_with(userinfo=b"", query=None)
    try:
        response = await client.send(request)
    except httpx.HTTPError as exc:
        return f"{address} cannot be reached: {unreachable_reason(exc)}"
    if response.status_code in (401, 403):
        has_key = "authorization" in client.headers
        header = ", or give --header 'Authorization: Bearer pf_…'" if has_header_option else ""
        return (
            f"{address} {'refuses the key' if has_key else 'asks for a key'}. Set {_KEY_VARIABLE}"
            f"{header}; `pagefault keys create` makes one."
        )
    if not response.is_success:
        detail = parse_detail(response)
        suffix = "" if detail is None else f": {detail}".rstrip(".")
        return f"{address} answered {response.status_code}{suffix}. Is it a Pagefault?"
    try:
        parse_object(response)
    except ServiceRequestError as exc:
        return f"{address}: {exc}"
    return None
