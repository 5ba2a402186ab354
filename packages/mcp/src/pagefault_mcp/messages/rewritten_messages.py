"""Rewrite messages as lists of pieces: of the original line, and of replacements."""

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
    locate_members,
    member,
    parse_member,
    scan_members,
)
from pagefault_mcp.messages.sessionless_requests import INTERNAL_ERROR

Piece: TypeAlias = bytes | Span | LinePiece
"""A piece of a rewritten message: bytes, a span of its line, or a piece of another line."""

_LONGEST_MEMBER_BYTES = 1024 * 1024
"""Longer members of a result are omitted, except `content` and `structuredContent`."""


def replace_content(
    line: Message, result: Span, rendering: LinePiece, *, is_typed: bool
) -> list[Piece] | None:
    """Return a message with the content of its result replaced.

    The envelope, `_meta`, `isError` and unknown members are kept as the server wrote them, unless
    they are longer than 1 MiB.

    Args:
        line: The message.
        result: The span of its result.
        rendering: The result as it was rendered for the host, with the new content.
        is_typed: Whether the tool may declare a schema of `structuredContent`. If so, that member
            is kept at any length.

    Returns:
        `None` to leave the message unchanged: the result is not an object, or the rendering has no
        content or the same content.
    """
    pieces: list[Piece] = [Span(line.whole_span.start, result.start), b"{"]
    found = scan_members(line, result)
    if not (found.is_whole and found.members) or "content" not in rendering.members:
        return None
    members = [(parse_member(line, key), key, value) for key, value in found.members]
    is_same = _is_same_content(line, {str(name): value for name, _, value in members}, rendering)
    is_changed = not is_same
    for name, key, value in members:
        replacement: Piece = value
        is_short = value.end - value.start <= _LONGEST_MEMBER_BYTES
        if name == "content":
            replacement = value if is_same else LinePiece(rendering.line, rendering.members[name])
        elif not is_short and name == "structuredContent" and not is_typed:
            is_changed = True
            if name not in rendering.members:
                continue
            replacement = LinePiece(rendering.line, rendering.members[name])
        elif not (is_short or is_same or (is_typed and name == "structuredContent")):
            continue
        pieces += [b"," if len(pieces) > 2 else b"", key, b":", replacement]
    return [*pieces, b"}", Span(result.end, line.whole_span.end)] if is_changed else None


def _is_same_content(line: Message, members: Mapping[str, Span], rendering: LinePiece) -> bool:
    """Return whether a rendering has the content of a result; False if one of them is long."""
    old, new = members.get("content"), rendering.members["content"]
    if old is None or max(old.end - old.start, new.end - new.start) > _LONGEST_MEMBER_BYTES:
        return False
    content = parse_member(line, old)
    return content is not None and content == parse_member(rendering, new)


def has_only_handles(line: Message, result: Span) -> bool:
    """Return whether every block of a result's content is the text of a handle."""
    members = locate_members(line, result)
    span = members.get("content")
    if span is None or span.end - span.start > _LONGEST_MEMBER_BYTES:
        return False
    content = parse_member(line, span)
    return (
        isinstance(content, list)
        and bool(content)
        and all(
            member(item, "type") == "text" and is_handle(member(item, "text")) for item in content
        )
    )


def append_tools(line: Message, result: Span, tools: Sequence[JsonValue]) -> list[Piece] | None:
    """Return the last page of a list of tools with more tools appended.

    Args:
        line: The message.
        result: The span of its result.
        tools: The tools to append.

    Returns:
        `None` if the list is invalid, or the message is not its last page.
    """
    members = locate_members(line, result)
    listed = members.get("tools")
    cursor = members.get("nextCursor")
    # Some servers end a list with an empty cursor.
    if listed is None or (cursor is not None and parse_member(line, cursor)):
        return None
    text = line.read(listed)
    end = text.rfind(b"]")
    if end < 0:
        return None
    is_empty = not text[:end].strip().removeprefix(b"[").strip()
    appended = json_bytes([*tools])[1:-1]
    position = listed.start + end
    comma = b"" if is_empty or not appended else b","
    return [
        Span(line.whole_span.start, position),
        comma + appended,
        Span(position, line.whole_span.end),
    ]


def replace_arguments(line: Message, arguments: JsonValue) -> list[Piece]:
    """Return the message of a call with its arguments replaced."""
    span = locate_members(line, line.members["params"])["arguments"]
    replacement = json_bytes(arguments)
    return [
        Span(line.whole_span.start, span.start),
        replacement,
        Span(span.end, line.whole_span.end),
    ]


def _rewrite_batch(line: Line, items: Sequence[list[Piece] | None]) -> list[Piece]:
    """Return a batch with replaced messages; see `rewrite_line`."""
    pieces: list[Piece] = [b"["]
    for original, item in zip(line.batch, items, strict=True):
        replacement = [original.whole_span] if item is None else item
        if replacement:
            pieces += [b"," if len(pieces) > 1 else b"", *replacement]
    return [*pieces, b"]\n"]


def error_line(request_id: object, text: str) -> bytes:
    """Return a line that answers a request with an error."""
    error = {"code": INTERNAL_ERROR, "message": text}
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode() + b"\n"


def write_result_line(request_id: bytes, result: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the line that answers a request.

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
        changed: For each message its pieces; `None` leaves it unchanged, and an empty list omits
            it.
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
