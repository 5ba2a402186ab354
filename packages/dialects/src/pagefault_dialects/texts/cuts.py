"""Texts cut to a length: excerpts with offsets, whole sentences, head and tail, previews.

No cut splits a grapheme, except for a series of combining marks longer than any real character, so
that all results are bounded.
"""

import re
from dataclasses import dataclass

import regex

from pagefault_dialects.text_windows import PREVIEW_LIMIT_CHARS

_LONGEST_CLUSTER_CHARS = 256
_FLAG_HALVES = "".join(map(chr, range(0x1F1E6, 0x1F200)))
CLUSTER = regex.compile(r"\X")
ELLIPSIS = "…"
_TAIL_CHARS = 900
_SENTENCE_END = re.compile(
    r"[.!?\u2026]++[\"'\u201d\u2019\u00bb)\]]*+(?=\s)"
    r"|[\u3002\uff01\uff1f\uff61]++[\u300d\u300f\u201d\u2019\uff09]*+"
    r"|\S(?=\n[ \t]*+\n)"
)
HEAD_CHARS = 4_000
TAIL_CHARS = 1_000
_LONGEST_PREVIEW = HEAD_CHARS + TAIL_CHARS + 200
_LINE = re.compile(
    r"\n\[… (?P<left_out>[0-9]{1,18}+) characters left out; "
    r"the whole text is (?P<uri>blob:[0-9a-f]{32}) …\]\n"
)

# At the end of a text, in the form of `Excerpt.notice`.
_EXCERPT = re.compile(r"\[truncated: characters [0-9]{1,18} to [0-9]{1,18} of ([0-9]{1,18})[;\]]")
_LONGEST_NOTICE = 200


def boundary_at_or_before(text: str, position: int) -> int:
    """Return the last grapheme boundary in `text[:position]` without reading the whole text."""
    if position >= len(text) or _is_plain_boundary(text, position):
        return min(position, len(text))
    anchor, is_boundary = _anchor(text, position)
    # A copy: otherwise the engine counts flags from the beginning of the text for each of them.
    near = text[anchor : position + _LONGEST_CLUSTER_CHARS]
    for cluster in CLUSTER.finditer(near):
        start, end = anchor + cluster.start(), anchor + cluster.end()
        if end <= position:
            continue
        is_whole = (start > anchor or is_boundary) and end - start < _LONGEST_CLUSTER_CHARS
        return start if is_whole else position
    return position


def boundary_at_or_after(text: str, position: int) -> int:
    """Return the first grapheme boundary at or behind `position`."""
    before = boundary_at_or_before(text, position)
    return position if before == position else cluster_end(text, before)


def cluster_end(text: str, start: int) -> int:
    """Return the end of the grapheme that begins at `start`."""
    match = CLUSTER.match(text[start : start + _LONGEST_CLUSTER_CHARS])
    return start + match.end() if match else len(text)


def _is_plain_boundary(text: str, position: int) -> bool:
    """Return whether two ASCII characters meet there; only CR LF stays together."""
    neighbours = text[max(0, position - 1) : position + 1]
    return position <= 0 or (neighbours.isascii() and neighbours != "\r\n")


def _anchor(text: str, position: int) -> tuple[int, bool]:
    """Return a place shortly before `position` to count clusters from, and if it is a boundary."""
    earliest = max(0, position - _LONGEST_CLUSTER_CHARS)
    line_feed = text.rfind("\n", earliest, position)
    if line_feed >= 0:
        return line_feed + 1, True
    # Flags are pairs of regional indicators. Their pairing depends on the start of the run.
    run_start = len(text[: earliest + 1].rstrip(_FLAG_HALVES))
    if run_start <= earliest and (earliest - run_start) % 2:
        earliest -= 1
    return earliest, earliest == 0


@dataclass(frozen=True, slots=True)
class Excerpt:
    """`text[start:end]` of a text of `total_chars` characters.

    With `has_gap`, the end of the text follows, after a line with the offset to continue from.
    """

    text: str
    start: int
    end: int
    total_chars: int
    has_gap: bool = False

    @property
    def next_offset(self) -> int | None:
        """The offset to continue from; `None` at the end."""
        return self.end if self.end < self.total_chars else None

    @property
    def notice(self) -> str | None:
        """The notice of a partial text; `None` for the whole text."""
        if self.has_gap or (self.start == 0 and self.next_offset is None):
            return None
        if self.start == self.total_chars:
            return f"[nothing is left: the text has {self.total_chars} characters]"
        span = f"characters {self.start} to {self.end} of {self.total_chars}"
        if self.next_offset is None:
            return f"[truncated: {span}; this is the end]"
        return f"[truncated: {span}; go on with offset={self.next_offset}]"


