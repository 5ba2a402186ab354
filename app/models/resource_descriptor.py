"""Resources: immutable descriptors of stored bytes, and aliases of resources.

An alias is the id of a file in another system, used as a name of a resource inside a project. It
has no slash, so that it is one segment of a path, and never the form of a resource id or URI, so
that it cannot shadow one.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field
from typing_extensions import TypeAliasType

from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.model.base import WireModel
from pagefault_dialects.model.resource import Resource, ResourceKind

MediaKind = TypeAliasType("MediaKind", Literal["audio", "video", "binary"])
FaultKind: TypeAlias = Literal["missing", "damaged", "wrong-size", "unreadable"]
"""Defects of stored files that `fsck` reports."""

_MEDIA_KIND: dict[ResourceKind, MediaKind] = {"audio": "audio", "video": "video"}


_CHARACTERS = r"!#-.0-\[\]-~"
ALIAS_PATTERN = rf"^(?!\.{{1,2}}$)[{_CHARACTERS}]{{1,256}}$"
"""Visible ASCII without the slash, the backslash and the quotation mark; not `.` and not `..`."""
_MAX_CHARS = 256
MAX_ALIASES = 1_000
"""Maximum number of aliases of a resource; a file that was sent often has many ids."""

_ALIAS_FORM = re.compile(ALIAS_PATTERN.replace("$", r"\Z"))
_FOREIGN = re.compile(f"[^{_CHARACTERS}]")
# Case is ignored, so that a URI in capitals is not taken for an alias either.
_RESOURCE_FORM = re.compile(r"@?blob:|[0-9a-f]{32}\Z", re.IGNORECASE)


class ResourceDescriptor(WireModel):
    """The description of a medium in a record (spec 002, Canonical Types)."""

    uri: Annotated[str, Field(examples=["blob:0c8e6cc1ab1f4d34b4a5a0e21f7d6c15"])]
    kind: ResourceKind
    mime_type: Annotated[str, Field(examples=["video/mp4"])]
    filename: str | None = None
    media_kind: MediaKind | None = None
    size: int
    """Size in bytes."""
    digest: str
    """`sha-256:` and 64 hex digits."""
    width: int | None = None
    """Pixels."""
    height: int | None = None
    """Pixels."""
    duration_seconds: float | None = None


def derive_resource_id(project_id: str, digest: str, mime_type: str, filename: str | None) -> str:
    """Return the id of these bytes under this type and name in this project, 32 hex digits."""
    identity = "\0".join((project_id, digest, mime_type, filename or ""))
    return hashlib.sha256(identity.encode()).hexdigest()[:32]


def media_kind(kind: ResourceKind) -> MediaKind:
    """Return the `mediaKind` of a file part over a resource of this kind."""
    return _MEDIA_KIND.get(kind, "binary")


def descriptor_fields(resource: Resource) -> dict[str, Any]:
    """Return the fields of the descriptor of a stored resource."""
    return {
        "uri": resource.uri,
        "kind": resource.kind,
        "mime_type": resource.mime_type,
        "filename": resource.filename,
        # Spec 002 defines it for files only, and images and texts are parts of their own.
        "media_kind": None if resource.kind in ("image", "text") else media_kind(resource.kind),
        "size": resource.size_bytes,
        "digest": f"sha-256:{resource.digest}",
        "width": resource.hints.width,
        "height": resource.hints.height,
        "duration_seconds": resource.hints.duration_seconds,
    }


def describe(resource: Resource) -> ResourceDescriptor:
    """Return the descriptor of a stored resource."""
    return ResourceDescriptor(**descriptor_fields(resource))


@dataclass(frozen=True, slots=True)
class FittedImage:
    """A copy of an image that fits the limits of a target."""

    data: bytes
    mime_type: str
    is_first_picture: bool
    """True if it is the first picture of an animation."""


@dataclass(frozen=True, slots=True)
class Alias:
    """An alias and its resource; `created_at` is when it began to name this resource."""

    alias: str
    resource: Resource
    created_at: datetime


def is_alias(text: str) -> bool:
    """Return whether a text has the form of an alias."""
    return _ALIAS_FORM.match(text) is not None and _RESOURCE_FORM.match(text) is None


def check_alias(text: str) -> None:
    """Raise if a text cannot be an alias.

    Raises:
        InvalidPayloadError: It has other characters, is too long, or looks like a resource's id.
    """
    if is_alias(text):
        return
    if _ALIAS_FORM.match(text):
        detail = (
            "An alias cannot have the form of a resource's id (32 hex digits) or URI (`blob:…`): "
            "it would shadow one. Put something in front of it, as in `doc-…`."
        )
    else:
        detail = (
            f"An alias has 1 to {_MAX_CHARS} visible ASCII characters, none of them `/`, `\\` or "
            f'`"`; {_describe_defect(text)}. In a path or a query it is percent-encoded.'
        )
    raise InvalidPayloadError(f"{detail} Nothing was stored.", code="invalid-alias")


def _describe_defect(text: str) -> str:
    if foreign := _FOREIGN.search(text):
        return f"character {foreign.start() + 1} of this one is U+{ord(foreign[0]):04X}"
    if text in (".", ".."):
        return f"`{text}` is a step in a path, and clients remove it from a URL"
    return f"this one has {len(text)}"
