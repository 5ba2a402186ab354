r"""Base64 as a list of its lines, as Jupyter's notebooks hold it: ["iVBOR…\n", "…\n"].

A list of strings is a list of payloads, of names, of lines of a text far more often. What makes it
one payload is that its lines are equally long with a shorter one at the end, that they begin with a
file's signature, with the head of a data URI or where nothing but a medium can stand, and that all
of them together are base64. Two lines alone may be a file and its caption or its type, so that the
first of them has to be as short as lines are.
"""

import re

from pagefault_dialects.media.base64_runs import MAX_SINGLE_COLUMNS, WORD, shows_signature
from pagefault_dialects.media.base64_text import CERTAIN_BASE64_CHARS, decode_base64
from pagefault_dialects.media.data_uris import base64_head_end

_MIN_COLUMNS = 16
# What is longer is no line. The stand-in of a long string (`streaming`) is longer as well, so that
# lists with such strings are read in the same way whether they were streamed or not.
_MAX_COLUMNS = 8_000
# Without a signature and without line ends: no digest and no identifier is as long as such lines.
_MIN_BARE_COLUMNS = 40
_MIN_BARE_LINES = 3
# Digests, sequences and identifiers keep to some of these, and in so many characters it shows.
_JUDGED_CHARS = 4_096
_KINDS_OF_CHARACTERS = tuple(map(re.compile, ("[A-Z]", "[a-z]", "[0-9]")))


def joined_lines(value: object, *, is_declared: bool = False) -> str | None:
    """Return the base64 or the data URI that a list of lines is, on one line.

    Args:
        value: Any JSON value.
        is_declared: Whether nothing but a medium can stand here: then no signature is needed.

    Returns:
        `None` for any other value.
    """
    if not isinstance(value, list) or not value or not isinstance(value[0], str):
        return None
    head = base64_head_end(value[0])
    is_certain = head > 0 or shows_signature(value[0], 0)
    may_be = is_certain or is_declared or value[0].endswith("\n")
    if not may_be or len(value[0]) < _MIN_COLUMNS or set(map(type, value)) != {str}:
        return None
    lines = _without_ends(value, head)
    if not _are_lines(lines, head) or (len(value) > 1 and not _is_wrapped(lines, head)):
        return None
    joined = "".join(lines)
    # One string that is declared to be a medium is one without the list around it, too.
    is_plain = is_certain or (is_declared and len(value) == 1)
    if not (is_plain or _looks_encoded(joined, lines, has_ends=value[0].endswith("\n"))):
        return None
    body = joined[head:]
    return joined if len(body) >= CERTAIN_BASE64_CHARS and decode_base64(body) else None


def _without_ends(value: list[str], head: int) -> list[str]:
    """Return the lines without their ends; a head is one with the line below it."""
    lines = [line.rstrip() for line in value]
    while len(lines) > 1 and not lines[-1]:
        lines.pop()
    if head == len(lines[0]) and len(lines) > 1:
        lines[:2] = [lines[0] + lines[1]]
    return lines


def _are_lines(lines: list[str], head: int) -> bool:
    """Return whether the lines before the last are equally long, with or without the head."""
    widths = [len(line) for line in lines]
    if len(lines) > 1 and max(widths) > _MAX_COLUMNS:
        return False
    if len(lines) > 2 and widths[0] - head == widths[1]:
        widths[0] = widths[1]
    if widths[-1] > widths[0] or any(width != widths[0] for width in widths[:-1]):
        return False
    # Where another file begins, the list holds files, and no lines of one.
    return not any(shows_signature(line, 0) for line in lines[1:])


def _is_wrapped(lines: list[str], head: int) -> bool:
    """Return whether one or two lines are what was wrapped, not a file with something beside it."""
    if len(lines) > 2:
        return True
    length = sum(map(len, lines)) - head
    is_word = len(lines) > 1 and WORD.match(lines[-1]) is not None
    return len(lines[0]) - head <= MAX_SINGLE_COLUMNS and length % 4 == 0 and not is_word


def _looks_encoded(joined: str, lines: list[str], *, has_ends: bool) -> bool:
    """Return whether lines that only a declaration speaks for are base64 and not some names."""
    if not all(kind.search(joined, 0, _JUDGED_CHARS) for kind in _KINDS_OF_CHARACTERS):
        return False
    columns = len(lines[0])
    is_bare = not has_ends and len(lines) > 1
    return not is_bare or (
        len(lines) >= _MIN_BARE_LINES and columns >= _MIN_BARE_COLUMNS and columns % 4 == 0
    )
