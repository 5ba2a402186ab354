"""Shapes of memory pages: records, list items, blocks, levels, search hits, manifests.

The descriptor of a page is stored as a JSON object and sent unchanged; only the access counters are
added here. So `PageSummary` and its subclasses only document the JSON. `PageToolMessage` also only
documents JSON, which is stored in the history.

JSON values of clients are sent as stored bytes, because a serializer would change the spelling of
numbers and limit the depth of nesting.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from msgspec import Raw
from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.wire.page_blocks import Blocks
from app.wire.shape import CursorList, DocumentedAs, Shape, encode_raw
from pagefault_dialects.json.values import AnyJson, JsonObject, JsonValue, json_text
from pagefault_dialects.model.base import FrozenModel
from pagefault_dialects.model.page import (
    Level,
    LevelName,
    Modality,
    Origin,
    PageContent,
    PageMedia,
    PageType,
    Representation,
    Scene,
    StoredPage,
)
from pagefault_dialects.model.page_vectors import Embedding, Timestamps
from pagefault_dialects.model.render_options import JsonPiece, joined_pieces
from pagefault_dialects.model.timestamps import rfc3339
from pagefault_dialects.pages.detail import ManifestEntry, format_manifest_line
from pagefault_dialects.pages.page_blocks import PageBlocks
from pagefault_dialects.pages.sizes import body_size_bytes, estimate_tokens

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
}
_RECORD_MEMBERS: JsonDict = {"timestamps": None, "embedding": [0.013, -0.241, 0.087]}
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
    scenes: tuple[Scene, ...] | None
    hint: str | None
    importance: float
    pinned: bool
    provenance: tuple[str, ...]
    metadata: JsonObject
    compression_level: Level
    """The level that is used if a request names no level."""
    levels: tuple[Level, ...]
    """The levels that the page has: stored, supplied by a client, or derived."""
    media: PageMedia | None
    """The measured properties of the medium in the content."""
    size_bytes: int | None
    """The bytes of the content; null for a URL that was not fetched."""
    size_tokens: int
    """The estimated tokens of the content."""
    created_at: datetime
    updated_at: datetime
    version: int
    last_accessed: datetime | None
    access_count: int


class PageRecord(PageSummary):
    """A page with its descriptor and its content."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    **_EXAMPLE_SUMMARY,
                    **_RECORD_MEMBERS,
                    "content": "https://example.com/sunset.png",
                    **_COUNTERS,
                }
            ]
        }
    )

    timestamps: Timestamps | None
    """The times of the text: objects such as `{start, end, text}`, or seconds."""
    embedding: Embedding | None
    """A vector of the content, of 32-bit floats; lists omit it."""
    content: AnyJson
    """Text, JSON, a URL, a small data URI, or a `@blob:` reference."""


class SearchHit(PageSummary):
    """A page that a search has found."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{**_EXAMPLE_SUMMARY, **_COUNTERS, "snippet": "… with tree, path, sheep …"}]
        }
    )

    snippet: str | None
    """The matching passage; `…` marks cuts."""


class PageList(CursorList[PageSummary]):
    """A part of the list of pages, newest first."""


class SearchHits(CursorList[SearchHit]):
    """The pages that a search has found, best first."""


class CreatedPages(Shape, kw_only=True):
    """Pages that were created together, in the order of the request."""

    items: Annotated[tuple[Raw, ...], DocumentedAs(tuple[PageSummary, ...])]


class PageBlocksRecord(Shape, rename=None, kw_only=True):
    """A page as the content of a tool message: text, or text and image."""

    content: Annotated[Raw, DocumentedAs(Blocks)]
    level: Annotated[Level, LevelName]
    """The level of the content. If several levels have this content, the most detailed of them."""
    requested_level: Level
    """The requested level; by default, the page's `compression_level`."""
    truncated: bool
    total_chars: int
    """The length of the whole text of the level, in characters."""
    next_offset: int | None
    """The `offset` of the next part of the text; null at the end."""


class PageToolMessage(FrozenModel):
    """A page as a tool message for a model."""

    role: Literal["tool"]
    tool_call_id: str | None
    content: Blocks


class PageLevelRecord(Shape, rename=None, kw_only=True):
    """One level of a page."""

    page_id: str
    level: Level
    name: Annotated[str, DocumentedAs(LevelName)]
    origin: Origin
    content: Annotated[Raw, DocumentedAs(AnyJson)]
    """Text, JSON, a URL or a `@blob:` reference."""
    media: Annotated[Raw | None, DocumentedAs(PageMedia | None)]
    size_bytes: int | None
    size_tokens: int


