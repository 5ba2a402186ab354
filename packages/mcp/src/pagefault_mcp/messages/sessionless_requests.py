"""Check requests of revisions without sessions, and build their HTTP headers.

Each request has its revision and its client in `_meta`. HTTP headers repeat some members of a
request for intermediaries, and must have the same values. The SDK has code for this too, but takes
24 to 30 MiB of memory, and no other part of the proxy needs the SDK.

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

from pagefault_mcp.messages.lines import member
from pagefault_mcp.messages.request_tracker import REVISION

REVISIONS = ("2026-07-28",)
PROTOCOL_VERSION = "mcp-protocol-version"
METHOD = "mcp-method"
NAME = "mcp-name"
NAMED_BY: Mapping[str, str] = MappingProxyType(
    {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
)
"""The parameter that the header `Mcp-Name` repeats, by the methods that require the header."""
_NAMED_WHEN_SENT: Mapping[str, str] = MappingProxyType(
    {**NAMED_BY, **dict.fromkeys(("tasks/get", "tasks/update", "tasks/cancel"), "taskId")}
)

Path = tuple[str, ...]

_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_PARAMETER = "Mcp-Param-"
_ANNOTATION = "x-mcp-header"
_PLAIN = re.compile(r"(?! )[\x20-\x7e]*(?<! )")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
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
"""The HTTP status for an error code of JSON-RPC; 200 for any other code."""


@dataclass(eq=False)
class RequestRefusedError(Exception):
    """A request is refused with an HTTP status and an error of JSON-RPC."""

    status: int
    text: str
    code: int = INVALID_REQUEST
    request_id: object = None
    data: object = None


def find_refusal(
    message: Mapping[str, Any], headers: Mapping[str, str]
) -> RequestRefusedError | None:
    """Return the refusal of an invalid request; `None` if it is valid.

    Args:
        message: The request.
        headers: Its headers, by their names in lower case.
    """
    request_id, method, params = message.get("id"), message.get("method"), message.get("params")
    meta = member(params, "_meta")
    meta = meta if isinstance(meta, dict) else {}
    missing = [name for name in (REVISION, _CAPABILITIES) if name not in meta]
    if missing:
        text = f"params._meta has no {' and no '.join(missing)}"
        return RequestRefusedError(400, text, code=_INVALID_PARAMS, request_id=request_id)
    revision = meta[REVISION]
    if headers.get(PROTOCOL_VERSION) is None or headers[PROTOCOL_VERSION] != revision:
        return _mismatch(request_id, PROTOCOL_VERSION, f"params._meta's {REVISION}")
    if headers.get(METHOD) != method:
        return _mismatch(request_id, METHOD, "method")
    named_by = NAMED_BY.get(method) if isinstance(method, str) else None
    name = None if named_by is None else member(params, named_by)
    if name is not None and _decode_header(headers.get(NAME)) != name:
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


def _mismatch(request_id: object, header: str, member_name: str) -> RequestRefusedError:
    text = f"the header {header} does not say what {member_name} says"
    return RequestRefusedError(400, text, code=_HEADER_MISMATCH, request_id=request_id)


def _decode_header(value: str | None) -> str | None:
    """Return the decoded value of a header; `None` if it cannot be decoded."""
    if value is None or not (value.startswith(_BEGINNING) and value.endswith(_END)):
        return value
    try:
        text = base64.b64decode(value[len(_BEGINNING) : -len(_END)], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    # Only the canonical base64 is valid.
    return text if value == _encode(text) else None


def is_plain(text: str) -> bool:
    """Return whether a text is valid as the value of a header."""
    return _PLAIN.fullmatch(text) is not None


def encode_header(text: str) -> str:
    """Return a text as the value of a header, in base64 if needed.

    Raises:
        UnicodeEncodeError: It has a lone surrogate.
    """
    if _PLAIN.fullmatch(text) and not _ENCODED.fullmatch(text):
        return text
    return _encode(text)


def _encode(text: str) -> str:
    return f"{_BEGINNING}{base64.b64encode(text.encode()).decode()}{_END}"


def build_request_headers(
    message: Mapping[str, Any], tools: Mapping[str, Mapping[Path, str]]
) -> dict[str, str]:
    """Return the headers that repeat members of a message; empty for revisions without them.

    Args:
        message: The message.
        tools: The results of `find_mirrored_parameters`, by the names of the tools.

    Raises:
        UnicodeEncodeError: A repeated value has a lone surrogate.
    """
    version = member(message, "params", "_meta", REVISION)
    if not isinstance(version, str) or not is_plain(version):
        return {}
    params: dict[str, Any] = message["params"]
    method = str(message.get("method", ""))
    headers = {PROTOCOL_VERSION: version, METHOD: encode_header(method)}
    name = params.get(_NAMED_WHEN_SENT.get(method, ""))
    if isinstance(name, str):
        headers[NAME] = encode_header(name)
    arguments = params.get("arguments")
    mirrored = tools.get(str(name))
    if method == "tools/call" and mirrored and isinstance(arguments, dict):
        headers |= build_parameter_headers(mirrored, arguments)
    return headers


def find_mirrored_parameters(schema: object) -> Mapping[Path, str]:
    """Return the parameters of a tool that headers repeat.

    Args:
        schema: The input schema of the tool.

    Returns:
        The suffixes of the header names, by the paths of the parameters.
    """
    mirrored: dict[Path, str] = {}
    stack: list[tuple[Path, object]] = [((), schema)]
    while stack:
        path, node = stack.pop()
        if not isinstance(node, dict):
            continue
        token = node.get(_ANNOTATION)
        if path and isinstance(token, str):
            mirrored[path] = token
        properties = node.get("properties")
        # Only parameters that are members of objects may be repeated, not items of lists.
        for name, inner in properties.items() if isinstance(properties, dict) else ():
            stack.append(((*path, name), inner))
    return mirrored


def build_parameter_headers(
    mirrored: Mapping[Path, str], arguments: Mapping[str, Any]
) -> dict[str, str]:
    """Return the headers that repeat the arguments of a call, except missing ones.

    Args:
        mirrored: The result of `find_mirrored_parameters`.
        arguments: The arguments of the call.
    """
    headers = {}
    for path, token in mirrored.items():
        text = _format_argument(member(arguments, *path))
        # The server chooses the suffix, which may be invalid in the name of a header.
        if text is not None and _HEADER_NAME.fullmatch(token):
            headers[_PARAMETER + token] = encode_header(text)
    return headers


def _format_argument(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        return None
    try:
        return str(value)
    except ValueError:
        # The interpreter does not format integers of more than 4,300 digits.
        return None
