"""Parse values of settings: lists, origins and host names.

Origins and host names are compared byte by byte with those that browsers send in `Origin` and
`Host`. So they are normalized to the form of browsers. For an invalid value, the functions raise a
`ValueError` whose message shows a valid form.
"""

import ipaddress
import json
import re
from collections.abc import Callable
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BeforeValidator
from pydantic_settings import NoDecode

DEFAULT_PORTS = {"http": 80, "https": 443}
_LABEL = "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
# Browsers parse a name whose last label is a number as an address; no top-level domain begins with
# a digit.
_BROWSER_NAME = re.compile(rf"(?:{_LABEL}\.)*(?![0-9]){_LABEL}")
# Names of containers may have underscores.
_NAME_WITH_UNDERSCORES = re.compile(r"(?:[a-z0-9_-]+\.)*(?![0-9])[a-z0-9_-]+")
# Origins of pages of applications and of browser extensions.
_OTHER_SCHEMES = (
    "app|capacitor|chrome-extension|ionic|moz-extension|safari-web-extension|tauri|vscode-webview"
)
_OTHER_ORIGIN = re.compile(rf"(?:{_OTHER_SCHEMES})://[a-z0-9._-]+")
_ORIGIN = re.compile(r"(?P<scheme>https?)://(?P<host>[^/?#@:\[\]]+|\[[^]]*\])(?::[1-9][0-9]{0,4})?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
LARGEST_PORT = 65_535
_QUOTES = "\"'"


def split_commas(value: object, *, is_secret: bool = False) -> object:
    """Return the items of a text `a,b` as a tuple. A value that is not text is returned unchanged.

    Args:
        value: The value of the variable.
        is_secret: True if the error message must not contain the value.

    Raises:
        ValueError: The text has brackets or quotes; the message has the list without these.
    """
    if not isinstance(value, str):
        return value
    items = tuple(item.strip() for item in value.split(",") if item.strip())
    json_items = _parse_bracketed_list(value)
    if json_items is None and not any(item[0] in _QUOTES for item in items):
        return items
    msg = "is a list separated by commas, without brackets and quotes"
    if not is_secret:
        plain = json_items if json_items is not None else [item.strip(_QUOTES) for item in items]
        spelled = "".join(character for character in ",".join(plain) if character.isprintable())
        msg += f": write {spelled}" if spelled else ": leave the variable out for an empty one"
    raise ValueError(msg)


CommaList = Annotated[tuple[str, ...], NoDecode, BeforeValidator(split_commas)]
"""The type of a setting with items separated by commas."""


def make_item_validator(
    check: Callable[[str], str],
) -> Callable[[tuple[str, ...]], tuple[str, ...]]:
    """Return a validator that replaces each item of a list with the result of `check`."""
    return lambda items: tuple(map(check, items))


def _parse_bracketed_list(value: str) -> list[str] | None:
    """Return the items of a list in the syntax of JSON or Python; `None` for other text."""
    text = value.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return None
    try:
        items = json.loads(text)
    except ValueError:
        # The text may be a Python list, whose items are quoted, or an IPv6 address such as `[::1]`.
        quoted = [item.strip() for item in text[1:-1].split(",")]
        is_python_list = all(item[:1] in _QUOTES and item for item in quoted)
        return [item.strip(_QUOTES) for item in quoted] if is_python_list else None
    return [str(item) for item in items]


def normalize_page_origin(value: str) -> str:
    """Return the origin of pages that may call the API, normalized as in `Origin`."""
    if value == "*":
        raise ValueError(
            "every origin (`*`) cannot be allowed: any page that somebody opens could then write. "
            "Name each origin, such as https://app.example.com"
        )
    origin = value.lower().removesuffix("/")
    if _OTHER_ORIGIN.fullmatch(origin):
        return origin
    match = _ORIGIN.fullmatch(origin)
    if not match or not (is_normalized_host(match["host"]) or _is_ipv6(match["host"])):
        raise ValueError(
            f"{_printable(value)} is not an origin such as https://app.example.com or "
            "http://localhost:3000, with its scheme and without a path"
        )
    return build_origin(origin)


def normalize_host(value: str) -> str:
    """Return a host name, with or without a port, normalized as in `Host`."""
    host = value.lower()
    if "*" in host:
        msg = "there are no wildcards: list each name, such as media.internal,media.internal:9000"
        raise ValueError(msg)
    if "/" in host:
        name = urlsplit(host).netloc or host.partition("/")[0]
        written = _printable(name)
        msg = f"{_printable(value)} is not a host name: write {written}, without scheme and path"
        raise ValueError(msg)
    if _is_ipv6(f"[{host}]"):
        raise ValueError(f"an IPv6 address stands in brackets: write [{host}]")
    name, port = re.fullmatch(r"(\[[^]]*\]|[^:]*)(?::(.*))?", host, re.DOTALL).groups()  # type: ignore[union-attr]
    name = name.removesuffix(".")
    is_name = (
        bool(_NAME_WITH_UNDERSCORES.fullmatch(name)) or is_normalized_host(name) or _is_ipv6(name)
    )
    is_port = port is None or (_PORT.fullmatch(port) and int(port) <= LARGEST_PORT)
    if not is_name or not is_port:
        msg = (
            f"{_printable(value)} is not a host name such as media.internal or media.internal:9000"
        )
        raise ValueError(msg)
    return name if port is None else f"{name}:{port}"


def check_fetched_host(value: str) -> str:
    """Check and return a host from which files may be fetched. `Fetcher` makes further checks."""
    if "*" in value:
        msg = "there are no wildcards: list each host, such as files.internal,media.internal:9000"
        raise ValueError(msg)
    if "://" in value:
        raise ValueError(
            f"{_printable(value)} is not a host: write {_printable(urlsplit(value).netloc)}"
        )
    return value


def is_normalized_host(host: str) -> bool:
    """Return whether this is a name or an IPv4 address, in the form that browsers send."""
    try:
        return bool(_BROWSER_NAME.fullmatch(host) or ipaddress.IPv4Address(host))
    except ValueError:
        return False


def _is_ipv6(host: str) -> bool:
    """Return whether this is an IPv6 address in brackets, in the form that browsers send."""
    if not (host.startswith("[") and host.endswith("]")) or "%" in host:
        return False
    try:
        return str(ipaddress.IPv6Address(host[1:-1])) == host[1:-1]
    except ValueError:
        return False


def _printable(value: str) -> str:
    return "".join(character for character in value if character.isprintable())


def build_origin(url: str) -> str:
    """Return the origin of an http(s) URL in the form of browsers, which omits a default port."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    name = f"[{host}]" if ":" in host else host
    port = "" if parts.port in (None, DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{name}{port}"


def list_host_names(url: str) -> frozenset[str]:
    """Return the possible values of `Host`, in lower case, in requests to an http(s) URL.

    The default port may be omitted, and a name may end in a dot.

    Source: RFC 9110 §4.2.3 and §7.2, RFC 3986 §3.2.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    name = f"[{host}]" if ":" in host else host.removesuffix(".")
    default = DEFAULT_PORTS[parts.scheme]
    port = parts.port or default
    ends = {f":{port}", "", ":"} if port == default else {f":{port}"}
    return frozenset(item + end for item in (name, f"{name}.") for end in ends)


def is_loopback(host: str) -> bool:
    """Return whether a listening address is reachable from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
