"""Requests of revisions without sessions: each says itself which revision it is of, and for whom.

Headers repeat what those in between may want to know, and have to agree with what they repeat. The
SDK checks the same, and takes 24 MiB of memory, which no other part of a proxy needs.

Source: specification of MCP, 2026-07-28, "Per-request protocol fields" and "Streamable HTTP".
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from app.mcp.mirrored_headers import METHOD, NAME, NAMED_BY, PROTOCOL_VERSION

REVISIONS = ("2026-07-28",)
REVISION = "io.modelcontextprotocol/protocolVersion"

_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_INVALID_PARAMS = -32602
_HEADER_MISMATCH = -32020
_UNSUPPORTED_REVISION = -32022
_BEGINNING, _END = "=?base64?", "?="

STATUSES: Mapping[int, int] = MappingProxyType(
    {
        -32700: 400,
        -32600: 400,
        _INVALID_PARAMS: 400,
        _HEADER_MISMATCH: 400,
        -32021: 400,
        _UNSUPPORTED_REVISION: 400,
        -32601: 404,
    }
)
"""The status of HTTP that stands beside an error of JSON-RPC; 200 for any other."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The error of JSON-RPC that a request is answered with."""

    code: int
    said: str
    data: Any = None


def refusal_of(message: Mapping[str, Any], headers: Mapping[str, str]) -> Refusal | None:
    """Return what is wrong with a request; `None` if it can be passed on.

    Args:
        message: The request.
        headers: Those it came with, by their names in lower case.
    """
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    meta = meta if isinstance(meta, dict) else {}
    missing = [name for name in (REVISION, _CAPABILITIES) if name not in meta]
    if not isinstance(params, dict) or missing:
        return Refusal(_INVALID_PARAMS, f"params._meta has no {' and no '.join(missing)}")
    revision, method = meta[REVISION], message.get("method")
    if headers.get(PROTOCOL_VERSION) is None or headers[PROTOCOL_VERSION] != revision:
        return _mismatch(PROTOCOL_VERSION, f"params._meta's {REVISION}")
    if headers.get(METHOD) != method:
        return _mismatch(METHOD, "method")
    named_by = NAMED_BY.get(method) if isinstance(method, str) else None
    name = None if named_by is None else params.get(named_by)
    if name is not None and _text_of(headers.get(NAME)) != name:
        return _mismatch(NAME, f"params.{named_by}")
    if revision not in REVISIONS:
        data = {"supported": [*REVISIONS], "requested": revision}
        return Refusal(_UNSUPPORTED_REVISION, "Unsupported protocol version", data)
    return None


def _mismatch(header: str, member: str) -> Refusal:
    return Refusal(_HEADER_MISMATCH, f"the header {header} does not say what {member} says")


def _text_of(value: str | None) -> str | None:
    """Return the text that a header holds; `None` if it holds none."""
    if value is None or not (value.startswith(_BEGINNING) and value.endswith(_END)):
        return value
    try:
        text = base64.b64decode(value[len(_BEGINNING) : -len(_END)], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    # Of the ways to write it in base64 there is one.
    written = base64.b64encode(text.encode()).decode()
    return text if value == f"{_BEGINNING}{written}{_END}" else None
