"""Connects `pagefault proxy --url` and `pagefault mcp --url` to a running service.

The functions parse the URL and the headers from the command line, and send the first request.
"""

import ipaddress
import os
import re
from collections.abc import Sequence
from typing import TypeAlias

import httpx
import typer

from pagefault_mcp.errors import describe_transport_error
from pagefault_mcp.service_client.service_exchange import ServiceRequestError
from pagefault_mcp.service_client.service_store import parse_detail, parse_object

Headers: TypeAlias = Sequence[tuple[str, str]]

FIRST_REQUEST_SECONDS = 30.0
"""The timeout of the first request to a service."""
CONNECT_SECONDS = 10.0
"""The timeout of a connection to a service."""
CLIENT_LIMITS = httpx.Limits(keepalive_expiry=2.0)
"""The limits of a client. It closes idle connections before the service does so after 5 seconds."""
_LARGEST_PORT = 65_535
_KEY_VARIABLE = "PAGEFAULT_API_KEY"
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def parse_url_option(
    url: str, option: str = "--url", example: str = "http://127.0.0.1:8000"
) -> httpx.URL:
    """Return the parsed value of an option that takes an HTTP URL.

    Args:
        url: The value of the option.
        option: The name of the option, for the error.
        example: A valid URL, for the error.

    Raises:
        typer.BadParameter: The URL is invalid, or its scheme is neither `http` nor `https`.
    """
    try:
        parsed_url = httpx.URL(url)
        host = parsed_url.host
    except (httpx.InvalidURL, UnicodeError):
        parsed_url, host = httpx.URL(), ""
    # httpx replaces invalid characters of a host by `%` and digits.
    is_web = parsed_url.scheme in ("http", "https") and host and "%" not in host
    if not is_web or not 0 < (parsed_url.port or 80) <= _LARGEST_PORT:
        raise typer.BadParameter(f"has to be as in {example}", param_hint=option)
    return parsed_url


def is_local(url: httpx.URL) -> bool:
    """Return whether the host of a URL is this machine.

    Requests to this machine are sent directly, even if `HTTP_PROXY` is set.
    """
    if url.host == "localhost":
        return True
    try:
        return ipaddress.ip_address(url.host).is_loopback
    except ValueError:
        return False


def parse_header(header: str) -> tuple[str, str]:
    """Return name and value of `NAME: VALUE`, a value of `--header`.

    Raises:
        typer.BadParameter: The header is invalid.
    """
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


def build_headers(headers: Headers = ()) -> httpx.Headers:
    """Return headers for requests to a service, with the API key in PAGEFAULT_API_KEY.

    An `Authorization` among `headers` takes precedence over the key. The key is removed from the
    environment, so that no child process inherits it.

    Raises:
        typer.BadParameter: The key has characters that are not allowed in a header.
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
    """Send the first request; return a sentence that says why it failed, `None` if it succeeded.

    Args:
        client: The client of the service.
        request: The request. A successful response is a JSON object.
        has_header_option: True if the command has `--header`, which the sentence then recommends.
    """
    # User name, password and query of the URL may be secret.
    url = request.url.copy_with(userinfo=b"", query=None)
    try:
        response = await client.send(request)
    except httpx.HTTPError as exc:
        return f"{url} cannot be reached: {describe_transport_error(exc)}"
    if response.status_code in (401, 403):
        has_key = "authorization" in client.headers
        or_header = ", or give --header 'Authorization: Bearer pf_…'" if has_header_option else ""
        return (
            f"{url} {'refuses the key' if has_key else 'asks for a key'}. Set {_KEY_VARIABLE}"
            f"{or_header}; `pagefault keys create` makes one."
        )
    if not response.is_success:
        detail = parse_detail(response)
        suffix = "" if detail is None else f": {detail}".rstrip(".")
        return f"{url} answered {response.status_code}{suffix}. Is it a Pagefault?"
    try:
        parse_object(response)
    except ServiceRequestError as exc:
        return f"{url}: {exc}"
    return None