def excerpt(text: str, *, max_chars: int | None, offset: int) -> Excerpt:
    """Return the piece of a text from `offset` on.

    Args:
        text: The whole text.
        max_chars: The most characters, `None` for all. A piece is a few characters shorter if the
            next grapheme does not fit, and longer if not even the first one fits, so that stepping
            by `next_offset` always reaches the end.
        offset: The start, in characters; beyond the end the piece is empty.
    """
    total = len(text)
    start = min(max(offset, 0), total)
    if max_chars is None or start + max_chars >= total:
        return Excerpt(text[start:], start, total, total)
    end = boundary_at_or_before(text, start + max(max_chars, 1))
    if end <= start:
        end = cluster_end(text, start)
    return Excerpt(text[start:end], start, end, total)


def cut_short(text: str, limit_chars: int) -> str:
    """Return the text, cut to `limit_chars` including an ellipsis if it is longer."""
    if len(text) <= limit_chars:
        return text
    return text[: boundary_at_or_before(text, limit_chars - 1)] + ELLIPSIS


def sentences(text: str, limit_chars: int) -> str:
    """Return the leading sentences of a text that fit, or the text itself if it fits.

    A first sentence that is too long is cut at a word and ends with an ellipsis.
    """
    if len(text) <= limit_chars:
        return text
    body = text.strip()
    if len(body) <= limit_chars:
        return body
    ends = [match.end() for match in _SENTENCE_END.finditer(body, 0, limit_chars + 1)]
    for end in reversed(ends):
        if end <= limit_chars and boundary_at_or_before(body, end) == end:
            return body[:end]
    room = limit_chars - 1
    space = max(body.rfind(blank, 0, room + 1) for blank in " \n\t")
    end = space if space > 0 else room
    return body[: boundary_at_or_before(body, end)].rstrip() + ELLIPSIS


def head_and_tail(text: str, limit_chars: int) -> str:
    """Return a text's beginning and end around a line with the number of omitted characters.

    A text that fits `limit_chars` is returned as it is.
    """
    if len(text) <= limit_chars:
        return text
    room = limit_chars - _TAIL_CHARS - len(_gap(len(text)))
    return _cut_middle(text, room, _TAIL_CHARS)


def needs_preview(text: str) -> bool:
    """Return whether a text is too long to be part of a record."""
    return len(text) > PREVIEW_LIMIT_CHARS


def preview(text: str, uri: str) -> str:
    """Return a long text's first 4,000 and last 1,000 characters around a line about the rest.

    For texts that are previewed only for a host, see `shortened`.

    Args:
        text: The whole text, longer than `PREVIEW_LIMIT_CHARS`.
        uri: The `blob:` URI of the whole text.

    Returns:
        A text without split graphemes. Head and tail may be a few characters shorter, so that they
        end and begin at a grapheme boundary.

    Source: spec 002, "Canonical Types"; long text is previewed, never lost.
    """
    return _cut_middle(text, HEAD_CHARS, TAIL_CHARS, 0, f"; the whole text is {uri}")


def shortened(text: str, limit_chars: int, reading_call: str) -> str:
    """Return a text's first half and last eighth of a limit around a line about the rest.

    A preview becomes a shorter preview of the same text.

    Args:
        text: The text, longer than the limit.
        limit_chars: The most characters.
        reading_call: The call that returns all of it; empty if there is none. A preview names the
            whole.
    """
    head, tail = limit_chars // 2, limit_chars // 8
    found = _LINE.search(text) if whole_text_uri(text) else None
    if found is None:
        return _cut_middle(
            text, head, tail, 0, f"; {reading_call} shows all of it" if reading_call else ""
        )
    joined = text[: found.start()] + text[found.end() :]
    # The cut has to include the gap of the preview.
    head, tail = min(head, found.start()), min(tail, len(text) - found.end())
    note = f"; the whole text is {found['uri']}"
    return _cut_middle(joined, head, tail, int(found["left_out"]), note)


def _cut_middle(
    text: str, head_chars: int, tail_chars: int, missing: int = 0, note: str = ""
) -> str:
    head_end = boundary_at_or_before(text, head_chars)
    tail_start = boundary_at_or_after(text, len(text) - tail_chars)
    return text[:head_end] + _gap(tail_start - head_end + missing, note) + text[tail_start:]


def _gap(left_out: int, note: str = "") -> str:
    return f"\n[… {left_out} characters left out{note} …]\n"


def whole_length(text: str) -> int:
    """Return the length of a text, or that of the whole text of a preview."""
    found = _LINE.search(text) if whole_text_uri(text) else None
    return len(text) if found is None else len(text) - len(found[0]) + int(found["left_out"])


def excerpt_of(text: str) -> int | None:
    """Return the length of the text that a text is an excerpt of, if it is one."""
    found = _EXCERPT.search(text, max(0, len(text) - _LONGEST_NOTICE))
    return int(found[1]) if found else None


def whole_text_uri(text: str) -> str | None:
    """Return the URI of the whole text, if a text is a preview."""
    found = _LINE.search(text) if HEAD_CHARS // 2 < len(text) <= _LONGEST_PREVIEW else None
    return found["uri"] if found else None
