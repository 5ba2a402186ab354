"""Resources: immutable descriptors of stored bytes."""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from app.models.base import WireModel

ResourceKind = Literal["image", "audio", "video", "binary", "text"]
MediaKind = Literal["audio", "video", "binary"]

_KIND_OF_FAMILY: dict[str, ResourceKind] = {
    "image": "image",
    "audio": "audio",
    "video": "video",
    "text": "text",
}
_MEDIA_KIND: dict[ResourceKind, MediaKind] = {"audio": "audio", "video": "video"}
_URI = re.compile(r"(?:@?blob:)?([0-9a-f]{32})\Z")


@dataclass(frozen=True, slots=True)
class MediaHints:
    """What a viewer may know before it has the bytes: pixels, and seconds."""

    width: int | None = None
    height: int | None = None
    duration_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Resource:
    """A descriptor as the store keeps it: one blob under one type and one name.

    `resource_id` is 32 hex digits derived from everything that identifies the resource, so the
    same file stored again is the same resource.
    """

    resource_id: str
    digest: str
    """SHA-256 of the bytes, 64 hex digits."""
    mime_type: str
    filename: str | None
    size_bytes: int
    kind: ResourceKind
    hints: MediaHints
    created_at: datetime
    derived_in: str | None = None
    """The project its id was derived in, where it came with a session from another one."""

    @property
    def uri(self) -> str:
        """The resource's URI, `blob:<32 hex>`."""
        return f"blob:{self.resource_id}"

    @property
    def reference(self) -> str:
        """How a part refers to it, `@blob:<32 hex>`."""
        return f"@blob:{self.resource_id}"


class ResourceDescriptor(WireModel):
    """What a record says about a medium it refers to (spec 002, Canonical Types)."""

    uri: Annotated[str, Field(examples=["blob:0c8e6cc1ab1f4d34b4a5a0e21f7d6c15"])]
    kind: ResourceKind
    mime_type: Annotated[str, Field(examples=["video/mp4"])]
    filename: str | None = None
    media_kind: MediaKind | None = None
    size: Annotated[int, Field(description="Size in bytes.")]
    digest: Annotated[str, Field(description="`sha-256:` and 64 hex digits.")]
    width: Annotated[int | None, Field(description="Pixels.")] = None
    height: Annotated[int | None, Field(description="Pixels.")] = None
    duration_seconds: float | None = None


def derive_resource_id(project_id: str, digest: str, mime_type: str, filename: str | None) -> str:
    """The id of these bytes under this type and name in this project, 32 hex digits."""
    identity = "\0".join((project_id, digest, mime_type, filename or ""))
    return hashlib.sha256(identity.encode()).hexdigest()[:32]


def parse_resource_id(text: str) -> str | None:
    """The id in `blob:<id>`, `@blob:<id>` or a bare id; `None` if it is none of them."""
    match = _URI.match(text)
    return match.group(1) if match else None


def resource_kind(mime_type: str) -> ResourceKind:
    """The kind a MIME type stands for: image, audio, video, text, else binary."""
    if mime_type == "application/json":
        return "text"
    return _KIND_OF_FAMILY.get(mime_type.partition("/")[0], "binary")


def media_kind(kind: ResourceKind) -> MediaKind:
    """The `mediaKind` of a file part over a resource of this kind."""
    return _MEDIA_KIND.get(kind, "binary")


def shown_media_kind(kind: ResourceKind) -> MediaKind | None:
    """The `mediaKind` of a descriptor; images and text carry none."""
    return None if kind in ("image", "text") else media_kind(kind)


def descriptor_fields(resource: Resource) -> dict[str, Any]:
    """Return the fields of the descriptor of a stored resource."""
    return {
        "uri": resource.uri,
        "kind": resource.kind,
        "mime_type": resource.mime_type,
        "filename": resource.filename,
        "media_kind": shown_media_kind(resource.kind),
        "size": resource.size_bytes,
        "digest": f"sha-256:{resource.digest}",
        "width": resource.hints.width,
        "height": resource.hints.height,
        "duration_seconds": resource.hints.duration_seconds,
    }


def describe(resource: Resource) -> ResourceDescriptor:
    """Return the descriptor of a stored resource."""
    return ResourceDescriptor(**descriptor_fields(resource))
