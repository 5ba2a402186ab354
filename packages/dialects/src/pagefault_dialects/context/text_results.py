"""The text of a result of `read_text`: a header line, and below it a piece of the stored text.

The header has the name of the text, the range of the piece, and the offset or lines to read on.

Source: design document `agents.md`, "Tools for models".
"""

from collections.abc import Sequence

from pagefault_dialects.context.token_cuts import chars_within
from pagefault_dialects.targets.tokens import count_tokens
from pagefault_dialects.texts.cuts import find_boundary_before
from pagefault_dialects.texts.excerpts import JsonExcerpt, LineExcerpt, Matches
from pagefault_dialects.tools.tool_arguments import ReadTextArguments, WrongArgumentsError
from pagefault_dialects.tools.tool_catalogue import MAX_TEXT_CHARS

# The tokens of the header line.
_HEADER_TOKENS = 64


def format_characters(
    name: str, text: str, total_chars: int, request: ReadTextArguments, max_tokens: int
) -> str:
    """Return a result with the characters of a text from an offset on.

    Args:
        name: The name of the text; see `make_text_name`.
        text: The text from the offset on, which may be longer than the limit.
        total_chars: The length of the whole text, which the error names. If the text was read only
            in part, the length of this part.
        request: The offset and the limit.
        max_tokens: The most tokens of the result.

    Raises:
        WrongArgumentsError: The offset is after the end of the text.
    """
    if not text and request.offset:
        raise WrongArgumentsError(
            f"The text has {total_chars} characters; offset is behind its end."
        )
    piece = _shorten(text, min(request.limit, MAX_TEXT_CHARS), max_tokens)
    end = request.offset + len(piece)
    has_more = len(text) > len(piece)
    next_step = f"; go on with offset={end}" if has_more else "; this is its end"
    return f"[{name}, characters {request.offset} to {end}{next_step}]\n{piece}"


def make_text_name(mime_type: str, charset: str) -> str:
    """Return the name of a text: its type, and the charset that it was decoded from."""
    return f"{mime_type}, decoded from {charset}" if charset else mime_type


def format_excerpt(
    name: str,
    total_lines: int | None,
    excerpt: LineExcerpt | Matches | JsonExcerpt,
    max_tokens: int,
) -> str:
    """Return a result with lines, with matches of a search, or with a JSON value of a text.

    Lines that do not fit the result are left out, and the header names the next line to read.

    Args:
        name: The name of the text; see `make_text_name`.
        total_lines: The number of lines of the text; `None` for a JSON value.
        excerpt: The lines, the matches or the value.
        max_tokens: The most tokens of the result.
    """
    if isinstance(excerpt, JsonExcerpt):
        piece = _mark_cut(excerpt.plain_text, max_tokens)
        cut = "" if piece == excerpt.plain_text else "; cut here: ask for a longer pointer"
        return f"[{name}, at {excerpt.pointer or 'the root'}{cut}]\n{piece}"
    if isinstance(excerpt, Matches):
        lines = [(part.line, f"{part.line}: {part.text}") for part in excerpt.found]
    else:
        lines = list(enumerate(excerpt.lines, start=excerpt.first_line))
    taken, first_omitted = take_lines(lines, MAX_TEXT_CHARS, max_tokens)
    next_line = excerpt.next_line if first_omitted is None else first_omitted
    header = f"of {total_lines} lines"
    if isinstance(excerpt, Matches):
        header = f"{excerpt.total} {header} match"
    elif taken:
        header = f"lines {excerpt.first_line} to {excerpt.first_line + len(taken) - 1} {header}"
    # If a line is cut, it is the first one, and the only one in the result.
    is_cut = bool(lines) and taken[0] != lines[0][1]
    cut = f"; line {lines[0][0]} is cut: read it by offset, without lines" if is_cut else ""
    go_on = f'; go on with lines="{next_line}-"' if next_line is not None else ""
    return "\n".join([f"[{name}, {header}{cut}{go_on}]", *taken])


def take_lines(
    lines: Sequence[tuple[int, str]], max_chars: int, max_tokens: int
) -> tuple[Sequence[str], int | None]:
    """Return the first lines that fit a result, with at least the beginning of the first line.

    Args:
        lines: The number and the text of each line.
        max_chars: The most characters of the result.
        max_tokens: The most tokens of the result, including its header line.

    Returns:
        The lines, and the number of the first line that was left out; `None` if all fit.
    """
    taken: list[str] = []
    tokens = max_tokens - _HEADER_TOKENS
    for number, text in lines:
        max_chars -= len(text) + 1
        if max_chars < 0 or (tokens := tokens - count_tokens(text) - 1) < 0:
            if taken:
                return taken, number
            text = _mark_cut(text, max_tokens)  # noqa: PLW2901 - the only line
        taken.append(text)
    return taken, None


def _mark_cut(text: str, max_tokens: int) -> str:
    """Return a text, or its beginning with an ellipsis if it does not fit."""
    piece = _shorten(text, MAX_TEXT_CHARS, max_tokens)
    return text if len(piece) == len(text) else f"{piece} […]"


def _shorten(text: str, max_chars: int, max_tokens: int) -> str:
    """Return the longest beginning of a text within both limits, of at least one character."""
    beginning = text[:max_chars]
    length = chars_within(beginning, max_tokens - _HEADER_TOKENS)
    if length == len(text):
        return text
    # A grapheme that does not fit is cut, so that each piece makes progress.
    return text[: find_boundary_before(text, length) or max(1, length)]
