"""Write a page as the content blocks of a tool message: a text, and perhaps an image.

The text also names the level, and the parts that are missing or cut.

Source: spec 000, "Multi-block Tool Results" and "Compression level annotation".
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from pagefault_dialects.model.page import Level, Page
from pagefault_dialects.model.render_options import ImageDetail
from pagefault_dialects.pages.descriptors import (
    describe_data_uri,
    describe_medium,
    duration_seconds,
    find_schema_name,
    format_dimensions,
    mime_type,
)
from pagefault_dialects.pages.effective_level import find_effective_level
from pagefault_dialects.pages.languages import add_fences, visible_language
from pagefault_dialects.pages.line_formats import escape_line_breaks, format_duration, quote
from pagefault_dialects.pages.page_text import (
    find_level_with_text,
    list_passages,
    read_image_text,
    read_level_text,
)
from pagefault_dialects.texts.cuts import Excerpt, take_excerpt

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
_EMPTY = Excerpt("", 0, 0, 0)
_take_all = partial(take_excerpt, max_chars=None, offset=0)


def _write_header(page: Page, level: Level, remark: str | None = None) -> str:
    """Return the first line: `Page img_001 (image, ABSTRACT — caption only):`."""
    name = level.name if remark is None else f"{level.name} — {remark}"
    return f"Page {escape_line_breaks(page.page_id)} ({page.fields.modality}, {name}):"


def format_compression_note(page: Page) -> str:
    """Return the note that tells a model how to get the full content."""
    call = f"page_fault({quote(page.page_id)}, target_level=0)"
    return f"This is a compressed summary. Use {call} for full content."


def describe_missing_content(page: Page) -> str:
    """Return the text for a level that does not exist, such as `no transcript available`."""
    return _MISSING[page.fields.modality]


def format_missing_image(page: Page) -> str:
    """Return the line that replaces a missing image, with its known properties."""
    properties = describe_medium(page.fields, page.full)
    return f"[no image available: {properties}]" if properties else "[no image available]"


def _describe_recording(page: Page, level: Level, *, has_words: bool) -> str:
    """Return the line for a recording: `[audio, 5:42 (342.0 s), audio/mpeg, transcript below]`."""
    fields = page.fields
    seconds = duration_seconds(fields, page.full)
    properties = [fields.modality, *([] if seconds is None else [format_duration(seconds)])]
    if has_words:
        size = format_dimensions(fields, page.full) if fields.modality == "video" else None
        properties += filter(None, [mime_type(fields, page.full), size])
        is_summary = find_level_with_text(page, level) is Level.ABSTRACT
        properties.append("summary below" if is_summary else _describe_passages(page, level))
    else:
        properties.append(_MISSING["audio"])
    return f"[{', '.join(properties)}]"


def _write_medium_line(page: Page, *, with_type: bool) -> str | None:
    """Return the line with the location of a medium: `Resource: @blob:…` or `URL: https://…`.

    Args:
        page: The page.
        with_type: Whether to add the MIME type.
    """
    body = page.full
    shown_type = mime_type(page.fields, body) if with_type else None
    suffix = f" ({shown_type})" if shown_type else ""
    if body.kind == "url":
        return f"URL: {escape_line_breaks(str(body.value))}{suffix}"
    if body.kind == "blob":
        uri = (body.media.uri if body.media else None) or str(body.value)
        return f"Resource: {escape_line_breaks(uri)}{suffix}"
    return f"Medium: {describe_data_uri(body)}" if body.kind == "data" else None


def _describe_passages(page: Page, level: Level) -> str:
    """Return which passages of a recording follow, such as `3 scenes and transcript below`."""
    names = [passage.name for passage in list_passages(page, level)]
    scenes = names.count("scene")
    if not scenes:
        return "transcript below"
    scene_count = f"{scenes} scene{'' if scenes == 1 else 's'}"
    if "transcript" in names:
        return f"{scene_count} and transcript below"
    return f"{scene_count} below, {_MISSING['video']}"


@dataclass(frozen=True, slots=True)
class PageBlocks:
    """A page as the content of a tool message."""

    content: str | list[dict[str, Any]]
    """A text, or a text block with an `image_url` block or a second text block."""
    truncated: bool
    """True if the level has more text behind the part in `content`."""
    total_chars: int
    """The length of the level's text, such as a transcript, JSON or a caption."""
    next_offset: int | None
    """The offset of the next part; `None` if there is none."""
    level: Level
    """The rendered level, which may be fuller than the requested one."""


