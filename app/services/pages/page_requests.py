"""Parses and checks the bodies of the page routes."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, FailFast, Field
from pydantic.config import JsonDict

from app.models.limits import Limits
from app.services.requests.validation import as_object, read_value, validate_model
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.media.data_uris import SplitDataUri, recognize_base64, split_data_uri
from pagefault_dialects.media.embedded_data_uris import find_movable_media, must_be_moved
from pagefault_dialects.model.base import ClientId, FrozenModel
from pagefault_dialects.model.page import MAX_PARENTS, RARE_FIELDS, PageFields
from pagefault_dialects.model.page_vectors import as_float32

MAX_BATCH_PAGES = 1_000
RESERVED_IDS = frozenset({"search"})
"""Page ids that are the path of another route."""

_EXAMPLE: JsonDict = {
    "modality": "image",
    "content": "https://example.com/sunset.png",
    "mime_type": "image/png",
    "caption": "Sunset landscape with tree, path, sheep, pond, church spire",
    "dimensions": [1920, 1080],
    "session_id": "demo",
    "embedding": [0.013, -0.241, 0.087],
}
_EXAMPLE_RECORDING: JsonDict = {
    "modality": "audio",
    "content": "https://example.com/standup.mp3",
    "mime_type": "audio/mpeg",
    "duration_seconds": 342.0,
    "transcript": "So the key insight is locality.",
    "timestamps": [{"start": 0.0, "end": 2.4, "text": "So the key insight is locality."}],
}

# Members that the service sets. A client that has read a page, and puts it again, sends them too.
_SET_BY_SERVICE = frozenset(
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
# Members about the store of `chuk_ai_session_manager` in the pages that it dumps. They are ignored.
_SET_BY_OTHER_STORE = frozenset(
    {"representation_level", "storage_tier", "artifact_id", "representations", "dirty"}
)
_NOT_PATCHED = frozenset({"page_id", "modality", "content"})


def _check_not_reserved(page_id: str | None) -> str | None:
    if page_id in RESERVED_IDS:
        msg = "is the path of another route and cannot be a page's id"
        raise ValueError(msg)
    return page_id


class PageDraft(PageFields):
    """A page as a client writes it.

    `content` is text, any JSON value (modality structured), an `http(s)` URL, a `data:` URI, or
    the `@blob:` reference of a resource. Members that the service sets (`version`, `size_bytes` …)
    are ignored, and so are members of another runtime's store in its dump of a page
    (`storage_tier`, `dirty` …).
    """

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE, _EXAMPLE_RECORDING]})

    page_id: Annotated[ClientId | None, AfterValidator(_check_not_reserved)] = None
    content: Annotated[Any, Field(description="Its FULL level: what fits the modality.")] = None
    represents: Annotated[ClientId | None, Field(description="One more id of `provenance`.")] = None
    parent_page_id: Annotated[
        ClientId | None, Field(description="One more id of `provenance`.")
    ] = None

    def fields(self) -> PageFields:
        """Return the fields of the page. `provenance` gets the ids of the other parents too."""
        members = {name: getattr(self, name) for name in PageFields.model_fields}
        parents = dict.fromkeys(filter(None, (self.represents, self.parent_page_id)))
        new_parents = (parent for parent in parents if parent not in self.provenance)
        members["provenance"] = (*self.provenance, *new_parents)
        return PageFields.model_construct(**members)


class PageBatch(FrozenModel):
    """Up to 1,000 pages, created together or not at all."""

    pages: Annotated[
        tuple[PageDraft, ...], Field(min_length=1, max_length=MAX_BATCH_PAGES), FailFast()
    ]


class RepresentationDraft(FrozenModel):
    """A level of a page as a client supplies it: words, data, or a smaller image."""

    content: Annotated[
        Any, Field(description="Text, JSON for a structured page, or the medium of a REDUCED image")
    ]


class PagePatch(PageFields):
    """The schema of a merge patch, for the OpenAPI document; every field is optional."""


def parse_page_body(body: bytes, limits: Limits) -> JsonValue:
    """Return the JSON of a body. The numbers in timestamps keep the spelling of the body.

    The numbers in vectors become 32-bit floats. A body with timestamps or vectors is parsed twice.

    Raises:
        InvalidJsonError: The body is not JSON or not UTF-8, or a number is not finite.
        PayloadTooLargeError: The body is nested too deep, or has too many values.
    """
    value = read_value(body, limits)
    if not any(page.keys() & RARE_FIELDS for page in _find_pages(value)):
        return value
    exact_value = read_value(body, limits, keeps_spelling=True)
    for page, exact in zip(_find_pages(value), _find_pages(exact_value), strict=True):
        page |= {name: exact[name] for name in RARE_FIELDS if name in exact}
        if isinstance(page.get("embedding"), list):
            page["embedding"] = [as_float32(item) for item in page["embedding"]]
    return value


def read_page_draft(value: JsonValue, page_id: str | None) -> PageDraft:
    """Return a page from the body of PUT or POST.

    Args:
        value: The request's body.
        page_id: The id in the path, if any. The body may have the same id.

    Raises:
        InvalidPayloadError: The body is not a page.
    """
    if page_id in RESERVED_IDS:
        raise InvalidPayloadError(
            "No page can have this id: it is the path of another route.",
            faults=[Fault("/path/page_id", "is the path of another route; use another id")],
        )
    draft = _validate_draft(as_object(value))
    if page_id is not None and draft.page_id not in (None, page_id):
        raise InvalidPayloadError(
            "The body has the id of another page.",
            faults=[Fault("/page_id", "must be the id in the path, or left out")],
        )
    return draft


def read_page_batch(value: JsonValue) -> list[PageDraft]:
    """Return the pages of a bulk request.

    Raises:
        InvalidPayloadError: An item is not a page, or two pages have the same id. The faults point
            into `pages`.
    """
    body = as_object(value)
    items = body.get("pages")
    if not isinstance(items, list) or len(body) != 1 or not 1 <= len(items) <= MAX_BATCH_PAGES:
        raise InvalidPayloadError(
            f"The body is {{pages: […]}} with 1 to {MAX_BATCH_PAGES} pages. Send more in several "
            "requests."
        )
    drafts: list[PageDraft] = []
    faults: list[Fault] = []
    for index, item in enumerate(items):
        try:
            drafts.append(_validate_draft(as_object(item)))
        except InvalidPayloadError as exc:
            item_faults = exc.faults or (Fault("", exc.detail),)
            faults += [
                Fault(f"/pages/{index}{fault.pointer}", fault.detail) for fault in item_faults
            ]
    faults += _find_repeated_ids(drafts) if not faults else []
    if faults:
        raise InvalidPayloadError(
            "Some of the items are not pages; nothing was stored.", faults=faults
        )
    return drafts


def read_patch(body: bytes, limits: Limits) -> dict[str, JsonValue]:
    """Return a merge patch (RFC 7396) of page fields.

    Raises:
        InvalidPayloadError: The patch has a member that only PUT changes, or that the service sets.
    """
    patch = _rename_level(as_object(parse_page_body(body, limits)))
    faults = [
        Fault(f"/{name}", detail)
        for names, detail in (
            (_NOT_PATCHED, "is not changed by a patch: PUT the page"),
            (_SET_BY_SERVICE, "is what the service says of the page and cannot be set"),
        )
        for name in sorted(patch.keys() & names)
    ]
    if faults:
        raise InvalidPayloadError("The patch cannot be applied.", faults=faults)
    return patch


def apply_patch(fields: PageFields, patch: Mapping[str, JsonValue]) -> PageFields:
    """Return the fields after a merge patch. In a patch, null removes a member.

    Raises:
        InvalidPayloadError: The patched fields are invalid.
    """
    members = {name: getattr(fields, name) for name in PageFields.model_fields}
    detail = "With this patch it would not be a page; `errors` says where."
    return validate_model(PageFields, _merge(members, patch), detail)


def read_representation_draft(value: JsonValue) -> RepresentationDraft:
    """Return a supplied level.

    Raises:
        InvalidPayloadError: The body is not a level.
    """
    return validate_model(
        RepresentationDraft,
        as_object(value),
        "The body is {content: …}; `errors` says what is wrong with it.",
    )


def _find_pages(value: JsonValue) -> list[dict[str, JsonValue]]:
    """Return all objects of a body that may be pages: the body, and the objects in its `pages`."""
    if not isinstance(value, dict):
        return []
    items = value.get("pages")
    listed = items if isinstance(items, list) else []
    return [value, *(item for item in listed if isinstance(item, dict))]


def _validate_draft(value: dict[str, JsonValue]) -> PageDraft:
    members = {
        name: member
        for name, member in value.items()
        if name not in _SET_BY_SERVICE | _SET_BY_OTHER_STORE
    }
    draft = validate_model(
        PageDraft, _rename_level(members), "The body is not a page; `errors` says where."
    )
    if len(draft.fields().provenance) > MAX_PARENTS:
        raise InvalidPayloadError(
            "The body is not a page; `errors` says where.",
            faults=[Fault("/provenance", f"may have {MAX_PARENTS} ids with its other parents")],
        )
    return draft


def _rename_level(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Rename the alias `level` to `compression_level`, unless both are present."""
    if "level" not in value or "compression_level" in value:
        return value
    return {
        "compression_level" if name == "level" else name: member for name, member in value.items()
    }


