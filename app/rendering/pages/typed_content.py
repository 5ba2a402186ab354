"""Typed content: what a page holds at a level, by modality.

Source: spec 000, "Current State"; REFERENCE is always text, the tag.
"""

from app.models.page import (
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
from app.rendering.pages.described import (
    embedding_of,
    scenes_of,
    schema_name_of,
    timestamps_of,
)
from app.rendering.pages.descriptors import duration_seconds
from app.rendering.pages.recordings import passages
from app.rendering.pages.visible_text import level_data, shown_text
from app.rendering.pages.words import caption_of


def typed_content(page: Page, level: Level, *, base64: str | None) -> PageContent:
    """A page's content at a level, as the model of its modality.

    Args:
        page: The page.
        level: The level; what it does not hold is null, and the text of a text page empty.
        base64: The plain base64 of the level's image, where it is to stand in the content. Without
            it a stored image is named by its `@blob:` reference.
    """
    if level is Level.REFERENCE or page.fields.modality == "text":
        return TextContent(type="text", text=shown_text(page, level) or "")
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
    words = shown_text(page, level)
    # FULL is the page, whose caption is its caption; the other levels are what they hold.
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
    # A level that says something else, or that is not there, is not made of the scenes.
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
    """What the level says, without the scenes that stand beside it."""
    said = (passage.text for passage in passages(page, level) if passage.name == "transcript")
    # An empty transcript is a transcript, though no level is made of it.
    return next(said, page.fields.transcript if level is Level.FULL else None)


def _address(body: Body, base64: str | None) -> str | None:
    """An `http(s)` address, or the reference of a stored medium that is not given as base64."""
    if body.kind == "url":
        return str(body.value)
    if body.kind != "blob" or base64 is not None:
        return None
    uri = body.media.uri if body.media else None
    return uri or str(body.value)
