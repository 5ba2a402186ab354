r"""Base64 as a list of its lines, as Jupyter's notebooks hold it: ["iVBOR…\n", "…\n"].

A list of strings is a list of payloads, of names, of lines of a text far more often. What makes it
one payload is that its lines end as lines do, or that a file's signature stands in front of equally
long ones, and that all of them together are base64.
"""

from itertools import pairwise

from app.services.normalization.base64_runs import shows_signature
from app.services.normalization.base64_text import decode_base64

_MIN_COLUMNS = 16
_MIN_CHARS = 64


def joined_lines(value: object, *, is_declared: bool = False) -> str | None:
    """Return the base64 that a list of lines is, on one line; `None` for any other value.

    Args:
        value: Any JSON value.
        is_declared: Whether nothing but a medium can stand here: then equal lines are enough.
    """
    if not isinstance(value, list) or not value or not isinstance(value[0], str):
        return None
    may_be = is_declared or value[0].endswith("\n") or shows_signature(value[0], 0)
    if not may_be or len(value[0]) < _MIN_COLUMNS or set(map(type, value)) != {str}:
        return None
    if not _are_lines(value):
        return None
    joined = "".join(line.rstrip() for line in value)
    if len(joined) < _MIN_CHARS or decode_base64(joined) is None:
        return None
    return joined


def _are_lines(lines: list[str]) -> bool:
    *whole, _ = lines
    if len(lines) > 1 and not all(line.endswith("\n") for line in whole):
        widths = [len(line) for line in lines]
        is_even = all(one == other for one, other in pairwise(widths[:-1]))
        if not is_even or widths[-1] > widths[0]:
            return False
    # Where another file begins, the list holds files, and no lines of one.
    return not any(shows_signature(line, 0) for line in lines[1:])
