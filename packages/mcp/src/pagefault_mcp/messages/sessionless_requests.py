"""Check requests of the MCP revision without sessions, and build the HTTP headers of requests.

In the revision 2026-07-28, each request has its revision and its client in `_meta`. HTTP headers
repeat some members of a request for intermediaries, and must have the same values. The SDK has code
for this too, but takes 24 to 30 MiB of memory, and no other part of the proxy needs the SDK.

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

from pagefault_mcp.messages.lines import get_member
from pagefault_mcp.messages.request_tracker import REVISION_MEMBER

REVISIONS = ("2026-07-28",)
"""The revisions without sessions."""
PROTOCOL_VERSION_HEADER = "mcp-protocol-version"
METHOD_HEADER = "mcp-method"
NAME_HEADER = "mcp-name"
NAME_PARAMETERS: Mapping[str, str] = MappingProxyType(
    {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
)
"""For methods that require the header `Mcp-Name`: the parameter that the header repeats."""
# When the proxy sends a request, it also repeats these parameters, which are optional.
_SENT_NAME_PARAMETERS: Mapping[str, str] = MappingProxyType(
    {**NAME_PARAMETERS, **dict.fromkeys(("tasks/get", "tasks/update", "tasks/cancel"), "taskId")}
)

Path = tuple[str, ...]
"""The names of nested members of an object, from the outermost on."""

_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_PARAMETER_HEADER_PREFIX = "Mcp-Param-"
# The member of a parameter's schema with the suffix of the header that repeats the parameter.
_ANNOTATION = "x-mcp-header"
# A header value that needs no encoding, unless it looks encoded already.
_PLAIN = re.compile(r"(?! )[\x20-\x7e]*(?<! )")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LOOKS_ENCODED = re.compile(r"=\?base64\?.*\?=")
# Other header values are encoded in base64, between this beginning and this end.
_BASE64_BEGINNING, _BASE64_END = "=?base64?", "?="
# Error codes of JSON-RPC and of MCP.
INVALID_REQUEST = -32600
PARSE_ERROR = -32700
INTERNAL_ERROR = -32603
_METHOD_NOT_FOUND = -32601
_INVALID_PARAMS = -32602
_HEADER_MISMATCH = -32020
_MISSING_CLIENT_CAPABILITY = -32021
_UNSUPPORTED_REVISION = -32022

STATUSES_BY_ERROR_CODE: Mapping[int, int] = MappingProxyType(
    {
        PARSE_ERROR: 400,
        INVALID_REQUEST: 400,
        _INVALID_PARAMS: 400,
        _HEADER_MISMATCH: 400,
        _MISSING_CLIENT_CAPABILITY: 400,
        _UNSUPPORTED_REVISION: 400,
        _METHOD_NOT_FOUND: 404,
    }
)
"""The HTTP status for an error code of JSON-RPC; 200 for any other code."""


@dataclass(eq=False)
class RequestRefusedError(Exception):
    """A request is refused, with an HTTP status and an error of JSON-RPC.

    Attributes:
        status: The HTTP status.
        text: The message of the error.
        code: The code of the error.
        request_id: The id of the request; `None` if it is unknown.
        data: The `data` of the error.
    """

    status: int
    text: str
    code: int = INVALID_REQUEST
    request_id: object = None
    data: object = None


def find_refusal(
    message: Mapping[str, Any], headers: Mapping[str, str]
) -> RequestRefusedError | None:
    """Check a request of a revision without sessions; return an error to raise, or `None`.

    Args:
        message: The request.
        headers: The HTTP headers of the request, by their names in lower case.
    """
    request_id, method, params = message.get("id"), message.get("method"), message.get("params")
    meta = get_member(params, "_meta")
    meta = meta if isinstance(meta, dict) else {}
    missing = [name for name in (REVISION_MEMBER, _CAPABILITIES) if name not in meta]
    if missing:
        text = f"params._meta has no {' and no '.join(missing)}"
        return RequestRefusedError(400, text, code=_INVALID_PARAMS, request_id=request_id)
    revision = meta[REVISION_MEMBER]
    if headers.get(PROTOCOL_VERSION_HEADER) is None or headers[PROTOCOL_VERSION_HEADER] != revision:
        return _make_mismatch_error(
            request_id, PROTOCOL_VERSION_HEADER, f"params._meta's {REVISION_MEMBER}"
        )
    if headers.get(METHOD_HEADER) != method:
        return _make_mismatch_error(request_id, METHOD_HEADER, "method")
    parameter = NAME_PARAMETERS.get(method) if isinstance(method, str) else None
    name = None if parameter is None else get_member(params, parameter)
    if name is not None and _decode_header(headers.get(NAME_HEADER)) != name:
        return _make_mismatch_error(request_id, NAME_HEADER, f"params.{parameter}")
    if revision in REVISIONS:
        return None
    return RequestRefusedError(
        400,
        "Unsupported protocol version",
        code=_UNSUPPORTED_REVISION,
        request_id=request_id,
        data={"supported": [*REVISIONS], "requested": revision},
    )


def _make_mismatch_error(request_id: object, header: str, member_name: str) -> RequestRefusedError:
    text = f"the header {header} does not say what {member_name} says"
    return RequestRefusedError(400, text, code=_HEADER_MISMATCH, request_id=request_id)


def _decode_header(value: str | None) -> str | None:
    """Return the decoded value of a header; `None` if it cannot be decoded."""
    if value is None or not (value.startswith(_BASE64_BEGINNING) and value.endswith(_BASE64_END)):
        return value
    try:
        text = base64.b64decode(
            value[len(_BASE64_BEGINNING) : -len(_BASE64_END)], validate=True
        ).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    # Base64 that decodes to the same text, but is not in canonical form, is invalid.
    return text if value == _encode_base64(text) else None


def is_plain(text: str) -> bool:
    """Return whether a text is valid as the value of a header: printable ASCII."""
    return _PLAIN.fullmatch(text) is not None


def encode_header(text: str) -> str:
    """Return a text as the value of a header, in base64 if needed.

    Raises:
        UnicodeEncodeError: The text has a lone surrogate.
    """
    if _PLAIN.fullmatch(text) and not _LOOKS_ENCODED.fullmatch(text):
        return text
    return _encode_base64(text)


def _encode_base64(text: str) -> str:
    return f"{_BASE64_BEGINNING}{base64.b64encode(text.encode()).decode()}{_BASE64_END}"


def build_request_headers(
    message: Mapping[str, Any], mirrored_by_tool: Mapping[str, Mapping[Path, str]]
) -> dict[str, str]:
    """Return the headers that repeat members of a message.

    Messages of revisions with sessions have no such headers.

    Args:
        message: The message.
        mirrored_by_tool: The results of `find_mirrored_parameters`, by the names of the tools.

    Raises:
        UnicodeEncodeError: A repeated value has a lone surrogate.
    """
    version = get_member(message, "params", "_meta", REVISION_MEMBER)
    if not isinstance(version, str) or not is_plain(version):
        return {}
    params: dict[str, Any] = message["params"]
    method = str(message.get("method", ""))
    headers = {PROTOCOL_VERSION_HEADER: version, METHOD_HEADER: encode_header(method)}
    name = params.get(_SENT_NAME_PARAMETERS.get(method, ""))
    if isinstance(name, str):
        headers[NAME_HEADER] = encode_header(name)
    arguments = params.get("arguments")
    mirrored = mirrored_by_tool.get(str(name))
    if method == "tools/call" and mirrored and isinstance(arguments, dict):
        headers |= build_parameter_headers(mirrored, arguments)
    return headers


def find_mirrored_parameters(schema: object) -> Mapping[Path, str]:
    """Return the parameters of a tool that headers repeat.

    Args:
        schema: The input schema of the tool.

    Returns:
        The suffixes of the headers' names, by the paths of the parameters.
    """
    mirrored: dict[Path, str] = {}
    stack: list[tuple[Path, object]] = [((), schema)]
    while stack:
        path, node = stack.pop()
        if not isinstance(node, dict):
            continue
        suffix = node.get(_ANNOTATION)
        if path and isinstance(suffix, str):
            mirrored[path] = suffix
        properties = node.get("properties")
        # Only parameters that are members of objects may be repeated, not items of lists.
        for name, subschema in properties.items() if isinstance(properties, dict) else ():
            stack.append(((*path, name), subschema))
    return mirrored


def build_parameter_headers(
    mirrored: Mapping[Path, str], arguments: Mapping[str, Any]
) -> dict[str, str]:
    """Return the headers that repeat arguments of a call. A missing argument has no header.

    Args:
        mirrored: The result of `find_mirrored_parameters`.
        arguments: The arguments of the call.
    """
    headers = {}
    for path, suffix in mirrored.items():
        text = _format_argument(get_member(arguments, *path))
        # The server chooses the suffix, which may be invalid in the name of a header.
        if text is not None and _HEADER_NAME.fullmatch(suffix):
            headers[_PARAMETER_HEADER_PREFIX + suffix] = encode_header(text)
    return headers


def _format_argument(value: object) -> str | None:
    """Return an argument as the text of a header; `None` for null, lists and objects."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        return None
    try:
        return str(value)
    except ValueError:
        # The interpreter does not format integers of more than 4,300 digits.
        return None
