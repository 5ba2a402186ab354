"""Memory pages (spec 000): a unit of agent memory with a modality and up to four levels.

A page's `content` is its FULL level and is never altered by asking for less. The levels above it
are supplied by the client or derived from it, once, when the page is written. What a page holds at
a level is shown as typed content, by modality: every field of that is there, null where nothing is
known, since `0.0` is a duration, and null is none.
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

# Named, so that the document's readers have one name for each and not one for every place.
Modality = TypeAliasType("Modality", Literal["text", "image", "audio", "video", "structured"])
PageType = TypeAliasType(
    "PageType", Literal["transcript", "summary", "artifact", "claim", "procedure", "index"]
)
LevelName = TypeAliasType("LevelName", Literal["FULL", "REDUCED", "ABSTRACT", "REFERENCE"])
PageForm = TypeAliasType("PageForm", Literal["blocks", "json"])
MediaForm = TypeAliasType("MediaForm", Literal["inline", "reference"])
"""How stored media are written: as base64, or as a reference."""
Origin = TypeAliasType("Origin", Literal["stored", "supplied", "derived"])
BodyKind: TypeAlias = Literal["none", "text", "json", "url", "data", "blob"]

# A longer one is no duration, and nobody could read it.
LONGEST_SECONDS = 1e9
MOST_PARENTS = 1_000
SELDOM_SAID: tuple[str, ...] = ("timestamps", "embedding")
"""Fields that few pages have: they are stored only where they are, behind all others."""
_NOTHING_SELDOM = b"".join(b',"%s":null' % name.encode() for name in SELDOM_SAID)

MODALITIES: tuple[Modality, ...] = ("text", "image", "audio", "video", "structured")


class Level(IntEnum):
    """How much of a page is shown; a higher level is never longer."""

    FULL = 0
    REDUCED = 1
    ABSTRACT = 2
    REFERENCE = 3

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe the numbers by their names, which generators give to constants."""
        return {**handler(schema), "x-enum-varnames": [level.name for level in cls]}


LEVEL_NAMES = "0 (FULL), 1 (REDUCED), 2 (ABSTRACT), 3 (REFERENCE)"


def parse_level(text: str) -> Level | None:
    """Return the level a text names, by number or by name in any case; `None` if it names none."""
    if text in ("0", "1", "2", "3"):
        return Level(int(text))
    return Level.__members__.get(text.upper()) if text.isascii() else None


def _level_by_name(value: object) -> Level:
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
# Of two enums whose names are the same, orval makes one, without the numbers.
_LevelNumber = Annotated[int, Field(ge=0, le=3)]
LevelInput = TypeAliasType(
    "LevelInput",
    Annotated[
        Level,
        BeforeValidator(_level_by_name, json_schema_input_type=_LevelNumber | LevelName),
    ],
)
Scene = TypeAliasType("Scene", str | JsonObject)


class PageFields(FrozenModel):
    """What a client says about a page, beside its content.

    `scenes` holds texts, or objects with a `summary` (or `caption`, `description`, `text`) and
    perhaps a `start` and an `end` in seconds. `embedding` is handed out with images, its numbers as
    floats of 32 bits, and `timestamps` with recordings, number for number as they were sent. Where
    `scenes`, `schema_name`, `timestamps` or `embedding` is empty, the one in `metadata` is read.
    """

    # Strict, but for arrays: JSON has no tuples.
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
    """A line for whoever looks for the page."""
    importance: Annotated[float, Field(ge=0, le=1)] = 0.5
    pinned: bool = False
    provenance: Annotated[tuple[ClientId, ...], Field(strict=False, max_length=MOST_PARENTS)] = ()
    """Ids of the pages it came from."""
    metadata: Annotated[JsonObject, Field(default_factory=dict)]
    compression_level: LevelInput = Level.FULL
    """The level it is shown at unless another is asked for."""
    timestamps: Timestamps | None = None
    """When what is said: objects such as `{start, end, text}`, or seconds."""
    embedding: Embedding | None = None
    """A vector of the content."""


class PageMedia(FrozenModel):
    """What is known, by measuring, of the medium a page's content holds or refers to."""

    uri: str | None
    """`@blob:…`; null while the medium stays in a data URI."""
    mime_type: str
    size_bytes: int
    filename: str | None
    width: int | None
    height: int | None
    duration_seconds: float | None


