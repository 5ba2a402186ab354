"""The answer to a call as a host gets it: the server's, with other content in it."""

from app.mcp.calls import parsed
from app.mcp.lines import Line
from app.mcp.members import MemberScanner, Span
from app.models.json_value import JsonValue, json_text

_MOST_KEPT_BYTES = 1024 * 1024
"""A member of a result that is longer, other than `structuredContent`, is left out."""


def with_content(
    line: Line, result: Span, rendering: dict[str, JsonValue], *, is_typed: bool
) -> list[bytes | Span]:
    """Return a message whose result has other content, as bytes and pieces of the line.

    Everything around the content stays as the server wrote it: the envelope, `_meta`, `isError`,
    and members that nobody here knows.

    Args:
        line: The message.
        result: Where its result is.
        rendering: The result as the host is to get it, of which the content is taken.
        is_typed: Whether the tool promises a schema of `structuredContent`, which then stays as
            it is, whatever its length.
    """
    scanner = MemberScanner()
    for piece in line.pieces(result):
        scanner.feed(piece)
    pieces: list[bytes | Span] = [Span(0, result.start), b"{"]
    for member in scanner.members:
        key = Span(result.start + member.key.start, result.start + member.key.end)
        value = Span(result.start + member.value.start, result.start + member.value.end)
        name = parsed(line, key)
        is_short = value.end - value.start <= _MOST_KEPT_BYTES
        if name == "content":
            written: bytes | Span = json_text(rendering.get("content", [])).encode()
        elif is_short or (is_typed and name == "structuredContent"):
            written = value
        elif name == "structuredContent" and name in rendering:
            written = json_text(rendering[name]).encode()
        else:
            continue
        pieces += [b"," if len(pieces) > 2 else b"", key, b":", written]
    return [*pieces, b"}", Span(result.end, line.size_bytes)]
