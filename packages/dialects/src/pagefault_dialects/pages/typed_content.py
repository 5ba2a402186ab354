"""Write a page as typed content of its modality, and as the JSON string of `page_fault`.

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
    find_scenes,
    find_schema_name,
    timestamps_of,
)
from pagefault_dialects.pages.effective_level import find_effective_level
from pagefault_dialects.pages.languages import visible_language
from pagefault_dialects.pages.page_blocks import describe_missing_content, format_compression_note
from pagefault_dialects.pages.page_text import (
    Passage,
    find_caption,
    find_level_data,
    join_passages,
    list_passages,
    read_level_text,
)
from pagefault_dialects.texts.cuts import Excerpt, take_excerpt

# Bytes and vectors are omitted from JSON that a model reads.
_UNREADABLE_MEMBERS = frozenset({"base64", "embedding"})


def build_typed_content(page: Page, level: Level, *, base64: str | None) -> PageContent:
    """Return the content of a page at a level, as the model of its modality.

    Content that does not exist is null; for a text page it is an empty text.

    Args:
        page: The page.
        level: The level.
        base64: The base64 of the level's image, to include it. Without it, the content of a stored
            image has its `@blob:` reference.
    """
    if level is Level.REFERENCE or page.fields.modality == "text":
        return TextContent(type="text", text=read_level_text(page, level) or "")
    if page.fields.modality == "image":
        return _image_content(page, level, base64)
    if page.fields.modality == "audio":
        return AudioContent(
            type="audio",
            transcript=_find_transcript(page, level),
            timestamps=timestamps_of(page.fields),
            duration_seconds=duration_seconds(page.fields, page.full),
        )
    if page.fields.modality == "video":
        return _video_content(page, level)
    return StructuredContent(
        type="structured",
        data=find_level_data(page, level),
        schema_name=find_schema_name(page.fields),
    )


def _image_content(page: Page, level: Level, base64: str | None) -> ImageContent:
    representation = page.at(level)
    body = representation.body if representation and level <= Level.REDUCED else None
    has_medium = body is not None and body.is_media
    caption = find_caption(page.fields, page.full)
    words = read_level_text(page, level)
    # FULL has the caption of the page; other levels have their own text.
    if words is not None and (level is not Level.FULL or caption is None):
        caption = words
    return ImageContent(
        type="image",
        caption=caption,
        url=_find_address(body, base64) if body else None,
        base64=base64 if has_medium else None,
        embedding=embedding_of(page.fields),
    )


def _video_content(page: Page, level: Level) -> VideoContent:
    has_url = level <= Level.REDUCED
    # Beside FULL, only a text that was derived from the scenes has them.
    has_scenes = level is Level.FULL or any(
        passage.name == "scene" for passage in list_passages(page, level)
    )
    return VideoContent(
        type="video",
        scenes=find_scenes(page.fields) if has_scenes else None,
        transcript=_find_transcript(page, level),
        duration_seconds=duration_seconds(page.fields, page.full),
        url=_find_address(page.full, None) if has_url else None,
    )


def _find_transcript(page: Page, level: Level) -> str | None:
    """Return the transcript of a level, without its scenes."""
    transcripts = (
        passage.text for passage in list_passages(page, level) if passage.name == "transcript"
    )
    # The transcript of FULL may be empty, and then it is no passage.
    return next(transcripts, page.fields.transcript if level is Level.FULL else None)


def _find_address(body: Body, base64: str | None) -> str | None:
    """Return the URL of a medium, or the reference of a stored one if there is no base64."""
    if body.kind == "url":
        return str(body.value)
    if body.kind != "blob" or base64 is not None:
        return None
    uri = body.media.uri if body.media else None
    return uri or str(body.value)


@dataclass(frozen=True, slots=True)
class _BoundedContent:
    """The member `content` of the JSON string, within a limit of characters."""

    content: JsonValue
    piece: Excerpt
    """The part of the level's text that `content` has."""
    scenes_total: int | None = None
    """The number of all scenes, if `content` may lack some."""
    extra: Mapping[str, JsonValue] = field(default_factory=dict)
    """Further members of the JSON string."""


