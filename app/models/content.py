"""Parts: what a tool result is made of (spec 002, Canonical Types).

There are no audio or video parts: `FilePart.mediaKind` says `audio`, `video` or `binary`.
"""

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from app.models.base import WireModel
from app.models.resource import MediaKind

_BESIDE = ("annotations", "uri", "name", "_meta")


class PartBase(WireModel):
    """What every part may carry beside its content, absent when empty."""

    annotations: Annotated[
        dict[str, Any] | None, Field(description="MCP annotations (audience, priority), kept.")
    ] = None
    uri: Annotated[str | None, Field(description="Where the tool says the part is from.")] = None
    name: str | None = None
    meta: Annotated[dict[str, Any] | None, Field(alias="_meta")] = None

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
