"""Resources: immutable descriptors of stored bytes, their damage, and recipes of smaller images."""

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

# Part of the key of every derived image. If it changes, all images are derived again.
_VERSION = "v1"


@dataclass(frozen=True, slots=True)
class MediaHints:
    """The width and height in pixels and the playing time of a medium, as far as known."""

    width: int | None = None
    height: int | None = None
    duration_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Resource:
    """The descriptor of a stored blob with its type and name."""

    resource_id: str
    """32 hex digits, derived from all that identifies the resource. A file that is stored again is
    the same resource."""
    digest: str
    """SHA-256 of the bytes, 64 hex digits."""
    mime_type: str
    filename: str | None
    size_bytes: int
    kind: ResourceKind
    hints: MediaHints
    created_at: datetime
    derived_in: str | None = None
    """The project in which the id was derived, if the session was copied from another project."""

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
    """A reason not to send a medium to a model unchanged."""

    code: DamageCode
    """Stable; the warning of a record has it, and the loss entry of a repaired medium."""
    detail: str
    """A sentence for people and models."""
    is_repairable: bool = False
    """True if the damaged part is not needed for the picture, and can be removed."""
    is_certain: bool = True
    """False if the bytes have no known signature of the declared type, but the format may be
    unknown here. Such a medium is not sent to a model either."""
    hints: MediaHints = MediaHints()
    """Width and height, if repairable. They may have been unknown when the medium was stored."""


LINK_TYPE = "text/uri-list"
"""The type of a file that only holds the address of another file."""


@dataclass(frozen=True, slots=True)
class ImageRecipe:
    """The requirements of a derived image."""

    types: tuple[str, ...]
    """Allowed MIME types, the best first; JPEG, PNG, WebP and GIF can be encoded."""
    max_side: int | None = None
    """The maximum of the longer side in pixels."""
    max_bytes: int | None = None
    """The maximum of the file in bytes, before base64."""
    min_side: int | None = None
    """The minimum of the shorter side in pixels, as far as `max_side` allows."""

    @property
    def key(self) -> str:
        """The recipe as short text, such as `v1;jpeg,png;2000;3750000`."""
        types = ",".join(mime_type.removeprefix("image/") for mime_type in self.types)
        bounds = ["-" if bound is None else bound for bound in (self.max_side, self.max_bytes)]
        # Without `min_side`, the key is the same as before this field existed, so that images that
        # were derived then are still found.
        bounds += [] if self.min_side is None else [self.min_side]
        return ";".join((_VERSION, types, *map(str, bounds)))


@dataclass(frozen=True, slots=True)
class DerivedImage:
    """An image derived from another one."""

    resource: Resource
    """The derived file. It has no name, since several sources may have the same derived file."""
    is_first_picture: bool
    """True if the source is animated or has several pictures, of which this is the first."""
    data: bytes | None = None
    """The file, if it is not stored."""
