"""Headers of Streamable HTTP that repeat what a message says, since 2026-07-28.

The SDK has the same, and takes 30 MiB of memory, which no other part of a proxy needs.

Source: specification of MCP, 2026-07-28, "Streamable HTTP", "Custom Headers".
"""

import base64
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

PROTOCOL_VERSION = "mcp-protocol-version"
METHOD = "mcp-method"
NAME = "mcp-name"
NAMED_BY: Mapping[str, str] = MappingProxyType(
    {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
)
"""The parameter that `Mcp-Name` repeats, by method."""

Path = tuple[str, ...]

_PARAMETER = "Mcp-Param-"
_ANNOTATION = "x-mcp-header"
_PLAIN = re.compile(r"(?! )[\x20-\x7e]*(?<! )")
_ENCODED = re.compile(r"=\?base64\?.*\?=")


def header_value(text: str) -> str:
    """Return a text as a header holds it: as it is, or in base64 if it would not come through."""
    if _PLAIN.fullmatch(text) and not _ENCODED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def mirrored_parameters(schema: object) -> Mapping[Path, str]:
    """Return which parameters of a tool are repeated in headers, and how these end.

    Args:
        schema: The tool's input schema.
    """
    return dict(_annotated(schema))


def _annotated(schema: object) -> Iterator[tuple[Path, str]]:
    left: list[tuple[Path, object]] = [((), schema)]
    while left:
        path, held = left.pop()
        if not isinstance(held, dict):
            continue
        token = held.get(_ANNOTATION)
        if path and isinstance(token, str):
            yield path, token
        properties = held.get("properties")
        # Parameters that a header may repeat are reached by nothing but properties.
        for name, member in properties.items() if isinstance(properties, dict) else ():
            left.append(((*path, name), member))


def parameter_headers(mirrored: Mapping[Path, str], arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers that repeat the arguments of a call; none for one that is not given."""
    headers = {}
    for path, token in mirrored.items():
        written = _written(_at(arguments, path))
        if written is not None:
            headers[_PARAMETER + token] = header_value(written)
    return headers


def _at(arguments: object, path: Path) -> object:
    for name in path:
        arguments = arguments.get(name) if isinstance(arguments, Mapping) else None
    return arguments


def _written(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        return None
    try:
        return str(value)
    except ValueError:
        # The interpreter does not write integers of more than 4,300 digits.
        return None
