"""Text cut to a length: excerpts to step through, whole sentences, head and tail.

No cut goes through a grapheme; see `app.rendering.texts.graphemes`.
"""

import re
from dataclasses import dataclass

from app.rendering.texts.graphemes import boundary_at_or_after, boundary_at_or_before, cluster_end

ELLIPSIS = "…"

_TAIL_CHARS = 900
_SENTENCE_END = re.compile(
    r"[.!?\u2026]++[\"'\u201d\u2019\u00bb)\]]*+(?=\s)"
    r"|[\u3002\uff01\uff1f\uff61]++[\u300d\u300f\u201d\u2019\uff09]*+"
    r"|\S(?=\n[ \t]*+\n)"
)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """`text[start:end]` of a text of `total_chars` characters."""

    text: str
    start: int
    end: int
    total_chars: int

    @property
    def next_offset(self) -> int | None:
        """Where to go on; `None` at the end."""
        return self.end if self.end < self.total_chars else None

    @property
    def notice(self) -> str | None:
        """The sentence for a reader who does not see all of it; `None` for one who does."""
        if self.start == 0 and self.next_offset is None:
            return None
        if self.start == self.total_chars:
            return f"[nothing is left: the text has {self.total_chars} characters]"
        shown = f"characters {self.start} to {self.end} of {self.total_chars}"
        if self.next_offset is None:
            return f"[truncated: {shown}; this is the end]"
        return f"[truncated: {shown}; go on with offset={self.next_offset}]"


def excerpt(text: str, *, max_chars: int | None, offset: int) -> Excerpt:
    """The piece of a text from `offset` on.

    Args:
        text: The whole text.
        max_chars: The most characters to take, `None` for all. A piece is a few characters shorter
            where the next grapheme does not fit, and longer where not even the first one does, so
            that stepping from `next_offset` to `next_offset` always gets to the end.
        offset: Where to begin, in characters; beyond the end there is nothing.
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
    """The text, or as much of it as fits `limit_chars` together with an ellipsis."""
    if len(text) <= limit_chars:
        return text
    return text[: boundary_at_or_before(text, limit_chars - 1)] + ELLIPSIS


def sentences(text: str, limit_chars: int) -> str:
    """The sentences from the start of a text that fit, or the text itself if it fits.

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
    """A text's beginning and end around a line that says how many characters are left out.

    A text that fits `limit_chars` is returned as it is.
    """
    if len(text) <= limit_chars:
        return text
    longest_line = len(_gap(len(text)))
    head_end = boundary_at_or_before(text, limit_chars - _TAIL_CHARS - longest_line)
    tail_start = boundary_at_or_after(text, len(text) - _TAIL_CHARS)
    return text[:head_end] + _gap(tail_start - head_end) + text[tail_start:]


def _gap(left_out: int) -> str:
    return f"\n[… {left_out} characters left out …]\n"
