"""Writes the lines for search hits and media in the results of the memory tools."""

from collections.abc import Sequence
from typing import Any

from app.models.search_entry import SearchMatch
from app.services.pages.page_lists import Hit
from app.services.pages.stored_pages import read_descriptor, read_fields
from pagefault_dialects.model.conversation import Medium, stored_medium
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.pages.one_line import format_duration, one_line, quote, quote_short
from pagefault_dialects.targets.tokens import count_tokens

_HIT_CHARS = 200
_TITLE_CHARS = 60
_MATCH_TOKENS = 24
# Five hits and a line above them have at most 300 tokens.
_HIT_TOKENS = 56
# A shorter text is omitted.
_MIN_CHARS, _MIN_TOKENS = 8, 6
_TIMES = "\N{MULTIPLICATION SIGN}"


def format_hits(hits: Sequence[Hit]) -> Sequence[str]:
    """Return a line for each hit, such as `img_001 (image, ABSTRACT, ~120 tokens): "a sunset"`.

    Ids are never cut, because a model has to repeat them. The texts of the hits share the remaining
    tokens, the first hit first. If no tokens remain, no hit has a text.
    """
    parts = list(map(_split_line, hits))
    remaining_tokens = _HIT_TOKENS * len(hits) - sum(
        count_tokens(f"{start}\n") for start, _ in parts
    )
    lines: list[str] = []
    for index, (start, words) in enumerate(parts):
        max_tokens = remaining_tokens // (len(parts) - index)
        short = _shorten_text(words, _HIT_CHARS - len(start), max_tokens)
        remaining_tokens -= count_tokens(short)
        lines.append(start + short)
    return lines


def format_match(match: SearchMatch) -> str:
    """Return a line for a match that is no page, such as `read_text("@entry:12") (tool_result)`."""
    is_medium = match.kind == "file" and match.modality != "text"
    call = f"{'view_media' if is_medium else 'read_text'}({quote(match.handle)})"
    title = f", {quote_short(match.title, _TITLE_CHARS)}" if match.title else ""
    start = f"{call} ({match.kind}{title})"
    return start + _shorten_text(match.snippet or "", _HIT_CHARS - len(start), _MATCH_TOKENS)


def _split_line(hit: Hit) -> tuple[str, str]:
    """Return the beginning of the line for a hit, `img_001 (image, …)`, and the text of the hit."""
    descriptor: dict[str, Any] = read_descriptor(hit.page)
    fields = read_fields(descriptor)
    tokens = descriptor["size_tokens"]
    details = [fields.modality, fields.compression_level.name]
    details += [] if tokens is None else [f"~{tokens} tokens"]
    start = f"{one_line(hit.page.page_id)} ({', '.join(details)})"
    return start, hit.snippet or fields.hint or fields.caption or ""


def _shorten_text(words: str, max_chars: int, max_tokens: int) -> str:
    """Return the part of a text that fits into a line; an empty text if only a few words fit."""
    limit = max_chars
    while words and limit >= _MIN_CHARS and max_tokens >= _MIN_TOKENS:
        short = f": {quote_short(words, limit)}"
        tokens = count_tokens(short)
        if tokens <= max_tokens:
            return short
        # The cut text may be shorter than the limit, so its length is scaled, and not the limit.
        limit = min(limit, len(short)) * max_tokens // tokens
    return ""


def format_resource(resource: Resource) -> str:
    """Return the description of a stored medium; see `format_medium`."""
    return format_medium(stored_medium(resource, ""), resource.reference)


def format_medium(medium: Medium, handle: str) -> str:
    """Return the description of a medium: `[audio @blob:… a.mp3 5:42, audio/mpeg, 45210 bytes]`."""
    words = [medium.kind, handle]
    if medium.filename:
        words.append(one_line(medium.filename).replace("[", "(").replace("]", ")"))
    hints = medium.hints
    if hints.width and hints.height:
        words.append(f"{hints.width}{_TIMES}{hints.height}")
    if hints.duration_seconds is not None:
        words.append(format_duration(hints.duration_seconds))
    return f"[{' '.join(words)}, {medium.mime_type}, {medium.size_bytes} bytes]"