def write_page_json(
    page: Page,
    level: Level,
    *,
    max_chars: int | None = None,
    offset: int = 0,
) -> str:
    """Return the string `{success, page_id, content, modality, compression, source_tier, …}`.

    - `content` is the text of a text page, the data of a structured page, or the typed content of a
      medium without its bytes. For a recording whose content differs from its transcript, it has
      both.
    - `compression` is the rendered level. If it differs from the requested one, that is
      `requested_level`.
    - `source_tier` is the origin of the rendered level: stored, supplied, derived, or none.
    - `schema_name` and `language` are those of data and code, if known.
    - `note` is present if a fuller level has more, and `damage` if the image is damaged.

    If the text is cut, the string also has `total_chars` and `next_offset`, and data is a part of
    its JSON text. A scene counts as its line in the blocks, and is in the part that has the end of
    that line. If a part may lack scenes, `scenes_total` is the number of all.

    Args:
        page: The page.
        level: The requested level.
        max_chars: The most characters of the level's text, and of the JSON of scenes. The first
            scene is always whole, and URLs are never cut.
        offset: The start in the level's text.
    """
    effective = find_effective_level(page, level)
    bounded = _bound_content(page, effective.level, max_chars, offset)
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
        members["note"] = format_compression_note(page)
    return json_text(members)


def write_failure_json(page_id: str, error: str) -> str:
    """Return the string `{success: false, page_id, error}` for a page that is unavailable."""
    return json_text({"success": False, "page_id": page_id, "error": error})


def _bound_content(page: Page, level: Level, max_chars: int | None, offset: int) -> _BoundedContent:
    content = build_typed_content(page, level, base64=None)
    if isinstance(content, AudioContent | VideoContent):
        parts = list_passages(page, level)
        piece = take_excerpt(join_passages(parts), max_chars=max_chars, offset=offset)
        return _bound_recording(content, parts, piece, max_chars)
    if isinstance(content, ImageContent):
        piece = take_excerpt(content.caption or "", max_chars=max_chars, offset=offset)
        caption = None if content.caption is None else piece.text
        return _BoundedContent(_dump_members(content) | {"caption": caption}, piece)
    text = read_level_text(page, level)
    piece = take_excerpt(text or "", max_chars=max_chars, offset=offset)
    schema_name = content.schema_name if isinstance(content, StructuredContent) else None
    members = {"schema_name": schema_name, "language": visible_language(page, level)}
    extra = {name: value for name, value in members.items() if value is not None}
    if text is None:
        return _BoundedContent(f"[{describe_missing_content(page)}]", piece, extra=extra)
    if isinstance(content, StructuredContent) and piece.notice is None:
        return _BoundedContent(content.data, piece, extra=extra)
    return _BoundedContent(piece.text, piece, extra=extra)


def _bound_recording(
    content: AudioContent | VideoContent,
    parts: Sequence[Passage],
    piece: Excerpt,
    max_chars: int | None,
) -> _BoundedContent:
    members = _dump_members(content)
    scenes, piece = _take_fitting_scenes(parts, piece, max_chars)
    for passage in parts:
        if passage.name != "scene":
            first, last = piece.start - passage.start, piece.end - passage.start
            members[passage.name] = passage.text[max(first, 0) : max(last, 0)]
    # The member `scenes` also has scenes without text, which have no line.
    if piece.notice is None or not members.get("scenes"):
        return _BoundedContent(members, piece)
    scenes_total = len(members["scenes"])
    return _BoundedContent(members | {"scenes": scenes}, piece, scenes_total)


def _take_fitting_scenes(
    parts: Sequence[Passage], piece: Excerpt, max_chars: int | None
) -> tuple[list[JsonValue], Excerpt]:
    """Return the scenes whose lines end in a piece, and the piece up to the last of them.

    Args:
        parts: The passages of the recording.
        piece: The part of their text.
        max_chars: The most characters of the scenes as JSON; the first one is always returned.
    """
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


def _dump_members(content: PageContent) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in content
        if name not in _UNREADABLE_MEMBERS
    }
