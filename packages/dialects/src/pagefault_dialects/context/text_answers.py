"""Answers of `read_text`: a piece of a text under a line with the next position.

Source: `agents`, "Tools for models".
"""

from collections.abc import Sequence

from pagefault_dialects.context.token_cuts import chars_within
from pagefault_dialects.targets.tokens import count_tokens
from pagefault_dialects.texts.cuts import boundary_at_or_before
from pagefault_dialects.texts.excerpts import JsonExcerpt, LineExcerpt, Matches
from pagefault_dialects.tools.tool_arguments import ReadTextArguments, WrongArgumentsError
from pagefault_dialects.tools.tool_catalogue import MAX_TEXT_CHARS

# For the line above a piece.
_HEAD_TOKENS = 64


def stretch_answer(
    what: str, text: str, known_chars: int, request: ReadTextArguments, max_tokens: int
) -> str:
    """Return a piece of a text under a line with the next offset.

    Args:
        what: The name of the text.
        text: The text from the offset on, or more of it than is requested.
        known_chars: The length of the text, as far as it is known.
        request: The offset and the limit.
        max_tokens: The most tokens of the answer.
    """
    if not text and request.offset:
        raise WrongArgumentsError(
            f"The text has {known_chars} characters; offset is behind its end."
        )
    piece = _shorten(text, min(request.limit, MAX_TEXT_CHARS), max_tokens)
    end = request.offset + len(piece)
    has_more = len(text) > len(piece)
    next_step = f"; go on with offset={end}" if has_more else "; this is its end"
    return f"[{what}, characters {request.offset} to {end}{next_step}]\n{piece}"


def text_name(mime_type: str, charset: str) -> str:
    """Return the name of a text: its type, and the charset that it was decoded from."""
    return f"{mime_type}, decoded from {charset}" if charset else mime_type


def found_answer(
    what: str,
    total_lines: int | None,
    found: LineExcerpt | Matches | JsonExcerpt,
    max_tokens: int,
) -> str:
    """Return the matches in a text that fit one answer, under a line with the next position.

    Args:
        what: The name of the text.
        total_lines: The number of its lines; `None` for a value in JSON.
        found: The lines, the matches or the value.
        max_tokens: The most tokens of the answer.
    """
    if isinstance(found, JsonExcerpt):
        piece = _mark_cut(found.words, max_tokens)
        cut = "" if piece == found.words else "; cut here: ask for a longer pointer"
        return f"[{what}, at {found.pointer or 'the root'}{cut}]\n{piece}"
    if isinstance(found, Matches):
        lines = [(part.line, f"{part.line}: {part.text}") for part in found.found]
    else:
        lines = list(enumerate(found.lines, start=found.first_line))
    kept, next_line = take_lines(lines, MAX_TEXT_CHARS, max_tokens)
    next_line = found.next_line if next_line is None else next_line
    head = f"of {total_lines} lines"
    if isinstance(found, Matches):
        head = f"{found.total} {head} match"
    elif kept:
        head = f"lines {found.first_line} to {found.first_line + len(kept) - 1} {head}"
    # A line that is longer than an answer is the only one in it.
    is_cut = bool(lines) and len(kept[0]) < len(lines[0][1])
    cut = f"; line {lines[0][0]} is cut: read it by offset, without lines" if is_cut else ""
    go_on = f'; go on with lines="{next_line}-"' if next_line is not None else ""
    return "\n".join([f"[{what}, {head}{cut}{go_on}]", *kept])


def take_lines(
    lines: Sequence[tuple[int, str]], max_chars: int, max_tokens: int
) -> tuple[Sequence[str], int | None]:
    """Return the lines that fit one answer, or the beginning of the first one.

    The second value is the number of the first line left out; `None` if all fit.
    """
    kept: list[str] = []
    tokens = max_tokens - _HEAD_TOKENS
    for number, text in lines:
        max_chars -= len(text) + 1
        if max_chars < 0 or (tokens := tokens - count_tokens(text) - 1) < 0:
            if kept:
                return kept, number
            text = _mark_cut(text, max_tokens)  # noqa: PLW2901 - the only line
        kept.append(text)
    return kept, None


def _mark_cut(text: str, max_tokens: int) -> str:
    piece = _shorten(text, MAX_TEXT_CHARS, max_tokens)
    return text if len(piece) == len(text) else f"{piece} […]"


def _shorten(text: str, max_chars: int, max_tokens: int) -> str:
    """Return the beginning of a text that fits."""
    beginning = text[:max_chars]
    most = chars_within(beginning, max_tokens - _HEAD_TOKENS)
    if most == len(text):
        return text
    # A grapheme that does not fit is cut, so that each piece makes progress.
    return text[: boundary_at_or_before(text, most) or max(1, most)]
