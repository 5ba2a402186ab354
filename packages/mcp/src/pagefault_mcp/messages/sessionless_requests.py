"""Requests of revisions without sessions: each says itself which revision it is of, and for whom.

Headers repeat what those in between may want to know, and have to agree with what they repeat. The
SDK has the same, and takes 24 to 30 MiB of memory, which no other part of a proxy needs.

Source: specification of MCP, 2026-07-28, "Per-request protocol fields" and "Streamable HTTP", with
its "Custom Headers".
"""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pagefault_mcp.messages.message_values import member
from pagefault_mcp.messages.passing_requests import REVISION

REVISIONS = ("2026-07-28",)
PROTOCOL_VERSION = "mcp-protocol-version"
METHOD = "mcp-method"
NAME = "mcp-name"
NAMED_BY: Mapping[str, str] = MappingProxyType(
    {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
)
"""The parameter that `Mcp-Name` repeats, by method. Requests without it are refused."""
_NAMED_WHEN_SENT: Mapping[str, str] = MappingProxyType(
    {**NAMED_BY, **dict.fromkeys(("tasks/get", "tasks/update", "tasks/cancel"), "taskId")}
)

Path = tuple[str, ...]

_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_PARAMETER = "Mcp-Param-"
_ANNOTATION = "x-mcp-header"
_PLAIN = re.compile(r"(?! )[\x20-\x7e]*(?<! )")
_NAME_OF_A_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_ENCODED = re.compile(r"=\?base64\?.*\?=")
_BEGINNING, _END = "=?base64?", "?="
INVALID_REQUEST = -32600
PARSE_ERROR = -32700
INTERNAL_ERROR = -32603
_INVALID_PARAMS = -32602
_HEADER_MISMATCH = -32020
_UNSUPPORTED_REVISION = -32022

STATUSES: Mapping[int, int] = MappingProxyType(
    {
        PARSE_ERROR: 400,
        INVALID_REQUEST: 400,
        _INVALID_PARAMS: 400,
        _HEADER_MISMATCH: 400,
        -32021: 400,
        _UNSUPPORTED_REVISION: 400,
        -32601: 404,
    }
)
"""The status of HTTP that stands beside an error of JSON-RPC; 200 for any other."""


@dataclass(eq=False)
class RequestRefusedError(Exception):
    """A request that is not passed on: the status, and what JSON-RPC says of it."""

    status: int
    said: str
    code: int = INVALID_REQUEST
    request_id: object = None
    data: object = None


def refusal_of(
    message: Mapping[str, Any], headers: Mapping[str, str]
) -> RequestRefusedError | None:
    """Return what is wrong with a request; `None` if it can be passed on.

    Args:
        message: The request.
        headers: Those it came with, by their names in lower case.
    """
    request_id, method, params = message.get("id"), message.get("method"), message.get("params")
    meta = member(params, "_meta")
    meta = meta if isinstance(meta, dict) else {}
    missing = [name for name in (REVISION, _CAPABILITIES) if name not in meta]
    if missing:
        said = f"params._meta has no {' and no '.join(missing)}"
        return RequestRefusedError(400, said, code=_INVALID_PARAMS, request_id=request_id)
    revision = meta[REVISION]
    if headers.get(PROTOCOL_VERSION) is None or headers[PROTOCOL_VERSION] != revision:
        return _mismatch(request_id, PROTOCOL_VERSION, f"params._meta's {REVISION}")
    if headers.get(METHOD) != method:
        return _mismatch(request_id, METHOD, "method")
    named_by = NAMED_BY.get(method) if isinstance(method, str) else None
    name = None if named_by is None else member(params, named_by)
    if name is not None and _text_of(headers.get(NAME)) != name:
        return _mismatch(request_id, NAME, f"params.{named_by}")
    if revision in REVISIONS:
        return None
    return RequestRefusedError(
        400,
        "Unsupported protocol version",
        code=_UNSUPPORTED_REVISION,
        request_id=request_id,
        data={"supported": [*REVISIONS], "requested": revision},
    )


def _mismatch(request_id: object, header: str, place: str) -> RequestRefusedError:
    said = f"the header {header} does not say what {place} says"
    return RequestRefusedError(400, said, code=_HEADER_MISMATCH, request_id=request_id)


def _text_of(value: str | None) -> str | None:
    """Return the text that a header holds; `None` if it holds none."""
    if value is None or not (value.startswith(_BEGINNING) and value.endswith(_END)):
        return value
    try:
        text = base64.b64decode(value[len(_BEGINNING) : -len(_END)], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    # Of the ways to write it in base64 there is one.
    return text if value == _encode(text) else None


def is_plain(text: str) -> bool:
    """Return whether a header holds a text as it is."""
    return _PLAIN.fullmatch(text) is not None


def header_value(text: str) -> str:
    """Return a text as a header holds it: as it is, or in base64 if it would not come through.

    Raises:
        UnicodeEncodeError: It has half of a surrogate pair, which is no character.
    """
    if _PLAIN.fullmatch(text) and not _ENCODED.fullmatch(text):
        return text
    return _encode(text)


def _encode(text: str) -> str:
    return f"{_BEGINNING}{base64.b64encode(text.encode()).decode()}{_END}"


def request_headers(
    message: Mapping[str, Any], tools: Mapping[str, Mapping[Path, str]]
) -> dict[str, str]:
    """Return the headers that repeat what a message says, in the revisions that have them.

    Args:
        message: The message.
        tools: Which parameters are repeated, by the names of tools.

    Raises:
        UnicodeEncodeError: What is to be repeated has half of a surrogate pair.
    """
    version = member(message, "params", "_meta", REVISION)
    if not isinstance(version, str) or not is_plain(version):
        return {}
    params: dict[str, Any] = message["params"]
    method = str(message.get("method", ""))
    headers = {PROTOCOL_VERSION: version, METHOD: header_value(method)}
    name = params.get(_NAMED_WHEN_SENT.get(method, ""))
    if isinstance(name, str):
        headers[NAME] = header_value(name)
    arguments = params.get("arguments")
    mirrored = tools.get(str(name))
    if method == "tools/call" and mirrored and isinstance(arguments, dict):
        headers |= parameter_headers(mirrored, arguments)
    return headers


def mirrored_parameters(schema: object) -> Mapping[Path, str]:
    """Return which parameters of a tool are repeated in headers, and how these end.

    Args:
        schema: The tool's input schema.
    """
    found: dict[Path, str] = {}
    left: list[tuple[Path, object]] = [((), schema)]
    while left:
        path, held = left.pop()
        if not isinstance(held, dict):
            continue
        token = held.get(_ANNOTATION)
        if path and isinstance(token, str):
            found[path] = token
        properties = held.get("properties")
        # Parameters that a header may repeat are reached by nothing but properties.
        for name, inner in properties.items() if isinstance(properties, dict) else ():
            left.append(((*path, name), inner))
    return found


def parameter_headers(mirrored: Mapping[Path, str], arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers that repeat the arguments of a call; none for one that is not given."""
    headers = {}
    for path, token in mirrored.items():
        written = _write(member(arguments, *path))
        # What a server calls a header need not be the name of one.
        if written is not None and _NAME_OF_A_HEADER.fullmatch(token):
            headers[_PARAMETER + token] = header_value(written)
    return headers


def _write(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        return None
    try:
        return str(value)
    except ValueError:
        # The interpreter does not write integers of more than 4,300 digits.
        return None
