"""What a rendering is asked for, and the JSON text that it is.

Nothing here needs the schema library: a proxy whose results a service renders loads it, too.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal, TypeAlias

from typing_extensions import TypeAliasType

if TYPE_CHECKING:
    from pagefault_dialects.model.frontier import Frontier

MediaWish = TypeAliasType("MediaWish", Literal["inline", "signed-url", "reference"])
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
    """How a record is to be rendered."""

    accept: tuple[str, ...] | None = None
    """MIME types and ranges (`image/*`) that the model can take; `None` for all that the target
    can."""
    media: MediaWish = "inline"
    """The bytes themselves, signed URLs to them, or `@blob:` references."""
    detail: ImageDetail | None = None
    """How closely a model is to look at images; `None` is the target's default."""
    max_bytes: int | None = None
    """The most bytes of media, as they stand in the messages: base64 is counted."""
    max_images: int | None = None
    """The most images."""
    audience: Audience = "assistant"
    """Whom the messages are for."""
    protocol_version: McpRevision = "2026-07-28"
    """The revision of MCP that the messages are for."""
    handles: bool = False
    """Whether a line behind each stored medium names it for the next call."""
    memory: tuple[MemoryPart, ...] = ()
    """Of a session: what a message of the system says of its memory, before all others."""
    memory_tokens: int = 1_000
    """About how many tokens the list of pages in it may cost."""
    max_tokens: int | None = None
    """The most tokens; what is old gives way to smaller levels of itself."""
    evict_batch: int | None = None
    """How many more than needed go at once; `None` for a quarter of the limit."""
    frontier: "str | Frontier | None" = None
    """How far the history has been evicted before: the name of what is stored of that, or that
    itself."""
    cache_markers: bool = False
    """Whether the messages say, where a target takes such marks, what its provider is to cache."""
    adaptive: bool = True
    """Whether what was recalled again and again gives way last."""
    max_text: int | None = None
    """The most characters of a text in the answer to a call that is shown whole."""
    max_image_pixels: int | None = None
    """The most pixels of the longer side of an image."""
    count_tokens: bool = True
    """Whether the answer says what the messages cost, for which a vocabulary is kept in memory."""
    model: str | None = None
    """The model that the messages are for, if it is known; what others thought is left out."""

    @property
    def is_local(self) -> bool:
        """Whether no message depends on others, but for media and answers, nor on the time."""
        is_evicted = self.max_tokens is not None or self.frontier is not None
        is_bound = bool(self.memory) or self.max_text is not None
        return not is_evicted and not is_bound and self.media != "signed-url"


@dataclass(frozen=True, slots=True)
class MediaPiece:
    """The base64 of a stored file, in the middle of a JSON text.

    Standard base64 with padding, unless `is_urlsafe` or not `is_padded`.
    """

    digest: str
    size_bytes: int
    is_urlsafe: bool = False
    is_padded: bool = True

    @property
    def sent_bytes(self) -> int:
        """How long the base64 is."""
        if self.is_padded:
            return base64_length(self.size_bytes)
        return (self.size_bytes * 4 + 2) // 3

    @property
    def stands_for(self) -> bytes:
        """Return bytes that no piece with other characters has."""
        spelling = ("-url" if self.is_urlsafe else "") + ("" if self.is_padded else "-bare")
        return (self.digest + spelling).encode()


@dataclass(frozen=True, slots=True)
class StoredTextPiece:
    """The characters of a stored text inside a JSON string; escaped, they take `sent_bytes`.

    With `is_verbatim` the text is UTF-8 whatever it begins with, and a mark at its beginning is
    one of its characters.
    """

    digest: str
    size_bytes: int
    sent_bytes: int
    is_verbatim: bool = False

    @property
    def stands_for(self) -> bytes:
        """Return bytes that no piece with other characters has."""
        return f"{self.digest}-text".encode()


JsonPiece: TypeAlias = bytes | MediaPiece | StoredTextPiece


@dataclass(frozen=True, slots=True)
class Rendering:
    """An answer that is ready to be sent: JSON text, with places for stored media.

    `digest` is 64 hex digits that stand for the bytes it will be; `None` where nobody keeps them.
    """

    pieces: Sequence[JsonPiece]
    digest: str | None = None

    @property
    def size_bytes(self) -> int:
        """How long the whole text is."""
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
    """Return pieces with the digest that stands for them, for which no medium is read."""
    stands_for = hashlib.sha256()
    for piece in pieces:
        text = piece if isinstance(piece, bytes) else piece.stands_for
        stands_for.update(b"%d:" % len(text))
        stands_for.update(text)
    return Rendering(pieces, stands_for.hexdigest())


def base64_length(size_bytes: int) -> int:
    """Return how many characters so many bytes are in base64, with padding."""
    return (size_bytes + 2) // 3 * 4
