"""Resources: immutable descriptors of stored bytes, and what belongs to them.

What is wrong with a medium is found from its bytes, and is the same for the same bytes. Smaller
images are made of stored ones by recipes. Aliases are ids that other systems have for files, as
names of resources inside a project: an alias has no slash, so that it is one segment of a path, and
never the form of a resource's id or URI, so that it cannot stand in for one.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field
from typing_extensions import TypeAliasType

from app.errors import InvalidPayloadError
from app.models.base import WireModel

ResourceKind = TypeAliasType("ResourceKind", Literal["image", "audio", "video", "binary", "text"])
MediaKind = TypeAliasType("MediaKind", Literal["audio", "video", "binary"])
DamageCode = Literal["damaged-media", "encrypted-media", "expired-link"]
FaultKind: TypeAlias = Literal["missing", "damaged", "wrong-size", "unreadable"]
"""What can be wrong with a stored file."""

_KINDS: tuple[ResourceKind, ...] = ("image", "audio", "video", "text")
_KIND_OF_FAMILY: dict[str, ResourceKind] = {kind: kind for kind in _KINDS}
_MEDIA_KIND: dict[ResourceKind, MediaKind] = {"audio": "audio", "video": "video"}
_URI = re.compile(r"(?:@?blob:)?([0-9a-f]{32})\Z")

DECODED_TYPES = frozenset(
    {"image/avif", "image/bmp", "image/gif", "image/jpeg", "image/png", "image/webp"}
)
"""The types of images whose pixels are decoded.

TIFF is not among them: its decoder writes to the standard error of the process whatever it finds
wrong, and there is no way to stop it.
"""

# Of everything that decides which bytes are made: a change there makes all images anew.
_VERSION = "v1"

_CHARACTERS = r"!#-.0-\[\]-~"
ALIAS_PATTERN = rf"^(?!\.{{1,2}}$)[{_CHARACTERS}]{{1,256}}$"
"""Visible ASCII without the slash, the backslash and the quotation mark; not `.` and not `..`."""
_MOST_CHARS = 256
MOST_ALIASES = 1_000
"""How many aliases one resource may have: a file that came often has as many ids elsewhere."""

_FORM = re.compile(ALIAS_PATTERN.replace("$", r"\Z"))
_FOREIGN = re.compile(f"[^{_CHARACTERS}]")
# In any case of letters: a URI that was changed on its way is no alias either.
_OF_RESOURCE = re.compile(r"@?blob:|[0-9a-f]{32}\Z", re.IGNORECASE)


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


def parse_resource_id(text: str) -> str | None:
    """Return the id in `blob:<id>`, `@blob:<id>` or a bare id; `None` if it is none of them."""
    match = _URI.match(text)
    return match.group(1) if match else None


def resource_kind(mime_type: str) -> ResourceKind:
    """Return the kind a MIME type stands for: image, audio, video, text, else binary."""
    if mime_type == "application/json":
        return "text"
    return _KIND_OF_FAMILY.get(mime_type.partition("/")[0], "binary")


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
        # Images and text carry none.
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
class Damage:
    """Why a medium must not be handed to a model as it is."""

    code: DamageCode
    """Stable; a warning of a record and, for what is shown repaired, a loss carry it."""
    detail: str
    """For people and models: a sentence."""
    is_repairable: bool = False
    """Whether the picture itself is whole, and only what is said beside it is not."""
    is_certain: bool = True
    """Whether the bytes say so; nobody here knows how every kind of sound begins, and such a medium
    is not handed to a model either."""
    hints: MediaHints = MediaHints()
    """Its pixels, where it is repairable: they may have been unknown when it was stored."""


@dataclass(frozen=True, slots=True)
class ImageRecipe:
    """What an image has to be like."""

    types: tuple[str, ...]
    """MIME types it may have, the best first; JPEG, PNG, WebP and GIF can be made."""
    most_side: int | None = None
    """The most pixels of its longer side."""
    most_bytes: int | None = None
    """The most bytes of the file; base64 is a third longer."""

    @property
    def key(self) -> str:
        """The recipe as short text, the same for the same recipe: `v1;jpeg,png;2000;3750000`."""
        types = ",".join(mime_type.removeprefix("image/") for mime_type in self.types)
        bounds = ("-" if bound is None else bound for bound in (self.most_side, self.most_bytes))
        return ";".join((_VERSION, types, *map(str, bounds)))


@dataclass(frozen=True, slots=True)
class FittedImage:
    """An image that fits a recipe; see `DerivedImage.is_first_picture`."""

    data: bytes
    mime_type: str
    is_first_picture: bool


@dataclass(frozen=True, slots=True)
class DerivedImage:
    """An image made of another one.

    `resource` describes the file that was made; its hints hold its pixels, and it has no name: the
    same file may be made for many sources. `is_first_picture` says that the other one moves, or has
    several pictures, and that this is the first of them. `data` is the file where it is not stored.
    """

    resource: Resource
    is_first_picture: bool
    data: bytes | None = None


@dataclass(frozen=True, slots=True)
class Alias:
    """An alias, the resource it names, and since when it names that one."""

    alias: str
    resource: Resource
    created_at: datetime


def is_alias(text: str) -> bool:
    """Say whether a text has the form of an alias; nothing else has to be looked up."""
    return _FORM.match(text) is not None and _OF_RESOURCE.match(text) is None


def check_alias(text: str) -> None:
    """Refuse a text that cannot be an alias.

    Raises:
        InvalidPayloadError: It has other characters, is too long, or looks like a resource's id.
    """
    if is_alias(text):
        return
    if _FORM.match(text):
        detail = (
            "An alias cannot have the form of a resource's id (32 hex digits) or URI (`blob:…`): "
            "it would shadow one. Put something in front of it, as in `doc-…`."
        )
    else:
        detail = (
            f"An alias has 1 to {_MOST_CHARS} visible ASCII characters, none of them `/`, `\\` or "
            f'`"`; {_what_is_wrong(text)}. In a path or a query it is percent-encoded.'
        )
    raise InvalidPayloadError(f"{detail} Nothing was stored.", code="invalid-alias")


def _what_is_wrong(text: str) -> str:
    if foreign := _FOREIGN.search(text):
        return f"character {foreign.start() + 1} of this one is U+{ord(foreign[0]):04X}"
    if text in (".", ".."):
        return f"`{text}` is a step in a path, which is taken out of it on the way"
    return f"this one has {len(text)}"