@dataclass(frozen=True, slots=True)
class Body:
    """What a level holds.

    `value` is `None` for "none", the text for "text", any JSON value for "json", the address for
    "url", a whole data URI for "data" (a small image), `@blob:<32 hex>` for "blob". `media` is
    there for "data" and "blob", and for a text that was read out of a resource.
    """

    kind: BodyKind
    value: JsonValue = None
    media: PageMedia | None = None

    @property
    def is_media(self) -> bool:
        """Whether it is a medium, or the address of one, and not words about it."""
        return self.kind in ("url", "data", "blob")


@dataclass(frozen=True, slots=True)
class Representation:
    """One level of a page: where it came from, and what it holds."""

    level: Level
    origin: Origin
    body: Body


@dataclass(frozen=True, slots=True)
class Page:
    """A page as the pure code sees it.

    `full` is the content. `levels` has REDUCED, ABSTRACT and REFERENCE as far as they exist: what
    could be neither supplied nor derived is not in it. `damage` is what is wrong with the images
    of levels; it is empty until somebody has looked.
    """

    page_id: str
    fields: PageFields
    full: Body
    levels: Mapping[Level, Representation]
    damage: Mapping[Level, Damage] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def existing_levels(self) -> tuple[Level, ...]:
        """The levels that hold anything, in order; FULL is missing where there is no content."""
        full = () if self.full.kind == "none" else (Level.FULL,)
        return (*full, *sorted(self.levels))

    def at(self, level: Level) -> Representation | None:
        """Return what a level holds, or `None` if it does not exist."""
        if level is Level.FULL:
            is_empty = self.full.kind == "none"
            return None if is_empty else Representation(level, "stored", self.full)
        return self.levels.get(level)

    def unreadable(self, level: Level) -> Damage | None:
        """Return what is wrong with the image of a level, if no model could read it."""
        damage = self.damage.get(level)
        return None if damage is None or damage.is_repairable else damage


@dataclass(frozen=True, slots=True)
class PageVersion:
    """One version of a page, ready to be stored."""

    page_id: str
    """The client's id, or one made for it."""
    fields: PageFields
    """What the lists filter by is taken from here."""
    version: int
    """1, 2, 3 …"""
    descriptor: bytes
    """JSON object of everything but `content`, `last_accessed` and `access_count`; of what is
    seldom said, only if any of it is there."""
    content: bytes
    """JSON text of the content as it is shown: a moved medium is its reference."""
    body: bytes
    """JSON text of the FULL body, see `Body`; without the value, which is `content`."""
    inline_form: str | None
    """How to write a moved data URI again, byte for byte; `None` if none was moved."""
    digest: str
    """SHA-256 of descriptor and content, 64 hex digits."""
    created_at: datetime
    """When the first version was written."""


@dataclass(frozen=True, slots=True)
class StoredRepresentation:
    """A level as the store keeps it: `body` is JSON text, see `Body`."""

    level: Level
    origin: Origin
    body: bytes
    created_at: datetime


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page as the store keeps it.

    `content` is `None` where the reader did not ask for it. `fetched_resource_id` names what an
    `http(s)` content was downloaded to. `page_number` grows with every page created.
    """

    page_number: int
    page_id: str
    version: int
    descriptor: bytes
    content: bytes | None
    body: bytes
    inline_form: str | None
    digest: str
    fetched_resource_id: str | None
    created_at: datetime
    last_accessed: datetime | None
    access_count: int

    @property
    def open_descriptor(self) -> bytes:
        """The descriptor with all its members and without its closing brace."""
        return self.descriptor[:-1] + (_NOTHING_SELDOM if self._is_short else b"")

    @property
    def open_summary(self) -> bytes:
        """The same without the fields that are seldom said, which may be long."""
        if self._is_short:
            return self.descriptor[:-1]
        members = msgspec.json.decode(self.descriptor, type=dict[str, msgspec.Raw])
        kept = {name: value for name, value in members.items() if name not in SELDOM_SAID}
        return msgspec.json.encode(kept)[:-1]

    @property
    def _is_short(self) -> bool:
        # Only one without the fields that are seldom said ends with a number, its version.
        return self.descriptor[-2:-1].isdigit()


@dataclass(frozen=True, slots=True, order=True)
class ManifestPlace:
    """Where a page stands in the manifest of its session; the largest comes first."""

    is_pinned: bool
    importance: float
    page_number: int


@dataclass(frozen=True, slots=True)
class PageFilters:
    """What a list of pages is narrowed to; `None` does not narrow."""

    session_id: str | None = None
    modality: Modality | None = None
    page_type: PageType | None = None
    pinned: bool | None = None
    compression_level: Level | None = None


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