class ManifestPage(FrozenModel):
    """A page in a manifest."""

    page_id: str
    modality: Modality
    page_type: PageType
    levels: tuple[LevelName, ...]
    hint: str | None
    importance: float
    pinned: bool
    size_tokens: int
    line: str
    """A line that describes the page to a model."""


class PageManifest(FrozenModel):
    """The pages of a session for a model: pinned, then important, then new ones first."""

    model_config = ConfigDict(populate_by_name=True)

    session_id: str
    pages: tuple[ManifestPage, ...]
    total: int
    """The number of all pages of the session."""
    text: str
    """All lines, for the prompt of a model."""
    # In camelCase, as in every list.
    next_cursor: Annotated[str | None, Field(alias="nextCursor")]
    """The cursor of the next pages; null at the end."""


def encode_page_summary(stored: StoredPage) -> bytes:
    """Return the JSON of a page without its content: the descriptor, then the counters."""
    return b"%s,%s}" % (stored.open_summary, _encode_counters(stored))


def encode_page(stored: StoredPage) -> bytes:
    """Return the JSON of a page: the descriptor, the content, the counters."""
    content = stored.content or b"null"
    return b'%s,"content":%s,%s}' % (stored.open_descriptor, content, _encode_counters(stored))


def encode_page_pieces(stored: StoredPage, content: Sequence[JsonPiece]) -> Sequence[JsonPiece]:
    """Return the JSON of a page in pieces, with `content` instead of the stored content."""
    head, tail = b'%s,"content":' % stored.open_descriptor, b",%s}" % _encode_counters(stored)
    return joined_pieces([head, *content, tail])


def encode_search_hit(stored: StoredPage, snippet: str | None) -> bytes:
    """Return the JSON of a page that a search has found, with the matching passage."""
    return b'%s,"snippet":%s}' % (encode_page_summary(stored)[:-1], json_text(snippet).encode())


def encode_created_pages(pages: Sequence[StoredPage]) -> bytes:
    """Return the JSON of pages that were created together."""
    return CreatedPages(items=tuple(Raw(encode_page_summary(page)) for page in pages)).encode()


def encode_content(content: PageContent) -> bytes:
    """Return the JSON of typed content with all fields, also with those that are null."""
    members = {name: _to_json_value(getattr(content, name)) for name in type(content).model_fields}
    return json_text(members).encode()


def encode_blocks(blocks: PageBlocks, *, content: JsonValue, requested_level: Level) -> bytes:
    """Return the JSON of a page as the content of a tool message."""
    return PageBlocksRecord(
        content=encode_raw(content),
        level=blocks.level,
        requested_level=requested_level,
        truncated=blocks.truncated,
        total_chars=blocks.total_chars,
        next_offset=blocks.next_offset,
    ).encode()


def encode_level(page_id: str, representation: Representation) -> bytes:
    """Return the JSON of one level of a page."""
    body = representation.body
    return PageLevelRecord(
        page_id=page_id,
        level=representation.level,
        name=representation.level.name,
        origin=representation.origin,
        content=encode_raw(body.value),
        media=encode_raw(body.media.model_dump()) if body.media else None,
        size_bytes=body_size_bytes(body),
        size_tokens=estimate_tokens(body),
    ).encode()


def encode_manifest(
    session_id: str,
    entries: Sequence[ManifestEntry],
    *,
    total: int,
    text: str,
    next_cursor: str | None,
) -> bytes:
    """Return the JSON of a manifest; `text` has the lines of all entries."""
    pages = tuple(
        ManifestPage(
            page_id=entry.page_id,
            modality=entry.fields.modality,
            page_type=entry.fields.page_type,
            levels=tuple(level.name for level in entry.levels),
            hint=entry.fields.hint,
            importance=entry.fields.importance,
            pinned=entry.fields.pinned,
            size_tokens=entry.size_tokens,
            line=format_manifest_line(entry.page_id, entry.fields, entry.levels, entry.size_tokens),
        )
        for entry in entries
    )
    manifest = PageManifest(
        session_id=session_id, pages=pages, total=total, text=text, next_cursor=next_cursor
    )
    return manifest.model_dump_json(by_alias=True).encode()


def _encode_counters(stored: StoredPage) -> bytes:
    accessed = stored.last_accessed
    last_accessed = "null" if accessed is None else f'"{rfc3339(accessed)}"'
    return f'"last_accessed":{last_accessed},"access_count":{stored.access_count}'.encode()


def _to_json_value(value: object) -> JsonValue:
    return list(value) if isinstance(value, tuple) else value
