"""Requests without sessions: refused as by the official SDK."""

import itertools
from typing import Any

import pytest
from mcp.shared import inbound
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from pagefault_mcp.http_server.host_endpoint import HANDSHAKE_REVISIONS
from pagefault_mcp.messages.request_tracker import REVISION_MEMBER
from pagefault_mcp.messages.sessionless_requests import (
    REVISIONS,
    STATUSES_BY_ERROR_CODE,
    find_refusal,
)

WHOLE = {REVISION_MEMBER: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
PARAMS: list[Any] = [
    None,
    [],
    {},
    {"_meta": None},
    {"_meta": {REVISION_MEMBER: "2026-07-28"}},
    {"_meta": {**WHOLE, REVISION_MEMBER: "2031-01-01"}},
    {"_meta": {**WHOLE, REVISION_MEMBER: None}, "name": "a"},
    {"_meta": WHOLE},
    {"_meta": WHOLE, "name": "a"},
    {"_meta": WHOLE, "name": "Grüße"},
    {"_meta": WHOLE, "name": 1},
]
METHODS: list[Any] = ["tools/call", "ping", None]
HEADERS: list[dict[str, str]] = [
    {},
    {"mcp-protocol-version": "2026-07-28"},
    {"mcp-protocol-version": "2031-01-01", "mcp-method": "ping"},
    {"mcp-protocol-version": "2026-07-28", "mcp-method": "ping"},
    *(
        {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name}
        for name in (
            "a",
            "=?base64?YQ==?=",
            "=?base64?R3LDvMOfZQ==?=",
            "=?base64?YR==?=",
            "=?base64?",
        )
    ),
]


@pytest.mark.parametrize(
    ("params", "method", "headers"), [*itertools.product(PARAMS, METHODS, HEADERS)]
)
def test_request_is_refused_as_by_the_sdk(
    params: object, method: object, headers: dict[str, str]
) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    theirs = inbound.classify_inbound_request(message, headers=headers)
    ours = find_refusal(message, headers)
    if isinstance(theirs, inbound.InboundModernRoute):
        assert ours is None
    else:
        assert ours is not None
        assert (ours.code, ours.data) == (theirs.code, theirs.data)


def test_revisions_and_statuses_are_those_of_the_sdk() -> None:
    assert STATUSES_BY_ERROR_CODE == inbound.ERROR_CODE_HTTP_STATUS
    assert (HANDSHAKE_REVISIONS, REVISIONS) == (
        HANDSHAKE_PROTOCOL_VERSIONS,
        MODERN_PROTOCOL_VERSIONS,
    )
