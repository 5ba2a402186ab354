r"""Join base64 that is written as a list of lines, as in Jupyter notebooks: ["iVBOR…\n", "…\n"].

Most lists of strings are something else: lists of names, of files, or of lines of a text. A list is
one file in base64 if

- all lines but the last are equally long, and the last is not longer,
- it begins with the signature of a file or the head of a data URI, or it is in a member for media,
- and the joined lines are valid base64.

A list of two strings may also be a file and its caption or type. Then the first string is usually
longer than lines are.
"""

import re

from pagefault_dialects.media.base64_runs import LETTERS_ONLY, MAX_COLUMNS_OF_PAIR, has_signature_at
from pagefault_dialects.media.base64_text import CERTAIN_BASE64_CHARS, decode_base64
from pagefault_dialects.media.data_uris import find_base64_start

_MIN_COLUMNS = 16
# Longer strings are not lines. In a streamed body, long strings are replaced by placeholders (see
# `streams`), which are longer than this too. So a list is read in the same way in both cases.
_MAX_COLUMNS = 8_000
# For lists without a signature and without line ends: digests and identifiers are shorter.
_MIN_UNMARKED_COLUMNS = 40
_MIN_UNMARKED_LINES = 3
# Digests, sequences and identifiers have only some classes of characters in a sample of this size.
_SAMPLE_CHARS = 4_096
_CHARACTER_CLASSES = tuple(map(re.compile, ("[A-Z]", "[a-z]", "[0-9]")))


def join_base64_lines(value: object, *, is_declared: bool = False) -> str | None:
    """Return the base64 or the data URI that a list of lines forms, on one line.

    Args:
        value: Any JSON value.
        is_declared: Whether the list is in a member for media, so that no signature is needed.

    Returns:
        The joined lines; `None` for other values.
    """
    if not isinstance(value, list) or not value or not isinstance(value[0], str):
        return None
    head = find_base64_start(value[0])
    is_certain = head > 0 or has_signature_at(value[0], 0)
    may_be_file = is_certain or is_declared or value[0].endswith("\n")
    if not may_be_file or len(value[0]) < _MIN_COLUMNS or set(map(type, value)) != {str}:
        return None
    lines = _strip_line_ends(value, head)
    if not _have_equal_lengths(lines, head) or (len(value) > 1 and not _is_wrapped(lines, head)):
        return None
    joined = "".join(lines)
    # In a member for media, a list of one string is read like the string itself.
    is_accepted = is_certain or (is_declared and len(value) == 1)
    if not (is_accepted or _looks_encoded(joined, lines, has_ends=value[0].endswith("\n"))):
        return None
    body = joined[head:]
    return joined if len(body) >= CERTAIN_BASE64_CHARS and decode_base64(body) else None


def _strip_line_ends(value: list[str], head: int) -> list[str]:
    """Return the lines without line ends.

    If the first line is only the head of a data URI, it is joined with the second line.

    Args:
        value: The lines.
        head: The length of the head of a data URI; 0 without one.
    """
    lines = [line.rstrip() for line in value]
    while len(lines) > 1 and not lines[-1]:
        lines.pop()
    if head == len(lines[0]) and len(lines) > 1:
        lines[:2] = [lines[0] + lines[1]]
    return lines


def _have_equal_lengths(lines: list[str], head: int) -> bool:
    """Return whether all lines but the last are equally long, with or without the head."""
    widths = [len(line) for line in lines]
    if len(lines) > 1 and max(widths) > _MAX_COLUMNS:
        return False
    if len(lines) > 2 and widths[0] - head == widths[1]:
        widths[0] = widths[1]
    if widths[-1] > widths[0] or any(width != widths[0] for width in widths[:-1]):
        return False
    # If another line has a signature, the list is one of files.
    return not any(has_signature_at(line, 0) for line in lines[1:])


def _is_wrapped(lines: list[str], head: int) -> bool:
    """Return whether lines are those of one file, rather than a file and its caption."""
    if len(lines) > 2:
        return True
    length = sum(map(len, lines)) - head
    is_word = len(lines) > 1 and LETTERS_ONLY.match(lines[-1]) is not None
    return len(lines[0]) - head <= MAX_COLUMNS_OF_PAIR and length % 4 == 0 and not is_word


def _looks_encoded(joined: str, lines: list[str], *, has_ends: bool) -> bool:
    """Return whether lines without a signature are base64 rather than names."""
    if not all(kind.search(joined, 0, _SAMPLE_CHARS) for kind in _CHARACTER_CLASSES):
        return False
    columns = len(lines[0])
    is_unmarked = not has_ends and len(lines) > 1
    return not is_unmarked or (
        len(lines) >= _MIN_UNMARKED_LINES and columns >= _MIN_UNMARKED_COLUMNS and columns % 4 == 0
    )
