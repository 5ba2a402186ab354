"""What normalization hands on: typed parts, and the media found in them as handles.

A text may hold media that are not stored yet. Their place is a `MediaSlot`, an index into
`NormalizedToolResult.media`; persistence puts `@blob:…` there once it knows the reference.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from pagefault_dialects.json.values import MediaSlot, TextTemplate
from pagefault_dialects.model.media import MediaSource

ClaimedKind = Literal["image", "audio", "video"]


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a part carries beside its content. JSON values may hold slots as leaves."""

    annotations: dict[str, Any] | None = None
    uri: str | None = None
    name: str | None = None
    meta: dict[str, Any] | None = None


NO_PROVENANCE = Provenance()


@dataclass(frozen=True, slots=True)
class NormalizedMedia:
    """A medium that was found, before anyone looked at its bytes closely.

    `kind` is what the block or the key claimed (`"type": "audio"`) and helps only where neither
    bytes nor `source.declared_mime_type` name a type. `filename` is the tool's, not yet safe.
    `must_be_stored` is true where a text or a structure refers to the medium. `pointer` is where it
    was found, as a JSON pointer into the tool's `result`; it tells nothing of the medium.
    """

    source: MediaSource
    kind: ClaimedKind | None = None
    filename: str | None = None
    must_be_stored: bool = False
    pointer: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class NormalizedText:
    """A text part; `mime_type` is the type of the full text, should it be too long to stay."""

    template: TextTemplate
    mime_type: str = "text/plain"
    provenance: Provenance = NO_PROVENANCE


@dataclass(frozen=True, slots=True)
class NormalizedMediaPart:
    """A part that shows `media[slot.index]`.

    `extracted` is true for media lifted out of a structure: such a part is left out again when
    another part shows the same bytes, as servers do that repeat an image in structuredContent.
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

    It is a reference only if that resource belongs to the same project and session; otherwise it
    is the literal text, with a warning at `pointer` if the place was claimed to hold media.
    `is_claimed` is false for a text that is a reference and nothing else.
    """

    literal: str
    resource_id: str | None
    pointer: str
    provenance: Provenance = NO_PROVENANCE
    is_claimed: bool = True


NormalizedPart = NormalizedText | NormalizedMediaPart | NormalizedLink | NormalizedReference


@dataclass(frozen=True, slots=True)
class Warning:
    """Something that could not be taken as the tool meant it.

    `pointer` is a JSON pointer into the tool's `result`; `code` is stable.
    """

    code: str
    pointer: str
    detail: str


LONE_SURROGATE_DETAIL = (
    "The text holds half of a surrogate pair, which no UTF-8 text can; each stands as U+FFFD."
)
"""The words of a warning `lone-surrogate`."""


def more_warnings(count: int) -> Warning:
    """Return what closes a list of warnings that are not all told."""
    return Warning("more-warnings", "", f"There were {count} more warnings like these.")


@dataclass(frozen=True, slots=True)
class NormalizedToolResult:
    """A tool result as typed parts in display order.

    `is_error` is what the result itself says (MCP `isError`), `None` if it says nothing.
    `structured_content` is wrapped in a one-element tuple, since `null` is a value it may have.
    `envelope` has the dialect that was opened around the result, and what else stood there.
    `structured_content`, `display`, `meta` and `envelope` are JSON values with `MediaSlot` leaves,
    and with `TextTemplate` leaves where media stood inside a longer string.
    """

    parts: tuple[NormalizedPart, ...]
    media: tuple[NormalizedMedia, ...] = ()
    is_error: bool | None = None
    structured_content: tuple[Any] | None = None
    display: Any = None
    meta: dict[str, Any] | None = None
    envelope: dict[str, Any] | None = None
    warnings: tuple[Warning, ...] = ()
