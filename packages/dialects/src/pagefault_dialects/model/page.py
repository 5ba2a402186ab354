"""Memory pages (spec 000): a unit of agent memory with a modality and up to four levels.

The `content` of a page is its FULL level. The higher levels are supplied by the client, or derived
when the page is written. A level is rendered as typed content of the page's modality, with all its
fields: an unknown field is null, so a duration of `0.0` is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from typing_extensions import TypeAliasType

from pagefault_dialects.json.values import AnyJson, JsonObject, JsonValue
from pagefault_dialects.model.base import ClientId, FrozenModel
from pagefault_dialects.model.page_vectors import Embedding, Timestamps
from pagefault_dialects.model.resource import Damage

# Named types, so that the OpenAPI document has one schema for each, not one for every use.
Modality = TypeAliasType("Modality", Literal["text", "image", "audio", "video", "structured"])
PageType = TypeAliasType(
    "PageType", Literal["transcript", "summary", "artifact", "claim", "procedure", "index"]
)
LevelName = TypeAliasType("LevelName", Literal["FULL", "REDUCED", "ABSTRACT", "REFERENCE"])
PageForm = TypeAliasType("PageForm", Literal["blocks", "json"])
MediaForm = TypeAliasType("MediaForm", Literal["inline", "reference"])
"""The form of stored media: base64, or a reference."""
Origin = TypeAliasType("Origin", Literal["stored", "supplied", "derived"])
BodyKind: TypeAlias = Literal["none", "text", "json", "url", "data", "blob"]

# The longest duration of a recording; longer ones are mistakes.
LONGEST_SECONDS = 1e9
MAX_PARENTS = 1_000
RARE_FIELDS: tuple[str, ...] = ("timestamps", "embedding")
"""Fields that are stored only if present, after all other fields."""
_NO_RARE_FIELDS = b"".join(b',"%s":null' % name.encode() for name in RARE_FIELDS)

MODALITIES: tuple[Modality, ...] = ("text", "image", "audio", "video", "structured")


class Level(IntEnum):
    """A level of detail; a higher level is never longer."""

    FULL = 0
    REDUCED = 1
    ABSTRACT = 2
    REFERENCE = 3

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe the numbers by their names, which generators turn into constants."""
        return {**handler(schema), "x-enum-varnames": [level.name for level in cls]}


LEVEL_NAMES = "0 (FULL), 1 (REDUCED), 2 (ABSTRACT), 3 (REFERENCE)"


def parse_level(text: str) -> Level | None:
    """Return the level of a number or of a name in any case; `None` if there is no such level."""
    if text in ("0", "1", "2", "3"):
        return Level(int(text))
    return Level.__members__.get(text.upper()) if text.isascii() else None


def _parse_level_input(value: object) -> Level:
    """Return the level of a number or a name in JSON; raise `ValueError` for other values."""
    level = None
    if isinstance(value, str):
        level = parse_level(value)
    elif isinstance(value, int) and not isinstance(value, bool) and value in tuple(Level):
        level = Level(value)
    if level is None:
        msg = f"must be one of {LEVEL_NAMES}"
        raise ValueError(msg)
    return level


Seconds = Annotated[float, Field(ge=0, le=LONGEST_SECONDS, allow_inf_nan=False)]
Pixels = Annotated[int, Field(ge=1, le=2**31 - 1)]
ShortText = Annotated[str, Field(max_length=512)]
# For two enums with the same names, orval generates one, without the numbers.
_LevelNumber = Annotated[int, Field(ge=0, le=3)]
LevelInput = TypeAliasType(
    "LevelInput",
    Annotated[
        Level,
        BeforeValidator(_parse_level_input, json_schema_input_type=_LevelNumber | LevelName),
    ],
)
Scene = TypeAliasType("Scene", str | JsonObject)