def _find_repeated_ids(drafts: list[PageDraft]) -> list[Fault]:
    earlier: set[str] = set()
    faults = []
    for index, draft in enumerate(drafts):
        if draft.page_id is not None and draft.page_id in earlier:
            faults.append(Fault(f"/pages/{index}/page_id", "is the id of an earlier page"))
        earlier.add(draft.page_id or "")
    return faults


def _merge(target: JsonValue, patch: JsonValue) -> JsonValue:
    """Merge as in RFC 7396, section 2. The recursion is bounded by the limit of a body's depth."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for name, member in patch.items():
        if member is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge(merged.get(name), member)
    return merged


def find_page_media(draft: PageDraft) -> list[SplitDataUri]:
    """Return the data URIs in the content of a page that are moved to the blob store."""
    content = draft.content
    if draft.modality == "structured":
        return [medium.uri for medium in find_movable_media(content) if medium.uri is not None]
    if draft.modality == "text":
        return _find_data_uri(content)
    uri = (
        (split_data_uri(content) or recognize_base64(content)) if isinstance(content, str) else None
    )
    # Base64 without the head of a data URI is always moved.
    return [uri] if uri is not None and (must_be_moved(uri) or not uri.head) else []


def find_representation_media(draft: RepresentationDraft) -> list[SplitDataUri]:
    """Return the data URI in a supplied level that is moved to the blob store, if there is one."""
    return _find_data_uri(draft.content)


def _find_data_uri(content: object) -> list[SplitDataUri]:
    uri = split_data_uri(content) if isinstance(content, str) else None
    return [uri] if uri is not None and uri.is_base64 and must_be_moved(uri) else []
