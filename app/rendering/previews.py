"""Previews of long text: a head, a line that says what is left out and where it is, a tail."""

import regex

PREVIEW_LIMIT_CHARS = 8_000
HEAD_CHARS = 4_000
TAIL_CHARS = 1_000
_LONGEST_CLUSTER_CHARS = 256

_CLUSTER = regex.compile(r"\X")


def needs_preview(text: str) -> bool:
    """Whether a text is too long to stand in a record whole."""
    return len(text) > PREVIEW_LIMIT_CHARS


def preview(text: str, uri: str) -> str:
    """A long text's first 4,000 and last 1,000 characters around a line about the rest.

    Args:
        text: The whole text, longer than `PREVIEW_LIMIT_CHARS`.
        uri: The `blob:` URI that holds the whole text.

    Returns:
        A text in which no grapheme is cut in two. Head and tail are at most a few characters
        shorter than named, to end and begin at a grapheme's edge.
    Source: spec 002, "Canonical Types"; long text is previewed, never cut for good.
    """
    head_end = _boundary_at_or_before(text, HEAD_CHARS)
    tail_start = _boundary_at_or_after(text, len(text) - TAIL_CHARS)
    left_out = tail_start - head_end
    line = f"[… {left_out} characters left out; the whole text is {uri} …]"
    return f"{text[:head_end]}\n{line}\n{text[tail_start:]}"


def _boundary_at_or_before(text: str, position: int) -> int:
    """The last grapheme boundary in `text[:position]`."""
    start = _anchor(text, position)
    boundary = start
    for cluster in _CLUSTER.finditer(text, start, position + _LONGEST_CLUSTER_CHARS):
        if cluster.end() > position:
            break
        boundary = cluster.end()
    # A cluster longer than any real one (a tower of combining marks) is cut all the same.
    return boundary if boundary > start else position


def _boundary_at_or_after(text: str, position: int) -> int:
    """The first grapheme boundary in `text[position:]`."""
    end = min(len(text), position + _LONGEST_CLUSTER_CHARS)
    for cluster in _CLUSTER.finditer(text, _anchor(text, position), end):
        if cluster.start() >= position:
            return cluster.start()
    return position


def _anchor(text: str, position: int) -> int:
    """A grapheme boundary a little before `position` to count clusters from.

    After a line feed there always is one; without any near, a far enough start finds its feet.
    """
    earliest = max(0, position - _LONGEST_CLUSTER_CHARS)
    line_feed = text.rfind("\n", earliest, position)
    return earliest if line_feed < 0 else line_feed + 1
