"""Build the bodies of requests to the service that stores results, and read its responses.

`service_store` sends the requests.
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
    parse_member,
    read_text,
    scan_members,
    scan_text,
)
from pagefault_mcp.messages.request_tracker import PendingCall

_SERVER = "pagefault/server"
"""The member of `_meta` with the server of a call or result."""

_LIMIT_CODES = frozenset(
    {"evicted", "too-many-bytes", "too-many-pixels", "too-many-media", "request-too-large"}
)
"""The codes of loss entries that are caused by the limits of a host."""

# The bracket of a list is searched in so many bytes, since there may be white space around it.
_BRACKET_BYTES = 4_096

NO_JSON = "the service answered something else than JSON objects. Is it a Pagefault?"


class AddedContent(Protocol):
    """Content that the proxy stores with a result, such as a file that the tool has left."""

    def encode_block(self) -> Iterator[bytes]:
        """Yield the content block as JSON in pieces. Each call yields the same pieces."""


class ServiceRequestError(Exception):
    """A request to the service failed or was refused; the message has the reason."""


class ServiceRefusedError(ServiceRequestError):
    """The service has refused a request, and stored nothing of it."""


def call_message(call: PendingCall) -> JsonValue:
    """Return a call as a message of the assistant, with the name of the server in `_meta`."""
    function = {"name": call.name, "arguments": call.arguments_json}
    calls = [{"id": call.call_id, "type": "function", "function": function}]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    return message if call.server is None else {**message, "_meta": {_SERVER: call.server}}


def build_memory_call(
    call: PendingCall, revision: McpRevision, options: RenderOptions
) -> JsonValue:
    """Return the body of the request to run a call of a tool of the memory."""
    body: dict[str, JsonValue] = {
        "target": "mcp",
        "id": call.call_id,
        "name": call.memory_tool,
        "arguments": call.arguments,
        "protocolVersion": revision,
        # The host gets only the message of the rendering, without its counts.
        "countTokens": False,
    }
    limits = {"maxImagePixels": options.max_image_pixels, "maxTokens": options.max_tokens}
    return body | {name: limit for name, limit in limits.items() if limit is not None}


def refusal_body(call: PendingCall, session_id: str, text: str) -> JsonValue:
    """Return the body that stores a refused call with its error result."""
    return {
        "toolName": call.name,
        "toolCallId": call.call_id,
        "sessionId": session_id,
        "success": False,
        "callMessage": call_message(call),
        "result": {"content": [{"type": "text", "text": text}], "isError": True},
    }


async def result_body(
    call: PendingCall,
    session_id: str,
    line: Message,
    span: Span,
    *,
    success: bool,
    stores_call: bool = False,
    files: Sequence[AddedContent] = (),
) -> AsyncIterator[bytes]:
    """Yield the body of the request that stores the response to a call.

    The arguments are those of `ServiceStore.store_result`, and the session. The blocks of files are
    appended to the content of the result.
    """
    head = {
        "toolName": call.name,
        "toolCallId": call.call_id,
        "sessionId": session_id,
        "success": success,
        **({"callMessage": call_message(call)} if stores_call else {}),
    }
    yield json_bytes(head)[:-1] + b',"result":'
    position = _content_end(line, span) if files else None
    for part in _add_server(call, line, span):
        if position is None or isinstance(part, bytes) or not part.start <= position < part.end:
            for piece in [part] if isinstance(part, bytes) else line.pieces(part):
                yield piece
            continue
        before, after = Span(part.start, position), Span(position, part.end)
        tail = line.read(Span(max(part.start, position - _BRACKET_BYTES), position))
        comma = b"" if tail.rstrip().endswith(b"[") else b","
        for piece in chain(line.pieces(before), _blocks(files, comma), line.pieces(after)):
            yield piece
    yield b"}"


def _blocks(files: Sequence[AddedContent], comma: bytes) -> Iterator[bytes]:
    for file in files:
        yield comma
        yield from file.encode_block()
        comma = b","


def has_content_list(line: Message, span: Span) -> bool:
    """Return whether a result has a list of content blocks, to which others can be added."""
    return _content_end(line, span) is not None


def _content_end(line: Message, span: Span) -> int | None:
    """Return the position of the bracket that closes a result's list of content, if it has one."""
    content = locate_members(line, span).get("content")
    if content is None:
        return None
    start, end = content
    head = line.read(Span(start, min(end, start + _BRACKET_BYTES)))
    tail_start = max(start, end - _BRACKET_BYTES)
    position = line.read(Span(tail_start, end)).rfind(b"]")
    return tail_start + position if head.lstrip().startswith(b"[") and position >= 0 else None


