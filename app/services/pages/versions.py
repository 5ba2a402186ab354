"""What the store keeps of a page, made from what it is, and the page again from that.

The descriptor is the page's JSON without `content`, `last_accessed` and `access_count`: lists hand
it out as it is, and a page is read by putting the three beside it. All of it is pure, but for those
that load pages in a unit of work.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.services.requests.validation import require_found
from app.stores.records.pages import PageLevelRecords, PageRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.json.values import JsonValue, json_text, parse_json, parse_stored_json
from pagefault_dialects.media.embedded_data_uris import load_forms
from pagefault_dialects.model.moments import rfc3339
from pagefault_dialects.model.page import (
    SELDOM_SAID,
    Body,
    BodyKind,
    Level,
    Page,
    PageFields,
    PageMedia,
    PageVersion,
    Representation,
    StoredPage,
    StoredRepresentation,
)
from pagefault_dialects.model.resource import parse_resource_id
from pagefault_dialects.pages.sizes import body_size_bytes, page_tokens
from pagefault_dialects.pages.words import page_texts

PAGE = "page"
"""The kind of owner that a page is of the resources it refers to."""
# What we have written ourselves is within the limits it was held to when it came in.
_OWN_DEPTH = 10_000
_OWN_NODES = 10_000_000
# Of a list, or of what a manifest reads at once. What they hold is small as a rule; a page whose
# fields are a megabyte must not make them large.
_LARGEST_ANSWER_BYTES = 8 * 1024 * 1024
_PAGES_AT_ONCE = 32
# The body of nearly every page.
_PLAIN_TEXT = b'{"kind":"text","media":null}'


@dataclass(frozen=True, slots=True)
class Stamp:
    """Which version of a page is written, and when.

    `size_tokens` is the estimate that was written before; without one it is made now.
    """

    version: int
    created_at: datetime
    updated_at: datetime
    size_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class StoredContent:
    """The content of a page as the store keeps it.

    `text` is the JSON of the FULL body's value, `inline_form` says how its moved data URIs were
    written, and `fetched_resource_id` names what an address was downloaded to.
    """

    text: bytes
    inline_form: str | None = None
    fetched_resource_id: str | None = None

    @property
    def resource_ids(self) -> set[str]:
        """Return the resources that it stands for, besides those in the page's bodies."""
        ids = {self.fetched_resource_id} if self.fetched_resource_id else set[str]()
        return ids.union(*(form.resource_ids for form in load_forms(self.inline_form).values()))


def page_version(page: Page, content: StoredContent, stamp: Stamp) -> PageVersion:
    """Return a version of a page, ready to be stored; `content` is what `page.full` holds."""
    descriptor = json_text(_descriptor(page, stamp)).encode()
    return PageVersion(
        page_id=page.page_id,
        fields=page.fields,
        version=stamp.version,
        descriptor=descriptor,
        content=content.text,
        body=_body_text(page.full, with_value=False),
        inline_form=content.inline_form,
        digest=_digest(descriptor, content.text),
        created_at=stamp.created_at,
    )


def holds_content(stored: StoredPage, body: Body, text: bytes) -> bool:
    """Find out by the digest whether a stored page, read without its content, has this one."""
    is_same = _body_text(body, with_value=False) == stored.body
    return is_same and _digest(stored.descriptor, text) == stored.digest


def stored_levels(page: Page, now: datetime) -> list[StoredRepresentation]:
    """Return the levels above FULL, as the store keeps them."""
    return [
        StoredRepresentation(
            level, representation.origin, _body_text(representation.body, with_value=True), now
        )
        for level, representation in sorted(page.levels.items())
    ]


def read_page(stored: StoredPage, levels: Iterable[StoredRepresentation]) -> Page:
    """Return the page that was stored; without its content, `full` has no value."""
    return Page(
        page_id=stored.page_id,
        fields=read_fields(read_descriptor(stored)),
        full=_body(_parse(stored.body) | {"value": read_content(stored)}),
        levels={each.level: read_representation(each) for each in levels},
    )


def read_representation(stored: StoredRepresentation) -> Representation:
    """Return the level that was stored."""
    return Representation(stored.level, stored.origin, _body(_parse(stored.body)))


def read_descriptor(stored: StoredPage) -> dict[str, Any]:
    """Return the page's JSON without content and counters."""
    descriptor: dict[str, Any] = _parse(stored.descriptor)
    if SELDOM_SAID[0] in descriptor:
        spelled = _parse(stored.descriptor, spelled=True)
        descriptor |= {name: spelled[name] for name in SELDOM_SAID if name in spelled}
    return descriptor


def read_content(stored: StoredPage) -> JsonValue:
    """Return the page's content; `None` as well where it was not read."""
    return None if stored.content is None else _parse(stored.content)


def updated_at(stored: StoredPage) -> datetime:
    """Return when this version of the page was written."""
    return datetime.fromisoformat(str(read_descriptor(stored)["updated_at"]))


