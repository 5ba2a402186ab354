r"""Base64 as a list of its lines, as Jupyter's notebooks hold it: ["iVBOR…\n", "…\n"].

Most lists of strings are lists of payloads, of names, or of lines of a text. A list is one payload
if its lines are equally long with a shorter one at the end, it begins with a file's signature or
the head of a data URI, or is in a place for media, and the joined lines are base64. Two lines may
be a file and its caption or type, so their first line must be no longer than usual lines are.
"""

import re

from pagefault_dialects.media.base64_runs import MAX_SINGLE_COLUMNS, WORD, shows_signature
from pagefault_dialects.media.base64_text import CERTAIN_BASE64_CHARS, decode_base64
from pagefault_dialects.media.data_uris import base64_head_end

_MIN_COLUMNS = 16
# Longer strings are no lines. The placeholder of a long string (`streams`) is longer as well, so
# lists with such strings are read the same whether they are streamed or not.
_MAX_COLUMNS = 8_000
# Without a signature and without line ends: digests and identifiers are shorter than this.
_MIN_BARE_COLUMNS = 40
_MIN_BARE_LINES = 3
# Digests, sequences and identifiers use few characters, which shows in a sample of this size.
_JUDGED_CHARS = 4_096
_KINDS_OF_CHARACTERS = tuple(map(re.compile, ("[A-Z]", "[a-z]", "[0-9]")))


def joined_lines(value: object, *, is_declared: bool = False) -> str | None:
    """Return the base64 or the data URI that a list of lines forms, on one line.

    Args:
        value: Any JSON value.
        is_declared: Whether only a medium can be in this place, so no signature is needed.

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
    # A single string in a place for media is read like one without the list.
    is_plain = is_certain or (is_declared and len(value) == 1)
    if not (is_plain or _looks_encoded(joined, lines, has_ends=value[0].endswith("\n"))):
        return None
    body = joined[head:]
    return joined if len(body) >= CERTAIN_BASE64_CHARS and decode_base64(body) else None


def _without_ends(value: list[str], head: int) -> list[str]:
    """Return the lines without their ends; a head is joined with the line after it."""
    lines = [line.rstrip() for line in value]
    while len(lines) > 1 and not lines[-1]:
        lines.pop()
    if head == len(lines[0]) and len(lines) > 1:
        lines[:2] = [lines[0] + lines[1]]
    return lines


def _are_lines(lines: list[str], head: int) -> bool:
    """Return whether all lines but the last are equally long, with or without the head."""
    widths = [len(line) for line in lines]
    if len(lines) > 1 and max(widths) > _MAX_COLUMNS:
        return False
    if len(lines) > 2 and widths[0] - head == widths[1]:
        widths[0] = widths[1]
    if widths[-1] > widths[0] or any(width != widths[0] for width in widths[:-1]):
        return False
    # If another signature follows, the list has files rather than lines of one file.
    return not any(shows_signature(line, 0) for line in lines[1:])


def _is_wrapped(lines: list[str], head: int) -> bool:
    """Return whether one or two lines are a wrapped file rather than a file and its caption."""
    if len(lines) > 2:
        return True
    length = sum(map(len, lines)) - head
    is_word = len(lines) > 1 and WORD.match(lines[-1]) is not None
    return len(lines[0]) - head <= MAX_SINGLE_COLUMNS and length % 4 == 0 and not is_word


def _looks_encoded(joined: str, lines: list[str], *, has_ends: bool) -> bool:
    """Return whether lines without a signature are base64 rather than names."""
    if not all(kind.search(joined, 0, _JUDGED_CHARS) for kind in _KINDS_OF_CHARACTERS):
        return False
    columns = len(lines[0])
    is_bare = not has_ends and len(lines) > 1
    return not is_bare or (
        len(lines) >= _MIN_BARE_LINES and columns >= _MIN_BARE_COLUMNS and columns % 4 == 0
    )
