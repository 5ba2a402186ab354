"""Previews of long text: a head, a line that says what is left out and where it is, a tail."""

import re

from app.rendering.texts.graphemes import boundary_at_or_after, boundary_at_or_before

PREVIEW_LIMIT_CHARS = 8_000
HEAD_CHARS = 4_000
TAIL_CHARS = 1_000

_LONGEST_PREVIEW = HEAD_CHARS + TAIL_CHARS + 200
_LINE = re.compile(
    r"\n\[… [0-9]++ characters left out; the whole text is (blob:[0-9a-f]{32}) …\]\n"
)


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
    head_end = boundary_at_or_before(text, HEAD_CHARS)
    tail_start = boundary_at_or_after(text, len(text) - TAIL_CHARS)
    left_out = tail_start - head_end
    line = f"[… {left_out} characters left out; the whole text is {uri} …]"
    return f"{text[:head_end]}\n{line}\n{text[tail_start:]}"


def whole_text_uri(text: str) -> str | None:
    """Return the URI that holds the whole text, if a text is a preview."""
    found = _LINE.search(text) if HEAD_CHARS // 2 < len(text) <= _LONGEST_PREVIEW else None
    return found[1] if found else None
