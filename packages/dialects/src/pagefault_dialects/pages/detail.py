"""Write pages as lines of text: the manifest for a model, and the detail view for a terminal.

The manifest has one line for each page, from which a model chooses the pages that it reads. The
detail view has one line for each property of a page.

Source: spec 000, "Enhanced modality display".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from pagefault_dialects.model.page import Level, Page, PageFields
from pagefault_dialects.model.timestamps import rfc3339
from pagefault_dialects.pages.descriptors import (
    describe_data_uri,
    describe_medium,
    duration_seconds,
    find_scenes,
    find_schema_name,
    format_dimensions,
    mime_type,
)
from pagefault_dialects.pages.line_formats import (
    escape_line_breaks,
    format_duration,
    quote_short,
    without_base64,
)
from pagefault_dialects.pages.page_text import (
    find_caption,
    find_transcript,
    list_scene_lines,
    read_level_text,
)
from pagefault_dialects.pages.sizes import estimate_page_tokens
from pagefault_dialects.texts.cuts import find_boundary_before

_LINE_CHARS = 200
# A line has at least this many characters of text, even after a very long id.
_MIN_WORDS_CHARS = 48
# Base64 is removed from this many characters of a text, before the text is cut to a line.
_SCANNED_CHARS = 4_000

_HEADER = 'Memory pages. Use page_fault("ID", target_level=0) for full content.'
_LABEL_CHARS = 13
_PREVIEW_CHARS = 200


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """A page of the manifest."""

    page_id: str
    fields: PageFields
    levels: Sequence[Level]
    """The levels that exist."""
    size_tokens: int | None
    """The approximate tokens of the content, if known."""


def format_manifest_line(
    page_id: str, fields: PageFields, levels: Sequence[Level], size_tokens: int | None
) -> str:
    """Return a page's line: `- img_001 (image, artifact, FULL|REFERENCE, ~258 tokens): "A sunset"`.

    The text is the hint, else the caption, else the beginning of the transcript. The line has about
    200 characters at most.

    Args:
        page_id: The id of the page.
        fields: The client's description of the page.
        levels: The levels that exist.
        size_tokens: The approximate tokens of the content, if known.
    """
    properties = [
        fields.modality,
        fields.page_type,
        "|".join(level.name for level in sorted(levels)) or "no content",
        *([] if size_tokens is None else [f"~{size_tokens} tokens"]),
        *(["pinned"] if fields.pinned else []),
    ]
    start = f"- {escape_line_breaks(page_id)} ({', '.join(properties)})"
    words = _manifest_words(fields)
    if words is None:
        return start
    max_chars = max(_MIN_WORDS_CHARS, _LINE_CHARS - len(start) - 2)
    return f"{start}: {quote_short(words, max_chars)}"


def format_manifest_lines(entries: Iterable[ManifestEntry]) -> list[str]:
    """Return a line for each page."""
    return [
        format_manifest_line(entry.page_id, entry.fields, entry.levels, entry.size_tokens)
        for entry in entries
    ]


def write_manifest(entries: Iterable[ManifestEntry], *, following: int = 0) -> str:
    """Return the manifest of some pages, in their order.

    Args:
        entries: The pages.
        following: The number of further pages that are not in `entries`.
    """
    lines = format_manifest_lines(entries)
    more = [f"… {following} more"] if following else []
    return "\n".join([_HEADER, *lines, *more]) if lines or more else "No memory pages."


def _manifest_words(fields: PageFields) -> str | None:
    for text in (fields.hint, fields.caption, fields.transcript):
        if text and (words := without_base64(text[:_SCANNED_CHARS]).strip()):
            return words
    return None


def write_page_detail(
    page: Page,
    *,
    version: int,
    created_at: datetime,
    last_accessed: datetime | None,
    access_count: int,
    size_bytes: int | None,
    updated_at: datetime | None = None,
) -> str:
    """Return a page as text: each line is a label and one value.

    Lines of unknown values are omitted. Only the beginning of the content is shown, without base64.

    Args:
        page: The page. The level shown is its `compression_level`.
        version: The number of the version.
        created_at: The time of the first version.
        last_accessed: The time of the last read, if any.
        access_count: The number of reads.
        size_bytes: The size of the content, if known.
        updated_at: The time of this version.
    """
    lines: list[tuple[str, str | None]] = [
        *_specified_lines(page),
        *_further_lines(page, size_bytes),
        ("Created", rfc3339(created_at)),
        ("Updated", None if updated_at is None else rfc3339(updated_at)),
        ("Accessed", _format_accesses(last_accessed, access_count)),
        ("Version", str(version)),
    ]
    return "".join(f"{label + ':':<{_LABEL_CHARS}}{value}\n" for label, value in lines if value)


def _specified_lines(page: Page) -> list[tuple[str, str | None]]:
    """Return the lines that spec 000 requires, in its order."""
    fields, full = page.fields, page.full
    seconds = duration_seconds(fields, full)
    scenes = find_scenes(fields)
    stored = str(full.value) if full.kind == "blob" else full.media and full.media.uri
    address = describe_data_uri(full) if full.kind == "data" else None
    if full.kind == "url":
        address = escape_line_breaks(str(full.value))
    return [
        ("Page ID", escape_line_breaks(page.page_id)),
        ("Modality", fields.modality),
        ("MIME Type", mime_type(fields, full)),
        ("Dimensions", format_dimensions(fields, full)),
        ("Duration", None if seconds is None else format_duration(seconds)),
        ("Schema", _short_line(find_schema_name(fields))),
        ("Scenes", str(len(scenes)) if scenes else None),
        ("Compression", fields.compression_level.name),
        ("Content", _content_preview(page)),
        ("URL", address),
        ("Resource", escape_line_breaks(stored) if stored else None),
    ]


def _further_lines(page: Page, size_bytes: int | None) -> list[tuple[str, str | None]]:
    fields = page.fields
    tokens = estimate_page_tokens(page)
    return [
        ("Page Type", fields.page_type),
        ("Session", _short_line(fields.session_id)),
        ("Hint", _short_line(fields.hint)),
        ("Importance", f"{fields.importance:g}"),
        ("Pinned", "yes" if fields.pinned else None),
        ("Provenance", _short_line(", ".join(fields.provenance))),
        ("Levels", ", ".join(level.name for level in page.existing_levels)),
        ("Size", None if size_bytes is None else f"{size_bytes} bytes"),
        ("Tokens", f"~{next(iter(tokens.values()))}" if tokens else None),
    ]


def _format_accesses(last_accessed: datetime | None, access_count: int) -> str | None:
    times = f"{access_count} time{'' if access_count == 1 else 's'}"
    if last_accessed is None:
        return times if access_count else None
    return f"{rfc3339(last_accessed)} ({times})"


def _content_preview(page: Page) -> str:
    """Return the beginning of the text that is shown, after its kind in brackets."""
    fields, full = page.fields, page.full
    if fields.modality == "image":
        caption = find_caption(fields, full)
        if caption:
            return f"[caption] {_preview(caption)}"
        properties = describe_medium(fields, full)
        return f"[no caption] {properties}" if properties else "[no caption]"
    if fields.modality in ("audio", "video"):
        transcript = find_transcript(fields, full)
        if transcript is None and (scenes := list_scene_lines(fields)):
            words = " ".join(line[4:] for line in scenes)
            return f"[scenes] {_preview(words)}"
        return "[no transcript]" if transcript is None else f"[transcript] {_preview(transcript)}"
    level = fields.compression_level
    text = read_level_text(page, level if page.at(level) is not None else Level.FULL)
    if text is None:
        return "[no content]"
    return _preview(text) or "[empty text]"


def _short_line(text: str | None) -> str | None:
    return _preview(text) if text else None


def _preview(text: str) -> str:
    readable = without_base64(text[:_SCANNED_CHARS].strip())
    if len(readable) <= _PREVIEW_CHARS and len(text) <= _SCANNED_CHARS:
        return escape_line_breaks(readable)
    return escape_line_breaks(readable[: find_boundary_before(readable, _PREVIEW_CHARS)]) + "..."
