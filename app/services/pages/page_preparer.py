"""Prepares pages and plans their changes, both outside of any transaction.

Preparing a page is slow: it resolves the content, stores the media and makes a smaller image. A
planned change has the levels, the search words and the version. Planning is pure, but runs in a
thread if the page is long. A change is planned for one stored version of the page, and cannot be
written if another request has changed the page since.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial
from typing import Any

import anyio.to_thread

from app.models.limits import Limits
from app.services.concurrency.large_work import run_in_loop_if
from app.services.images.image_tasks import TooCostlyError
from app.services.images.image_work import Decode, ImageWork
from app.services.images.image_worker import UndecidedError
from app.services.inline_media.media_mover import MediaMover
from app.services.inline_media.stored_media import StoredMedia
from app.services.media.media_keeper import MediaKeeper
from app.services.pages.content_resolver import ContentResolver, ResolvedContent, check_field_texts
from app.services.pages.page_bodies import make_blob_body, read_referenced_text
from app.services.pages.stored_pages import read_descriptor, read_fields, read_representation
from app.services.pages.versions import (
    Stamp,
    StoredContent,
    find_resource_ids,
    have_same_fields,
    make_page_version,
    make_stored_levels,
)
from app.services.requests.streamed_requests import StreamedRequest
from app.stores.blobs.store import BlobStore, read_whole
from app.stores.records.records import Records
from app.words.page_words import searchable_text
from app.words.search_terms import SearchWords, search_words
from pagefault_dialects.errors import InvalidPayloadError, PayloadTooLargeError
from pagefault_dialects.json.values import json_text
from pagefault_dialects.media.data_uris import split_data_uri
from pagefault_dialects.media.embedded_data_uris import InlineForm, dump_forms
from pagefault_dialects.model.media import InMemoryMedia, MediaSource
from pagefault_dialects.model.page import (
    Body,
    Level,
    Page,
    PageFields,
    PageVersion,
    Representation,
    StoredPage,
    StoredRepresentation,
)
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.pages.descriptors import find_scenes
from pagefault_dialects.pages.levels import derive_levels

# The beginning of an image that is enough to estimate what it costs to decode.
_HEAD_BYTES = 1024 * 1024


@dataclass(frozen=True)
class PreparedPage:
    """A page to write. Its media are stored, and its levels are not derived yet."""

    page: Page
    forms: dict[str, InlineForm]
    """The original forms of moved data URIs, by JSON pointer into the content."""
    text: str | None
    """The text of the file to which the content refers, if it is a text."""
    reduced: Body | None
    """The smaller image, if there is one."""
    resources: Sequence[Resource]
    """The resources that the content refers to, and those that are new."""
    now: datetime
    is_quick: bool = False
    """True if the change can be planned in the event loop."""

    @cached_property
    def content(self) -> StoredContent:
        """The content as it is stored. It is serialised on first use."""
        return StoredContent(json_text(self.page.full.value).encode(), dump_forms(self.forms))


@dataclass(frozen=True, slots=True)
class _ReducedImage:
    """The smaller form of an image."""

    data: bytes | None
    """The bytes; `None` if the image is small enough, and is used itself."""
    mime_type: str


@dataclass(frozen=True, slots=True)
class PagePreparer:
    """Prepares pages, which is the slow part of a write."""

    records: Records
    """Finds the resources that contents refer to."""
    blobs: BlobStore
    images: ImageWork
    limits: Limits

    def make_resolver(
        self, project_id: str, now: datetime, request: StreamedRequest[Any] | None = None
    ) -> ContentResolver:
        """Return the content resolver of a request, which has the media that have arrived."""
        limits = self.limits
        keeper = MediaKeeper(self.blobs, project_id, limit_bytes=limits.medium_bytes, now=now)
        return ContentResolver(
            StoredMedia(self.records, self.blobs, project_id),
            MediaMover(keeper, limits.media_per_result, request.media if request else {}),
            limits,
            is_quick=request is not None and request.is_quick,
        )

    async def prepare(
        self, resolver: ContentResolver, page_id: str, fields: PageFields, content: object
    ) -> PreparedPage:
        """Resolve the content of a page, and make its smaller image.

        Raises:
            InvalidPayloadError, PayloadTooLargeError: The content is invalid or too large; nothing
                is visible.
            StoreUnavailableError: The blob store did not respond.
        """
        await run_in_loop_if(resolver.is_quick, check_field_texts, fields)
        resolved = await resolver.resolve(fields.modality, content)
        return await self.complete(resolver, Page(page_id, fields, resolved.body, {}), resolved)

    async def complete(
        self, resolver: ContentResolver, page: Page, resolved: ResolvedContent
    ) -> PreparedPage:
        """Add to a page what its levels are derived from: its text and its smaller image.

        A smaller image that the service has derived before is used again.

        Args:
            resolver: The content resolver of the request.
            page: The page.
            resolved: The content of the page.
        """
        source = resolved.source
        text = await read_referenced_text(
            resolver.media,
            page.fields.modality,
            page.full,
            source=source,
            limit_bytes=self.limits.page_text_bytes,
        )
        reduced, new_resources = await self._find_reduced(resolver, page, source)
        return PreparedPage(
            page=page,
            forms=resolved.forms,
            text=text,
            reduced=reduced,
            resources=[*resolved.resources, *new_resources],
            now=resolver.mover.keeper.now,
            # A referenced text may be long even if the request is short.
            is_quick=resolver.is_quick and text is None,
        )

    async def _find_reduced(
        self, resolver: ContentResolver, page: Page, source: MediaSource | None
    ) -> tuple[Body | None, list[Resource]]:
        """Return the body of the smaller image, if any, and its resource if it is new."""
        body, media = page.full, page.full.media
        level = page.levels.get(Level.REDUCED)
        if level is not None and level.origin == "derived" and level.body.is_media:
            return level.body, []
        if page.fields.modality != "image" or media is None or media.width is None:
            return None, []
        if media.size_bytes > self.limits.image_bytes:
            return None, []
        if source is None and body.kind == "data":
            uri = split_data_uri(str(body.value))
            source = InMemoryMedia(uri.data) if uri and uri.data else None
        read = partial(self._read_image, resolver, str(body.value), source)
        image = await self._reduce(resolver, media.mime_type, media.size_bytes, read)
        if image is None:
            return None, []
        if image.data is None:
            return body, []
        resource = await resolver.mover.keeper.store(
            InMemoryMedia(image.data), image.mime_type, None
        )
        return make_blob_body(resource), [resource]

    async def _reduce(
        self,
        resolver: ContentResolver,
        mime_type: str,
        size_bytes: int,
        read: Callable[[int], Awaitable[bytes]],
    ) -> _ReducedImage | None:
        """Return the smaller form of an image; `None` if the image cannot be made smaller.

        `read` returns the first bytes of the image, up to a number of bytes.
        """
        cost = await self.images.cost_of(await read(_HEAD_BYTES), mime_type)
        if cost is None:
            return None

        async def make(decode: Decode) -> _ReducedImage | None:
            data = await read(size_bytes)
            image = await decode(data, mime_type, None)
            if image is None:
                return None
            return _ReducedImage(None if image.data is data else image.data, image.mime_type)

        project_id = resolver.mover.keeper.project_id
        try:
            return await self.images.run(project_id, cost, size_bytes, make)
        except (TooCostlyError, UndecidedError):
            return None

    async def _read_image(
        self, resolver: ContentResolver, reference: str, source: MediaSource | None, size_bytes: int
    ) -> bytes:
        """Return the first `size_bytes` of an image, from the request or from the store."""
        if source is not None:
            return await anyio.to_thread.run_sync(source.head, size_bytes)
        resource = await resolver.media.resource(reference)
        return await read_whole(
            self.blobs, resolver.media.project_id, resource.digest, end=size_bytes
        )


@dataclass(frozen=True, slots=True)
class UnchangedContent:
    """The parts of a stored page that a change keeps if the content is the same."""

    content: StoredContent
    supplied: Mapping[Level, Body]
    """The levels that clients have supplied."""
    fields: PageFields
    """The previous fields, to find out if the search words change."""


@dataclass(frozen=True, slots=True)
class PageChange:
    """The next version of a page with its levels, words and resources, ready to be written."""

    version: PageVersion
    """The version, as it is stored."""
    levels: Sequence[StoredRepresentation]
    """The levels above FULL."""
    words: SearchWords | None
    """The words for searches; `None` if they do not change."""
    fetched_resource_id: str | None
    """The file that was fetched from the URL of the content, if it was."""
    resources: Mapping[str, Resource]
    """The resources that the version refers to and that may not be stored yet, by id."""
    stored_resource_ids: set[str]
    """The ids of all other resources that the version refers to."""
    now: datetime
    """The time of the change."""


def plan_change(
    prepared: PreparedPage,
    current: StoredPage | None,
    unchanged: UnchangedContent | None,
    limits: Limits,
) -> PageChange:
    """Plan the next version of a stored page, or the first version of a new one.

    Args:
        prepared: The page to be written.
        current: The stored page, with or without its content.
        unchanged: The parts that stay, if the content stays.
        limits: Limits the size of the fields.

    Raises:
        InvalidPayloadError: A supplied level is longer than the next level with more detail.
        PayloadTooLargeError: The fields of the page are too long.
    """
    now, content = prepared.now, unchanged.content if unchanged else prepared.content
    page = _derive_levels(prepared, unchanged.supplied if unchanged else {})
    stamp = Stamp(current.version + 1, current.created_at, now) if current else Stamp(1, now, now)
    version = make_page_version(page, content, stamp)
    if len(version.descriptor) > limits.page_fields_bytes:
        raise PayloadTooLargeError(
            "Caption, transcript, scenes, metadata and the other fields of a page may have "
            f"{limits.page_fields_bytes} bytes in all. Store what is longer as a resource or as a "
            "page of its own. Nothing was stored."
        )
    has_same_words = unchanged and _searched_fields(unchanged.fields) == _searched_fields(
        page.fields
    )
    referenced = find_resource_ids(page) | content.resource_ids
    resources = {resource.resource_id: resource for resource in prepared.resources}
    return PageChange(
        version,
        make_stored_levels(page, now),
        None if has_same_words else search_words(searchable_text(page, prepared.text)),
        content.fetched_resource_id,
        {key: resource for key, resource in resources.items() if key in referenced},
        referenced - resources.keys(),
        now,
    )


def plan_same_content(
    prepared: PreparedPage,
    current: StoredPage,
    levels: Iterable[StoredRepresentation],
    limits: Limits,
) -> PageChange | None:
    """Plan the next version of a page with the same content; `None` if its fields are the same.

    As the content stays, the supplied levels stay as well.

    Args:
        prepared: The page to be written.
        current: The stored page, with or without its content.
        levels: The levels of the stored page.
        limits: Limits the size of the fields.

    Raises:
        InvalidPayloadError, PayloadTooLargeError: See `plan_change`.
    """
    content = prepared.content
    # If a client sends back the references that it has read, the stored form of the data URIs that
    # they replaced is kept.
    inline_form = content.inline_form or current.inline_form
    previous = read_fields(read_descriptor(current))
    if inline_form == current.inline_form and have_same_fields(prepared.page.fields, previous):
        return None
    unchanged = UnchangedContent(
        StoredContent(content.text, inline_form, current.fetched_resource_id),
        find_supplied_levels(map(read_representation, levels)),
        previous,
    )
    return plan_change(prepared, current, unchanged, limits)


def find_supplied_levels(levels: Iterable[Representation]) -> dict[Level, Body]:
    """Return the bodies of those levels that clients have supplied."""
    return {level.level: level.body for level in levels if level.origin == "supplied"}


def _derive_levels(prepared: PreparedPage, supplied: Mapping[Level, Body]) -> Page:
    page = prepared.page
    try:
        levels = derive_levels(
            page.page_id,
            page.fields,
            page.full,
            reduced_image=prepared.reduced,
            supplied=supplied,
            text=prepared.text,
        )
    except InvalidPayloadError as exc:
        raise InvalidPayloadError(
            f"{exc.detail} It was supplied before: supply a shorter one first, or DELETE it at "
            "`/representations/{level}` to have it derived.",
            code="level-too-long",
        ) from exc
    return replace(page, levels=levels)


def _searched_fields(fields: PageFields) -> tuple[object, ...]:
    """Return the fields that searches read, and those by which they filter."""
    texts = (fields.hint, fields.caption, fields.transcript, find_scenes(fields))
    return (*texts, fields.session_id, fields.modality)
