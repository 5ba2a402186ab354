"""Check the pages of a bundle: each is made again from its parts, and has to be the same."""

import math

from app.media.data_uris import split_data_uri
from app.media.types import canonical_mime_type, is_textual
from app.models.json_value import JsonValue, json_text
from app.models.limits import Limits
from app.models.page import Body, BodyKind, Modality, Page, PageMedia, PageVersion
from app.rendering.names.file_names import safe_file_name
from app.services.bundles.format_errors import require
from app.services.bundles.record_checks import (
    References,
    ResourcesById,
    check_form_pointers,
    check_forms,
    form_references,
)
from app.services.bundles.rows import PageLine
from app.services.bundles.stored import (
    parse_stored_object,
    parse_stored_value,
    stored_levels,
    stored_page,
)
from app.services.pages.contents import check_words, fits, is_url, page_media
from app.services.pages.requests import RESERVED_IDS
from app.services.pages.versions import (
    Stamp,
    StoredContent,
    page_version,
    read_descriptor,
    read_page,
    resource_ids,
    updated_at,
)
from app.services.pages.versions import stored_levels as levels_as_stored
from app.services.requests.data_uris import dump_forms, load_forms

_WORDS: frozenset[BodyKind] = frozenset({"none", "text", "blob"})
_KINDS: dict[Modality, frozenset[BodyKind]] = {
    "text": _WORDS,
    "structured": frozenset({"none", "json", "blob"}),
    "image": _WORDS | {"url", "data"},
    "audio": _WORDS | {"url", "data"},
    "video": _WORDS | {"url", "data"},
}
"""The kinds of content that a page of each modality may have."""
_MOST_TOKENS = 2**53


def read_bundled_page(line: PageLine) -> tuple[Page, PageVersion]:
    """Return the page in a line, made again from its parts, and the version that is stored."""
    stored = stored_page(line)
    page = read_page(stored, stored_levels(line))
    text = json_text(page.full.value).encode()
    content = StoredContent(text, dump_forms(load_forms(line.inline_form)))
    # An estimate is what it was when it was made: later versions may count otherwise.
    tokens = read_descriptor(stored)["size_tokens"]
    require(type(tokens) is int and 0 <= tokens <= _MOST_TOKENS, "costs no number of tokens")
    stamp = Stamp(line.version, stored.created_at, updated_at(stored), tokens)
    return page, page_version(page, content, stamp)


def check_page(line: PageLine, session_id: str, kept: ResourcesById, limits: Limits) -> References:
    """Raise unless a page can be read at every level; return what it refers to."""
    for text in (line.descriptor, line.body, *(level.body for level in line.levels)):
        parse_stored_object(bytes(text), limits)
    content = parse_stored_value(bytes(line.content), limits)
    forms = check_forms(line.inline_form)
    numbers = [level.level for level in line.levels]
    require(numbers == sorted(set(numbers)), "has its levels in another order")
    page, version = read_bundled_page(line)
    _check_same(line, page, version)
    require(page.fields.session_id == session_id, "belongs to another session")
    require(page.page_id not in RESERVED_IDS, "has an id that no page can have")
    require(len(line.descriptor) <= limits.page_fields_bytes, "has more said about it than may be")
    require((line.last_accessed is None) == (line.access_count == 0), "has half a counter")
    check_words(page.fields)
    require(page.full.kind in _KINDS[page.fields.modality], "has content of another modality")
    _check_body(page.full, page.fields.modality, kept, limits)
    for level in page.levels.values():
        require(level.body.kind != "none", "has a level that holds nothing")
        _check_body(level.body, page.fields.modality, kept, limits)
    fetched = line.fetched_resource_id
    require(fetched is None or page.full.kind == "url", "has a file that it cannot have")
    check_form_pointers(content, forms)
    needed = resource_ids(page) | ({fetched} if fetched else set())
    return form_references(forms, needed=frozenset(needed))


def referred_text_digest(page: Page, kept: ResourcesById) -> str | None:
    """Return the digest of the text that a text or structured page refers to, if it does.

    See `PageContents.referred_text`.
    """
    media = page.full.media
    if page.fields.modality not in ("text", "structured") or page.full.kind != "blob":
        return None
    if media is None or not is_textual(media.mime_type):
        return None
    return kept[str(page.full.value).removeprefix("@blob:")].digest


def _check_same(line: PageLine, page: Page, version: PageVersion) -> None:
    require(
        (version.page_id, version.descriptor, version.content, version.body)
        == (line.page_id, bytes(line.descriptor), bytes(line.content), bytes(line.body)),
        "is not the page that is made of its parts",
    )
    require(version.digest == line.digest, "has a digest that is not its own")
    require(version.inline_form == line.inline_form, "has forms that are not its own")
    made = [level.body for level in levels_as_stored(page, version.created_at)]
    require(made == [bytes(level.body) for level in line.levels], "has levels that are none")


def _check_body(body: Body, modality: Modality, kept: ResourcesById, limits: Limits) -> None:
    """Raise unless a body holds what its kind says, and no more of it than a page may."""
    value = body.value
    require(body.kind == "json" or value is None or isinstance(value, str), "holds no text")
    require((body.kind == "none") == (value is None) or body.kind == "json", "holds nothing")
    require(body.kind in ("blob", "data") or body.media is None, "speaks of a medium it has not")
    match body.kind:
        case "text" | "json":
            text = value if body.kind == "text" else json_text(value)
            require(len(text.encode()) <= limits.page_text_bytes, "has more text than a page may")
        case "url":
            require(is_url(value), "has an address that is none")
        case "data":
            _check_data(value, body.media)
        case "blob":
            _check_reference(value, body.media, modality, kept, limits)
        case _:
            require(body.kind == "none", "holds something of no kind")


def _check_data(value: str, media: PageMedia | None) -> None:
    uri = split_data_uri(value)
    require(uri is not None, "has a data URI that is none")
    if media is None or uri is None:
        require(uri is not None and uri.data is None, "says nothing of its medium")
        return
    require(uri.data is not None and len(uri.data) == media.size_bytes, "has another medium")
    require(media.uri is None, "has another medium")
    require(canonical_mime_type(media.mime_type) is not None, "has a medium of no type")
    require(safe_file_name(media.filename) == media.filename, "has a name that is not safe")
    pixels = (media.width, media.height)
    require(all(each is None or 0 <= each < 2**31 for each in pixels), "has no such size")
    seconds = media.duration_seconds
    require(seconds is None or (math.isfinite(seconds) and seconds >= 0), "has no such length")


def _check_reference(
    value: JsonValue,
    media: PageMedia | None,
    modality: Modality,
    kept: ResourcesById,
    limits: Limits,
) -> None:
    resource = kept.get(str(value).removeprefix("@blob:"))
    require(resource is not None, "refers to a resource that is not in the bundle")
    if resource is None:
        return
    require(value == resource.reference, "has a reference that is none")
    require(media == page_media(resource), "describes a resource otherwise than the bundle does")
    require(fits(modality, resource.mime_type), "holds a medium of another modality")
    if modality in ("text", "structured") and is_textual(resource.mime_type):
        require(resource.size_bytes <= limits.page_text_bytes, "has more text than a page may")
