"""Text cut to a length: excerpts to step through, whole sentences, head and tail, previews.

No cut goes through a grapheme. A tower of combining marks longer than any real character is the
exception: it may be cut, so that nobody can make a text that is not bounded.
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

# At the end of a text, where `Excerpt.notice` stands.
_EXCERPT = re.compile(r"\[truncated: characters [0-9]{1,18} to [0-9]{1,18} of ([0-9]{1,18})[;\]]")
_LONGEST_NOTICE = 200


def boundary_at_or_before(text: str, position: int) -> int:
    """Return the last grapheme boundary in `text[:position]`, found without reading all of it."""
    if position >= len(text) or _is_plain_boundary(text, position):
        return min(position, len(text))
    anchor, is_boundary = _anchor(text, position)
    # A copy: the engine would count flags from the beginning of the text for each of them.
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
    """Return where the grapheme ends that begins at `start`."""
    match = CLUSTER.match(text[start : start + _LONGEST_CLUSTER_CHARS])
    return start + match.end() if match else len(text)


def _is_plain_boundary(text: str, position: int) -> bool:
    """Return whether two ASCII characters meet there; the only pair kept together is CR LF."""
    around = text[max(0, position - 1) : position + 1]
    return position <= 0 or (around.isascii() and around != "\r\n")


def _anchor(text: str, position: int) -> tuple[int, bool]:
    """Return a place a little before `position` to count clusters from, and if it is a boundary."""
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


@dataclass(frozen=True, slots=True)
class Excerpt:
    """`text[start:end]` of a text of `total_chars` characters.

    Where it `has_gap`, the end of the text follows, behind a line that says how to go on.
    """

    text: str
    start: int
    end: int
    total_chars: int
    has_gap: bool = False

    @property
    def next_offset(self) -> int | None:
        """Where to go on; `None` at the end."""
        return self.end if self.end < self.total_chars else None

    @property
    def notice(self) -> str | None:
        """The sentence for a reader who does not see all of it; `None` for one who does."""
        if self.has_gap or (self.start == 0 and self.next_offset is None):
            return None
        if self.start == self.total_chars:
            return f"[nothing is left: the text has {self.total_chars} characters]"
        shown = f"characters {self.start} to {self.end} of {self.total_chars}"
        if self.next_offset is None:
            return f"[truncated: {shown}; this is the end]"
        return f"[truncated: {shown}; go on with offset={self.next_offset}]"


def excerpt(text: str, *, max_chars: int | None, offset: int) -> Excerpt:
    """Return the piece of a text from `offset` on.

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
    """Return the text, or as much of it as fits `limit_chars` together with an ellipsis."""
    if len(text) <= limit_chars:
        return text
    return text[: boundary_at_or_before(text, limit_chars - 1)] + ELLIPSIS


def sentences(text: str, limit_chars: int) -> str:
    """Return the sentences from the start of a text that fit, or the text itself if it fits.

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
    """Return a text's beginning and end around a line that says how many characters are left out.

    A text that fits `limit_chars` is returned as it is.
    """
    if len(text) <= limit_chars:
        return text
    room = limit_chars - _TAIL_CHARS - len(_gap(len(text)))
    return _around(text, room, _TAIL_CHARS)


def needs_preview(text: str) -> bool:
    """Return whether a text is too long to stand in a record whole."""
    return len(text) > PREVIEW_LIMIT_CHARS


def preview(text: str, uri: str) -> str:
    """Return a long text's first 4,000 and last 1,000 characters around a line about the rest.

    See `shortened` for texts that are previewed for a host only.

    Args:
        text: The whole text, longer than `PREVIEW_LIMIT_CHARS`.
        uri: The `blob:` URI that holds the whole text.

    Returns:
        A text in which no grapheme is cut in two. Head and tail are at most a few characters
        shorter than named, to end and begin at a grapheme's edge.
    Source: spec 002, "Canonical Types"; long text is previewed, never cut for good.
    """
    return _around(text, HEAD_CHARS, TAIL_CHARS, 0, f"; the whole text is {uri}")


def shortened(text: str, limit_chars: int, way_back: str) -> str:
    """Return a text's first half and last eighth of a limit around a line about the rest.

    A preview becomes a shorter preview of the same whole text.

    Args:
        text: The text, longer than the limit.
        limit_chars: The most characters that are shown.
        way_back: The call that shows all of it; empty if there is none. A preview names the whole.
    """
    head, tail = limit_chars // 2, limit_chars // 8
    found = _LINE.search(text) if whole_text_uri(text) else None
    if found is None:
        return _around(text, head, tail, 0, f"; {way_back} shows all of it" if way_back else "")
    shown = text[: found.start()] + text[found.end() :]
    # The cut has to leave out where the preview has its gap.
    head, tail = min(head, found.start()), min(tail, len(text) - found.end())
    way = f"; the whole text is {found['uri']}"
    return _around(shown, head, tail, int(found["left_out"]), way)


def _around(text: str, head_chars: int, tail_chars: int, missing: int = 0, way: str = "") -> str:
    head_end = boundary_at_or_before(text, head_chars)
    tail_start = boundary_at_or_after(text, len(text) - tail_chars)
    return text[:head_end] + _gap(tail_start - head_end + missing, way) + text[tail_start:]


def _gap(left_out: int, way: str = "") -> str:
    return f"\n[… {left_out} characters left out{way} …]\n"


def whole_length(text: str) -> int:
    """Return how many characters a text has, or the whole text that it is a preview of."""
    found = _LINE.search(text) if whole_text_uri(text) else None
    return len(text) if found is None else len(text) - len(found[0]) + int(found["left_out"])


def excerpt_of(text: str) -> int | None:
    """Return how many characters the text has that a text ends as an excerpt of, if it is one."""
    found = _EXCERPT.search(text, max(0, len(text) - _LONGEST_NOTICE))
    return int(found[1]) if found else None


def whole_text_uri(text: str) -> str | None:
    """Return the URI that holds the whole text, if a text is a preview."""
    found = _LINE.search(text) if HEAD_CHARS // 2 < len(text) <= _LONGEST_PREVIEW else None
    return found["uri"] if found else None
