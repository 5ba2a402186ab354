"""Resources: immutable descriptors of stored bytes, their damage, and recipes of smaller images.

Damage is determined by the bytes alone.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from typing_extensions import TypeAliasType

ResourceKind = TypeAliasType("ResourceKind", Literal["image", "audio", "video", "binary", "text"])


DamageCode = Literal["damaged-media", "encrypted-media", "expired-link"]


_KINDS: tuple[ResourceKind, ...] = ("image", "audio", "video", "text")


_KIND_OF_FAMILY: dict[str, ResourceKind] = {kind: kind for kind in _KINDS}


_URI = re.compile(r"(?:@?blob:)?([0-9a-f]{32})\Z")


DECODED_TYPES = frozenset(
    {"image/avif", "image/bmp", "image/gif", "image/jpeg", "image/png", "image/webp"}
)
"""The types of images whose pixels are decoded.

TIFF is not among them: its decoder writes every error to the standard error of the process, which
cannot be switched off.
"""


# Part of the key of every derived image: changing it derives all images again.
_VERSION = "v1"


@dataclass(frozen=True, slots=True)
class MediaHints:
    """Pixels and seconds, known before the bytes are read."""

    width: int | None = None
    height: int | None = None
    duration_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Resource:
    """A stored descriptor: one blob under one type and one name.

    `resource_id` is 32 hex digits derived from everything that identifies the resource, so the same
    file stored again is the same resource.
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
    """The project that its id was derived in, if its session was copied from another one."""

    @property
    def uri(self) -> str:
        """The resource's URI, `blob:<32 hex>`."""
        return f"blob:{self.resource_id}"

    @property
    def reference(self) -> str:
        """The reference in parts, `@blob:<32 hex>`."""
        return f"@blob:{self.resource_id}"


def parse_resource_id(text: str) -> str | None:
    """Return the id in `blob:<id>`, `@blob:<id>` or a bare id; `None` for other texts."""
    match = _URI.match(text)
    return match.group(1) if match else None


def resource_kind(mime_type: str) -> ResourceKind:
    """Return the kind of a MIME type: image, audio, video, text, else binary."""
    if mime_type == "application/json":
        return "text"
    return _KIND_OF_FAMILY.get(mime_type.partition("/")[0], "binary")


@dataclass(frozen=True, slots=True)
class Damage:
    """A reason not to send a medium to a model as it is."""

    code: DamageCode
    """Stable; the warning of a record has it, and the loss entry of a repaired medium."""
    detail: str
    """A sentence for people and models."""
    is_repairable: bool = False
    """True if the picture itself is whole, and only a part beside it is damaged."""
    is_certain: bool = True
    """False if the type is suspicious, but the bytes prove nothing. Not every format of sound is
    known here; such a medium is not sent to a model either."""
    hints: MediaHints = MediaHints()
    """Its pixels, if repairable: they may have been unknown when it was stored."""


LINK_TYPE = "text/uri-list"
"""The type of a file that only holds the address of another file."""


@dataclass(frozen=True, slots=True)
class ImageRecipe:
    """The requirements of a derived image."""

    types: tuple[str, ...]
    """Allowed MIME types, the best first; JPEG, PNG, WebP and GIF can be encoded."""
    max_side: int | None = None
    """The most pixels of its longer side."""
    max_bytes: int | None = None
    """The most bytes of the file, before base64."""
    min_side: int | None = None
    """The least pixels of its shorter side, as far as `max_side` allows."""

    @property
    def key(self) -> str:
        """The recipe as short text, such as `v1;jpeg,png;2000;3750000`."""
        types = ",".join(mime_type.removeprefix("image/") for mime_type in self.types)
        bounds = ["-" if bound is None else bound for bound in (self.max_side, self.max_bytes)]
        # Omitted if absent: images were derived under such keys before the field existed.
        bounds += [] if self.min_side is None else [self.min_side]
        return ";".join((_VERSION, types, *map(str, bounds)))


@dataclass(frozen=True, slots=True)
class DerivedImage:
    """An image derived from another one.

    `resource` describes the derived file; its hints hold the pixels, and it has no name, since
    several sources may have the same derived file. `is_first_picture` is true if the source is
    animated or has several pictures, of which this is the first. `data` is the file if it is not
    stored.
    """

    resource: Resource
    is_first_picture: bool
    data: bytes | None = None
