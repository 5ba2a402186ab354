"""Typed content, by modality, and the one JSON string that tools returned before there were blocks.

Source: spec 000, "Current State" (REFERENCE is always text, the tag) and "Content routing":
"return a single JSON string as today".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.model.page import (
    AudioContent,
    Body,
    ImageContent,
    Level,
    Page,
    PageContent,
    StructuredContent,
    TextContent,
    VideoContent,
)
from pagefault_dialects.pages.descriptors import (
    duration_seconds,
    embedding_of,
    scenes_of,
    schema_name_of,
    timestamps_of,
)
from pagefault_dialects.pages.effective_level import effective_level
from pagefault_dialects.pages.languages import visible_language
from pagefault_dialects.pages.page_blocks import missing, note
from pagefault_dialects.pages.page_text import (
    Passage,
    caption_of,
    level_data,
    passages,
    passages_text,
    visible_text,
)
from pagefault_dialects.texts.cuts import Excerpt, excerpt

# Bytes and vectors are omitted from JSON that a model reads.
_NOT_TO_READ = frozenset({"base64", "embedding"})


def typed_content(page: Page, level: Level, *, base64: str | None) -> PageContent:
    """Return a page's content at a level, as the model of its modality.

    Args:
        page: The page.
        level: The level; missing content is null, and the text of a text page is empty.
        base64: The plain base64 of the level's image, if it is to be included. Otherwise a stored
            image has its `@blob:` reference.
    """
    if level is Level.REFERENCE or page.fields.modality == "text":
        return TextContent(type="text", text=visible_text(page, level) or "")
    if page.fields.modality == "image":
        return _image(page, level, base64)
    if page.fields.modality == "audio":
        return AudioContent(
            type="audio",
            transcript=_transcript(page, level),
            timestamps=timestamps_of(page.fields),
            duration_seconds=duration_seconds(page.fields, page.full),
        )
    if page.fields.modality == "video":
        return _video(page, level)
    return StructuredContent(
        type="structured", data=level_data(page, level), schema_name=schema_name_of(page.fields)
    )


def _image(page: Page, level: Level, base64: str | None) -> ImageContent:
    representation = page.at(level)
    body = representation.body if representation and level <= Level.REDUCED else None
    has_medium = body is not None and body.is_media
    caption = caption_of(page.fields, page.full)
    words = visible_text(page, level)
    # The caption of FULL is the page's; other levels have their own content.
    if words is not None and (level is not Level.FULL or caption is None):
        caption = words
    return ImageContent(
        type="image",
        caption=caption,
        url=_address(body, base64) if body else None,
        base64=base64 if has_medium else None,
        embedding=embedding_of(page.fields),
    )


def _video(page: Page, level: Level) -> VideoContent:
    is_whole = level <= Level.REDUCED
    # Scenes are omitted from a level that does not exist, and from other texts than the derived
    # one.
    has_scenes = level is Level.FULL or any(
        passage.name == "scene" for passage in passages(page, level)
    )
    return VideoContent(
        type="video",
        scenes=scenes_of(page.fields) if has_scenes else None,
        transcript=_transcript(page, level),
        duration_seconds=duration_seconds(page.fields, page.full),
        url=_address(page.full, None) if is_whole else None,
    )


def _transcript(page: Page, level: Level) -> str | None:
    """Return the transcript of a level, without its scenes."""
    transcripts = (
        passage.text for passage in passages(page, level) if passage.name == "transcript"
    )
    # An empty transcript is a transcript, although no level is derived from it.
    return next(transcripts, page.fields.transcript if level is Level.FULL else None)


def _address(body: Body, base64: str | None) -> str | None:
    """Return an `http(s)` address, or the reference of a stored medium without base64."""
    if body.kind == "url":
        return str(body.value)
    if body.kind != "blob" or base64 is not None:
        return None
    uri = body.media.uri if body.media else None
    return uri or str(body.value)


@dataclass(frozen=True, slots=True)
class _Bounded:
    """The `content` of the string, and the part of the level's text that it has."""

    content: JsonValue
    piece: Excerpt
    scenes_total: int | None = None
    extra: Mapping[str, JsonValue] = field(default_factory=dict)


