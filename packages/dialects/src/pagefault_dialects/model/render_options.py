"""Render options, and the JSON text of a rendering.

This module does not import pydantic, since the proxy loads it.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal, TypeAlias

from typing_extensions import TypeAliasType

if TYPE_CHECKING:
    from pagefault_dialects.model.frontier import Frontier

MediaDelivery = TypeAliasType("MediaDelivery", Literal["inline", "signed-url", "reference"])
ImageDetail = TypeAliasType("ImageDetail", Literal["low", "high", "auto", "original"])
Audience = TypeAliasType("Audience", Literal["assistant", "user", "everyone"])
MemoryPart = TypeAliasType("MemoryPart", Literal["instructions", "manifest"])
McpRevision = TypeAliasType(
    "McpRevision",
    Literal["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"],
)

Rung: TypeAlias = Literal[
    "original", "smaller", "larger", "repaired", "caption", "transcript", "text", "placeholder"
]
"""The rungs of the ladder that a medium goes down, one at a time."""


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """The options of a rendering."""

    accept: tuple[str, ...] | None = None
    """MIME types and ranges (`image/*`) that the model accepts; `None` for all that the target
    accepts."""
    media: MediaDelivery = "inline"
    """The bytes themselves, signed URLs to them, or `@blob:` references."""
    detail: ImageDetail | None = None
    """The resolution at which a model looks at images; `None` for the target's default."""
    max_bytes: int | None = None
    """The most bytes of media in the messages, as base64."""
    max_images: int | None = None
    """The most images."""
    audience: Audience = "assistant"
    """The audience of the messages."""
    protocol_version: McpRevision = "2026-07-28"
    """The revision of MCP of the messages."""
    handles: bool = False
    """Add a line behind each stored medium with its handle for the next call."""
    memory: tuple[MemoryPart, ...] = ()
    """The parts of a session's memory in the system message that precedes all others."""
    memory_tokens: int = 1_000
    """The approximate budget in tokens of the list of pages in that message."""
    max_tokens: int | None = None
    """The most tokens of the history; old entries are evicted to smaller levels."""
    evict_batch: int | None = None
    """The tokens to evict at once beyond the limit; `None` for a quarter of it."""
    frontier: "str | Frontier | None" = None
    """The eviction that earlier renderings reached: the name of a stored frontier, or the
    frontier."""
    cache_markers: bool = False
    """Add the target's cache marks to the messages."""
    adaptive: bool = True
    """Evict entries that were recalled repeatedly last."""
    max_text: int | None = None
    """The most characters of an unabridged text in the answer to a call."""
    max_image_pixels: int | None = None
    """The most pixels of the longer side of an image."""
    count_tokens: bool = True
    """Return the number of tokens of the messages, which loads a vocabulary into memory."""
    model: str | None = None
    """The model of the request, if known; thoughts of other models are omitted."""

    @property
    def is_local(self) -> bool:
        """Return whether each message depends on its own entry alone, and not on the time.

        Media and answers apart.
        """
        is_evicted = self.max_tokens is not None or self.frontier is not None
        is_bound = bool(self.memory) or self.max_text is not None
        return not is_evicted and not is_bound and self.media != "signed-url"


@dataclass(frozen=True, slots=True)
class MediaPiece:
    """The base64 of a stored file, in the middle of a JSON text.

    It is standard base64 with padding, unless `is_urlsafe` or not `is_padded`.
    """

    digest: str
    size_bytes: int
    is_urlsafe: bool = False
    is_padded: bool = True

    @property
    def sent_bytes(self) -> int:
        """The length of the base64."""
        if self.is_padded:
            return base64_length(self.size_bytes)
        return (self.size_bytes * 4 + 2) // 3

    @property
    def fingerprint(self) -> bytes:
        """Bytes that differ for every piece with other characters."""
        spelling = ("-url" if self.is_urlsafe else "") + ("" if self.is_padded else "-bare")
        return (self.digest + spelling).encode()


@dataclass(frozen=True, slots=True)
class StoredTextPiece:
    """The characters of a stored text inside a JSON string, which take `sent_bytes` when escaped.

    With `is_verbatim` the text is UTF-8 whatever its first bytes are, and a leading byte order mark
    is one of its characters.
    """

    digest: str
    size_bytes: int
    sent_bytes: int
    is_verbatim: bool = False

    @property
    def fingerprint(self) -> bytes:
        """Bytes that differ for every piece with other characters."""
        return f"{self.digest}-text".encode()


JsonPiece: TypeAlias = bytes | MediaPiece | StoredTextPiece


@dataclass(frozen=True, slots=True)
class Rendering:
    """An answer that is ready to be sent: JSON text, with places for stored media.

    `digest` is 64 hex digits that identify its bytes; `None` for renderings that are not cached.
    """

    pieces: Sequence[JsonPiece]
    digest: str | None = None

    @property
    def size_bytes(self) -> int:
        """The length of the whole text."""
        return sum(
            len(piece) if isinstance(piece, bytes) else piece.sent_bytes for piece in self.pieces
        )


def joined_pieces(pieces: Sequence[JsonPiece]) -> list[JsonPiece]:
    """Return the same text with neighbouring pieces of bytes joined."""
    joined: list[JsonPiece] = []
    for is_text, group in groupby(pieces, lambda piece: isinstance(piece, bytes)):
        if is_text:
            joined.append(b"".join(piece for piece in group if isinstance(piece, bytes)))
        else:
            joined += group
    return joined


def rendering_of(pieces: Sequence[JsonPiece]) -> Rendering:
    """Return pieces with a digest that identifies their bytes, without reading any medium."""
    digest = hashlib.sha256()
    for piece in pieces:
        text = piece if isinstance(piece, bytes) else piece.fingerprint
        digest.update(b"%d:" % len(text))
        digest.update(text)
    return Rendering(pieces, digest.hexdigest())


def base64_length(size_bytes: int) -> int:
    """Return the length of `size_bytes` bytes as padded base64."""
    return (size_bytes + 2) // 3 * 4
