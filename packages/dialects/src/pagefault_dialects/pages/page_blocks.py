"""A page as the content of a tool message: text, or text and the image it describes.

The text also names the level, and the parts it lacks.

Source: spec 000, "Multi-block Tool Results" and "Compression level annotation".
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from pagefault_dialects.model.page import Level, Page
from pagefault_dialects.model.render_options import ImageDetail
from pagefault_dialects.pages.descriptors import (
    data_uri_words,
    dimension_words,
    duration_seconds,
    facts,
    mime_type,
    schema_name_of,
)
from pagefault_dialects.pages.effective_level import effective_level
from pagefault_dialects.pages.languages import fenced, visible_language
from pagefault_dialects.pages.one_line import duration_words, one_line, quoted
from pagefault_dialects.pages.page_text import image_text, level_with_text, passages, visible_text
from pagefault_dialects.texts.cuts import Excerpt, excerpt

INDENT = "  "

ATTACHED = "[image attached below]"
ATTACHED_ADDRESS = (
    "[image attached below: the address of the original, never fetched here; "
    "a reduced copy may exist elsewhere]"
)

_MISSING = {
    "text": "no text available",
    "image": "no image available",
    "audio": "no transcript available",
    "video": "no transcript available",
    "structured": "no data available",
}
_NOTHING = Excerpt("", 0, 0, 0)
_WHOLE = partial(excerpt, max_chars=None, offset=0)


def _header(page: Page, level: Level, remark: str | None = None) -> str:
    """Return the first line: `Page img_001 (image, ABSTRACT — caption only):`."""
    name = level.name if remark is None else f"{level.name} — {remark}"
    return f"Page {one_line(page.page_id)} ({page.fields.modality}, {name}):"


def note(page: Page) -> str:
    """Return the note to a model that it may fault in a fuller level."""
    call = f"page_fault({quoted(page.page_id)}, target_level=0)"
    return f"This is a compressed summary. Use {call} for full content."


def missing(page: Page) -> str:
    """Return the missing content of a level that does not exist: `no transcript available`."""
    return _MISSING[page.fields.modality]


def image_missing(page: Page) -> str:
    """Return the line in place of a missing image, with its known properties."""
    known = facts(page.fields, page.full)
    return f"[no image available: {known}]" if known else "[no image available]"


def _recording_facts(page: Page, level: Level, *, has_words: bool) -> str:
    """Return a recording's facts line: `[audio, 5:42 (342.0 s), audio/mpeg, transcript below]`."""
    fields = page.fields
    seconds = duration_seconds(fields, page.full)
    known = [fields.modality, *([] if seconds is None else [duration_words(seconds)])]
    if has_words:
        size = dimension_words(fields, page.full) if fields.modality == "video" else None
        known += filter(None, [mime_type(fields, page.full), size])
        is_summary = level_with_text(page, level) is Level.ABSTRACT
        known.append("summary below" if is_summary else _words_below(page, level))
    else:
        known.append(_MISSING["audio"])
    return f"[{', '.join(known)}]"


def _medium_line(page: Page, *, with_type: bool) -> str | None:
    """Return the place of the medium: `Resource: @blob:…` or `URL: https://…`, never cut.

    Args:
        page: The page.
        with_type: Whether to add the MIME type, if no other line has it.
    """
    body = page.full
    known = mime_type(page.fields, body) if with_type else None
    suffix = f" ({known})" if known else ""
    if body.kind == "url":
        return f"URL: {one_line(str(body.value))}{suffix}"
    if body.kind == "blob":
        uri = (body.media.uri if body.media else None) or str(body.value)
        return f"Resource: {one_line(uri)}{suffix}"
    return f"Medium: {data_uri_words(body)}" if body.kind == "data" else None


def _words_below(page: Page, level: Level) -> str:
    names = [passage.name for passage in passages(page, level)]
    scenes = names.count("scene")
    if not scenes:
        return "transcript below"
    counted = f"{scenes} scene{'' if scenes == 1 else 's'}"
    if "transcript" in names:
        return f"{counted} and transcript below"
    return f"{counted} below, {_MISSING['video']}"


@dataclass(frozen=True, slots=True)
class PageBlocks:
    """The content of a tool message, and the part of the page's text that it has.

    `level` is the rendered level, which may be fuller than the requested one. `content` is a text,
    or a list of a text block and an `image_url` block. `total_chars` is the length of the level's
    text: the transcript, the JSON, the caption. `next_offset` is the offset of the next part.
    """

    content: str | list[dict[str, Any]]
    truncated: bool
    total_chars: int
    next_offset: int | None
    level: Level