def page_json(
    page: Page,
    level: Level,
    *,
    max_chars: int | None = None,
    offset: int = 0,
) -> str:
    """Return the string `{success, page_id, content, modality, compression, source_tier, …}`.

    `compression` is the rendered level, `requested_level` the requested one, if it differs;
    `source_tier` is the origin of the former: stored, supplied, derived, or none. `schema_name` and
    `language` are present if data has a schema and text is code, `note` if a fuller level has more,
    and `damage` if no model can read the image. `content` is a text page's text, a structured
    page's data, or the typed content of a medium without its bytes; of a recording whose content
    differs from its transcript, both.

    For cut text, the string also has `total_chars` and `next_offset`, and cut data is a piece of
    its JSON text. Scenes count by their lines, as in the blocks: each is whole in the piece that
    has the end of its line. If a piece may lack scenes, `scenes_total` is their number.

    Args:
        page: The page.
        level: The requested level.
        max_chars: The most characters of the level's text, and of the JSON of scenes, of which the
            first one is always whole; addresses are never cut.
        offset: The start in that text.
    """
    effective = effective_level(page, level)
    bounded = _bounded(page, effective.level, max_chars, offset)
    representation = page.at(effective.level)
    piece = bounded.piece
    members: dict[str, JsonValue] = {
        "success": True,
        "page_id": page.page_id,
        "content": bounded.content,
        "modality": page.fields.modality,
        "compression": effective.level.name,
        **({} if effective.level is level else {"requested_level": level.name}),
        "source_tier": representation.origin if representation else "none",
        "was_compressed": effective.level is not Level.FULL,
        "truncated": piece.next_offset is not None,
        **bounded.extra,
    }
    if piece.notice is not None:
        members |= {"total_chars": piece.total_chars, "next_offset": piece.next_offset}
        members |= {"scenes_total": bounded.scenes_total} if bounded.scenes_total else {}
    if damage := page.unreadable(effective.level):
        members["damage"] = damage.detail
    if effective.has_more:
        members["note"] = note(page)
    return json_text(members)


def failure_json(page_id: str, error: str) -> str:
    """Return the string `{success: false, page_id, error}` for a page that is unavailable."""
    return json_text({"success": False, "page_id": page_id, "error": error})


def _bounded(page: Page, level: Level, max_chars: int | None, offset: int) -> _Bounded:
    content = typed_content(page, level, base64=None)
    if isinstance(content, AudioContent | VideoContent):
        parts = passages(page, level)
        piece = excerpt(passages_text(parts), max_chars=max_chars, offset=offset)
        return _recording(content, parts, piece, max_chars)
    if isinstance(content, ImageContent):
        piece = excerpt(content.caption or "", max_chars=max_chars, offset=offset)
        caption = None if content.caption is None else piece.text
        return _Bounded(_members(content) | {"caption": caption}, piece)
    text = visible_text(page, level)
    piece = excerpt(text or "", max_chars=max_chars, offset=offset)
    schema_name = content.schema_name if isinstance(content, StructuredContent) else None
    # Properties of data and of code.
    known = {"schema_name": schema_name, "language": visible_language(page, level)}
    extra = {name: value for name, value in known.items() if value is not None}
    if text is None:
        return _Bounded(f"[{missing(page)}]", piece, extra=extra)
    if isinstance(content, StructuredContent) and piece.notice is None:
        return _Bounded(content.data, piece, extra=extra)
    return _Bounded(piece.text, piece, extra=extra)


def _recording(
    content: AudioContent | VideoContent,
    parts: Sequence[Passage],
    piece: Excerpt,
    max_chars: int | None,
) -> _Bounded:
    members = _members(content)
    scenes, piece = _fitting_scenes(parts, piece, max_chars)
    for passage in parts:
        if passage.name != "scene":
            first, last = piece.start - passage.start, piece.end - passage.start
            members[passage.name] = passage.text[max(first, 0) : max(last, 0)]
    # Scenes without a text have no line, but are among the members.
    if piece.notice is None or not members.get("scenes"):
        return _Bounded(members, piece)
    scenes_total = len(members["scenes"])
    return _Bounded(members | {"scenes": scenes}, piece, scenes_total)


def _fitting_scenes(
    parts: Sequence[Passage], piece: Excerpt, max_chars: int | None
) -> tuple[list[JsonValue], Excerpt]:
    """Return the scenes whose lines end in a piece, which ends before a scene that is too long."""
    scenes: list[JsonValue] = []
    size = 0
    for passage in parts:
        if passage.name != "scene" or not piece.start < passage.end <= piece.end:
            continue
        size += len(json_text(passage.scene))
        if scenes and max_chars is not None and size > max_chars:
            return scenes, replace(piece, end=passage.start)
        scenes.append(passage.scene)
    return scenes, piece


def _members(content: PageContent) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in content
        if name not in _NOT_TO_READ
    }
