"""A page as the content of a tool message: text, or text and the image it speaks of.

Source: spec 000, "Multi-block Tool Results" and "Compression level annotation".
"""

from dataclasses import dataclass
from typing import Any, Literal

from app.models.page import Level, Page
from app.rendering.pages.annotations import (
    ATTACHED,
    ATTACHED_ADDRESS,
    INDENT,
    caption_missing,
    header,
    image_damaged,
    image_missing,
    medium_line,
    missing,
    note,
    recording_facts,
)
from app.rendering.pages.cuts import Excerpt, excerpt
from app.rendering.pages.described import schema_name_of
from app.rendering.pages.effective_level import shown_level
from app.rendering.pages.languages import fenced, shown_language
from app.rendering.pages.lines import one_line, quoted
from app.rendering.pages.visible_text import image_text, shown_text

_NOTHING = Excerpt("", 0, 0, 0)


@dataclass(frozen=True, slots=True)
class PageBlocks:
    """The content of a tool message, and how much of the page's text is in it.

    `level` is the one that is shown, which may be fuller than the one that was asked for.
    `content` is a text, or the list of a text block and an `image_url` block. `total_chars` counts
    the text of the level: the transcript, the JSON, the caption. `next_offset` is where to go on.
    """

    content: str | list[dict[str, Any]]
    truncated: bool
    total_chars: int
    next_offset: int | None
    level: Level


@dataclass(frozen=True, slots=True)
class _Annotated:
    """The lines of a page's text form, and the piece of the level's text that is among them."""

    lines: list[str]
    piece: Excerpt


def page_blocks(
    page: Page,
    level: Level,
    *,
    image_url: str | None,
    max_chars: int | None = None,
    offset: int = 0,
    detail: Literal["low", "high", "auto"] = "low",
    with_recordings: bool = False,
) -> PageBlocks:
    """A page at a level, for a model.

    Args:
        page: The page.
        level: The level that is asked for. The text names the one that is shown, see
            `shown_level`; where there is nothing to show, it says what is missing.
        image_url: What to attach: an `http(s)` URL or a `data:` URI, exactly when the image of the
            level that is shown is really there. It is never cut, and never attached above REDUCED.
            What is wrong with an image that no model could read, a second text says.
        max_chars: The most characters of the level's text to give.
        offset: Where in that text to begin.
        detail: How closely a model is to look at the image.
        with_recordings: Whether the recording itself is given at FULL, beside these blocks.
    """
    shown = shown_level(page, level, with_recordings=with_recordings)
    level = shown.level
    is_attached = isinstance(image_url, str) and level <= Level.REDUCED and _is_image(page)
    if is_attached:
        annotated = _attached(page, level)
    else:
        text = (image_text if _is_image(page) else shown_text)(page, level)
        piece = _NOTHING if text is None else excerpt(text, max_chars=max_chars, offset=offset)
        annotated = _annotated(page, level, None if text is None else piece)
    text_form = "\n".join(annotated.lines)
    if shown.has_more:
        text_form += f"\n\n{INDENT}Note: {note(page)}"
    content: str | list[dict[str, Any]] = text_form
    if damage := page.unreadable(level):
        content = [_text_block(text_form), _text_block(image_damaged(damage.detail))]
    attached = {"type": "image_url", "image_url": {"url": image_url, "detail": detail}}
    piece = annotated.piece
    return PageBlocks(
        content=[_text_block(text_form), attached] if is_attached else content,
        truncated=piece.next_offset is not None,
        total_chars=piece.total_chars,
        next_offset=piece.next_offset,
        level=level,
    )


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _is_image(page: Page) -> bool:
    return page.fields.modality == "image"


def _attached(page: Page, level: Level) -> _Annotated:
    representation = page.at(level)
    is_address = representation is not None and representation.body.kind == "url"
    bracket = ATTACHED_ADDRESS if level is Level.REDUCED and is_address else ATTACHED
    return _Annotated([header(page, level), INDENT + bracket], _NOTHING)


def _annotated(page: Page, level: Level, piece: Excerpt | None) -> _Annotated:
    if level is Level.REFERENCE:
        lines = _reference_lines(page, piece)
    elif _is_image(page):
        lines = _image_lines(page, level, piece)
    elif page.fields.modality in ("audio", "video"):
        lines = _recording_lines(page, level, piece)
    elif page.fields.modality == "structured":
        lines = _structured_lines(page, level, piece)
    else:
        lines = _text_lines(page, level, piece)
    return _Annotated(lines, piece or _NOTHING)


def _reference_lines(page: Page, piece: Excerpt | None) -> list[str]:
    tag = one_line(piece.text) if piece else ""
    first = header(page, Level.REFERENCE, "reference only")
    return [first, INDENT + tag, *_notice(piece)]


def _image_lines(page: Page, level: Level, piece: Excerpt | None) -> list[str]:
    caption = [] if piece is None else [INDENT + quoted(piece.text), *_notice(piece)]
    if level is Level.ABSTRACT:
        remark = "caption only" if caption else "no caption"
        return [header(page, level, remark), *(caption or [INDENT + caption_missing(page)])]
    first = header(page, level, "caption only" if caption else None)
    # A page that never had an image but words says nothing of one.
    is_words = page.full.kind == "text" and bool(caption)
    return [first, *([] if is_words else [INDENT + image_missing(page)]), *caption]


def _recording_lines(page: Page, level: Level, piece: Excerpt | None) -> list[str]:
    has_words = piece is not None and piece.total_chars > 0
    lines = [header(page, level), INDENT + recording_facts(page, level, has_words=has_words)]
    if piece is not None and has_words:
        lines += [piece.text, *_notice(piece)]
    medium = medium_line(page, with_type=not has_words) if level <= Level.REDUCED else None
    return [*lines, *([] if medium is None else [INDENT + medium])]


def _structured_lines(page: Page, level: Level, piece: Excerpt | None) -> list[str]:
    schema = schema_name_of(page.fields)
    hint = [] if schema is None else [f"{INDENT}Schema: {one_line(schema)}"]
    if piece is None:
        return [header(page, level), *hint, f"{INDENT}[{missing(page)}]"]
    return [header(page, level), *hint, INDENT + piece.text, *_notice(piece)]


def _text_lines(page: Page, level: Level, piece: Excerpt | None) -> list[str]:
    if piece is not None:
        language = shown_language(page, level)
        text = piece.text if language is None else fenced(piece.text, language)
        return [header(page, level), text, *_notice(piece)]
    medium = medium_line(page, with_type=True)
    lines = [header(page, level), f"{INDENT}[{missing(page)}]"]
    return [*lines, *([] if medium is None else [INDENT + medium])]


def _notice(piece: Excerpt | None) -> list[str]:
    notice = piece.notice if piece else None
    return [] if notice is None else [INDENT + notice]
