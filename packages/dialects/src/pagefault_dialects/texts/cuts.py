"""Cuts texts to a length: excerpts with offsets, whole sentences, beginning and end, previews.

No cut splits a grapheme, which is a character with its combining marks. Only a series of marks that
is longer than in any real grapheme is split, so that all results are bounded.
"""

import re
from dataclasses import dataclass

import regex

from pagefault_dialects.text_windows import PREVIEW_LIMIT_CHARS

_MAX_GRAPHEME_CHARS = 256
# Two of these characters make a flag.
_FLAG_HALVES = "".join(map(chr, range(0x1F1E6, 0x1F200)))
GRAPHEME = regex.compile(r"\X")
"""A pattern for one grapheme."""
ELLIPSIS = "…"
# The length of the end of a text that `keep_head_and_tail` shortens.
_TAIL_CHARS = 900
# The end of a sentence in European languages, in Chinese and Japanese, and before an empty line.
_SENTENCE_END = re.compile(
    r"[.!?\u2026]++[\"'\u201d\u2019\u00bb)\]]*+(?=\s)"
    r"|[\u3002\uff01\uff1f\uff61]++[\u300d\u300f\u201d\u2019\uff09]*+"
    r"|\S(?=\n[ \t]*+\n)"
)
HEAD_CHARS = 4_000
"""The length of the beginning of a text in its preview."""
TAIL_CHARS = 1_000
"""The length of the end of a text in its preview."""
_MAX_PREVIEW_CHARS = HEAD_CHARS + TAIL_CHARS + 200
# The line of `_format_gap_line` in a preview.
_GAP_LINE = re.compile(
    r"\n\[… (?P<left_out>[0-9]{1,18}+) characters left out; "
    r"the whole text is (?P<uri>blob:[0-9a-f]{32}) …\]\n"
)

# What `Excerpt.notice` returns, at the end of a text.
_EXCERPT_NOTICE = re.compile(
    r"\[truncated: characters [0-9]{1,18} to [0-9]{1,18} of ([0-9]{1,18})[;\]]"
)
_MAX_NOTICE_CHARS = 200


def find_boundary_before(text: str, position: int) -> int:
    """Return the last grapheme boundary at or before `position`, reading only text nearby."""
    if position >= len(text) or _is_ascii_boundary(text, position):
        return min(position, len(text))
    anchor, is_boundary = _find_anchor(text, position)
    # The text is copied, since `regex` searches flags back to the beginning of the text.
    nearby_text = text[anchor : position + _MAX_GRAPHEME_CHARS]
    for grapheme in GRAPHEME.finditer(nearby_text):
        start, end = anchor + grapheme.start(), anchor + grapheme.end()
        if end <= position:
            continue
        is_whole = (start > anchor or is_boundary) and end - start < _MAX_GRAPHEME_CHARS
        return start if is_whole else position
    return position


def find_boundary_after(text: str, position: int) -> int:
    """Return the first grapheme boundary at or after `position`."""
    before = find_boundary_before(text, position)
    return position if before == position else find_grapheme_end(text, before)


def find_grapheme_end(text: str, start: int) -> int:
    """Return the end of the grapheme that begins at `start`."""
    match = GRAPHEME.match(text[start : start + _MAX_GRAPHEME_CHARS])
    return start + match.end() if match else len(text)


def _is_ascii_boundary(text: str, position: int) -> bool:
    """Return whether a position is between two ASCII characters, but not between CR and LF."""
    neighbours = text[max(0, position - 1) : position + 1]
    return position <= 0 or (neighbours.isascii() and neighbours != "\r\n")


