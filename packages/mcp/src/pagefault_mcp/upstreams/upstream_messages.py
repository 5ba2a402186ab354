"""Messages between the proxy and a server at a URL: lines that are sent, responses, and refusals.

`http_upstream`, `sse_upstream` and `upstream_session` use these types and functions.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.cookiejar import Cookie, DefaultCookiePolicy
from typing import Any, Final
from urllib.request import Request

import anyio
import httpx

from pagefault_mcp.errors import replace_unprintable
from pagefault_mcp.messages.lines import Line, find_answered_ids, get_member, is_id, join_lines

CANCELLED: Final = "notifications/cancelled"


@dataclass(slots=True)
class SentLine:
    """A line of the host that is sent to the server."""

    line: bytes
    """The line with its line end."""
    message: dict[str, Any]
    """The parsed message; empty for a batch, or if the line is not JSON."""
    waiting: set[object] = field(default_factory=set)
    """The ids of the requests on the line that have no response yet."""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    """The cancel scope of the HTTP request and its response."""
    is_cancelled_by_closing: bool = False
    """True if the revision of MCP requires that a request is cancelled by closing its response."""
    is_cancelled: bool = False
    """True if the host has cancelled the request."""
    is_writing_answer: bool = False
    """True while a line of the response is written to the host; cancelling would cut the line."""

    @property
    def method(self) -> object:
        """The method of the message; `None` for a batch."""
        return self.message.get("method")


def parse_sent_line(line: bytes) -> SentLine:
    """Return a line with its message and the ids of its requests; both are empty without JSON."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = {}
    messages = value if isinstance(value, list) else [value]
    ids = {
        message["id"]
        for message in messages
        if isinstance(message, dict) and "method" in message and is_id(message.get("id"))
    }
    return SentLine(line, value if isinstance(value, dict) else {}, ids)


def read_cancelled_id(message: Mapping[str, Any]) -> object:
    """Return the id of the request that a notification cancels; `None` if it is invalid."""
    request_id = get_member(message, "params", "requestId")
    return request_id if is_id(request_id) else None


EXCHANGE_ERRORS: Final = (httpx.HTTPError, httpx.InvalidURL, ValueError)
"""The errors of an HTTP exchange; httpx raises ValueError for an invalid header or host name."""

_LONGEST_REFUSAL_BYTES = 1024 * 1024
_LONGEST_REASON_CHARS = 1_000
_MASK = "•••"
_SHORTEST_SECRET = 8
_USUAL_HEADERS = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "host"}
    | {"user-agent", "mcp-method", "mcp-protocol-version"}
)


class PlainCookies(DefaultCookiePolicy):
    """A policy that rejects cookies with invalid characters, which would fail later requests."""

    def set_ok(self, cookie: Cookie, request: Request) -> bool:
        """Return whether to keep a cookie."""
        text = f"{cookie.name}{cookie.value or ''}"
        return text.isascii() and text.isprintable() and super().set_ok(cookie, request)


def read_media_type(response: httpx.Response) -> str:
    """Return the media type of a response, or an empty string."""
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


def is_stream(response: httpx.Response) -> bool:
    """Return whether a response is a stream of events."""
    return read_media_type(response) == "text/event-stream"


def find_answered_requests(line: Line) -> tuple[bool, set[object]]:
    """Return whether a line has any message, and the ids of the requests that it answers."""
    messages = line.messages
    return any(message.members for message in messages), set(find_answered_ids(messages))


class Refusal:
    """An HTTP response that refuses a message or a batch.

    Attributes:
        status: The HTTP status.
        error: The error of JSON-RPC in the body; empty if there is none.
        request_id: The id of the request that the error belongs to; `None` if there is none.
        line: The body as one line.
        reason: The reason, for the operator; empty if the response has none.
    """

    def __init__(self, response: httpx.Response, text: bytes) -> None:
        body: Any = None
        with suppress(ValueError, RecursionError):
            body = json.loads(text.decode())
        error = get_member(body, "error")
        self.status = response.status_code
        self.error: Mapping[str, Any] = error if isinstance(error, dict) else {}
        self.request_id: object = body.get("id") if self.error and is_id(body.get("id")) else None
        self.line = join_lines(text) + b"\n"
        self.reason = _find_reason(response, self.error, text)

    @property
    def message(self) -> str:
        """The status and the reason on one line, for the operator."""
        return f"the server answered {self.status}" + (f": {self.reason}" if self.reason else "")


def _find_reason(response: httpx.Response, error: Mapping[str, Any], text: bytes) -> str:
    """Return the reason of a refusal on one line, without secrets; empty if there is none."""
    reason: object = error.get("message")
    if response.has_redirect_location:
        reason = f"what is asked for is at another address{_find_redirect_host(response)}"
    elif reason is None and read_media_type(response) == "text/plain":
        reason = text.decode("utf-8", "replace")
    shown = reason.strip()[:_LONGEST_REASON_CHARS] if isinstance(reason, str) else ""
    for secret in _find_possible_secrets(response.request):
        shown = shown.replace(secret, _MASK)
    return replace_unprintable(shown)


def _find_redirect_host(response: httpx.Response) -> str:
    """Return ` on ` and the host name of a redirect. The rest of its URL may have a key."""
    with suppress(httpx.InvalidURL, ValueError):
        return f" on {response.request.url.join(response.headers['location']).host}"
    return ""


def _find_possible_secrets(request: httpx.Request) -> Iterator[str]:
    """Yield the values of a request's headers that may be secrets, and their words.

    A server may repeat them in the text of its refusal.
    """
    for name, value in request.headers.items():
        if name not in _USUAL_HEADERS and len(value) >= _SHORTEST_SECRET:
            yield value
            yield from (word for word in value.split() if len(word) >= _SHORTEST_SECRET)


async def read_refusal(response: httpx.Response) -> Refusal:
    """Read a response that refuses a message, up to about a megabyte."""
    text = bytearray()
    async for piece in response.aiter_bytes():
        text += piece
        if len(text) > _LONGEST_REFUSAL_BYTES:
            break
    return Refusal(response, bytes(text))
