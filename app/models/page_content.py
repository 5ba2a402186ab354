"""Typed content (spec 000, "Current State"): what a page holds at a level, by modality.

Every field is there, null where nothing is known: `0.0` is a duration, and null is none.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from app.models.base import FrozenModel
from app.models.page import Embedding


class TextContent(FrozenModel):
    """Text: of a text page, and the tag every page has at REFERENCE."""

    type: Literal["text"]
    text: str


class ImageContent(FrozenModel):
    """An image: by `url` (or `@blob:` reference) or as plain `base64`, or only its caption."""

    type: Literal["image"]
    caption: str | None
    url: str | None
    base64: str | None
    embedding: Embedding | None


class AudioContent(FrozenModel):
    """What is said in a recording."""

    type: Literal["audio"]
    transcript: str | None
    timestamps: tuple[Any, ...] | None
    duration_seconds: float | None


class VideoContent(FrozenModel):
    """What is seen and said in a video; `url` may be a `@blob:` reference."""

    type: Literal["video"]
    scenes: tuple[str | dict[str, Any], ...] | None
    transcript: str | None
    duration_seconds: float | None
    url: str | None


class StructuredContent(FrozenModel):
    """Data: any JSON value."""

    type: Literal["structured"]
    data: Any
    schema_name: str | None


PageContent: TypeAlias = Annotated[
    TextContent | ImageContent | AudioContent | VideoContent | StructuredContent,
    Field(discriminator="type"),
]