def _find_anchor(text: str, position: int) -> tuple[int, bool]:
    """Return an earlier position from which graphemes can be found.

    The second value says whether the position is known to be a grapheme boundary.
    """
    earliest = max(0, position - _MAX_GRAPHEME_CHARS)
    line_feed = text.rfind("\n", earliest, position)
    if line_feed >= 0:
        return line_feed + 1, True
    # A flag is a pair of regional indicators. Which of them are a pair depends on the first one in
    # the row.
    flags_start = len(text[: earliest + 1].rstrip(_FLAG_HALVES))
    if flags_start <= earliest and (earliest - flags_start) % 2:
        earliest -= 1
    return earliest, earliest == 0


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The part from `start` to `end` of a longer text."""

    text: str
    start: int
    end: int
    total_chars: int
    """The length of the whole text."""
    has_gap: bool = False
    """True if `text` also has the end of the whole text, after a line about the part between."""

    @property
    def next_offset(self) -> int | None:
        """The offset of the text after the part; `None` if there is none."""
        return self.end if self.end < self.total_chars else None

    @property
    def notice(self) -> str | None:
        """A line that says which characters the part has; `None` if it has all of them."""
        if self.has_gap or (self.start == 0 and self.next_offset is None):
            return None
        if self.start == self.total_chars:
            return f"[nothing is left: the text has {self.total_chars} characters]"
        span = f"characters {self.start} to {self.end} of {self.total_chars}"
        if self.next_offset is None:
            return f"[truncated: {span}; this is the end]"
        return f"[truncated: {span}; go on with offset={self.next_offset}]"


def take_excerpt(text: str, *, max_chars: int | None, offset: int) -> Excerpt:
    """Return the part of a text from `offset` on.

    Args:
        text: The whole text.
        max_chars: The most characters; `None` for all. The part is a few characters shorter if the
            next grapheme does not fit. If not even the first grapheme fits, the part is that
            grapheme, so that repeated calls with `next_offset` always reach the end.
        offset: The start, in characters. After the end of the text, the part is empty.
    """
    total = len(text)
    start = min(max(offset, 0), total)
    if max_chars is None or start + max_chars >= total:
        return Excerpt(text[start:], start, total, total)
    end = find_boundary_before(text, start + max(max_chars, 1))
    if end <= start:
        end = find_grapheme_end(text, start)
    return Excerpt(text[start:end], start, end, total)


def cut_short(text: str, limit_chars: int) -> str:
    """Return a text; if it is longer than `limit_chars`, its beginning and an ellipsis."""
    if len(text) <= limit_chars:
        return text
    return text[: find_boundary_before(text, limit_chars - 1)] + ELLIPSIS


def take_sentences(text: str, limit_chars: int) -> str:
    """Return the first sentences of a text that fit, or the text itself if it fits.

    If the first sentence does not fit, it is cut between two words, and ends with an ellipsis.
    """
    if len(text) <= limit_chars:
        return text
    body = text.strip()
    if len(body) <= limit_chars:
        return body
    ends = [match.end() for match in _SENTENCE_END.finditer(body, 0, limit_chars + 1)]
    for end in reversed(ends):
        if end <= limit_chars and find_boundary_before(body, end) == end:
            return body[:end]
    max_chars = limit_chars - 1
    last_space = max(body.rfind(space, 0, max_chars + 1) for space in " \n\t")
    end = last_space if last_space > 0 else max_chars
    return body[: find_boundary_before(body, end)].rstrip() + ELLIPSIS


def keep_head_and_tail(text: str, limit_chars: int) -> str:
    """Return a text of at most `limit_chars` characters.

    Of a longer text, the beginning and the end are returned, around a line with the number of the
    characters between them.
    """
    if len(text) <= limit_chars:
        return text
    head_chars = limit_chars - _TAIL_CHARS - len(_format_gap_line(len(text)))
    return _cut_middle(text, head_chars, _TAIL_CHARS)


def needs_preview(text: str) -> bool:
    """Return whether a text is too long for a record. The record then has a preview of the text."""
    return len(text) > PREVIEW_LIMIT_CHARS


def make_preview(text: str, uri: str) -> str:
    """Return the preview of a long text in a record.

    The preview has the first 4,000 and the last 1,000 characters, and a line about the text between
    them. In renderings, `shorten_text` cuts texts.

    Args:
        text: The whole text, longer than `PREVIEW_LIMIT_CHARS`.
        uri: The `blob:` URI of the whole text.

    Source: spec 002, "Canonical Types"; long text is previewed, never lost.
    """
    return _cut_middle(text, HEAD_CHARS, TAIL_CHARS, 0, f"; the whole text is {uri}")


def shorten_text(text: str, limit_chars: int, reading_call: str) -> str:
    """Return the beginning and the end of a text around a line about the text between them.

    The beginning has half of `limit_chars`, and the end an eighth. A preview becomes a shorter
    preview of the same text.

    Args:
        text: The text, longer than the limit.
        limit_chars: The most characters.
        reading_call: The call of a tool that returns the whole text, for the line; empty if there
            is none. The line of a preview has the URI of the whole text instead.
    """
    head, tail = limit_chars // 2, limit_chars // 8
    found = _GAP_LINE.search(text) if find_whole_text_uri(text) else None
    if found is None:
        return _cut_middle(
            text, head, tail, 0, f"; {reading_call} shows all of it" if reading_call else ""
        )
    joined = text[: found.start()] + text[found.end() :]
    # The text that is left out has to include what the preview leaves out.
    head, tail = min(head, found.start()), min(tail, len(text) - found.end())
    note = f"; the whole text is {found['uri']}"
    return _cut_middle(joined, head, tail, int(found["left_out"]), note)


def _cut_middle(
    text: str, head_chars: int, tail_chars: int, missing_chars: int = 0, note: str = ""
) -> str:
    """Return the beginning and the end of a text around a line about the text between them.

    Args:
        text: The text.
        head_chars: The length of the beginning.
        tail_chars: The length of the end.
        missing_chars: The number of characters that the text lacks between them already.
        note: The end of the line.
    """
    head_end = find_boundary_before(text, head_chars)
    tail_start = find_boundary_after(text, len(text) - tail_chars)
    return (
        text[:head_end]
        + _format_gap_line(tail_start - head_end + missing_chars, note)
        + text[tail_start:]
    )


def _format_gap_line(left_out_chars: int, note: str = "") -> str:
    return f"\n[… {left_out_chars} characters left out{note} …]\n"


def measure_whole_text(text: str) -> int:
    """Return the length of a text; for a preview, the length of the whole text."""
    found = _GAP_LINE.search(text) if find_whole_text_uri(text) else None
    return len(text) if found is None else len(text) - len(found[0]) + int(found["left_out"])


def find_excerpted_length(text: str) -> int | None:
    """Return the length of the whole text of an excerpt that ends with `Excerpt.notice`.

    The result is `None` for any other text.
    """
    found = _EXCERPT_NOTICE.search(text, max(0, len(text) - _MAX_NOTICE_CHARS))
    return int(found[1]) if found else None


def find_whole_text_uri(text: str) -> str | None:
    """Return the URI of the whole text if a text is a preview, otherwise `None`."""
    found = _GAP_LINE.search(text) if HEAD_CHARS // 2 < len(text) <= _MAX_PREVIEW_CHARS else None
    return found["uri"] if found else None
