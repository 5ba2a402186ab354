"""Loads stored pages in a unit of work, and parses their rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from app.services.requests.validation import require_found
from app.stores.records.pages import PageLevelRecords, PageRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.json.values import JsonValue, parse_json, parse_stored_json
from pagefault_dialects.model.page import (
    RARE_FIELDS,
    Body,
    BodyKind,
    Page,
    PageFields,
    PageMedia,
    Representation,
    StoredPage,
    StoredRepresentation,
)
from pagefault_dialects.pages.page_text import list_page_texts

# Stored JSON was checked against the limits when it was written.
_MAX_DEPTH = 10_000
_MAX_NODES = 10_000_000
# The limit of a list of pages. Most pages are small, but the fields of a page may have a megabyte.
_MAX_LIST_BYTES = 8 * 1024 * 1024
_PAGES_AT_ONCE = 32
# The column `body` of a page whose content is a plain text. Most pages are of this kind.
_PLAIN_TEXT = b'{"kind":"text","media":null}'


def read_page(stored: StoredPage, levels: Iterable[StoredRepresentation]) -> Page:
    """Return the page of a row. If the row was read without its content, `full.value` is `None`."""
    return Page(
        page_id=stored.page_id,
        fields=read_fields(read_descriptor(stored)),
        full=_make_body(_parse(stored.body) | {"value": read_content(stored)}),
        levels={level.level: read_representation(level) for level in levels},
    )


def read_representation(stored: StoredRepresentation) -> Representation:
    """Return the level of a page from a row."""
    return Representation(stored.level, stored.origin, _make_body(_parse(stored.body)))


def read_descriptor(stored: StoredPage) -> dict[str, Any]:
    """Return the JSON of a page without its content and counters."""
    descriptor: dict[str, Any] = _parse(stored.descriptor)
    # A descriptor has all of the rare fields, which are vectors and timestamps, or none of them.
    # Their numbers keep their spelling.
    if RARE_FIELDS[0] in descriptor:
        exact = _parse(stored.descriptor, keeps_spelling=True)
        descriptor |= {name: exact[name] for name in RARE_FIELDS if name in exact}
    return descriptor


def read_content(stored: StoredPage) -> JsonValue:
    """Return the content of a page; `None` if the row was read without it."""
    return None if stored.content is None else _parse(stored.content)


def read_updated_at(stored: StoredPage) -> datetime:
    """Return the time at which this version of the page was written."""
    return datetime.fromisoformat(str(read_descriptor(stored)["updated_at"]))


def read_searched_texts(stored: StoredPage) -> list[str]:
    """Return the texts of a page that a search reads, those with more weight first.

    If the row was read without its content, the content is not among the texts.
    """
    is_text = stored.body == _PLAIN_TEXT
    kind: BodyKind = "text" if is_text else parse_stored_json(stored.body)["kind"]
    descriptor = parse_stored_json(stored.descriptor)
    if descriptor["scenes"] or descriptor["metadata"].get("scenes") or kind == "json":
        heading, words = list_page_texts(
            read_fields(read_descriptor(stored)), kind, read_content(stored)
        )
        return heading + words
    # Nearly all pages have only these strings, which need no slow validation.
    texts = [descriptor[name] for name in ("hint", "caption", "transcript")]
    if kind == "text" and stored.content is not None:
        texts.append(parse_stored_json(stored.content))
    return [text for text in texts if text]


def read_fields(descriptor: Mapping[str, Any]) -> PageFields:
    """Return the fields of a page from its descriptor."""
    absent = set(RARE_FIELDS) - descriptor.keys()
    names = [name for name in PageFields.model_fields if name not in absent]
    members = {name: descriptor[name] for name in names}
    # The vector was checked when it was written, and may have thousands of numbers.
    vector = members.pop("embedding", None)
    fields = PageFields.model_validate(members)
    return fields if vector is None else fields.model_copy(update={"embedding": tuple(vector)})


def find_page(unit: UnitOfWork, page_id: str, *, with_content: bool) -> StoredPage:
    """Return a stored page, with or without its content.

    Raises:
        NotFoundError: The project has no such page.
    """
    return require_found(unit[PageRecords].find(page_id, with_content=with_content), "page")


def load_page(unit: UnitOfWork, page_id: str) -> tuple[StoredPage, Page]:
    """Return a stored page, and the parsed page.

    Raises:
        NotFoundError: The project has no such page.
    """
    stored = find_page(unit, page_id, with_content=True)
    return stored, read_page(stored, unit[PageLevelRecords].find(page_id))


def read_pages(
    unit: UnitOfWork, numbers: Sequence[int], *, content_up_to: int | None = None
) -> Iterator[StoredPage]:
    """Yield the pages with these numbers, in this order, up to 8 MiB but at least one page.

    Pages that do not exist any more are skipped.

    Args:
        unit: Reads the pages.
        numbers: The numbers of the pages.
        content_up_to: The size in bytes up to which contents are read; by default none is read.
    """
    size_bytes = 0
    for start in range(0, len(numbers), _PAGES_AT_ONCE):
        batch = numbers[start : start + _PAGES_AT_ONCE]
        stored = unit[PageRecords].find_numbered(batch, content_up_to=content_up_to)
        for page in (stored[number] for number in batch if number in stored):
            before_bytes, size_bytes = size_bytes, size_bytes + len(page.descriptor)
            if before_bytes and size_bytes > _MAX_LIST_BYTES:
                return
            yield page


def _make_body(members: Mapping[str, JsonValue]) -> Body:
    media = members["media"]
    return Body(
        members["kind"], members["value"], PageMedia.model_validate(media) if media else None
    )


def _parse(text: bytes, *, keeps_spelling: bool = False) -> JsonValue:
    return parse_json(
        text, max_depth=_MAX_DEPTH, max_nodes=_MAX_NODES, keeps_spelling=keeps_spelling
    )