def _add_server(call: PendingCall, line: Message, span: Span) -> list[bytes | Span]:
    """Return the pieces of a result with the name of the server in `_meta`.

    A result without the form of MCP is not changed.
    """
    if call.server is None:
        return [span]
    found = scan_members(line, span)
    members = {str(parse_member(line, key)): value for key, value in found.members}
    # Some SDKs write `meta`, which is read as `_meta` if that is missing.
    if not found.is_whole or "content" not in members or "meta" in members:
        return [span]
    server: JsonValue = {_SERVER: call.server}
    meta = members.get("_meta")
    container = found if meta is None else scan_members(line, meta)
    added = json_bytes({"_meta": server} if meta is None else server)
    if not container.is_whole:
        return [span]
    if meta is not None and not container.members:
        return [Span(span.start, meta.start), added, Span(meta.end, span.end)]
    position = container.members[0].key.start
    return [Span(span.start, position), added[1:-1] + b",", Span(position, span.end)]


async def read_response(pieces: AsyncIterator[bytes], scan: Callable[[Line], Scanned]) -> Scanned:
    """Read a JSON response as one line, and return the result of a function of that line.

    Args:
        pieces: The response.
        scan: The function. It closes the line, or returns a piece of it, which the caller closes.

    Raises:
        ServiceRequestError: The response is not UTF-8, or has another form.
    """
    try:
        text = await read_text(pieces)
    except UnicodeDecodeError as exc:
        raise ServiceRequestError(NO_JSON) from exc
    try:
        return await scan_text(text, scan)
    except BaseException as exc:
        text.close()
        if isinstance(exc, ValueError | KeyError | TypeError | AttributeError | RecursionError):
            raise ServiceRequestError(NO_JSON) from exc
        raise


def find_rendered_message(text: Line) -> LinePiece:
    """Return the only message of a rendering.

    A short rendering is checked to be valid JSON. In a long rendering only the members are located,
    without a check.

    Raises:
        ValueError, KeyError, RecursionError: The text is not a rendering, or its message has no
            list of content.
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


def find_limited_message(text: Line) -> LinePiece | None:
    """Return the message of a rendering if the limits of the host have changed it.

    Otherwise close the line, and return `None`.

    Raises:
        ValueError, KeyError, RecursionError: As for `find_rendered_message`.
    """
    message = find_rendered_message(text)
    if any(
        parse_member(item, item.members["code"]) in _LIMIT_CODES for item in _items(text, "loss")
    ):
        return message
    text.close()
    return None


def is_changed(record: LinePiece, options: RenderOptions) -> bool:
    """Return whether the rendering differs from the server's result even without limits.

    Args:
        record: The normalized result.
        options: The limits of the host.

    Raises:
        KeyError, ValueError: The record is invalid.
    """
    max_chars = options.max_text or PREVIEW_LIMIT_CHARS
    # App pages are resources, but renderings do not have them.
    page_uris: set[str] = set()
    for part in _parts(record):
        if len(part.get("text", "")) > max_chars:
            return True
        if APP in part.get("_meta", ()):
            page_uris.add(part["data"])
    others = islice(_items(record, "resources"), len(page_uris), None)
    return next(others, None) is not None


def may_be_limited(record: LinePiece, options: RenderOptions) -> bool:
    """Return whether the limits of a host may change the rendering of a result."""
    image_limits = (options.max_images, options.max_bytes, options.max_image_pixels)
    # Images in the record are small in bytes, but there may be many, or they may have many pixels.
    has_limits = any(limit is not None for limit in image_limits)
    return options.max_tokens is not None or (
        has_limits and any(part["type"] == "image" for part in _parts(record))
    )


def _items(message: Message, name: str) -> Iterator[LinePiece]:
    line = message.line if isinstance(message, LinePiece) else message
    return LinePiece(line, message.members[name]).items()


def _parts(record: LinePiece) -> Iterator[Any]:
    # Python does not convert integers of very many digits.
    return (json.loads(item.read(), parse_int=str) for item in _items(record, "parts"))
