"""Reads the bodies of the page routes: JSON in, checked drafts out."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, ValidationError
from pydantic.config import JsonDict

from app.errors import Fault, InvalidPayloadError
from app.models.base import FrozenModel
from app.models.faults import faults_of
from app.models.identity import CLIENT_ID_PATTERN
from app.models.json_value import JsonValue
from app.models.limits import Limits
from app.models.page import Level, LevelField, PageFields, PageId
from app.services.request_models import as_object, read_object, validated

LARGEST_BATCH = 1_000
RESERVED_IDS = frozenset({"search"})
"""Page ids that are part of other addresses."""

_EXAMPLE: JsonDict = {
    "modality": "image",
    "content": "https://example.com/sunset.png",
    "mime_type": "image/png",
    "caption": "Sunset landscape with tree, path, sheep, pond, church spire",
    "dimensions": [1920, 1080],
    "session_id": "demo",
}

# What the service says of a page; a client that reads, changes and writes back sends it along.
_OURS = frozenset(
    {
        "levels",
        "media",
        "size_bytes",
        "size_tokens",
        "created_at",
        "updated_at",
        "last_accessed",
        "access_count",
        "version",
    }
)
_NOT_PATCHED = frozenset({"page_id", "modality", "content"})


def _not_reserved(page_id: str | None) -> str | None:
    if page_id in RESERVED_IDS:
        msg = "is part of another address and cannot be a page's id"
        raise ValueError(msg)
    return page_id


class PageDraft(PageFields):
    """A page as a client writes it.

    `content` is text, any JSON value (modality structured), an `http(s)` URL, a `data:` URI, or
    the `@blob:` reference of a resource. What the service itself says of a page (`version`,
    `size_bytes` …) may stand in the body, and is passed over.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    page_id: Annotated[PageId | None, AfterValidator(_not_reserved)] = None
    content: Annotated[Any, Field(description="Its FULL level: what fits the modality.")] = None

    def fields(self) -> PageFields:
        """What it says beside its content."""
        return PageFields.model_construct(
            **{name: getattr(self, name) for name in PageFields.model_fields}
        )


class PageBatch(FrozenModel):
    """Up to 1,000 pages, created together or not at all."""

    pages: Annotated[tuple[PageDraft, ...], Field(min_length=1, max_length=LARGEST_BATCH)]


class RepresentationDraft(FrozenModel):
    """A level of a page as a client supplies it: words, data, or a smaller image."""

    content: Annotated[
        Any, Field(description="Text, JSON for a structured page, or the medium of a REDUCED image")
    ]


class FaultRequest(FrozenModel):
    """What a model asks for when it faults a page in."""

    model_config = ConfigDict(
        strict=True,
        json_schema_extra={
            "examples": [{"target_level": 0, "session_id": "demo", "tool_call_id": "call_abc"}]
        },
    )

    target_level: LevelField = Level.ABSTRACT
    session_id: Annotated[str | None, Field(pattern=CLIENT_ID_PATTERN)] = None
    tool_call_id: Annotated[str | None, Field(min_length=1, max_length=512)] = None
    max_chars: Annotated[int | None, Field(ge=1)] = None
    offset: Annotated[int, Field(ge=0, le=2**53)] = 0
    detail: Literal["low", "high", "auto"] = "low"


class PagePatch(PageFields):
    """Only for the document: what a merge patch may hold, every field of it optional."""


def read_page_draft(body: bytes, limits: Limits, page_id: str | None) -> PageDraft:
    """A page from the body of PUT or POST.

    Args:
        body: The request's body.
        limits: For depth and number of its values.
        page_id: The id the address names, if it does; the body may repeat it.

    Raises:
        InvalidJsonError, PayloadTooLargeError, InvalidPayloadError: The body is not a page.
    """
    if page_id in RESERVED_IDS:
        raise InvalidPayloadError(
            "No page can have this id: it is part of another address.",
            faults=[Fault("/path/page_id", "is part of another address; take another id")],
        )
    draft = _checked(read_object(body, limits))
    if page_id is not None and draft.page_id not in (None, page_id):
        raise InvalidPayloadError(
            "The body is the page of another address.",
            faults=[Fault("/page_id", "must be the id in the address, or left out")],
        )
    return draft


