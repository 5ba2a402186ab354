"""Answers of a server at an address, and their refusals.

A server may send any answer. An invalid one fails its own request only.
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
    return any(each.members for each in messages), set(answered_ids(messages))


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
    return "".join(each if each.isprintable() else " " for each in text_line)


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
