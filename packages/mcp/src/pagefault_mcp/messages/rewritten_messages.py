"""Replace parts of messages that the proxy forwards.

A rewritten message is a list of pieces: spans of the original line, and bytes or pieces of other
lines that replace the rest. So a long message is never in memory as a whole.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from pagefault_dialects.json.values import JsonValue, json_bytes
from pagefault_mcp.messages.argument_handles import is_handle
from pagefault_mcp.messages.json_spans import Span
from pagefault_mcp.messages.lines import (
    Line,
    LinePiece,
    Message,
    get_member,
    locate_members,
    parse_span,
    scan_members,
)
from pagefault_mcp.messages.sessionless_requests import INTERNAL_ERROR

Piece: TypeAlias = bytes | Span | LinePiece
"""A piece of a rewritten message: bytes, a span of its line, or a piece of another line."""

_LONGEST_MEMBER_BYTES = 1024 * 1024
"""The length of the longest member of a result that the proxy compares or keeps.

See `replace_content` for exceptions.
"""


def replace_content(
    message: Message, result: Span, rendering: LinePiece, *, is_typed: bool
) -> list[Piece] | None:
    """Return a message with the content of its result replaced.

    The other members of the message and of its result are kept as the server wrote them. If the
    content changes, other members of the result that are longer than 1 MiB are omitted. Unless
    `is_typed`, a longer `structuredContent` is replaced by that of the rendering, or omitted.

    Args:
        message: The message.
        result: The span of the result in the message.
        rendering: The result as it was rendered for the host, with the new content.
        is_typed: The tool may have declared a schema of `structuredContent`, so that member is kept
            at any length.

    Returns:
        `None` to leave the message unchanged: the result is not an object, or the rendering has no
        content or the same content.
    """
    pieces: list[Piece] = [Span(message.whole_span.start, result.start), b"{"]
    scanned = scan_members(message, result)
    if not (scanned.is_whole and scanned.members) or "content" not in rendering.members:
        return None
    members = [(parse_span(message, key), key, value) for key, value in scanned.members]
    is_same = _is_same_content(message, {str(name): value for name, _, value in members}, rendering)
    is_changed = not is_same
    for name, key, value in members:
        is_short = value.end - value.start <= _LONGEST_MEMBER_BYTES
        replacement: Piece
        if name == "content":
            replacement = value if is_same else LinePiece(rendering.line, rendering.members[name])
        elif is_short or (is_typed and name == "structuredContent"):
            replacement = value
        elif name == "structuredContent":
            is_changed = True
            if name not in rendering.members:
                continue
            replacement = LinePiece(rendering.line, rendering.members[name])
        elif is_same:
            replacement = value
        else:
            continue
        pieces += [b"," if len(pieces) > 2 else b"", key, b":", replacement]
    return [*pieces, b"}", Span(result.end, message.whole_span.end)] if is_changed else None


def _is_same_content(message: Message, members: Mapping[str, Span], rendering: LinePiece) -> bool:
    """Return whether a rendering has the same content as a result; False if a content is long."""
    old, new = members.get("content"), rendering.members["content"]
    if old is None or max(old.end - old.start, new.end - new.start) > _LONGEST_MEMBER_BYTES:
        return False
    content = parse_span(message, old)
    return content is not None and content == parse_span(rendering, new)


def has_only_handles(message: Message, result: Span) -> bool:
    """Return whether each content block of a result is a text that is just a handle."""
    members = locate_members(message, result)
    span = members.get("content")
    if span is None or span.end - span.start > _LONGEST_MEMBER_BYTES:
        return False
    content = parse_span(message, span)
    return (
        isinstance(content, list)
        and bool(content)
        and all(
            get_member(item, "type") == "text" and is_handle(get_member(item, "text"))
            for item in content
        )
    )


def append_tools(message: Message, result: Span, tools: Sequence[JsonValue]) -> list[Piece] | None:
    """Return a response to `tools/list` with more tools appended.

    A long list has several responses, each with the cursor of the next one. Tools are appended only
    to the last one.

    Args:
        message: The message.
        result: The span of the result in the message.
        tools: The tools to append.

    Returns:
        `None` if the list is invalid, or the message is not the last response.
    """
    members = locate_members(message, result)
    tools_span = members.get("tools")
    cursor = members.get("nextCursor")
    # Some servers end a list with an empty cursor.
    if tools_span is None or (cursor is not None and parse_span(message, cursor)):
        return None
    text = message.read(tools_span)
    end = text.rfind(b"]")
    if end < 0:
        return None
    is_empty = not text[:end].strip().removeprefix(b"[").strip()
    appended = json_bytes([*tools])[1:-1]
    position = tools_span.start + end
    comma = b"" if is_empty or not appended else b","
    return [
        Span(message.whole_span.start, position),
        comma + appended,
        Span(position, message.whole_span.end),
    ]


def replace_arguments(message: Message, arguments: JsonValue) -> list[Piece]:
    """Return the message of a call with its arguments replaced."""
    span = locate_members(message, message.members["params"])["arguments"]
    replacement = json_bytes(arguments)
    return [
        Span(message.whole_span.start, span.start),
        replacement,
        Span(span.end, message.whole_span.end),
    ]


def _rewrite_batch(line: Line, items: Sequence[list[Piece] | None]) -> list[Piece]:
    """Return the pieces of a batch with replaced messages.

    Args:
        line: The batch.
        items: As `changed` of `rewrite_line`.
    """
    pieces: list[Piece] = [b"["]
    for original, item in zip(line.batch, items, strict=True):
        replacement = [original.whole_span] if item is None else item
        if replacement:
            pieces += [b"," if len(pieces) > 1 else b"", *replacement]
    return [*pieces, b"]\n"]


def encode_error_line(request_id: object, text: str) -> bytes:
    """Return the line of a response with an error."""
    error = {"code": INTERNAL_ERROR, "message": text}
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode() + b"\n"


def encode_result_line(request_id: bytes, result: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the line of a response with a result, in pieces.

    Args:
        request_id: The id of the request, as JSON.
        result: The result as JSON, in pieces.
    """
    yield b'{"jsonrpc":"2.0","id":' + request_id + b',"result":'
    yield from result
    yield b"}\n"


def rewrite_line(line: Line, changed: Sequence[list[Piece] | None]) -> Iterator[bytes]:
    """Yield the bytes of a line with rewritten messages; nothing if all messages are omitted.

    Args:
        line: The line.
        changed: The pieces of each message of the line. `None` leaves the message unchanged, and an
            empty list omits it.
    """
    if not any(item is None or item for item in changed):
        return
    is_changed_batch = line.batch and any(item is not None for item in changed)
    pieces = _rewrite_batch(line, changed) if is_changed_batch else changed[0]
    for piece in [line.whole_span] if pieces is None else pieces:
        if isinstance(piece, bytes):
            yield piece
        else:
            yield from piece.pieces() if isinstance(piece, LinePiece) else line.pieces(piece)
