"""Messages between a proxy and a server at a URL: sent lines, their responses, and refusals."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.cookiejar import Cookie, DefaultCookiePolicy
from typing import Any, Final
from urllib.request import Request

import anyio
import httpx

from pagefault_mcp.errors import one_line
from pagefault_mcp.messages.lines import Line, find_answered_ids, is_id, join_lines, member

CANCELLED: Final = "notifications/cancelled"


@dataclass(slots=True)
class SentLine:
    """A line of the host that is sent to the server."""

    line: bytes
    """The line with its line end."""
    message: dict[str, Any]
    """The parsed message; empty for a batch, or if the line is not JSON."""
    waiting: set[object] = field(default_factory=set)
    """The ids of the requests on the line that are not answered yet."""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    """The cancel scope of the HTTP request and its response."""
    is_cancelled_by_closing: bool = False
    """True if the request is cancelled by closing its response stream, as its revision requires."""
    is_cancelled: bool = False
    """True if the host has cancelled the request."""
    is_writing_answer: bool = False
    """True while a line of the response is written to the host, which must not be cut."""

    @property
    def method(self) -> object:
        """The method of the message; `None` for a batch."""
        return self.message.get("method")


def parse_sent_line(line: bytes) -> SentLine:
    """Return a line with the ids of its requests. A line that is not JSON has none."""
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


def cancelled_id(message: Mapping[str, Any]) -> object:
    """Return the id of the request that a notification cancels; `None` if it is invalid."""
    request_id = member(message, "params", "requestId")
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
    """A policy that keeps only valid cookies, since later requests with others would fail."""

    def set_ok(self, cookie: Cookie, request: Request) -> bool:
        """Return whether to keep a cookie."""
        text = f"{cookie.name}{cookie.value or ''}"
        return text.isascii() and text.isprintable() and super().set_ok(cookie, request)


def media_type_of(response: httpx.Response) -> str:
    """Return the media type of a response, or an empty string."""
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


def is_stream(response: httpx.Response) -> bool:
    """Return whether a response is a stream of events."""
    return media_type_of(response) == "text/event-stream"


def find_answered(line: Line) -> tuple[bool, set[object]]:
    """Return whether a line has any message, and the ids of the requests that it answers."""
    messages = line.messages
    return any(message.members for message in messages), set(find_answered_ids(messages))


class Refusal:
    """An HTTP response of a server that refuses a message or a batch."""

    def __init__(self, response: httpx.Response, text: bytes) -> None:
        body: Any = None
        with suppress(ValueError, RecursionError):
            body = json.loads(text.decode())
        error = member(body, "error")
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
        reason = f"what is asked for is at another address{_host_of(response)}"
    elif reason is None and media_type_of(response) == "text/plain":
        reason = text.decode("utf-8", "replace")
    text_line = reason.strip()[:_LONGEST_REASON_CHARS] if isinstance(reason, str) else ""
    for value in _secrets_of(response.request):
        text_line = text_line.replace(value, _MASK)
    return one_line(text_line)


def _host_of(response: httpx.Response) -> str:
    """Return the host name of a redirect. The rest of its URL may have a key."""
    with suppress(httpx.InvalidURL, ValueError):
        return f" on {response.request.url.join(response.headers['location']).host}"
    return ""


def _secrets_of(request: httpx.Request) -> Iterator[str]:
    """Yield values of headers that may be secrets, which a server may repeat in its reason."""
    for name, value in request.headers.items():
        if name not in _USUAL_HEADERS and len(value) >= _SHORTEST_SECRET:
            yield value
            yield from (word for word in value.split() if len(word) >= _SHORTEST_SECRET)


async def read_refusal(response: httpx.Response) -> Refusal:
    """Read the refusal of a server, up to a limit."""
    text = bytearray()
    async for piece in response.aiter_bytes():
        text += piece
        if len(text) > _LONGEST_REFUSAL_BYTES:
            break
    return Refusal(response, bytes(text))
