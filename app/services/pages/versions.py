"""Builds the stored form of a page, in pure functions.

The *descriptor* is the JSON of a page without `content`, `last_accessed` and `access_count`. Lists
of pages return it unchanged. The response with a single page adds these three members.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.media.embedded_data_uris import load_forms
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
from pagefault_dialects.model.timestamps import rfc3339
from pagefault_dialects.pages.sizes import body_size_bytes, estimate_page_tokens

PAGE = "page"
"""The `owner_kind` of links from pages to resources."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """The number and the times of a version of a page."""

    version: int
    created_at: datetime
    updated_at: datetime
    size_tokens: int | None = None
    """An earlier estimate of the tokens; `None` to estimate them."""


@dataclass(frozen=True, slots=True)
class StoredContent:
    """The content of a page, in the form in which it is stored."""

    text: bytes
    """The JSON of the content."""
    inline_form: str | None = None
    """The original form of its moved data URIs, as JSON."""
    fetched_resource_id: str | None = None
    """The file that was fetched from the URL that is the content, if it was."""

    @property
    def resource_ids(self) -> set[str]:
        """The ids of the fetched file, and of the resources to which data URIs were moved."""
        ids = {self.fetched_resource_id} if self.fetched_resource_id else set[str]()
        return ids.union(*(form.resource_ids for form in load_forms(self.inline_form).values()))


def make_page_version(page: Page, content: StoredContent, stamp: Stamp) -> PageVersion:
    """Return a version of a page, ready to be stored. `content` is the content of `page.full`."""
    descriptor = json_text(_make_descriptor(page, stamp)).encode()
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


def has_content(stored: StoredPage, body: Body, text: bytes) -> bool:
    """Return True if a stored page has this content.

    This compares digests, so the page may have been read without its content.
    """
    is_same = _body_text(body, with_value=False) == stored.body
    return is_same and _digest(stored.descriptor, text) == stored.digest


def make_stored_levels(page: Page, now: datetime) -> list[StoredRepresentation]:
    """Return all levels but FULL, in the form in which they are stored."""
    return [
        StoredRepresentation(
            level, representation.origin, _body_text(representation.body, with_value=True), now
        )
        for level, representation in sorted(page.levels.items())
    ]


def find_resource_ids(page: Page) -> set[str]:
    """Return the ids of the resources that are levels of a page."""
    bodies = [page.full, *(representation.body for representation in page.levels.values())]
    ids = (parse_resource_id(body.media.uri or "") for body in bodies if body.media)
    return {resource_id for resource_id in ids if resource_id}


def have_same_fields(fields: PageFields, previous: PageFields) -> bool:
    """Return True if fields are equal.

    In vectors and timestamps, numbers are equal if they have the same spelling.
    """
    rare, previous_rare = (json_text(_members(item, RARE_FIELDS)) for item in (fields, previous))
    return fields == previous and rare == previous_rare


def _digest(descriptor: bytes, content: bytes) -> str:
    return hashlib.sha256(descriptor + b"\n" + content).hexdigest()


def _members(fields: PageFields, names: Iterable[str]) -> dict[str, JsonValue]:
    """Return fields as JSON members in the order of `names`, with null for absent fields."""
    return {name: _to_json(getattr(fields, name)) for name in names}


def _to_json(value: object) -> JsonValue:
    if isinstance(value, tuple):
        return list(value)
    return int(value) if isinstance(value, Level) else value


def _make_descriptor(page: Page, stamp: Stamp) -> dict[str, JsonValue]:
    members = _members(page.fields, PageFields.model_fields)
    rare = {name: members.pop(name) for name in RARE_FIELDS}
    tokens = stamp.size_tokens
    return {
        "page_id": page.page_id,
        **members,
        "levels": [int(level) for level in page.existing_levels],
        "media": _dump_media(page.full.media),
        "size_bytes": body_size_bytes(page.full),
        "size_tokens": max(estimate_page_tokens(page).values(), default=0)
        if tokens is None
        else tokens,
        "created_at": rfc3339(stamp.created_at),
        "updated_at": rfc3339(stamp.updated_at),
        "version": stamp.version,
        **(rare if any(value is not None for value in rare.values()) else {}),
    }


def _body_text(body: Body, *, with_value: bool) -> bytes:
    members: dict[str, JsonValue] = {"kind": body.kind, "media": _dump_media(body.media)}
    if with_value:
        members["value"] = body.value
    return json_text(members).encode()


def _dump_media(media: PageMedia | None) -> JsonValue:
    return media.model_dump() if media else None
