"""The result of normalization: typed parts, and the media that were found in them.

Media are not stored yet. A part, a text or a JSON value has a `MediaSlot` for each medium, which is
an index into `NormalizedToolResult.media`. Persistence stores the medium, and replaces its slot by
the reference `@blob:…`.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from pagefault_dialects.json.values import MediaSlot, TextTemplate
from pagefault_dialects.model.media import MediaSource

DeclaredKind = Literal["image", "audio", "video"]


@dataclass(frozen=True, slots=True)
class Provenance:
    """The members of a part beside its content; values in them may be slots."""

    annotations: dict[str, Any] | None = None
    uri: str | None = None
    name: str | None = None
    meta: dict[str, Any] | None = None


NO_PROVENANCE = Provenance()


@dataclass(frozen=True, slots=True)
class NormalizedMedia:
    """A medium that was found, before its bytes were examined."""

    source: MediaSource
    kind: DeclaredKind | None = None
    """The kind that the block or the key declares, such as `"type": "audio"`.

    It is used only if neither the bytes nor `source.declared_mime_type` show the type.
    """
    filename: str | None = None
    """The file name as the tool wrote it, not made safe."""
    must_be_stored: bool = False
    """True if a text or a JSON value has a slot for the medium."""
    pointer: str = field(default="", compare=False)
    """The JSON pointer into the tool's `result` at which the medium was found."""


@dataclass(frozen=True, slots=True)
class NormalizedText:
    """A text part."""

    template: TextTemplate
    mime_type: str = "text/plain"
    """The type of the resource, if the text is so long that it is stored as one."""
    provenance: Provenance = NO_PROVENANCE


@dataclass(frozen=True, slots=True)
class NormalizedMediaPart:
    """A part that is the medium `media[slot.index]`."""

    slot: MediaSlot
    provenance: Provenance = NO_PROVENANCE
    extracted: bool = False
    """True for a medium that was found inside a JSON value.

    Such a part is dropped if another part has the same bytes, since servers repeat images in
    `structuredContent`.
    """


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
    """A reference that the tool itself wrote, `blob:…` or `@blob:…`.

    It counts as a reference only if the resource belongs to the same project and session. Otherwise
    `literal` becomes a text part.
    """

    literal: str
    """The reference as the tool wrote it."""
    resource_id: str | None
    pointer: str
    """The JSON pointer to the reference."""
    provenance: Provenance = NO_PROVENANCE
    is_claimed: bool = True
    """True if a block declared the reference to be a medium.

    If it becomes a text part, that is reported by a warning.
    """


NormalizedPart = NormalizedText | NormalizedMediaPart | NormalizedLink | NormalizedReference


@dataclass(frozen=True, slots=True)
class BodyWarning:
    """Something in the body that was not taken as it stands, at a JSON pointer into the body."""

    # Responses contain this class, so pydantic describes it in the OpenAPI document.
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    code: str
    pointer: str
    detail: str


LONE_SURROGATE_DETAIL = (
    "The text holds half of a surrogate pair, which no UTF-8 text can; each stands as U+FFFD."
)
"""The message of a warning `lone-surrogate`."""


def more_warnings(count: int) -> BodyWarning:
    """Return the warning that replaces a number of further warnings in a list that was cut."""
    return BodyWarning("more-warnings", "", f"There were {count} more warnings like these.")


@dataclass(frozen=True, slots=True)
class NormalizedToolResult:
    """A tool result as typed parts in display order.

    In `structured_content`, `display`, `meta` and `envelope`, a `MediaSlot` replaces a string that
    is a medium, and a `TextTemplate` a string with media inside.
    """

    parts: tuple[NormalizedPart, ...]
    media: tuple[NormalizedMedia, ...] = ()
    is_error: bool | None = None
    """MCP's `isError`; `None` if the result has no such member."""
    structured_content: tuple[Any] | None = None
    """The value in a tuple of one element, since the value may be `null`."""
    display: Any = None
    """The `_display` of the result, which people see in place of its parts; `None` without one."""
    meta: dict[str, Any] | None = None
    envelope: dict[str, Any] | None = None
    """The name of the dialect whose envelope was removed, and the envelope's remaining members."""
    warnings: tuple[BodyWarning, ...] = ()