class PageFields(FrozenModel):
    """The client's description of a page, beside its content.

    `scenes` holds texts, or objects with a `summary` (or `caption`, `description`, `text`) and
    optionally `start` and `end` in seconds. `embedding` is returned with images, its numbers as
    32-bit floats, and `timestamps` with recordings, its numbers as they were sent. If `scenes`,
    `schema_name`, `timestamps` or `embedding` is empty, the one in `metadata` is read.
    """

    # Strict, except for arrays: JSON has no tuples.
    model_config = ConfigDict(strict=True)

    session_id: ClientId | None = None
    modality: Modality = "text"
    page_type: PageType = "artifact"
    mime_type: Annotated[str | None, Field(max_length=255)] = None
    caption: str | None = None
    transcript: str | None = None
    dimensions: Annotated[tuple[Pixels, Pixels] | None, Field(strict=False)] = None
    """Width and height in pixels."""
    duration_seconds: Seconds | None = None
    schema_name: ShortText | None = None
    scenes: Annotated[tuple[Scene, ...] | None, Field(strict=False)] = None
    hint: str | None = None
    """A line for models that search for the page."""
    importance: Annotated[float, Field(ge=0, le=1)] = 0.5
    pinned: bool = False
    provenance: Annotated[tuple[ClientId, ...], Field(strict=False, max_length=MAX_PARENTS)] = ()
    """Ids of the pages it was made from."""
    metadata: Annotated[JsonObject, Field(default_factory=dict)]
    compression_level: LevelInput = Level.FULL
    """The level at which it is rendered by default."""
    timestamps: Timestamps | None = None
    """The times of the spoken text: objects such as `{start, end, text}`, or seconds."""
    embedding: Embedding | None = None
    """A vector of the content."""


class PageMedia(FrozenModel):
    """The measured properties of the medium in a page's content."""

    uri: str | None
    """`@blob:…`; null for a medium that stays in a data URI."""
    mime_type: str
    size_bytes: int
    filename: str | None
    width: int | None
    height: int | None
    duration_seconds: float | None


@dataclass(frozen=True, slots=True)
class Body:
    """The content of a level.

    | `kind` | `value` |
    |---|---|
    | none | `None` |
    | text | the text |
    | json | any JSON value |
    | url | the URL |
    | data | the data URI of a small image |
    | blob | the reference of a stored medium, `@blob:<32 hex>` |
    """

    kind: BodyKind
    value: JsonValue = None
    media: PageMedia | None = None
    """The properties of the medium, or of the file that a text was read from."""

    @property
    def is_media(self) -> bool:
        """True if the content is a medium or its URL, rather than text or data."""
        return self.kind in ("url", "data", "blob")


@dataclass(frozen=True, slots=True)
class Representation:
    """One level of a page."""

    level: Level
    origin: Origin
    body: Body


@dataclass(frozen=True, slots=True)
class Page:
    """A page with its levels, in memory."""

    page_id: str
    fields: PageFields
    full: Body
    """The content."""
    levels: Mapping[Level, Representation]
    """The levels REDUCED, ABSTRACT and REFERENCE, as far as they were supplied or derived."""
    damage: Mapping[Level, Damage] = field(default_factory=lambda: MappingProxyType({}))
    """The damage of images, by level; empty until the images are checked."""

    @property
    def existing_levels(self) -> tuple[Level, ...]:
        """The levels that have content, in order."""
        full = () if self.full.kind == "none" else (Level.FULL,)
        return (*full, *sorted(self.levels))

    def at(self, level: Level) -> Representation | None:
        """Return a level with its content; `None` if it does not exist."""
        if level is Level.FULL:
            is_empty = self.full.kind == "none"
            return None if is_empty else Representation(level, "stored", self.full)
        return self.levels.get(level)

    def unreadable(self, level: Level) -> Damage | None:
        """Return the damage of a level's image if it cannot be repaired, else `None`."""
        damage = self.damage.get(level)
        return None if damage is None or damage.is_repairable else damage


