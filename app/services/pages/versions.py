"""What the store keeps of a page, made from what it is. Pure.

The descriptor is the page's JSON without `content`, `last_accessed` and `access_count`: lists hand
it out as it is, and a page is read by putting the three beside it.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.media.embedded_data_uris import load_forms
from pagefault_dialects.model.moments import rfc3339
from pagefault_dialects.model.page import (
    RARE_FIELDS,
    Body,
    Level,
    Page,
    PageFields,
    PageMedia,
    PageVersion,
    StoredPage,
    StoredRepresentation,
)
from pagefault_dialects.model.resource import parse_resource_id
from pagefault_dialects.pages.sizes import body_size_bytes, page_tokens

PAGE = "page"
"""The kind of owner that a page is of the resources it refers to."""


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


def resource_ids(page: Page) -> set[str]:
    """Return the ids of the resources that a page's levels are made of."""
    bodies = [page.full, *(representation.body for representation in page.levels.values())]
    named = (parse_resource_id(body.media.uri or "") for body in bodies if body.media)
    return {resource_id for resource_id in named if resource_id}


def same_fields(fields: PageFields, others: PageFields) -> bool:
    """Compare what is said of a page, numbers of vectors and moments by their spelling."""
    seldom = (json_text(_members(each, RARE_FIELDS)) for each in (fields, others))
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
    seldom = {name: said.pop(name) for name in RARE_FIELDS}
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


def _media(media: PageMedia | None) -> JsonValue:
    return media.model_dump() if media else None
