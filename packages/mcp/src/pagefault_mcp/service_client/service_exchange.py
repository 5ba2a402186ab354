"""Build the bodies of the proxy's requests to the service, and read its responses.

`service_store` sends the requests. A result of a tool may be too large for memory, so it stays a
span of a line (`messages.lines`), and its bytes are copied into the body in pieces.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NoReturn, Protocol

from pagefault_dialects.json.values import JsonValue, json_bytes
from pagefault_dialects.model.render_options import McpRevision, RenderOptions
from pagefault_dialects.text_windows import PREVIEW_LIMIT_CHARS
from pagefault_mcp.messages.app_pages import APP_MEMBER
from pagefault_mcp.messages.json_spans import Span
from pagefault_mcp.messages.lines import (
    Line,
    LinePiece,
    Message,
    Scanned,
    locate_members,
    parse_span,
    read_text,
    scan_line,
    scan_members,
)
from pagefault_mcp.messages.request_tracker import PendingCall

_SERVER_MEMBER = "pagefault/server"
"""The member of `_meta` with the name of the server that a call or result belongs to."""

_LIMIT_CODES = frozenset(
    {"evicted", "too-many-bytes", "too-many-pixels", "too-many-media", "request-too-large"}
)
"""The codes of loss entries that are caused by the limits of a host."""

# There may be white space around the brackets of a list, which are searched in this many bytes.
_BRACKET_BYTES = 4_096

NOT_JSON_OBJECTS = "the service answered something else than JSON objects. Is it a Pagefault?"


class AddedContent(Protocol):
    """Content that the proxy adds to a result, such as a file that the tool has written."""

    def encode_block(self) -> Iterator[bytes]:
        """Yield the content block as JSON, in pieces. It can be called several times."""


class ServiceRequestError(Exception):
    """A request to the service failed or was refused; the message has the reason."""


class ServiceRefusedError(ServiceRequestError):
    """The service has refused a request, and has stored nothing."""


def build_call_message(call: PendingCall) -> JsonValue:
    """Return the body that stores a call: a message of the assistant.

    The name of the server, if it is known, is in `_meta`.
    """
    function = {"name": call.name, "arguments": call.arguments_json}
    calls = [{"id": call.call_id, "type": "function", "function": function}]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    return message if call.server is None else {**message, "_meta": {_SERVER_MEMBER: call.server}}


def build_memory_call(
    call: PendingCall, revision: McpRevision, options: RenderOptions
) -> JsonValue:
    """Return the body of the request that runs a call of one of the memory's tools.

    Args:
        call: The call.
        revision: The revision of MCP in which the result is written.
        options: The limits of the host.
    """
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


def build_refusal_body(call: PendingCall, session_id: str, text: str) -> JsonValue:
    """Return the body that stores a call that the proxy has refused.

    Args:
        call: The call.
        session_id: The session.
        text: The text of the error result that the host gets.
    """
    return {
        "toolName": call.name,
        "toolCallId": call.call_id,
        "sessionId": session_id,
        "success": False,
        "callMessage": build_call_message(call),
        "result": {"content": [{"type": "text", "text": text}], "isError": True},
    }


async def encode_result_body(
    call: PendingCall,
    session_id: str,
    message: Message,
    span: Span,
    *,
    success: bool,
    stores_call: bool = False,
    files: Sequence[AddedContent] = (),
) -> AsyncIterator[bytes]:
    """Yield the body of the request that stores the response to a call, in pieces.

    The blocks of files are appended to the content of the result. The other arguments are those of
    `ServiceStore.store_result`.
    """
    head = {
        "toolName": call.name,
        "toolCallId": call.call_id,
        "sessionId": session_id,
        "success": success,
        **({"callMessage": build_call_message(call)} if stores_call else {}),
    }
    yield json_bytes(head)[:-1] + b',"result":'
    # The blocks of files are inserted before the bracket that closes the list of content.
    bracket = _find_content_end(message, span) if files else None
    for part in _add_server_name(call, message, span):
        if isinstance(part, bytes):
            yield part
            continue
        if bracket is None or not part.start <= bracket < part.end:
            for piece in message.pieces(part):
                yield piece
            continue
        before, after = Span(part.start, bracket), Span(bracket, part.end)
        tail = message.read(Span(max(part.start, bracket - _BRACKET_BYTES), bracket))
        is_empty = tail.rstrip().endswith(b"[")
        blocks = _encode_blocks(files, first_comma=b"" if is_empty else b",")
        for piece in chain(message.pieces(before), blocks, message.pieces(after)):
            yield piece
    yield b"}"


def _encode_blocks(files: Sequence[AddedContent], *, first_comma: bytes) -> Iterator[bytes]:
    comma = first_comma
    for file in files:
        yield comma
        yield from file.encode_block()
        comma = b","


def has_content_list(message: Message, span: Span) -> bool:
    """Return whether a result has a list of content blocks, to which blocks can be appended."""
    return _find_content_end(message, span) is not None


def _find_content_end(message: Message, span: Span) -> int | None:
    """Return the position of the bracket that closes the list of content blocks of a result.

    Return `None` if the result has no such list.
    """
    content = locate_members(message, span).get("content")
    if content is None:
        return None
    start, end = content
    head = message.read(Span(start, min(end, start + _BRACKET_BYTES)))
    tail_start = max(start, end - _BRACKET_BYTES)
    position = message.read(Span(tail_start, end)).rfind(b"]")
    return tail_start + position if head.lstrip().startswith(b"[") and position >= 0 else None


def _add_server_name(call: PendingCall, message: Message, span: Span) -> list[bytes | Span]:
    """Return the parts of a result with the name of its server in `_meta`.

    A part is a span of the line, or bytes that are added. If the server is unknown, or the value is
    not a result of MCP, nothing is added.
    """
    if call.server is None:
        return [span]
    found = scan_members(message, span)
    members = {str(parse_span(message, key)): value for key, value in found.members}
    # Some SDKs write `meta` instead, which the service reads only if there is no `_meta`.
    if not found.is_whole or "content" not in members or "meta" in members:
        return [span]
    server: JsonValue = {_SERVER_MEMBER: call.server}
    meta = members.get("_meta")
    # The added member becomes the first one of `_meta`, or of the result if that has no `_meta`.
    target = found if meta is None else scan_members(message, meta)
    added = json_bytes({"_meta": server} if meta is None else server)
    if not target.is_whole:
        return [span]
    if meta is not None and not target.members:
        return [Span(span.start, meta.start), added, Span(meta.end, span.end)]
    position = target.members[0].key.start
    return [Span(span.start, position), added[1:-1] + b",", Span(position, span.end)]


async def read_response(pieces: AsyncIterator[bytes], scan: Callable[[Line], Scanned]) -> Scanned:
    """Read a response into a line, and return what `scan` returns for that line.

    Args:
        pieces: The body of the response.
        scan: Reads the line. It closes the line, or returns a piece of it, which the caller closes.
            It raises ValueError or the like if the response has another form.

    Raises:
        ServiceRequestError: The response is not UTF-8, or has another form.
    """
    try:
        line = await read_text(pieces)
    except UnicodeDecodeError as exc:
        raise ServiceRequestError(NOT_JSON_OBJECTS) from exc
    try:
        return await scan_line(line, scan)
    except BaseException as exc:
        line.close()
        if isinstance(exc, ValueError | KeyError | TypeError | AttributeError | RecursionError):
            raise ServiceRequestError(NOT_JSON_OBJECTS) from exc
        raise


def find_rendered_message(line: Line) -> LinePiece:
    """Return the message of a rendering, which has exactly one.

    Only a short rendering is checked to be valid JSON. In a long one, members are just located.

    Raises:
        ValueError, KeyError, RecursionError: The line is not a rendering, or its message has no
            list of content.
    """
    if not line.is_long:
        parse_strict_json(line.read())
    (message,) = islice(LinePiece(line, line.members["messages"]).items(), 1)
    first_piece = next(line.pieces(message.members["content"]), b"")
    if first_piece.lstrip()[:1] != b"[":
        raise ValueError
    return message


def parse_strict_json(text: bytes) -> JsonValue:
    """Return the value of a JSON text.

    Raises:
        ValueError, RecursionError: The text is not JSON, or has infinite numbers or NaN.
    """

    def refuse(constant: str) -> NoReturn:
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


def find_limited_message(line: Line) -> LinePiece | None:
    """Return the message of a rendering if limits of the host have changed it.

    The rendering lists the changes as `loss`. Without a change by a limit, close the line, and
    return `None`: the host gets the result of the server.

    Raises:
        ValueError, KeyError, RecursionError: As for `find_rendered_message`.
    """
    message = find_rendered_message(line)
    codes = (parse_span(loss, loss.members["code"]) for loss in _read_items(line, "loss"))
    if any(code in _LIMIT_CODES for code in codes):
        return message
    line.close()
    return None


def is_changed(record: LinePiece, options: RenderOptions) -> bool:
    """Return whether the rendering of a result differs from the server's result in any case.

    It differs if a long text becomes a preview, or a medium becomes a handle.

    Args:
        record: The record of the result, `{parts, resources, meta}`.
        options: The limits of the host.

    Raises:
        KeyError, ValueError: The record is invalid.
    """
    max_chars = options.max_text or PREVIEW_LIMIT_CHARS
    # The pages of MCP apps are resources of the record too, but renderings do not have them.
    app_page_uris: set[str] = set()
    for part in _parse_parts(record):
        if len(part.get("text", "")) > max_chars:
            return True
        if APP_MEMBER in part.get("_meta", ()):
            app_page_uris.add(part["data"])
    other_resources = islice(_read_items(record, "resources"), len(app_page_uris), None)
    return next(other_resources, None) is not None


def may_be_limited(record: LinePiece, options: RenderOptions) -> bool:
    """Return whether the limits of a host may change the rendering of a result.

    The arguments are those of `is_changed`.
    """
    image_limits = (options.max_images, options.max_bytes, options.max_image_pixels)
    # Large images are resources, see `is_changed`. The others have few bytes, but may be many, or
    # have many pixels.
    has_limits = any(limit is not None for limit in image_limits)
    return options.max_tokens is not None or (
        has_limits and any(part["type"] == "image" for part in _parse_parts(record))
    )


def _read_items(message: Message, name: str) -> Iterator[LinePiece]:
    line = message.line if isinstance(message, LinePiece) else message
    return LinePiece(line, message.members[name]).items()


def _parse_parts(record: LinePiece) -> Iterator[Any]:
    # Integers stay texts, since Python does not convert those with thousands of digits.
    return (json.loads(item.read(), parse_int=str) for item in _read_items(record, "parts"))