def page_blocks(
    page: Page,
    level: Level,
    *,
    image_url: str | None,
    cut: Callable[[str], Excerpt] = _WHOLE,
    detail: ImageDetail = "low",
    with_recordings: bool = False,
) -> PageBlocks:
    """Return a page at a level as blocks for a model.

    Args:
        page: The page.
        level: The requested level. The text names the rendered one, see `effective_level`; if there
            is no content, it names the missing part.
        image_url: The attachment: an `http(s)` URL or a `data:` URI, only if the image of the
            rendered level is available. It is never cut, and never attached above REDUCED. For a
            damaged image, a second text describes the damage.
        cut: Cuts the level's text.
        detail: The resolution at which a model looks at the image.
        with_recordings: Whether the recording itself is returned at FULL, next to these blocks.
    """
    effective = effective_level(page, level, with_recordings=with_recordings)
    level = effective.level
    is_attached = isinstance(image_url, str) and level <= Level.REDUCED and _is_image(page)
    piece = _NOTHING
    if is_attached:
        representation = page.at(level)
        is_address = representation is not None and representation.body.kind == "url"
        bracket = ATTACHED_ADDRESS if level is Level.REDUCED and is_address else ATTACHED
        lines = [_header(page, level), INDENT + bracket]
    elif (text := (image_text if _is_image(page) else visible_text)(page, level)) is None:
        lines = _annotated(page, level, None)
    else:
        piece = cut(text)
        lines = _annotated(page, level, piece)
    text_form = "\n".join(lines)
    if effective.has_more:
        text_form += f"\n\n{INDENT}Note: {note(page)}"
    content: str | list[dict[str, Any]] = text_form
    if damage := page.unreadable(level):
        content = [_text_block(text_form), _text_block(image_damaged(damage.detail))]
    attached = {"type": "image_url", "image_url": {"url": image_url, "detail": detail}}
    return PageBlocks(
        content=[_text_block(text_form), attached] if is_attached else content,
        truncated=piece.next_offset is not None,
        total_chars=piece.total_chars,
        next_offset=piece.next_offset,
        level=level,
    )


def image_damaged(detail: str) -> str:
    """Return the line in place of an existing image that models cannot read."""
    return f"[image not shown: {detail}]"


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _is_image(page: Page) -> bool:
    return page.fields.modality == "image"


def _annotated(page: Page, level: Level, piece: Excerpt | None) -> list[str]:
    if level is Level.REFERENCE:
        tag = one_line(piece.text) if piece else ""
        return [_header(page, level, "reference only"), INDENT + tag, *_notice(piece)]
    if _is_image(page):
        return _image_lines(page, level, piece)
    if page.fields.modality in ("audio", "video"):
        return _recording_lines(page, level, piece)
    if page.fields.modality == "structured":
        return _structured_lines(page, level, piece)
    return _text_lines(page, level, piece)


def _image_lines(page: Page, level: Level, piece: Excerpt | None) -> list[str]:
    caption = [] if piece is None else [INDENT + quoted(piece.text), *_notice(piece)]
    if level is Level.ABSTRACT:
        remark = "caption only" if caption else "no caption"
        known = facts(page.fields, page.full)
        absent = f"[no caption: {known}]" if known else "[no caption available]"
        return [_header(page, level, remark), *(caption or [INDENT + absent])]
    first = _header(page, level, "caption only" if caption else None)
    # A page of text alone does not mention a missing image.
    is_words = page.full.kind == "text" and bool(caption)
    return [first, *([] if is_words else [INDENT + image_missing(page)]), *caption]


def _recording_lines(page: Page, level: Level, piece: Excerpt | None) -> list[str]:
    has_words = piece is not None and piece.total_chars > 0
    lines = [_header(page, level), INDENT + _recording_facts(page, level, has_words=has_words)]
    if piece is not None and has_words:
        lines += [piece.text, *_notice(piece)]
    medium = _medium_line(page, with_type=not has_words) if level <= Level.REDUCED else None
    return [*lines, *([] if medium is None else [INDENT + medium])]


def _structured_lines(page: Page, level: Level, piece: Excerpt | None) -> list[str]:
    schema = schema_name_of(page.fields)
    hint = [] if schema is None else [f"{INDENT}Schema: {one_line(schema)}"]
    if piece is None:
        return [_header(page, level), *hint, f"{INDENT}[{missing(page)}]"]
    return [_header(page, level), *hint, INDENT + piece.text, *_notice(piece)]


def _text_lines(page: Page, level: Level, piece: Excerpt | None) -> list[str]:
    if piece is not None:
        language = visible_language(page, level)
        text = piece.text if language is None else fenced(piece.text, language)
        return [_header(page, level), text, *_notice(piece)]
    medium = _medium_line(page, with_type=True)
    lines = [_header(page, level), f"{INDENT}[{missing(page)}]"]
    return [*lines, *([] if medium is None else [INDENT + medium])]


def _notice(piece: Excerpt | None) -> list[str]:
    notice = piece.notice if piece else None
    return [] if notice is None else [INDENT + notice]
