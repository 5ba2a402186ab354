"""Messages as the other side gets them: those that came, with something else in them."""

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
    locate_piece_members,
)
from pagefault_mcp.messages.message_values import member, parse_member
from pagefault_mcp.messages.sessionless_requests import INTERNAL_ERROR

Piece: TypeAlias = bytes | Span | LinePiece
"""Of a message that is sent: bytes, a piece of the line that came, or a piece of another."""

_MOST_KEPT_BYTES = 1024 * 1024
"""A member of a result that is longer, other than `structuredContent`, is left out."""


def with_content(
    line: Message, result: Span, rendering: LinePiece, *, is_typed: bool
) -> list[Piece] | None:
    """Return a message whose result has other content, as bytes and pieces of the line.

    `None` if the result is no object, or the rendering has no content, or nothing else than the
    result.

    Everything around the content stays as the server wrote it: the envelope, `_meta`, `isError`,
    and members that nobody here knows.

    Args:
        line: The message.
        result: Where its result is.
        rendering: The result as the host is to get it, of which the content is taken.
        is_typed: Whether the tool may promise a schema of `structuredContent`, which then stays
            as it is, whatever its length.
    """
    pieces: list[Piece] = [Span(line.whole.start, result.start), b"{"]
    found = locate_piece_members(line, result)
    if not (found.is_whole and found.members) or "content" not in rendering.members:
        return None
    members = [(parse_member(line, key), key, value) for key, value in found.members]
    is_same = _is_same_content(line, {str(name): value for name, _, value in members}, rendering)
    is_changed = not is_same
    for name, key, value in members:
        written: Piece = value
        is_short = value.end - value.start <= _MOST_KEPT_BYTES
        if name == "content":
            written = value if is_same else LinePiece(rendering.line, rendering.members[name])
        elif not is_short and name == "structuredContent" and not is_typed:
            is_changed = True
            if name not in rendering.members:
                continue
            written = LinePiece(rendering.line, rendering.members[name])
        elif not (is_short or is_same or (is_typed and name == "structuredContent")):
            continue
        pieces += [b"," if len(pieces) > 2 else b"", key, b":", written]
    return [*pieces, b"}", Span(result.end, line.whole.end)] if is_changed else None


def _is_same_content(line: Message, members: Mapping[str, Span], rendering: LinePiece) -> bool:
    """Tell whether a rendering has the very content of a result, as far as both are short."""
    held, shown = members.get("content"), rendering.members["content"]
    if held is None or max(held.end - held.start, shown.end - shown.start) > _MOST_KEPT_BYTES:
        return False
    content = parse_member(line, held)
    return content is not None and content == parse_member(rendering, shown)


def is_handles_alone(line: Message, result: Span) -> bool:
    """Tell whether all that a result says are handles: words, and not what they stand for."""
    members = locate_members(line, result)
    held = members.get("content")
    if held is None or held.end - held.start > _MOST_KEPT_BYTES:
        return False
    content = parse_member(line, held)
    return (
        isinstance(content, list)
        and bool(content)
        and all(
            member(each, "type") == "text" and is_handle(member(each, "text")) for each in content
        )
    )


def with_tools(line: Message, result: Span, tools: Sequence[JsonValue]) -> list[Piece] | None:
    """Return a list of tools with more of them at its end; `None` if the list goes on, or is none.

    Args:
        line: The message.
        result: Where its result is.
        tools: What is to stand behind the server's tools.
    """
    members = locate_members(line, result)
    listed = members.get("tools")
    cursor = members.get("nextCursor")
    # Servers end a list with an empty cursor, too.
    if listed is None or (cursor is not None and parse_member(line, cursor)):
        return None
    text = line.read(listed)
    end = text.rfind(b"]")
    if end < 0:
        return None
    is_empty = not text[:end].strip().removeprefix(b"[").strip()
    written = json_bytes([*tools])[1:-1]
    at = listed.start + end
    comma = b"" if is_empty or not written else b","
    return [Span(line.whole.start, at), comma + written, Span(at, line.whole.end)]


def with_arguments(line: Message, arguments: JsonValue) -> list[Piece]:
    """Return the call of a tool with other arguments."""
    held = locate_members(line, line.members["params"])["arguments"]
    written = json_bytes(arguments)
    return [Span(line.whole.start, held.start), written, Span(held.end, line.whole.end)]


def _with_items(line: Line, items: Sequence[list[Piece] | None]) -> list[Piece]:
    """Return a batch that has other items, those that are `None` as they came.

    An item that is an empty list is left out.
    """
    pieces: list[Piece] = [b"["]
    for came, item in zip(line.batch, items, strict=True):
        written = [came.whole] if item is None else item
        if written:
            pieces += [b"," if len(pieces) > 1 else b"", *written]
    return [*pieces, b"]\n"]


def failure(request_id: object, said: str) -> bytes:
    """Return the line that tells a host why a request has no answer."""
    error = {"code": INTERNAL_ERROR, "message": said}
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode() + b"\n"


def result_of(request_id: bytes, result: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the line that answers a request.

    Args:
        request_id: The id of the request, as JSON.
        result: The result as JSON, in pieces.
    """
    yield b'{"jsonrpc":"2.0","id":' + request_id + b',"result":'
    yield from result
    yield b"}\n"


def rewrite_line(line: Line, changed: Sequence[list[Piece] | None]) -> Iterator[bytes]:
    """Yield a line with what has been changed of the messages on it; nothing if none is left.

    Args:
        line: The line.
        changed: What each message is to be; `None` for one that stays as it came.
    """
    if not any(each is None or each for each in changed):
        return
    is_other_batch = line.batch and any(each is not None for each in changed)
    pieces = _with_items(line, changed) if is_other_batch else changed[0]
    for piece in [line.whole] if pieces is None else pieces:
        if isinstance(piece, bytes):
            yield piece
        else:
            yield from piece.pieces() if isinstance(piece, LinePiece) else line.pieces(piece)
