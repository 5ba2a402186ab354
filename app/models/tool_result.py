"""The canonical record (spec 002, Canonical Types): its parts, and what becomes one.

There are no audio or video parts: `FilePart.mediaKind` says `audio`, `video` or `binary`.
"""

from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from app.models.resource_descriptor import MediaKind, ResourceDescriptor
from pagefault_dialects.json.values import JsonObject
from pagefault_dialects.model.base import WireModel
from pagefault_dialects.model.normalized import Warning
from pagefault_dialects.model.resource import Resource

_BESIDE = ("annotations", "uri", "name", "_meta")


class PartBase(WireModel):
    """What every part may carry beside its content, absent when empty."""

    annotations: JsonObject | None = None
    """MCP annotations (audience, priority), kept."""
    uri: str | None = None
    """Where the tool says the part is from."""
    name: str | None = None
    meta: Annotated[JsonObject | None, Field(alias="_meta")] = None

    def wire(self) -> dict[str, object]:
        """See `WireModel.wire`; what the part is comes before what belongs to it."""
        members = super().wire()
        beside = {key: members.pop(key) for key in _BESIDE if key in members}
        return members | beside


class TextPart(PartBase):
    """Text to read. Above the preview limit it is a head, a line saying what is left, a tail."""

    type: Literal["text"]
    text: str


class ImagePart(PartBase):
    """An image: `@blob:…`, an https URL, or plain base64 below the inline limit."""

    type: Literal["image"]
    image: str
    mime_type: str


class FilePart(PartBase):
    """Audio, video or any other file: `@blob:…` or an https URL."""

    type: Literal["file"]
    data: str
    mime_type: str
    media_kind: MediaKind
    filename: str | None = None


# A named alias, so that the OpenAPI document names the union and SDKs get one type for it.
Part = TypeAliasType(
    "Part", Annotated[TextPart | ImagePart | FilePart, Field(discriminator="type")]
)


class ToolResultWarning(WireModel):
    """Something that could not be taken as the tool meant it, at a JSON pointer into `result`."""

    code: str
    pointer: str
    detail: str


DeclaredTypes = TypeAliasType("DeclaredTypes", dict[str, str])


class ToolResultMeta(WireModel):
    """Which call this answers, and what belongs to the result as a whole.

    `structuredContent` is absent, not null, when the tool gave none.
    """

    nullable: ClassVar[frozenset[str]] = frozenset({"structured_content"})

    tool_name: str
    tool_call_id: str
    success: bool
    structured_content: Any = None
    """MCP structuredContent: any JSON value, media replaced by `@blob:`."""
    display: Any = None
    """The tool's own hint for a user interface."""
    envelope: JsonObject | None = None
    """What stood around the result: the `dialect`, and the members that are not told to a model.
    `toolCallId` and `toolName` are in it if they differ from those of the call."""
    meta: Annotated[JsonObject | None, Field(alias="_meta")] = None
    warnings: tuple[ToolResultWarning, ...] | None = None
    declared_mime_type: Annotated[
        DeclaredTypes | None, Field(examples=[{"/parts/0": "image/png"}])
    ] = None
    """Claims the bytes do not bear out: the part's JSON pointer in the record, and the MIME type
    the tool had claimed for it."""


class SanitizedToolResult(WireModel):
    """A tool result, canonical and small: parts to show, resources they refer to, meta."""

    parts: Annotated[tuple[Part, ...], Field(min_length=1)]
    resources: tuple[ResourceDescriptor, ...]
    meta: ToolResultMeta


@dataclass(frozen=True, slots=True)
class StoredToolResult:
    """A record as the store keeps it; `sanitized` is its bytes, never serialised again."""

    tool_result_id: str
    session_id: str | None
    seq: int | None
    created_at: datetime
    tool_name: str
    tool_call_id: str
    sanitized: bytes
    answer_number: int = 1
    """Which answer to calls of this id it is in its session."""
    is_apart: bool | None = None
    """See `StoredMessage`."""


@dataclass(frozen=True, slots=True)
class PersistedPart:
    """One part, the stored resources it refers to, and what the tool had claimed about it.

    `claimed_mime_type` is set only where the bytes say otherwise. `extracted` is true for media
    lifted out of a structure (see `NormalizedMediaPart`).
    """

    part: Part
    resources: tuple[Resource, ...] = ()
    claimed_mime_type: str | None = None
    extracted: bool = False


@dataclass(frozen=True, slots=True)
class PersistedToolResult:
    """A tool result whose media are all in the blob store.

    `meta_resources` are those that `structured_content`, `display`, `meta` and `envelope` refer
    to, in order of first use. `structured_content` is wrapped, since null is a value it may have.
    """

    parts: tuple[PersistedPart, ...]
    meta_resources: tuple[Resource, ...] = ()
    is_error: bool | None = None
    structured_content: tuple[Any] | None = None
    display: Any = None
    meta: JsonObject | None = None
    envelope: JsonObject | None = None
    warnings: tuple[Warning, ...] = ()

    @property
    def resources(self) -> list[Resource]:
        """Every resource the result refers to, once, in order of first use."""
        distinct: dict[str, Resource] = {}
        of_parts = chain.from_iterable(part.resources for part in self.parts)
        for resource in chain(of_parts, self.meta_resources):
            distinct.setdefault(resource.resource_id, resource)
        return list(distinct.values())
