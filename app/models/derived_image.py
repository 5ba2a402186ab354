"""Smaller images made of stored ones: what one has to be like, and what was made."""

from dataclasses import dataclass

from app.models.resource import Resource

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
class ImageRecipe:
    """What an image has to be like.

    Attributes:
        types: MIME types it may have, the best first; JPEG, PNG, WebP and GIF can be made.
        most_side: The most pixels of its longer side.
        most_bytes: The most bytes of the file; base64 is a third longer.
    """

    types: tuple[str, ...]
    most_side: int | None = None
    most_bytes: int | None = None

    @property
    def key(self) -> str:
        """The recipe as short text, the same for the same recipe: `v1;jpeg,png;2000;3750000`."""
        types = ",".join(mime_type.removeprefix("image/") for mime_type in self.types)
        bounds = ("-" if bound is None else bound for bound in (self.most_side, self.most_bytes))
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