def stored_texts(stored: StoredPage) -> list[str]:
    """Return the texts that a search looks in, those that weigh more first.

    The content is among them if it was read.
    """
    is_text = stored.body == _PLAIN_TEXT
    kind: BodyKind = "text" if is_text else parse_stored_json(stored.body)["kind"]
    descriptor = parse_stored_json(stored.descriptor)
    if descriptor["scenes"] or descriptor["metadata"].get("scenes") or kind == "json":
        heading, words = page_texts(
            read_fields(read_descriptor(stored)), kind, read_content(stored)
        )
        return heading + words
    # What nearly every page has are strings alone, which need no checks and no spelling.
    texts = [descriptor[name] for name in ("hint", "caption", "transcript")]
    if kind == "text" and stored.content is not None:
        texts.append(parse_stored_json(stored.content))
    return [text for text in texts if text]


def read_fields(descriptor: Mapping[str, Any]) -> PageFields:
    """Return what a client says of a page, from its descriptor."""
    absent = set(SELDOM_SAID) - descriptor.keys()
    names = [name for name in PageFields.model_fields if name not in absent]
    said = {name: descriptor[name] for name in names}
    # It was checked when it was written, and has thousands of numbers.
    vector = said.pop("embedding", None)
    fields = PageFields.model_validate(said)
    return fields if vector is None else fields.model_copy(update={"embedding": tuple(vector)})


def resource_ids(page: Page) -> set[str]:
    """Return the ids of the resources that a page's levels are made of."""
    bodies = [page.full, *(representation.body for representation in page.levels.values())]
    named = (parse_resource_id(body.media.uri or "") for body in bodies if body.media)
    return {resource_id for resource_id in named if resource_id}


def same_fields(fields: PageFields, others: PageFields) -> bool:
    """Compare what is said of a page, numbers of vectors and moments by their spelling."""
    seldom = (json_text(_members(each, SELDOM_SAID)) for each in (fields, others))
    return fields == others and next(seldom) == next(seldom)


def _digest(descriptor: bytes, content: bytes) -> str:
    return hashlib.sha256(descriptor + b"\n" + content).hexdigest()


def _members(fields: PageFields, names: Iterable[str]) -> dict[str, JsonValue]:
    """Return fields as JSON members, in their order, null where nothing is known."""
    return {name: _plain(getattr(fields, name)) for name in names}


def _plain(value: object) -> JsonValue:
    if isinstance(value, tuple):
        return list(value)
    return int(value) if isinstance(value, Level) else value


def _descriptor(page: Page, stamp: Stamp) -> dict[str, JsonValue]:
    said = _members(page.fields, PageFields.model_fields)
    seldom = {name: said.pop(name) for name in SELDOM_SAID}
    tokens = stamp.size_tokens
    return {
        "page_id": page.page_id,
        **said,
        "levels": [int(level) for level in page.existing_levels],
        "media": _media(page.full.media),
        "size_bytes": body_size_bytes(page.full),
        "size_tokens": max(page_tokens(page).values(), default=0) if tokens is None else tokens,
        "created_at": rfc3339(stamp.created_at),
        "updated_at": rfc3339(stamp.updated_at),
        "version": stamp.version,
        **(seldom if any(value is not None for value in seldom.values()) else {}),
    }


def _body_text(body: Body, *, with_value: bool) -> bytes:
    members: dict[str, JsonValue] = {"kind": body.kind, "media": _media(body.media)}
    if with_value:
        members["value"] = body.value
    return json_text(members).encode()


def _body(members: Mapping[str, JsonValue]) -> Body:
    media = members["media"]
    return Body(
        members["kind"], members["value"], PageMedia.model_validate(media) if media else None
    )


def _media(media: PageMedia | None) -> JsonValue:
    return media.model_dump() if media else None


def _parse(text: bytes, *, spelled: bool = False) -> JsonValue:
    return parse_json(text, max_depth=_OWN_DEPTH, max_nodes=_OWN_NODES, spelled=spelled)


def find_page(unit: UnitOfWork, page_id: str, *, with_content: bool) -> StoredPage:
    """Return a page as it is stored, with its content or without.

    Raises:
        NotFoundError: The project has none.
    """
    return require_found(unit[PageRecords].find(page_id, with_content=with_content), "page")


def load_page(unit: UnitOfWork, page_id: str) -> tuple[StoredPage, Page]:
    """Return a page as it is stored, and as it is read.

    Raises:
        NotFoundError: The project has none.
    """
    stored = find_page(unit, page_id, with_content=True)
    return stored, read_page(stored, unit[PageLevelRecords].of(page_id))


def bounded_pages(
    unit: UnitOfWork, numbers: Sequence[int], *, content_up_to: int | None = None
) -> Iterator[StoredPage]:
    """Yield pages with these numbers, in this order, as many as an answer may hold, or one.

    One that was deleted meanwhile is missing.
    """
    size_bytes = 0
    for start in range(0, len(numbers), _PAGES_AT_ONCE):
        batch = numbers[start : start + _PAGES_AT_ONCE]
        stored = unit[PageRecords].numbered(batch, content_up_to=content_up_to)
        for page in (stored[number] for number in batch if number in stored):
            before_bytes, size_bytes = size_bytes, size_bytes + len(page.descriptor)
            if before_bytes and size_bytes > _LARGEST_ANSWER_BYTES:
                return
            yield page