def read_page_batch(body: bytes, limits: Limits) -> list[PageDraft]:
    """The pages of a bulk request, each with an id of its own or none.

    Raises:
        InvalidJsonError, PayloadTooLargeError, InvalidPayloadError: One of them is not a page; the
            faults point into `pages`.
    """
    value = read_object(body, limits)
    items = value.get("pages")
    if not isinstance(items, list) or len(value) != 1 or not 1 <= len(items) <= LARGEST_BATCH:
        raise InvalidPayloadError(
            f"The body is {{pages: […]}} with 1 to {LARGEST_BATCH} pages. Send more in several "
            "requests."
        )
    drafts: list[PageDraft] = []
    faults: list[Fault] = []
    for index, item in enumerate(items):
        try:
            drafts.append(_checked(as_object(item)))
        except InvalidPayloadError as exc:
            found = exc.faults or (Fault("", exc.detail),)
            faults += [Fault(f"/pages/{index}{fault.pointer}", fault.detail) for fault in found]
    faults += _repeated_ids(drafts) if not faults else []
    if faults:
        raise InvalidPayloadError("Not all of them are pages; nothing was stored.", faults=faults)
    return drafts


def read_patch(body: bytes, limits: Limits) -> dict[str, JsonValue]:
    """A merge patch (RFC 7396) of what may be patched.

    Raises:
        InvalidPayloadError: It touches what only PUT changes, or what the service itself says.
    """
    patch = _under_one_name(read_object(body, limits))
    faults = [
        Fault(f"/{name}", "is not changed by a patch: PUT the page")
        for name in sorted(patch.keys() & _NOT_PATCHED)
    ]
    faults += [
        Fault(f"/{name}", "is what the service says of the page and cannot be set")
        for name in sorted(patch.keys() & _OURS)
    ]
    if faults:
        raise InvalidPayloadError("The patch cannot be applied.", faults=faults)
    return patch


def patched(fields: PageFields, patch: Mapping[str, JsonValue]) -> PageFields:
    """The fields after a merge patch: null takes a member away, objects are merged.

    Raises:
        InvalidPayloadError: The outcome is not a page.
    """
    given = {name: getattr(fields, name) for name in PageFields.model_fields}
    merged = _merge(given, patch)
    try:
        return PageFields.model_validate(merged)
    except ValidationError as exc:
        raise InvalidPayloadError(
            "With this patch it would not be a page; `errors` says where.", faults=faults_of(exc)
        ) from exc


def read_representation_draft(body: bytes, limits: Limits) -> RepresentationDraft:
    """A supplied level.

    Raises:
        InvalidJsonError, PayloadTooLargeError, InvalidPayloadError: The body is none.
    """
    return validated(
        RepresentationDraft,
        read_object(body, limits),
        "The body is {content: …}; `errors` says what is wrong with it.",
    )


def _checked(value: dict[str, JsonValue]) -> PageDraft:
    given = {name: member for name, member in value.items() if name not in _OURS}
    return validated(
        PageDraft, _under_one_name(given), "The body is not a page; `errors` says where."
    )


def _under_one_name(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """`level` is understood as `compression_level`, unless that is there as well."""
    if "level" not in value or "compression_level" in value:
        return value
    return {
        "compression_level" if name == "level" else name: member for name, member in value.items()
    }


def _repeated_ids(drafts: list[PageDraft]) -> list[Fault]:
    seen: set[str] = set()
    faults = []
    for index, draft in enumerate(drafts):
        if draft.page_id is not None and draft.page_id in seen:
            faults.append(Fault(f"/pages/{index}/page_id", "is the id of a page before it"))
        seen.add(draft.page_id or "")
    return faults


def _merge(target: JsonValue, patch: JsonValue) -> JsonValue:
    """RFC 7396, section 2. A patch is at most as deep as a body may be."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for name, member in patch.items():
        if member is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge(merged.get(name), member)
    return merged
