"""Bodies of requests to the service that stores a proxy's results, and readers of its answers.

`pagefault_mcp.service_client.service_store` sends the requests.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NoReturn, Protocol

from pagefault_dialects.json.values import JsonValue, json_bytes
from pagefault_dialects.model.render_options import McpRevision, RenderOptions
from pagefault_dialects.text_windows import PREVIEW_LIMIT_CHARS
from pagefault_mcp.messages.app_pages import APP
from pagefault_mcp.messages.json_spans import Span
from pagefault_mcp.messages.lines import (
    Line,
    LinePiece,
    Message,
    Scanned,
    locate_members,
    locate_piece_members,
    parse_member,
    read_text,
    scan_text,
)
from pagefault_mcp.messages.request_tracker import PendingCall

_SERVER = "pagefault/server"
"""The member of `_meta` with the server of a call or result."""

_LIMITS = frozenset(
    {"evicted", "too-many-bytes", "too-many-pixels", "too-many-media", "request-too-large"}
)
"""The codes in the loss of a rendering that the limits of a host cause."""

# Blanks around the brackets of a list are shorter.
_END_BYTES = 4_096

NO_JSON = "the service answered something else than JSON objects. Is it a Pagefault?"


class AddedContent(Protocol):
    """Content that is stored with a result, and that the server has not written into it."""

    def block(self) -> Iterator[bytes]:
        """Yield its block of content, in pieces; each time the same."""


class NoAnswerError(Exception):
    """A service cannot be reached, or refuses a request; the message has the reason."""


class ServiceRefusedError(NoAnswerError):
    """A service refuses a request, and has stored nothing."""


def message_of(call: PendingCall) -> JsonValue:
    """Return a call as the message of an assistant.

    The tool has its name for the model. The server is in `_meta`.
    """
    function = {"name": call.name, "arguments": call.written}
    calls = [{"id": call.call_id, "type": "function", "function": function}]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    return message if call.server is None else {**message, "_meta": {_SERVER: call.server}}


def build_own_call(call: PendingCall, revision: McpRevision, options: RenderOptions) -> JsonValue:
    """Return the body of the request to run a call of one of our tools."""
    body: dict[str, JsonValue] = {
        "target": "mcp",
        "id": call.call_id,
        "name": call.own_name,
        "arguments": call.arguments,
        "protocolVersion": revision,
        # The host receives the message alone.
        "countTokens": False,
    }
    limits = {"maxImagePixels": options.max_image_pixels, "maxTokens": options.max_tokens}
    return body | {name: most for name, most in limits.items() if most is not None}


def refused_result(call: PendingCall, session_id: str, text: str) -> JsonValue:
    """Return the body that stores a refused call with its error result."""
    return {
        "toolName": call.name,
        "toolCallId": call.call_id,
        "sessionId": session_id,
        "success": False,
        "callMessage": message_of(call),
        "result": {"content": [{"type": "text", "text": text}], "isError": True},
    }


async def result_body(
    call: PendingCall,
    session_id: str,
    line: Message,
    answer: Span,
    *,
    success: bool,
    has_call: bool = False,
    files: Sequence[AddedContent] = (),
) -> AsyncIterator[bytes]:
    """Yield the body of the request that stores the answer to a call.

    The arguments are those of `ServiceStore.keep`, and the session. Files become the last blocks of
    the content.
    """
    head = {
        "toolName": call.name,
        "toolCallId": call.call_id,
        "sessionId": session_id,
        "success": success,
        **({"callMessage": message_of(call)} if has_call else {}),
    }
    yield json_bytes(head)[:-1] + b',"result":'
    at = _content_end(line, answer) if files else None
    for span in _add_server(call, line, answer):
        if at is None or isinstance(span, bytes) or not span.start <= at < span.end:
            for piece in [span] if isinstance(span, bytes) else line.pieces(span):
                yield piece
            continue
        before, behind = Span(span.start, at), Span(at, span.end)
        tail = line.read(Span(max(span.start, at - _END_BYTES), at))
        comma = b"" if tail.rstrip().endswith(b"[") else b","
        for piece in chain(line.pieces(before), _blocks(files, comma), line.pieces(behind)):
            yield piece
    yield b"}"


def _blocks(files: Sequence[AddedContent], comma: bytes) -> Iterator[bytes]:
    for file in files:
        yield comma
        yield from file.block()
        comma = b","


def takes_files(line: Message, answer: Span) -> bool:
    """Return whether a result has a list of content, to which blocks can be added."""
    return _content_end(line, answer) is not None


def _content_end(line: Message, answer: Span) -> int | None:
    """Return the place of the bracket that closes the content of a result."""
    content = locate_members(line, answer).get("content")
    if content is None:
        return None
    start, end = content
    head = line.read(Span(start, min(end, start + _END_BYTES)))
    tail_start = max(start, end - _END_BYTES)
    at = line.read(Span(tail_start, end)).rfind(b"]")
    return tail_start + at if head.lstrip().startswith(b"[") and at >= 0 else None


def _add_server(call: PendingCall, line: Message, answer: Span) -> list[bytes | Span]:
    """Return a result with the server's name in its `_meta`, if it is a valid result of MCP."""
    if call.server is None:
        return [answer]
    found = locate_piece_members(line, answer)
    members = {str(parse_member(line, key)): value for key, value in found.members}
    # Some SDKs write `meta`, which is read as `_meta` if that is missing.
    if not found.is_whole or "content" not in members or "meta" in members:
        return [answer]
    server: JsonValue = {_SERVER: call.server}
    meta = members.get("_meta")
    holder = found if meta is None else locate_piece_members(line, meta)
    written = json_bytes({"_meta": server} if meta is None else server)
    if not holder.is_whole:
        return [answer]
    if meta is not None and not holder.members:
        return [Span(answer.start, meta.start), written, Span(meta.end, answer.end)]
    at = holder.members[0].key.start
    return [Span(answer.start, at), written[1:-1] + b",", Span(at, answer.end)]


