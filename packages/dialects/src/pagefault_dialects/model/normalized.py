"""The result of normalization: typed parts, and the media found in them as handles.

A text may hold media that are not stored yet. Their place is a `MediaSlot`, an index into
`NormalizedToolResult.media`; persistence replaces it by `@blob:…` when the reference is known.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from pagefault_dialects.json.values import MediaSlot, TextTemplate
from pagefault_dialects.model.media import MediaSource

ClaimedKind = Literal["image", "audio", "video"]


@dataclass(frozen=True, slots=True)
class Provenance:
    """The members of a part beside its content. JSON values may hold slots as leaves."""

    annotations: dict[str, Any] | None = None
    uri: str | None = None
    name: str | None = None
    meta: dict[str, Any] | None = None


NO_PROVENANCE = Provenance()


@dataclass(frozen=True, slots=True)
class NormalizedMedia:
    """A medium that was found, before its bytes were examined.

    `kind` is the claim of the block or the key (`"type": "audio"`); it decides only if neither the
    bytes nor `source.declared_mime_type` name a type. `filename` is the tool's, not sanitized.
    `must_be_stored` is true if a text or a structure refers to the medium. `pointer` is its place,
    a JSON pointer into the tool's `result`, and is no property of the medium.
    """

    source: MediaSource
    kind: ClaimedKind | None = None
    filename: str | None = None
    must_be_stored: bool = False
    pointer: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class NormalizedText:
    """A text part; `mime_type` is the type of the full text, for texts that are moved out."""

    template: TextTemplate
    mime_type: str = "text/plain"
    provenance: Provenance = NO_PROVENANCE


@dataclass(frozen=True, slots=True)
class NormalizedMediaPart:
    """A part that renders `media[slot.index]`.

    `extracted` is true for media found in a structure. Such a part is dropped if another part has
    the same bytes: servers repeat images in structuredContent.
    """

    slot: MediaSlot
    provenance: Provenance = NO_PROVENANCE
    extracted: bool = False


@dataclass(frozen=True, slots=True)
class NormalizedLink:
    """Remote media, kept as the http(s) URL and never fetched."""

    url: str
    kind: Literal["image", "audio", "video", "binary"]
    mime_type: str
    filename: str | None = None
    provenance: Provenance = NO_PROVENANCE


@dataclass(frozen=True, slots=True)
class NormalizedReference:
    """A place where the tool wrote `blob:…` or `@blob:…` itself.

    It is a reference only if that resource belongs to the same project and session. Otherwise it is
    literal text, with a warning at `pointer` if the place was declared to hold media. `is_claimed`
    is false for a text that consists of the reference.
    """

    literal: str
    resource_id: str | None
    pointer: str
    provenance: Provenance = NO_PROVENANCE
    is_claimed: bool = True


NormalizedPart = NormalizedText | NormalizedMediaPart | NormalizedLink | NormalizedReference


@dataclass(frozen=True, slots=True)
class BodyWarning:
    """Something in the body that was not taken as it stands, at a JSON pointer into the body."""

    # Answers have warnings as they are, and pydantic describes them.
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    code: str
    pointer: str
    detail: str


LONE_SURROGATE_DETAIL = (
    "The text holds half of a surrogate pair, which no UTF-8 text can; each stands as U+FFFD."
)
"""The message of a warning `lone-surrogate`."""


def more_warnings(count: int) -> BodyWarning:
    """Return the last warning of a list that was cut."""
    return BodyWarning("more-warnings", "", f"There were {count} more warnings like these.")


@dataclass(frozen=True, slots=True)
class NormalizedToolResult:
    """A tool result as typed parts in display order.

    `is_error` is MCP's `isError` of the result, `None` if absent. `structured_content` is wrapped
    in a one-element tuple, since `null` is a value. `envelope` has the dialect that the result was
    unwrapped from, and its other members. `structured_content`, `display`, `meta` and `envelope`
    are JSON values with `MediaSlot` leaves, and `TextTemplate` leaves for media inside of a longer
    string.
    """

    parts: tuple[NormalizedPart, ...]
    media: tuple[NormalizedMedia, ...] = ()
    is_error: bool | None = None
    structured_content: tuple[Any] | None = None
    display: Any = None
    meta: dict[str, Any] | None = None
    envelope: dict[str, Any] | None = None
    warnings: tuple[BodyWarning, ...] = ()