@dataclass(frozen=True, slots=True)
class PageVersion:
    """One version of a page, ready to be stored."""

    page_id: str
    """The client's id, or a generated one."""
    fields: PageFields
    """The client's description, by which lists are filtered."""
    version: int
    """1, 2, 3 …"""
    descriptor: bytes
    """The page as a JSON object, without `content`, `last_accessed`, `access_count`, and without
    rare fields that are empty."""
    content: bytes
    """The content as JSON text, with the reference of a medium that was moved out of it."""
    body: bytes
    """The FULL `Body` as JSON text, without its value, which is `content`."""
    inline_form: str | None
    """The spelling of the data URIs that were moved out, as JSON text; `None` if there are none."""
    digest: str
    """SHA-256 of descriptor and content, 64 hex digits."""
    created_at: datetime
    """The time of the first version."""


@dataclass(frozen=True, slots=True)
class StoredRepresentation:
    """A level of a page as it is stored."""

    level: Level
    origin: Origin
    body: bytes
    """The `Body` as JSON text."""
    created_at: datetime


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page as it is stored; `PageVersion` describes the fields that are not described here."""

    page_number: int
    """Grows with every page that is created."""
    page_id: str
    version: int
    descriptor: bytes
    content: bytes | None
    """`None` if it was not requested from the store."""
    body: bytes
    inline_form: str | None
    digest: str
    fetched_resource_id: str | None
    """The resource that a content of kind "url" was downloaded to."""
    created_at: datetime
    last_accessed: datetime | None
    access_count: int

    @property
    def open_descriptor(self) -> bytes:
        """The descriptor with the rare fields, as null if empty, but without its closing brace."""
        return self.descriptor[:-1] + (_NO_RARE_FIELDS if self._has_no_rare_fields else b"")

    @property
    def open_summary(self) -> bytes:
        """The descriptor without the rare fields and without its closing brace."""
        if self._has_no_rare_fields:
            return self.descriptor[:-1]
        members = msgspec.json.decode(self.descriptor, type=dict[str, msgspec.Raw])
        common = {name: value for name, value in members.items() if name not in RARE_FIELDS}
        return msgspec.json.encode(common)[:-1]

    @property
    def _has_no_rare_fields(self) -> bool:
        # Only a descriptor without rare fields ends with a number, its version.
        return self.descriptor[-2:-1].isdigit()


@dataclass(frozen=True, slots=True, order=True)
class ManifestPosition:
    """The sort key of a page in the manifest of its session; the page with the largest is first."""

    is_pinned: bool
    importance: float
    page_number: int


@dataclass(frozen=True, slots=True)
class PageFilters:
    """The filters of a list of pages; a field that is `None` does not filter."""

    session_id: str | None = None
    modality: Modality | None = None
    page_type: PageType | None = None
    pinned: bool | None = None
    compression_level: Level | None = None


class TextContent(FrozenModel):
    """Text of a text page, and the tag of every page at REFERENCE."""

    type: Literal["text"]
    text: str


class ImageContent(FrozenModel):
    """An image: by `url` (or `@blob:` reference), as plain `base64`, or its caption alone."""

    type: Literal["image"]
    caption: str | None
    url: str | None
    base64: str | None
    embedding: Embedding | None


class AudioContent(FrozenModel):
    """The spoken content of a recording."""

    type: Literal["audio"]
    transcript: str | None
    timestamps: tuple[Any, ...] | None
    duration_seconds: float | None


class VideoContent(FrozenModel):
    """The visible and spoken content of a video; `url` may be a `@blob:` reference."""

    type: Literal["video"]
    scenes: tuple[Scene, ...] | None
    transcript: str | None
    duration_seconds: float | None
    url: str | None


class StructuredContent(FrozenModel):
    """Data: any JSON value."""

    type: Literal["structured"]
    data: AnyJson
    schema_name: str | None


PageContent = TypeAliasType(
    "PageContent",
    Annotated[
        TextContent | ImageContent | AudioContent | VideoContent | StructuredContent,
        Field(discriminator="type"),
    ],
)
