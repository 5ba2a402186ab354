"""Shapes of pages that exist only on the wire: records, list items, blocks, search, manifest."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.models.base import FrozenModel
from app.models.page import (
    Embedding,
    Level,
    Modality,
    Origin,
    PageMedia,
    PageType,
    Timestamps,
)

_EXAMPLE_SUMMARY: JsonDict = {
    "page_id": "img_001",
    "session_id": "demo",
    "modality": "image",
    "page_type": "artifact",
    "mime_type": "image/png",
    "caption": "Sunset landscape with tree, path, sheep, pond, church spire",
    "transcript": None,
    "dimensions": [1920, 1080],
    "duration_seconds": None,
    "schema_name": None,
    "scenes": None,
    "hint": None,
    "importance": 0.5,
    "pinned": False,
    "provenance": [],
    "metadata": {},
    "compression_level": 0,
    "levels": [0, 1, 2, 3],
    "media": None,
    "size_bytes": None,
    "size_tokens": 2765,
    "created_at": "2026-11-21T05:30:00.000000Z",
    "updated_at": "2026-11-21T05:30:00.000000Z",
    "version": 1,
    "timestamps": None,
    "embedding": [0.013, -0.241, 0.087],
}
_COUNTERS: JsonDict = {"last_accessed": None, "access_count": 0}


class PageSummary(FrozenModel):
    """A page without its content, as lists show it."""

    model_config = ConfigDict(
        strict=False, json_schema_extra={"examples": [{**_EXAMPLE_SUMMARY, **_COUNTERS}]}
    )

    page_id: str
    session_id: str | None
    modality: Modality
    page_type: PageType
    mime_type: str | None
    caption: str | None
    transcript: str | None
    dimensions: tuple[int, int] | None
    duration_seconds: float | None
    schema_name: str | None
    scenes: tuple[str | dict[str, Any], ...] | None
    hint: str | None
    importance: float
    pinned: bool
    provenance: tuple[str, ...]
    metadata: dict[str, Any]
    compression_level: Annotated[
        Level, Field(description="The level it is shown at unless another is asked for.")
    ]
    levels: Annotated[
        tuple[Level, ...],
        Field(description="The levels that exist: stored, supplied or derived."),
    ]
    media: Annotated[
        PageMedia | None, Field(description="What was measured of the medium in the content.")
    ]
    size_bytes: Annotated[
        int | None, Field(description="Of the content; null for an address that was not fetched.")
    ]
    size_tokens: Annotated[int, Field(description="What the content costs a model, estimated.")]
    created_at: datetime
    updated_at: datetime
    version: int
    timestamps: Annotated[
        Timestamps | None,
        Field(description="When what is said: objects such as `{start, end, text}`, or seconds."),
    ]
    embedding: Annotated[
        Embedding | None, Field(description="A vector of the content, as it was sent.")
    ]
    last_accessed: datetime | None
    access_count: int


class PageRecord(PageSummary):
    """A page: what is said about it, and its content."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {**_EXAMPLE_SUMMARY, "content": "https://example.com/sunset.png", **_COUNTERS}
            ]
        }
    )

    content: Annotated[
        Any,
        Field(description="Text, JSON, an address, a small data URI, or a `@blob:` reference."),
    ]


class SearchHit(PageSummary):
    """A page that a search has found."""

    snippet: Annotated[
        str | None, Field(description="The passage it was found by; `…` marks where it is cut.")
    ]


class PageList(FrozenModel):
    """A page of the list of pages, newest first."""

    items: tuple[PageSummary, ...]
    nextCursor: str | None  # noqa: N815 - every list of the service spells it so


class SearchHits(FrozenModel):
    """What a search has found, best first."""

    items: tuple[SearchHit, ...]
    nextCursor: str | None  # noqa: N815 - every list of the service spells it so


class CreatedPages(FrozenModel):
    """Pages that were created together, in the order they were given."""

    items: tuple[PageSummary, ...]


class TextBlock(FrozenModel):
    """What is said about the image beside it."""

    type: Literal["text"]
    text: str


class ImageUrl(FrozenModel):
    """Where the image is: an address, a data URI, or a `@blob:` reference."""

    url: str
    detail: Literal["low", "high", "auto"]


class ImageUrlBlock(FrozenModel):
    """An image as a model takes it."""

    type: Literal["image_url"]
    image_url: ImageUrl


Blocks = str | tuple[TextBlock | ImageUrlBlock, ...]


class PageBlocksRecord(FrozenModel):
    """A page as the content of a tool message: text, or text and image."""

    content: Blocks
    level: Annotated[
        Level,
        Field(description="The level that is shown: the fullest that holds what is shown."),
    ]
    requested_level: Annotated[
        Level, Field(description="The level that was asked for, or the page's own.")
    ]
    truncated: bool
    total_chars: Annotated[int, Field(description="How long the level's text is in all.")]
    next_offset: Annotated[int | None, Field(description="Where to go on; null at the end.")]


class PageToolMessage(FrozenModel):
    """A page as a tool message, ready to be given to a model."""

    role: Literal["tool"]
    tool_call_id: str | None
    content: Blocks


class PageLevelRecord(FrozenModel):
    """One level of a page."""

    page_id: str
    level: Level
    name: Annotated[str, Field(examples=["ABSTRACT"])]
    origin: Origin
    content: Annotated[Any, Field(description="Text, JSON, an address or a `@blob:` reference.")]
    media: PageMedia | None
    size_bytes: int | None
    size_tokens: int


class ManifestPage(FrozenModel):
    """A page as a manifest names it."""

    page_id: str
    modality: Modality
    page_type: PageType
    levels: tuple[str, ...]
    hint: str | None
    importance: float
    pinned: bool
    size_tokens: int
    line: Annotated[str, Field(description="The same for a model, on one line.")]


class PageManifest(FrozenModel):
    """What a model is told of a session's pages: pinned, then important, then new ones first."""

    session_id: str
    pages: tuple[ManifestPage, ...]
    total: Annotated[int, Field(description="How many pages the session has in all.")]
    text: Annotated[str, Field(description="All lines, to be put before a model.")]
