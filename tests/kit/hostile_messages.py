"""Messages of JSON-RPC that are small, or at least allowed by their size, and costly to read."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

HEADERS: Mapping[str, str] = MappingProxyType(
    {"content-type": "application/json", "accept": "application/json, text/event-stream"}
)
MAX_CHARS = 3_900_000
LISTS = b"[" + b"[]," * 1_150_000 + b"1]"
"""3.4 MB of empty lists."""


def message(method: str, **params: object) -> bytes:
    """Return a request as it is sent."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def call(arguments: bytes) -> bytes:
    """Return a call of a tool with arguments that are JSON."""
    said = message("tools/call", name="save_page", arguments=0)
    return said.replace(b'"arguments": 0', b'"arguments": ' + arguments)


def _with(**members: Any) -> bytes:  # noqa: ANN401 - any JSON
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", **members}).encode()


def _reading(beginning: str, piece: str) -> bytes:
    uri = beginning + piece * (MAX_CHARS // len(piece))
    return message("resources/read", uri=uri)


MESSAGES: Mapping[str, tuple[bytes, int, str]] = MappingProxyType(
    {
        "lists": (LISTS, 413, "json-too-large"),
        "lists in a call": (call(b'{"content":%s}' % LISTS), 413, "json-too-large"),
        "levels": (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, 413, "json-too-deep"),
        "two long strings": (
            message("tools/call", name="a" * 1_100_000, arguments={"b": "c" * 1_100_000}),
            413,
            "json-too-large",
        ),
        "method": (_with(method="m" * 3_000_000), 422, "invalid-payload"),
        "id": (_with(id="i" * 3_000_000), 422, "invalid-payload"),
        "members": (_with(**{f"m{n}": [] for n in range(20_000)}), 413, "json-too-large"),
        "no JSON": (b'"' * MAX_CHARS, 400, "invalid-json"),
        "subscriptions": (
            message(
                "subscriptions/listen",
                notifications={"resourceSubscriptions": ["pagefault://pages/a"] * 1_000},
            ),
            413,
            "payload-too-large",
        ),
    }
)
"""Messages that are refused before the SDK reads them: the status, and the code of the problem."""

REQUESTS: Mapping[str, bytes] = MappingProxyType(
    {
        "signs of a URI": _reading("pagefault://pages/", "%"),
        "a query of a URI": _reading("pagefault://pages/a?", "a=1&"),
        "a cursor": message("resources/list", cursor="pages:" + "A" * MAX_CHARS),
        "arguments": call(json.dumps({f"a{n}": 1 for n in range(9_000)}).encode()),
        "a name": message("tools/call", name="n" * MAX_CHARS, arguments={}),
        "a query": message(
            "tools/call", name="search_pages", arguments={"query": "p " * 1_900_000}
        ),
        "escapes": call(b'{"content":"%s"}' % (rb"\u00e9\"" * 480_000)),
        "members": _with(**{f"m{n}": 1 for n in range(19_000)}),
    }
)
"""Messages that the SDK reads, and that are answered in a few words."""