def page_blocks(
    page: Page,
    level: Level,
    *,
    image_url: str | None,
    cut: Callable[[str], Excerpt] = _take_all,
    detail: ImageDetail = "low",
    with_recordings: bool = False,
) -> PageBlocks:
    """Return a page at a level as blocks for a model.

    Args:
        page: The page.
        level: The requested level. The rendered level is that of `find_effective_level`.
        image_url: The `http(s)` URL or data URI of the rendered level's image, if it is available.
            It is attached at FULL and REDUCED only.
        cut: Returns the part of the level's text that is rendered.
        detail: The `detail` of the image block, which is the resolution for the model.
        with_recordings: True if the caller returns the recording itself next to these blocks.
    """
    effective = find_effective_level(page, level, with_recordings=with_recordings)
    level = effective.level
    is_attached = isinstance(image_url, str) and level <= Level.REDUCED and _is_image(page)
    piece = _EMPTY
    if is_attached:
        representation = page.at(level)
        is_address = representation is not None and representation.body.kind == "url"
        attachment_line = ATTACHED_ADDRESS if level is Level.REDUCED and is_address else ATTACHED
        lines = [_write_header(page, level), INDENT + attachment_line]
    elif (text := (read_image_text if _is_image(page) else read_level_text)(page, level)) is None:
        lines = _write_lines(page, level, None)
    else:
        piece = cut(text)
        lines = _write_lines(page, level, piece)
    rendered_text = "\n".join(lines)
    if effective.has_more:
        rendered_text += f"\n\n{INDENT}Note: {format_compression_note(page)}"
    content: str | list[dict[str, Any]] = rendered_text
    if damage := page.unreadable(level):
        content = [_text_block(rendered_text), _text_block(format_damaged_image(damage.detail))]
    attached = {"type": "image_url", "image_url": {"url": image_url, "detail": detail}}
    return PageBlocks(
        content=[_text_block(rendered_text), attached] if is_attached else content,
        truncated=piece.next_offset is not None,
        total_chars=piece.total_chars,
        next_offset=piece.next_offset,
        level=level,
    )


def format_damaged_image(detail: str) -> str:
    """Return the line that replaces a damaged image."""
    return f"[image not shown: {detail}]"


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _is_image(page: Page) -> bool:
    return page.fields.modality == "image"


def _write_lines(page: Page, level: Level, piece: Excerpt | None) -> list[str]:
    """Return the lines of the text block, with a part of the level's text if it has any."""
    if level is Level.REFERENCE:
        tag = escape_line_breaks(piece.text) if piece else ""
        return [_write_header(page, level, "reference only"), INDENT + tag, *_write_notice(piece)]
    if _is_image(page):
        return _write_image_lines(page, level, piece)
    if page.fields.modality in ("audio", "video"):
        return _write_recording_lines(page, level, piece)
    if page.fields.modality == "structured":
        return _write_structured_lines(page, level, piece)
    return _write_text_lines(page, level, piece)


def _write_image_lines(page: Page, level: Level, piece: Excerpt | None) -> list[str]:
    caption = [] if piece is None else [INDENT + quote(piece.text), *_write_notice(piece)]
    if level is Level.ABSTRACT:
        remark = "caption only" if caption else "no caption"
        properties = describe_medium(page.fields, page.full)
        absent = f"[no caption: {properties}]" if properties else "[no caption available]"
        return [_write_header(page, level, remark), *(caption or [INDENT + absent])]
    first = _write_header(page, level, "caption only" if caption else None)
    # An image page whose content is a text has no image that could be missing.
    has_only_text = page.full.kind == "text" and bool(caption)
    return [first, *([] if has_only_text else [INDENT + format_missing_image(page)]), *caption]


def _write_recording_lines(page: Page, level: Level, piece: Excerpt | None) -> list[str]:
    has_words = piece is not None and piece.total_chars > 0
    lines = [
        _write_header(page, level),
        INDENT + _describe_recording(page, level, has_words=has_words),
    ]
    if piece is not None and has_words:
        lines += [piece.text, *_write_notice(piece)]
    medium = _write_medium_line(page, with_type=not has_words) if level <= Level.REDUCED else None
    return [*lines, *([] if medium is None else [INDENT + medium])]


def _write_structured_lines(page: Page, level: Level, piece: Excerpt | None) -> list[str]:
    schema = find_schema_name(page.fields)
    hint = [] if schema is None else [f"{INDENT}Schema: {escape_line_breaks(schema)}"]
    if piece is None:
        return [_write_header(page, level), *hint, f"{INDENT}[{describe_missing_content(page)}]"]
    return [_write_header(page, level), *hint, INDENT + piece.text, *_write_notice(piece)]


def _write_text_lines(page: Page, level: Level, piece: Excerpt | None) -> list[str]:
    if piece is not None:
        language = visible_language(page, level)
        text = piece.text if language is None else add_fences(piece.text, language)
        return [_write_header(page, level), text, *_write_notice(piece)]
    medium = _write_medium_line(page, with_type=True)
    lines = [_write_header(page, level), f"{INDENT}[{describe_missing_content(page)}]"]
    return [*lines, *([] if medium is None else [INDENT + medium])]


def _write_notice(piece: Excerpt | None) -> list[str]:
    """Return the line that says which part of the text is rendered, if it is not the whole text."""
    notice = piece.notice if piece else None
    return [] if notice is None else [INDENT + notice]