async def read_answer(pieces: AsyncIterator[bytes], look: Callable[[Line], Scanned]) -> Scanned:
    """Return the result of a scan of a JSON answer; the caller closes its line.

    Args:
        pieces: The answer.
        look: Scans it.

    Raises:
        NoAnswerError: It is not UTF-8, or has another form.
    """
    try:
        text = await read_text(pieces)
    except UnicodeDecodeError as exc:
        raise NoAnswerError(NO_JSON) from exc
    try:
        return await scan_text(text, look)
    except BaseException as exc:
        text.close()
        if isinstance(exc, ValueError | KeyError | TypeError | AttributeError | RecursionError):
            raise NoAnswerError(NO_JSON) from exc
        raise


def rendered_message(text: Line) -> LinePiece:
    """Return the message of a rendering, whose content is a list.

    A short rendering is checked to be JSON. Of a long one only the members are located, so the
    service is trusted to write valid JSON.

    Raises:
        ValueError, KeyError, RecursionError: The text is no rendering.
    """
    if not text.is_long:
        strict_json(text.read())
    (message,) = islice(LinePiece(text, text.members["messages"]).items(), 1)
    begins = islice(text.pieces(message.members["content"]), 1)
    if not any(piece.lstrip()[:1] == b"[" for piece in begins):
        raise ValueError
    return message


def strict_json(text: bytes) -> JsonValue:
    """Return the value of a JSON text.

    Raises:
        ValueError, RecursionError: The text is not JSON, or has infinite numbers or NaN.
    """

    def refuse(constant: str) -> NoReturn:
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


def limited_message(text: Line) -> LinePiece | None:
    """Return the message of a rendering that a limit has changed; else close it, and return `None`.

    Raises:
        ValueError, KeyError, RecursionError: As for `rendered_message`.
    """
    message = rendered_message(text)
    if any(parse_member(item, item.members["code"]) in _LIMITS for item in _items(text, "loss")):
        return message
    text.close()
    return None


def is_changed(record: LinePiece, options: RenderOptions) -> bool:
    """Return whether a rendering for a host differs from the server's answer in any case.

    Args:
        record: The normalized result, whose parts are read one at a time.
        options: The limits of the host.

    Raises:
        KeyError, ValueError: The record is invalid.
    """
    max_chars = options.max_text or PREVIEW_LIMIT_CHARS
    # The page of an app is for people, and in no rendering.
    pages: set[str] = set()
    for part in _parts(record):
        if len(part.get("text", "")) > max_chars:
            return True
        if APP in part.get("_meta", ()):
            pages.add(part["data"])
    others = islice(_items(record, "resources"), len(pages), None)
    return next(others, None) is not None


def may_be_limited(record: LinePiece, options: RenderOptions) -> bool:
    """Return whether an answer may exceed the limits of a host; see `is_changed`."""
    image_limits = (options.max_images, options.max_bytes, options.max_image_pixels)
    # Small images are inline in the record, but may be many, or have many pixels.
    has_limits = any(limit is not None for limit in image_limits)
    return options.max_tokens is not None or (
        has_limits and any(part["type"] == "image" for part in _parts(record))
    )


def _items(owner: Message, name: str) -> Iterator[LinePiece]:
    line = owner.line if isinstance(owner, LinePiece) else owner
    return LinePiece(line, owner.members[name]).items()


def _parts(record: LinePiece) -> Iterator[Any]:
    # Integers may have more digits than Python converts.
    return (json.loads(item.read(), parse_int=str) for item in _items(record, "parts"))
