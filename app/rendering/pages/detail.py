"""The detail view: a page for a terminal, one field a line.

Source: spec 000, "Enhanced modality display".
"""

from collections.abc import Sized
from datetime import datetime

from app.models.identity import rfc3339
from app.models.page import Level, Page
from app.rendering.pages.descriptors import (
    data_uri_words,
    dimension_words,
    duration_seconds,
    facts,
    mime_type,
    scenes_of,
    schema_name_of,
)
from app.rendering.pages.lines import duration_words, one_line, without_base64
from app.rendering.pages.sizes import page_tokens
from app.rendering.pages.words import (
    caption_of,
    scene_lines,
    shown_text,
    transcript_of,
)
from app.rendering.texts.cuts import boundary_at_or_before

_LABEL_CHARS = 13
_PREVIEW_CHARS = 200
# More than a preview ever shows, so that what is left out in front of the cut is made up for.
_LOOKED_AT_CHARS = 4_000


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
    """A page as text: every line a label and one value, which cannot leave its line.

    Lines for what is not known are left out. Content is previewed; base64 is never shown.

    Args:
        page: The page; it is shown at the level it names itself.
        version: Its version.
        created_at: When its first version was written.
        last_accessed: When it was last read, if ever.
        access_count: How often it was read.
        size_bytes: The content's size, if it is known.
        updated_at: When this version was written.
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
    """The lines of the specification, in its order."""
    fields, full = page.fields, page.full
    seconds = duration_seconds(fields, full)
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
        ("Scenes", _counted(scenes_of(fields))),
        ("Compression", fields.compression_level.name),
        ("Content", _content(page)),
        ("URL", address),
        ("Resource", one_line(str(full.value)) if full.kind == "blob" else _text_resource(page)),
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


def _counted(items: Sized | None) -> str | None:
    return str(len(items)) if items else None


def _text_resource(page: Page) -> str | None:
    media = page.full.media
    return one_line(media.uri) if media and media.uri else None


def _accessed(last_accessed: datetime | None, access_count: int) -> str | None:
    times = f"{access_count} time{'' if access_count == 1 else 's'}"
    if last_accessed is None:
        return times if access_count else None
    return f"{rfc3339(last_accessed)} ({times})"


def _content(page: Page) -> str:
    """What kind of words the page is shown by, in brackets, and their beginning."""
    fields, full = page.fields, page.full
    if fields.modality == "image":
        caption = caption_of(fields, full)
        return _labelled("caption", caption) if caption else _absent("caption", facts(fields, full))
    if fields.modality in ("audio", "video"):
        transcript = transcript_of(fields, full)
        if transcript is None and (scenes := scene_lines(fields)):
            return _labelled("scenes", " ".join(line[4:] for line in scenes))
        if transcript is None:
            return "[no transcript]"
        return _labelled("transcript", transcript)
    text = shown_text(page, _shown_level(page))
    if text is None:
        return "[no content]"
    return _preview(text) or "[empty text]"


def _shown_level(page: Page) -> Level:
    level = page.fields.compression_level
    return level if page.at(level) is not None else Level.FULL


def _labelled(name: str, words: str) -> str:
    return f"[{name}] {_preview(words)}"


def _absent(name: str, known: str | None) -> str:
    return f"[no {name}] {known}" if known else f"[no {name}]"


def _line(text: str | None) -> str | None:
    return _preview(text) if text else None


def _preview(text: str) -> str:
    looked_at = text[:_LOOKED_AT_CHARS].strip()
    readable = without_base64(looked_at)
    if len(readable) <= _PREVIEW_CHARS and len(text) <= _LOOKED_AT_CHARS:
        return one_line(readable)
    return one_line(readable[: boundary_at_or_before(readable, _PREVIEW_CHARS)]) + "..."
