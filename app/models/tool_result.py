"""The canonical record (spec 002, Canonical Types), and results before they are packaged.

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
from pagefault_dialects.model.normalized import BodyWarning
from pagefault_dialects.model.resource import Resource

_TRAILING_MEMBERS = ("annotations", "uri", "name", "_meta")


class PartBase(WireModel):
    """Optional members of every part; empty ones are absent."""

    annotations: JsonObject | None = None
    """MCP annotations (audience, priority), kept."""
    uri: str | None = None
    """The origin of the part, as the tool states it."""
    name: str | None = None
    meta: Annotated[JsonObject | None, Field(alias="_meta")] = None

    def wire(self) -> dict[str, object]:
        """See `WireModel.wire`; the optional members come last."""
        members = super().wire()
        trailing = {key: members.pop(key) for key in _TRAILING_MEMBERS if key in members}
        return members | trailing


class TextPart(PartBase):
    """A text. Above the preview limit it is a head, a line with the omitted size, and a tail."""

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
    """A defect in the result of the tool, at a JSON pointer into `result`."""

    code: str
    pointer: str
    detail: str


DeclaredTypes = TypeAliasType("DeclaredTypes", dict[str, str])


class ToolResultMeta(WireModel):
    """The call that this answers, and members of the result as a whole.

    `structuredContent` is absent, not null, if the tool returned none.
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
    """The envelope of the result: the `dialect`, and the members that no model reads. `toolCallId`
    and `toolName` are in it if they differ from those of the call."""
    meta: Annotated[JsonObject | None, Field(alias="_meta")] = None
    warnings: tuple[ToolResultWarning, ...] | None = None
    declared_mime_type: Annotated[
        DeclaredTypes | None, Field(examples=[{"/parts/0": "image/png"}])
    ] = None
    """MIME types claimed by the tool that differ from the bytes, by the JSON pointer of the part in
    the record."""


class SanitizedToolResult(WireModel):
    """A tool result, canonical and small: parts to show, resources they refer to, meta."""

    parts: Annotated[tuple[Part, ...], Field(min_length=1)]
    resources: tuple[ResourceDescriptor, ...]
    meta: ToolResultMeta


@dataclass(frozen=True, slots=True)
class StoredToolResult:
    """A stored record; `sanitized` is its JSON, never serialised again."""

    tool_result_id: str
    session_id: str | None
    seq: int | None
    created_at: datetime
    tool_name: str
    tool_call_id: str
    sanitized: bytes
    answer_number: int = 1
    """The number of this answer among the answers to the same call id in the session."""
    is_apart: bool | None = None
    """See `StoredMessage.is_apart`."""


@dataclass(frozen=True, slots=True)
class PersistedPart:
    """A part with its stored resources and the claims of the tool.

    `claimed_mime_type` is set only if it differs from the type of the bytes. `extracted` is true
    for media taken out of a structure (see `NormalizedMediaPart`).
    """

    part: Part
    resources: tuple[Resource, ...] = ()
    claimed_mime_type: str | None = None
    extracted: bool = False


@dataclass(frozen=True, slots=True)
class PersistedToolResult:
    """A tool result whose media are all in the blob store.

    `meta_resources` are the resources of `structured_content`, `display`, `meta` and `envelope`, in
    order of first use. `structured_content` is a tuple with the value, which may be null, or
    `None`.
    """

    parts: tuple[PersistedPart, ...]
    meta_resources: tuple[Resource, ...] = ()
    is_error: bool | None = None
    structured_content: tuple[Any] | None = None
    display: Any = None
    meta: JsonObject | None = None
    envelope: JsonObject | None = None
    warnings: tuple[BodyWarning, ...] = ()

    @property
    def resources(self) -> list[Resource]:
        """All resources of the result, without duplicates, in order of first use."""
        distinct: dict[str, Resource] = {}
        of_parts = chain.from_iterable(part.resources for part in self.parts)
        for resource in chain(of_parts, self.meta_resources):
            distinct.setdefault(resource.resource_id, resource)
        return list(distinct.values())
