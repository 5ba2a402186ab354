"""Writes the lines that describe search hits and media in the results of memory tools."""

from collections.abc import Sequence
from typing import Any

from app.models.search_entry import SearchMatch
from app.services.pages.page_lists import Hit
from app.services.pages.stored_pages import read_descriptor, read_fields
from pagefault_dialects.model.conversation import Medium, stored_medium
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.pages.line_formats import (
    escape_line_breaks,
    format_duration,
    quote,
    quote_short,
)
from pagefault_dialects.targets.tokens import count_tokens

# The maximum length of a line, and of a title in it.
_LINE_CHARS = 200
_TITLE_CHARS = 60
# The maximum number of tokens of the text in the line of a match.
_MATCH_TEXT_TOKENS = 24
# The average number of tokens of the line of a hit. Five hits and a line above them have up to 300.
_HIT_TOKENS = 56
# The room below which the text of a line is omitted.
_MIN_TEXT_CHARS, _MIN_TEXT_TOKENS = 8, 6
_TIMES = "\N{MULTIPLICATION SIGN}"


def format_hits(hits: Sequence[Hit]) -> Sequence[str]:
    """Return a line for each hit, such as `img_001 (image, ABSTRACT, ~120 tokens): "a sunset"`.

    The ids of pages are never cut, because a model has to repeat them. The texts of the hits share
    the tokens that the ids leave. If no tokens are left, the lines have no texts.
    """
    starts_and_texts = list(map(_split_line, hits))
    remaining_tokens = _HIT_TOKENS * len(hits) - sum(
        count_tokens(f"{start}\n") for start, _ in starts_and_texts
    )
    lines: list[str] = []
    for index, (start, text) in enumerate(starts_and_texts):
        max_tokens = remaining_tokens // (len(starts_and_texts) - index)
        short_text = _shorten_text(text, _LINE_CHARS - len(start), max_tokens)
        remaining_tokens -= count_tokens(short_text)
        lines.append(start + short_text)
    return lines


def format_match(match: SearchMatch) -> str:
    """Return a line for an entry or a file, such as `read_text("@entry:12") (tool_result)`."""
    is_medium = match.kind == "file" and match.modality != "text"
    call = f"{'view_media' if is_medium else 'read_text'}({quote(match.handle)})"
    title = f", {quote_short(match.title, _TITLE_CHARS)}" if match.title else ""
    start = f"{call} ({match.kind}{title})"
    return start + _shorten_text(match.snippet or "", _LINE_CHARS - len(start), _MATCH_TEXT_TOKENS)


def _split_line(hit: Hit) -> tuple[str, str]:
    """Return the start of the line for a hit, such as `img_001 (image, …)`, and its text."""
    descriptor: dict[str, Any] = read_descriptor(hit.page)
    fields = read_fields(descriptor)
    tokens = descriptor["size_tokens"]
    details = [fields.modality, fields.compression_level.name]
    details += [] if tokens is None else [f"~{tokens} tokens"]
    start = f"{escape_line_breaks(hit.page.page_id)} ({', '.join(details)})"
    return start, hit.snippet or fields.hint or fields.caption or ""


def _shorten_text(text: str, max_chars: int, max_tokens: int) -> str:
    """Return a colon and the part of a text that fits; an empty text if too little of it fits."""
    while text and max_chars >= _MIN_TEXT_CHARS and max_tokens >= _MIN_TEXT_TOKENS:
        short_text = f": {quote_short(text, max_chars)}"
        tokens = count_tokens(short_text)
        if tokens <= max_tokens:
            return short_text
        # The text may be shorter than `max_chars`, so its real length is reduced.
        max_chars = min(max_chars, len(short_text)) * max_tokens // tokens
    return ""


def format_resource(resource: Resource) -> str:
    """Return the description of a stored medium; see `format_medium`."""
    return format_medium(stored_medium(resource, ""), resource.reference)


def format_medium(medium: Medium, handle: str) -> str:
    """Return the description of a medium: `[audio @blob:… a.mp3 5:42, audio/mpeg, 45210 bytes]`."""
    details = [medium.kind, handle]
    if medium.filename:
        details.append(escape_line_breaks(medium.filename).replace("[", "(").replace("]", ")"))
    hints = medium.hints
    if hints.width and hints.height:
        details.append(f"{hints.width}{_TIMES}{hints.height}")
    if hints.duration_seconds is not None:
        details.append(format_duration(hints.duration_seconds))
    return f"[{' '.join(details)}, {medium.mime_type}, {medium.size_bytes} bytes]"
