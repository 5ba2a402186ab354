"""Messages between a proxy and its server: requests that wait for an answer, and their answers."""

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
from pagefault_mcp.messages.lines import Line, answered_ids, is_id, join_lines, member

CANCELLED: Final = "notifications/cancelled"


@dataclass(slots=True)
class SentLine:
    """A sent line, and the ids of its unanswered requests."""

    line: bytes
    message: dict[str, Any]
    waiting: set[object] = field(default_factory=set)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    """The scope of the exchange with the server."""
    is_cancelled_by_its_end: bool = False
    """Closing the stream cancels the request, in revisions without a notification for that."""
    is_cancelled: bool = False
    """The host has cancelled it."""
    is_writing_answer: bool = False
    """A line of its answer is being written to the host, and must not be cut."""

    @property
    def method(self) -> object:
        """The method of a single message."""
        return self.message.get("method")


def parse_sent_line(line: bytes) -> SentLine:
    """Return a line with the ids of its requests; none if it is not JSON."""
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
    """Return the id of the request that a notification cancels, or `None`."""
    request_id = member(message, "params", "requestId")
    return request_id if is_id(request_id) else None


TROUBLE: Final = (httpx.HTTPError, httpx.InvalidURL, ValueError)
"""The errors of an exchange. ValueError is raised for an invalid header or host name."""

_LONGEST_REFUSAL_BYTES = 1024 * 1024
_LONGEST_REASON_CHARS = 1_000
_MASK = "•••"
_SHORTEST_SECRET = 8
_USUAL_HEADERS = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "host"}
    | {"user-agent", "mcp-method", "mcp-protocol-version"}
)


class PlainCookies(DefaultCookiePolicy):
    """A policy that keeps only valid cookies, since an invalid one would fail later requests."""

    def set_ok(self, cookie: Cookie, request: Request) -> bool:
        """Return whether to keep a cookie."""
        text = f"{cookie.name}{cookie.value or ''}"
        return text.isascii() and text.isprintable() and super().set_ok(cookie, request)


def kind_of(answer: httpx.Response) -> str:
    """Return the media type of an answer, or an empty string."""
    return str(answer.headers.get("content-type", "")).partition(";")[0].strip().lower()


def is_stream(answer: httpx.Response) -> bool:
    """Return whether an answer is a stream of events."""
    return kind_of(answer) == "text/event-stream"


def answers(line: Line) -> tuple[bool, set[object]]:
    """Return whether a line is a message or a batch, and the ids of the requests it answers."""
    messages = line.messages
    return any(message.members for message in messages), set(answered_ids(messages))


class Refusal:
    """The refusal of messages by a server."""

    def __init__(self, answer: httpx.Response, text: bytes) -> None:
        body: Any = None
        with suppress(ValueError, RecursionError):
            body = json.loads(text.decode())
        error = member(body, "error")
        self.status = answer.status_code
        self.error: Mapping[str, Any] = error if isinstance(error, dict) else {}
        self.request_id: object = body.get("id") if self.error and is_id(body.get("id")) else None
        self.line = join_lines(text) + b"\n"
        self.reason = _find_reason(answer, self.error, text)

    @property
    def message(self) -> str:
        """The status and the reason, on one line."""
        return f"the server answered {self.status}" + (f": {self.reason}" if self.reason else "")


def _find_reason(answer: httpx.Response, error: Mapping[str, Any], text: bytes) -> str:
    """Return the reason in a refusal, on one line; empty without one."""
    reason: object = error.get("message")
    if answer.has_redirect_location:
        reason = f"what is asked for is at another address{_host_of(answer)}"
    elif reason is None and kind_of(answer) == "text/plain":
        reason = text.decode("utf-8", "replace")
    text_line = reason.strip()[:_LONGEST_REASON_CHARS] if isinstance(reason, str) else ""
    for value in _secrets_of(answer.request):
        text_line = text_line.replace(value, _MASK)
    return one_line(text_line)


def _host_of(answer: httpx.Response) -> str:
    """Return the host of a redirect, without the rest of its URL, which may have a key."""
    with suppress(httpx.InvalidURL, ValueError):
        return f" on {answer.request.url.join(answer.headers['location']).host}"
    return ""


def _secrets_of(request: httpx.Request) -> Iterator[str]:
    """Yield the secrets in the headers of a request, which a server may repeat."""
    for name, value in request.headers.items():
        if name not in _USUAL_HEADERS and len(value) >= _SHORTEST_SECRET:
            yield value
            yield from (word for word in value.split() if len(word) >= _SHORTEST_SECRET)


async def refusal_in(answer: httpx.Response) -> Refusal:
    """Read the refusal of a server, up to a limit."""
    text = bytearray()
    async for piece in answer.aiter_bytes():
        text += piece
        if len(text) > _LONGEST_REFUSAL_BYTES:
            break
    return Refusal(answer, bytes(text))
