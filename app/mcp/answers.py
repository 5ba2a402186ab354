"""Messages as the other side gets them: those that came, with something else in them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

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
    pieces: list[bytes | Span] = [Span(0, result.start), b"{"]
    for key, value in _members(line, result):
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


def with_tools(line: Line, result: Span, tools: Sequence[JsonValue]) -> list[bytes | Span] | None:
    """Return a list of tools with more of them at its end; `None` if the list goes on, or is none.

    Args:
        line: The message.
        result: Where its result is.
        tools: What is to stand behind the server's tools.
    """
    members = {parsed(line, key): value for key, value in _members(line, result)}
    listed = members.get("tools")
    cursor = members.get("nextCursor")
    if listed is None or (cursor is not None and parsed(line, cursor) is not None):
        return None
    text = line.read(listed)
    end = text.rfind(b"]")
    if end < 0:
        return None
    is_empty = not text[:end].strip().removeprefix(b"[").strip()
    written = json_text([*tools]).encode()[1:-1]
    at = listed.start + end
    comma = b"" if is_empty or not written else b","
    return [Span(0, at), comma + written, Span(at, line.size_bytes)]


@dataclass(frozen=True, slots=True)
class Deferral:
    """An answer to a call that is not its result yet; the task that has it later, if one does."""

    task_id: str | None


def deferral(line: Line, result: Span) -> Deferral | None:
    """Return what is to come behind an answer to a call: input that is asked for, or a task."""
    members = {parsed(line, key): value for key, value in _members(line, result)}
    kind = members.get("resultType")
    if kind is not None and parsed(line, kind) == "input_required":
        return Deferral(None)
    held = members.get("task")
    if held is None or "content" in members:
        return None
    task = parsed(line, held)
    task_id = task.get("taskId") if isinstance(task, dict) else None
    return Deferral(task_id) if isinstance(task_id, str) else None


def with_arguments(line: Line, arguments: JsonValue) -> list[bytes | Span]:
    """Return the call of a tool with other arguments."""
    params = line.members["params"]
    places = {parsed(line, key): value for key, value in _members(line, params)}
    held = places["arguments"]
    written = json_text(arguments).encode("utf-8", "backslashreplace")
    return [Span(0, held.start), written, Span(held.end, line.size_bytes)]


def written_pieces(line: Line, pieces: Iterable[bytes | Span]) -> Iterator[bytes]:
    """Yield a message that is made of bytes and pieces of a line."""
    for piece in pieces:
        if isinstance(piece, Span):
            yield from line.pieces(piece)
        else:
            yield piece


def _members(line: Line, held: Span) -> Iterator[tuple[Span, Span]]:
    """Yield where keys and values of an object on a line are."""
    scanner = MemberScanner()
    for piece in line.pieces(held):
        scanner.feed(piece)
    for member in scanner.members:
        yield (
            Span(held.start + member.key.start, held.start + member.key.end),
            Span(held.start + member.value.start, held.start + member.value.end),
        )
