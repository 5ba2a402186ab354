"""The manifest: which pages there are, a line each, for a model that may fault them in.

A line is made of the descriptor alone; content is not read for it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.models.page import Level, PageFields
from app.rendering.pages.lines import one_line, quoted_short, without_base64

_LINE_CHARS = 200
# Beside a very long id there is still room for a few words.
_FEWEST_WORDS_CHARS = 48
_LOOKED_AT_CHARS = 4_000

_HEADER = 'Memory pages. Use page_fault("ID", target_level=0) for full content.'


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """What the manifest knows of a page."""

    page_id: str
    fields: PageFields
    levels: Sequence[Level]
    size_tokens: int | None


def manifest_line(
    page_id: str, fields: PageFields, levels: Sequence[Level], size_tokens: int | None
) -> str:
    """A page's line: `- img_001 (image, artifact, FULL|REFERENCE, ~258 tokens): "A sunset"`.

    The words are the hint, else the caption, else the transcript's beginning. The line has about
    200 characters at most, and none of them can end it.

    Args:
        page_id: The page's id.
        fields: What the client says of it.
        levels: The levels that exist.
        size_tokens: About how many tokens its content costs.
    """
    known = [
        fields.modality,
        fields.page_type,
        "|".join(level.name for level in sorted(levels)) or "no content",
        *([] if size_tokens is None else [f"~{size_tokens} tokens"]),
        *(["pinned"] if fields.pinned else []),
    ]
    start = f"- {one_line(page_id)} ({', '.join(known)})"
    words = _words(fields)
    if words is None:
        return start
    room = max(_FEWEST_WORDS_CHARS, _LINE_CHARS - len(start) - 2)
    return f"{start}: {quoted_short(words, room)}"


def manifest_text(entries: Iterable[ManifestEntry], *, total: int | None = None) -> str:
    """The manifest of some pages, in the order given.

    Args:
        entries: The pages to name.
        total: How many there are in all, where that may be more.
    """
    lines = [
        manifest_line(each.page_id, each.fields, each.levels, each.size_tokens) for each in entries
    ]
    left_out = 0 if total is None else total - len(lines)
    more = [f"… {left_out} more"] if left_out > 0 else []
    return "\n".join([_HEADER, *lines, *more]) if lines or more else "No memory pages."


def _words(fields: PageFields) -> str | None:
    for text in (fields.hint, fields.caption, fields.transcript):
        if text and (words := without_base64(text[:_LOOKED_AT_CHARS]).strip()):
            return words
    return None
