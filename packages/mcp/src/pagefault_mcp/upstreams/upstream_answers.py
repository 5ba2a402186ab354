"""Answers of a server at an address: what they are, and in which words they refuse.

A server may answer with anything. What cannot be used is told of, and ends nothing but itself.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http.cookiejar import Cookie, DefaultCookiePolicy
from typing import Any, Final
from urllib.request import Request

import httpx

from pagefault_mcp.messages.lines import Line, join_lines
from pagefault_mcp.messages.message_values import answered_ids, is_id, member

TROUBLE: Final = (httpx.HTTPError, httpx.InvalidURL, ValueError)
"""What an exchange can fail with; the last: a header or the name of a host cannot be written."""

_LONGEST_REFUSAL_BYTES = 1024 * 1024
_MOST_SAID_CHARS = 1_000
_MASK = "•••"
_SHORTEST_SECRET = 8
_USUAL_HEADERS = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "host"}
    | {"user-agent", "mcp-method", "mcp-protocol-version"}
)


class PlainCookies(DefaultCookiePolicy):
    """Keeps the cookies that can be sent back: of any other, each later request would fail."""

    def set_ok(self, cookie: Cookie, request: Request) -> bool:
        """Return whether a cookie is kept."""
        sent = f"{cookie.name}{cookie.value or ''}"
        return sent.isascii() and sent.isprintable() and super().set_ok(cookie, request)


def kind_of(answer: httpx.Response) -> str:
    """Return the media type of an answer, as far as it says one."""
    return str(answer.headers.get("content-type", "")).partition(";")[0].strip().lower()


def is_stream(answer: httpx.Response) -> bool:
    """Return whether an answer is a stream of events."""
    return kind_of(answer) == "text/event-stream"


def answers(line: Line) -> tuple[bool, set[object]]:
    """Return whether a line is a message or a batch of them, and which requests it answers."""
    messages = line.messages
    return any(each.members for each in messages), set(answered_ids(messages))


class Refusal:
    """What a server refuses messages with."""

    def __init__(self, answer: httpx.Response, text: bytes) -> None:
        said: Any = None
        with suppress(ValueError, RecursionError):
            said = json.loads(text.decode())
        error = member(said, "error")
        self.status = answer.status_code
        self.error: Mapping[str, Any] = error if isinstance(error, dict) else {}
        self.request_id: object = said.get("id") if self.error and is_id(said.get("id")) else None
        self.line = join_lines(text) + b"\n"
        self.why = _why(answer, self.error, text)

    @property
    def words(self) -> str:
        """The status, and what is said of it, in a line."""
        return f"the server answered {self.status}" + (f": {self.why}" if self.why else "")


def _why(answer: httpx.Response, error: Mapping[str, Any], text: bytes) -> str:
    """Return what a refusal says of itself, in a line; nothing, if it says nothing."""
    why: object = error.get("message")
    if answer.has_redirect_location:
        why = f"what is asked for is at another address{_host_of(answer)}"
    elif why is None and kind_of(answer) == "text/plain":
        why = text.decode("utf-8", "replace")
    said = why.strip()[:_MOST_SAID_CHARS] if isinstance(why, str) else ""
    for value in _secrets_of(answer.request):
        said = said.replace(value, _MASK)
    return "".join(each if each.isprintable() else " " for each in said)


def _host_of(answer: httpx.Response) -> str:
    """Return on which host a redirect goes on; of the rest of an address anything may be a key."""
    with suppress(httpx.InvalidURL, ValueError):
        return f" on {answer.request.url.join(answer.headers['location']).host}"
    return ""


def _secrets_of(request: httpx.Request) -> Iterator[str]:
    """Yield what a request has in headers of its own: a server may say it again."""
    for name, value in request.headers.items():
        if name not in _USUAL_HEADERS and len(value) >= _SHORTEST_SECRET:
            yield value
            yield from (word for word in value.split() if len(word) >= _SHORTEST_SECRET)


async def refusal_in(answer: httpx.Response) -> Refusal:
    """Read what a server refuses messages with; all of it, unless it is very long."""
    text = bytearray()
    async for piece in answer.aiter_bytes():
        text += piece
        if len(text) > _LONGEST_REFUSAL_BYTES:
            break
    return Refusal(answer, bytes(text))
