"""Resources: immutable descriptors of stored bytes, and what is found about them.

What is wrong with a medium is found from its bytes, and is the same for the same bytes. Smaller
images are made of stored ones by recipes.
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

TIFF is not among them: its decoder writes to the standard error of the process whatever it finds
wrong, and there is no way to stop it.
"""


# Of everything that decides which bytes are made: a change there makes all images anew.
_VERSION = "v1"


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


def parse_resource_id(text: str) -> str | None:
    """Return the id in `blob:<id>`, `@blob:<id>` or a bare id; `None` if it is none of them."""
    match = _URI.match(text)
    return match.group(1) if match else None


def resource_kind(mime_type: str) -> ResourceKind:
    """Return the kind a MIME type stands for: image, audio, video, text, else binary."""
    if mime_type == "application/json":
        return "text"
    return _KIND_OF_FAMILY.get(mime_type.partition("/")[0], "binary")


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


LINK_TYPE = "text/uri-list"
"""Of a file that holds an address in the place of the file that is there."""


@dataclass(frozen=True, slots=True)
class ImageRecipe:
    """What an image has to be like."""

    types: tuple[str, ...]
    """MIME types it may have, the best first; JPEG, PNG, WebP and GIF can be made."""
    most_side: int | None = None
    """The most pixels of its longer side."""
    most_bytes: int | None = None
    """The most bytes of the file; base64 is a third longer."""
    least_side: int | None = None
    """The least pixels of its shorter side, as far as its longer one may have so many."""

    @property
    def key(self) -> str:
        """The recipe as short text, the same for the same recipe: `v1;jpeg,png;2000;3750000`."""
        types = ",".join(mime_type.removeprefix("image/") for mime_type in self.types)
        bounds = ["-" if bound is None else bound for bound in (self.most_side, self.most_bytes)]
        # Images that were made before there was a least size are found under the keys of then.
        bounds += [] if self.least_side is None else [self.least_side]
        return ";".join((_VERSION, types, *map(str, bounds)))


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
