"""Pages as lines of text: the manifest, a line each for a model, and the detail view of one.

The manifest is made of descriptors alone, for models that fault pages in. The detail view is for a
terminal, one field a line.

Source: spec 000, "Enhanced modality display".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from pagefault_dialects.model.moments import rfc3339
from pagefault_dialects.model.page import Level, Page, PageFields
from pagefault_dialects.pages.descriptors import (
    data_uri_words,
    dimension_words,
    duration_seconds,
    facts,
    mime_type,
    scenes_of,
    schema_name_of,
)
from pagefault_dialects.pages.one_line import duration_words, one_line, quoted_short, without_base64
from pagefault_dialects.pages.page_text import caption_of, scene_lines, transcript_of, visible_text
from pagefault_dialects.pages.sizes import page_tokens
from pagefault_dialects.texts.cuts import boundary_at_or_before

_LINE_CHARS = 200
# There is room for a few words even next to a very long id.
_FEWEST_WORDS_CHARS = 48
# More than is ever rendered, to compensate for text removed before the cut.
_SCANNED_CHARS = 4_000

_HEADER = 'Memory pages. Use page_fault("ID", target_level=0) for full content.'
_LABEL_CHARS = 13
_PREVIEW_CHARS = 200


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """The data of a page in the manifest."""

    page_id: str
    fields: PageFields
    levels: Sequence[Level]
    size_tokens: int | None


def manifest_line(
    page_id: str, fields: PageFields, levels: Sequence[Level], size_tokens: int | None
) -> str:
    """Return a page's line: `- img_001 (image, artifact, FULL|REFERENCE, ~258 tokens): "A sunset"`.

    The text is the hint, else the caption, else the beginning of the transcript. The line has at
    most about 200 characters, and contains no line break.

    Args:
        page_id: The page's id.
        fields: The client's description.
        levels: The levels that exist.
        size_tokens: The approximate tokens of its content.
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


def manifest_lines(entries: Iterable[ManifestEntry]) -> list[str]:
    """Return a line for each page."""
    return [
        manifest_line(entry.page_id, entry.fields, entry.levels, entry.size_tokens)
        for entry in entries
    ]


def manifest_text(entries: Iterable[ManifestEntry], *, following: int = 0) -> str:
    """Return the manifest of some pages, in the order given.

    Args:
        entries: The pages to list.
        following: The number of further pages, which are not listed.
    """
    lines = manifest_lines(entries)
    more = [f"… {following} more"] if following else []
    return "\n".join([_HEADER, *lines, *more]) if lines or more else "No memory pages."


def _words(fields: PageFields) -> str | None:
    for text in (fields.hint, fields.caption, fields.transcript):
        if text and (words := without_base64(text[:_SCANNED_CHARS]).strip()):
            return words
    return None


def page_detail(
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

    Lines of unknown values are omitted. Content is previewed; base64 is never included.

    Args:
        page: The page; it is rendered at its own level.
        version: Its version.
        created_at: The time of the first version.
        last_accessed: The time of the last read, if any.
        access_count: The number of reads.
        size_bytes: The content's size, if known.
        updated_at: The time of this version.
    """
    named: list[tuple[str, str | None]] = [
        *_specified(page),
        *_described(page, size_bytes),
        ("Created", rfc3339(created_at)),
        ("Updated", None if updated_at is None else rfc3339(updated_at)),
        ("Accessed", _accessed(last_accessed, access_count)),
        ("Version", str(version)),
    ]
    return "".join(f"{label + ':':<{_LABEL_CHARS}}{value}\n" for label, value in named if value)


def _specified(page: Page) -> list[tuple[str, str | None]]:
    """Return the lines of the specification, in its order."""
    fields, full = page.fields, page.full
    seconds = duration_seconds(fields, full)
    scenes = scenes_of(fields)
    stored = str(full.value) if full.kind == "blob" else full.media and full.media.uri
    address = data_uri_words(full) if full.kind == "data" else None
    if full.kind == "url":
        address = one_line(str(full.value))
    return [
        ("Page ID", one_line(page.page_id)),
        ("Modality", fields.modality),
        ("MIME Type", mime_type(fields, full)),
        ("Dimensions", dimension_words(fields, full)),
        ("Duration", None if seconds is None else duration_words(seconds)),
        ("Schema", _line(schema_name_of(fields))),
        ("Scenes", str(len(scenes)) if scenes else None),
        ("Compression", fields.compression_level.name),
        ("Content", _content(page)),
        ("URL", address),
        ("Resource", one_line(stored) if stored else None),
    ]


def _described(page: Page, size_bytes: int | None) -> list[tuple[str, str | None]]:
    fields = page.fields
    tokens = page_tokens(page)
    return [
        ("Page Type", fields.page_type),
        ("Session", _line(fields.session_id)),
        ("Hint", _line(fields.hint)),
        ("Importance", f"{fields.importance:g}"),
        ("Pinned", "yes" if fields.pinned else None),
        ("Provenance", _line(", ".join(fields.provenance))),
        ("Levels", ", ".join(level.name for level in page.existing_levels)),
        ("Size", None if size_bytes is None else f"{size_bytes} bytes"),
        ("Tokens", f"~{next(iter(tokens.values()))}" if tokens else None),
    ]


def _accessed(last_accessed: datetime | None, access_count: int) -> str | None:
    times = f"{access_count} time{'' if access_count == 1 else 's'}"
    if last_accessed is None:
        return times if access_count else None
    return f"{rfc3339(last_accessed)} ({times})"


def _content(page: Page) -> str:
    """Return the kind of the rendered text, in brackets, and its beginning."""
    fields, full = page.fields, page.full
    if fields.modality == "image":
        caption = caption_of(fields, full)
        if caption:
            return f"[caption] {_preview(caption)}"
        known = facts(fields, full)
        return f"[no caption] {known}" if known else "[no caption]"
    if fields.modality in ("audio", "video"):
        transcript = transcript_of(fields, full)
        if transcript is None and (scenes := scene_lines(fields)):
            words = " ".join(line[4:] for line in scenes)
            return f"[scenes] {_preview(words)}"
        return "[no transcript]" if transcript is None else f"[transcript] {_preview(transcript)}"
    level = fields.compression_level
    text = visible_text(page, level if page.at(level) is not None else Level.FULL)
    if text is None:
        return "[no content]"
    return _preview(text) or "[empty text]"


def _line(text: str | None) -> str | None:
    return _preview(text) if text else None


def _preview(text: str) -> str:
    looked_at = text[:_SCANNED_CHARS].strip()
    readable = without_base64(looked_at)
    if len(readable) <= _PREVIEW_CHARS and len(text) <= _SCANNED_CHARS:
        return one_line(readable)
    return one_line(readable[: boundary_at_or_before(readable, _PREVIEW_CHARS)]) + "..."
