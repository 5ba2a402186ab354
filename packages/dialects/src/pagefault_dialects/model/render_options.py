"""Render options, and the JSON text of a rendering.

This module does not import pydantic, since the proxy loads it.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias, get_args

from typing_extensions import Doc, TypeAliasType

from pagefault_dialects.json.numbers import LARGEST_COUNT

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
"""The rungs of the media ladder: the forms of a medium that a rendering tries in turn."""


class Range(NamedTuple):
    """The range of a number, or of the length of a text, as metadata of a type.

    Pydantic applies it by the method below, so that this module need not import pydantic.
    """

    least: int
    most: int

    def __get_pydantic_core_schema__(
        self, source: object, handler: Callable[[object], dict[str, Any]]
    ) -> dict[str, Any]:
        """Add the range to the schema of the number or text, which may be optional."""
        schema = handler(source)
        inner = schema.get("schema", schema)
        names = ("min_length", "max_length") if inner["type"] == "str" else ("ge", "le")
        inner.update(zip(names, self, strict=True))
        return schema


_COUNT = Range(0, LARGEST_COUNT)

Handles: TypeAlias = Annotated[
    bool,
    Doc(
        "Add a line behind each stored medium and each long text that names it, such as "
        "`[image @blob:… shot.png]`. A model can repeat the `@blob:` in its next call."
    ),
]
MaxTokens: TypeAlias = Annotated[
    int | None,
    _COUNT,
    Doc(
        "The most tokens. Older entries are evicted first, to smaller levels. `loss` lists them, "
        "and how to restore each."
    ),
]
MaxText: TypeAlias = Annotated[
    int | None,
    Range(500, 1_000_000),
    Doc(
        "The most characters of a text in a tool's answer that is not cut. By default 8,000. In a "
        "longer one, a line between its beginning and its end says how to read the rest. Pages, "
        "which have levels, are not cut, nor, in a session, the answers of `read_text`."
    ),
]
MaxImagePixels: TypeAlias = Annotated[
    int | None,
    Range(16, 65_535),
    Doc(
        "The most pixels of the longer side of an image. A larger one is made smaller, with an "
        "entry of `loss`."
    ),
]
CountTokens: TypeAlias = Annotated[
    bool,
    Doc(
        "Count the tokens of the messages for `tokensEst`, which is absent otherwise. `maxTokens` "
        "applies in any case."
    ),
]


@dataclass(frozen=True)
class RecordRenderOptions:
    """The options of the rendering of any record, each declared here and nowhere else.

    Bodies, queries, and the command lines of proxy and doctor derive type, range, default and text
    of an option from its field. The classes have no slots, since models inherit from them.
    """

    accept: Annotated[
        tuple[str, ...] | None,
        Doc(
            "MIME types and ranges that the model accepts; other media are reduced. By default "
            "what the target accepts."
        ),
    ] = None
    media: Annotated[
        MediaDelivery,
        Doc(
            "`inline`: the bytes. `signed-url`: URLs, where the target loads any. `reference`: "
            "`@blob:` references, to look at and not to send."
        ),
    ] = "inline"
    detail: Annotated[
        ImageDetail | None,
        Doc("The detail with which a model reads images. By default the target's."),
    ] = None
    max_bytes: Annotated[
        int | None,
        _COUNT,
        Doc("The most bytes of media, as base64; the oldest are reduced first."),
    ] = None
    max_images: Annotated[int | None, _COUNT, Doc("The most images; the newest stay.")] = None
    audience: Annotated[
        Audience,
        Doc(
            "The audience; content that MCP annotations reserve for others is left out. "
            "`everyone` leaves nothing out."
        ),
    ] = "assistant"
    protocol_version: Annotated[
        McpRevision,
        Doc(
            "Of `mcp`: the revision of the protocol. Before 2026-07-28 `structuredContent` is an "
            "object or absent, before 2025-06-18 absent."
        ),
    ] = "2026-07-28"
    handles: Handles = False
    max_tokens: MaxTokens = None
    max_text: MaxText = None
    max_image_pixels: MaxImagePixels = None
    count_tokens: CountTokens = True


@dataclass(frozen=True)
class RenderOptions(RecordRenderOptions):
    """The options of a rendering: those of any record, and those of a session."""

    memory: Annotated[
        tuple[MemoryPart, ...],
        Doc(
            "A message of the system before all others: `instructions`, the rules of the memory's "
            "tools; `manifest`, the session's pages; or both."
        ),
    ] = ()
    memory_tokens: Annotated[int, _COUNT, Doc("The most tokens of the list of pages.")] = 1_000
    frontier: "str | Frontier | None" = None
    """The eviction that earlier renderings reached: the name of a stored frontier, or the frontier.
    A query has only a name, so both sides describe it themselves."""
    evict_batch: Annotated[
        int | None,
        _COUNT,
        Doc(
            "With a frontier: how many tokens below `maxTokens` a history is evicted to, so that "
            "the next turns only append. A quarter of the limit by default."
        ),
    ] = None
    cache_markers: Annotated[
        bool,
        Doc(
            "Mark the last message for `anthropic` (`cache_control`) and `bedrock` (`cachePoint`), "
            "and, with a frontier, the last one that was sent before. Marks do not count in "
            "`prefixHash`."
        ),
    ] = False
    adaptive: Annotated[
        bool,
        Doc(
            "Evict last what a model requested repeatedly (`page_fault`, `view_media`, "
            "`read_text`): the answers to the third call for the same thing, and to later ones."
        ),
    ] = True
    model: Annotated[
        str | None,
        Range(1, 256),
        Doc(
            "Of a session: the model of the request. Thoughts of other models are left out, with "
            "an entry of `loss`. By default the model of the newest history that was put."
        ),
    ] = None

    @property
    def is_local(self) -> bool:
        """Return whether a message of the rendering depends only on its own entry.

        Limits on media, and calls whose results are in other entries, are not considered.
        """
        is_evicted = self.max_tokens is not None or self.frontier is not None
        depends_on_session = bool(self.memory) or self.max_text is not None
        return not is_evicted and not depends_on_session and self.media != "signed-url"


def describe_option(name: str) -> tuple[Range, str]:
    """Return the range and the description of an option that is a number."""
    option_type = next(field.type for field in fields(RenderOptions) if field.name == name)
    _, limits, text = get_args(option_type)
    return limits, text.documentation


def find_changed_options(options: RecordRenderOptions) -> dict[str, Any]:
    """Return the options that differ from their defaults, by their names."""
    values = (
        (field.name, getattr(options, field.name), field.default) for field in fields(options)
    )
    return {name: value for name, value, default in values if value != default}


@dataclass(frozen=True, slots=True)
class MediaPiece:
    """A stored file whose base64 is a part of a JSON text."""

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
        """Bytes that identify the characters of the piece."""
        spelling = ("-url" if self.is_urlsafe else "") + ("" if self.is_padded else "-bare")
        return (self.digest + spelling).encode()


@dataclass(frozen=True, slots=True)
class StoredTextPiece:
    """A stored text whose characters are a part of a JSON string."""

    digest: str
    size_bytes: int
    sent_bytes: int
    """The length of the escaped characters in UTF-8."""
    is_verbatim: bool = False
    """True for UTF-8 in which a byte order mark is a character, and no sign of the encoding."""

    @property
    def fingerprint(self) -> bytes:
        """Bytes that identify the characters of the piece."""
        return f"{self.digest}-text".encode()


JsonPiece: TypeAlias = bytes | MediaPiece | StoredTextPiece


@dataclass(frozen=True, slots=True)
class Rendering:
    """The JSON text of a response, whose stored media are read while it is sent."""

    pieces: Sequence[JsonPiece]
    digest: str | None = None
    """64 hex digits that identify the text; `None` for renderings that are not cached."""

    @property
    def size_bytes(self) -> int:
        """The length of the whole text."""
        return sum(
            len(piece) if isinstance(piece, bytes) else piece.sent_bytes for piece in self.pieces
        )


def joined_pieces(pieces: Sequence[JsonPiece]) -> list[JsonPiece]:
    """Return the same text, with neighbouring pieces that are bytes joined."""
    joined: list[JsonPiece] = []
    for is_text, group in groupby(pieces, lambda piece: isinstance(piece, bytes)):
        if is_text:
            joined.append(b"".join(piece for piece in group if isinstance(piece, bytes)))
        else:
            joined += group
    return joined


def rendering_of(pieces: Sequence[JsonPiece]) -> Rendering:
    """Return a rendering of pieces, with a digest of their characters; media are not read."""
    digest = hashlib.sha256()
    for piece in pieces:
        text = piece if isinstance(piece, bytes) else piece.fingerprint
        digest.update(b"%d:" % len(text))
        digest.update(text)
    return Rendering(pieces, digest.hexdigest())


def base64_length(size_bytes: int) -> int:
    """Return the length of `size_bytes` bytes as padded base64."""
    return (size_bytes + 2) // 3 * 4
