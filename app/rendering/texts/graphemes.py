"""Where a text may be cut without going through a grapheme.

A tower of combining marks longer than any real character is the exception: it may be cut, so that
nobody can make a text that is not bounded.
"""

import regex

_LONGEST_CLUSTER_CHARS = 256
_FLAG_HALVES = "".join(map(chr, range(0x1F1E6, 0x1F200)))
_CLUSTER = regex.compile(r"\X")


def boundary_at_or_before(text: str, position: int) -> int:
    """The last grapheme boundary in `text[:position]`, found without reading all of it."""
    if position >= len(text) or _is_plain_boundary(text, position):
        return min(position, len(text))
    anchor, is_boundary = _anchor(text, position)
    # A copy: the engine would count flags from the beginning of the text for each of them.
    near = text[anchor : position + _LONGEST_CLUSTER_CHARS]
    for cluster in _CLUSTER.finditer(near):
        start, end = anchor + cluster.start(), anchor + cluster.end()
        if end <= position:
            continue
        is_whole = (start > anchor or is_boundary) and end - start < _LONGEST_CLUSTER_CHARS
        return start if is_whole else position
    return position


def boundary_at_or_after(text: str, position: int) -> int:
    """The first grapheme boundary at or behind `position`."""
    before = boundary_at_or_before(text, position)
    return position if before == position else cluster_end(text, before)


def cluster_end(text: str, start: int) -> int:
    """Where the grapheme ends that begins at `start`."""
    match = _CLUSTER.match(text[start : start + _LONGEST_CLUSTER_CHARS])
    return start + match.end() if match else len(text)


def _is_plain_boundary(text: str, position: int) -> bool:
    """Whether two ASCII characters meet there; the only pair that stays together is CR LF."""
    around = text[max(0, position - 1) : position + 1]
    return position <= 0 or (around.isascii() and around != "\r\n")


def _anchor(text: str, position: int) -> tuple[int, bool]:
    """A place a little before `position` to count clusters from, and whether it is a boundary."""
    earliest = max(0, position - _LONGEST_CLUSTER_CHARS)
    line_feed = text.rfind("\n", earliest, position)
    if line_feed >= 0:
        return line_feed + 1, True
    # Flags are pairs of characters of one kind, and which of them belong together is only told by
    # where their run begins.
    run_start = len(text[: earliest + 1].rstrip(_FLAG_HALVES))
    if run_start <= earliest and (earliest - run_start) % 2:
        earliest -= 1
    return earliest, earliest == 0
