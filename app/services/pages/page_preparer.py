"""What is written of a page, made ready outside of any transaction: prepared, then planned.

To prepare a page takes long: its content is settled, its media are stored, and one smaller image is
made. A plan has its levels, its search words and its version, and is pure, but takes a thread's
time. It is made over what is stored under the page's id at that moment, and of use only as long as
that is there.
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
from app.services.pages.page_bodies import blob_body, read_referred_text
from app.services.pages.settled_content import PageContents, SettledContent, check_words
from app.services.pages.stored_pages import read_descriptor, read_fields, read_representation
from app.services.pages.versions import (
    Stamp,
    StoredContent,
    page_version,
    resource_ids,
    same_fields,
    stored_levels,
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
from pagefault_dialects.pages.descriptors import scenes_of
from pagefault_dialects.pages.levels import derive_levels

_HEAD_BYTES = 1024 * 1024


@dataclass(frozen=True)
class PreparedPage:
    """A page as it is to be, its media stored and no levels derived yet.

    `forms` says how moved data URIs were written, `text` is what a reference to a text resource
    stands for, `reduced` the smaller form of an image. `resources` are new or named by the client.
    `is_quick` says that the event loop can plan what is written of it.
    """

    page: Page
    forms: dict[str, InlineForm]
    text: str | None
    reduced: Body | None
    resources: Sequence[Resource]
    now: datetime
    is_quick: bool = False

    @cached_property
    def content(self) -> StoredContent:
        """Return the content as it is stored; serialised when it is first asked for."""
        return StoredContent(json_text(self.page.full.value).encode(), dump_forms(self.forms))


@dataclass(frozen=True, slots=True)
class _Smaller:
    """The smaller form of an image; no data if that is the image itself."""

    data: bytes | None
    mime_type: str


@dataclass(frozen=True, slots=True)
class PagePreparer:
    """Prepares pages; the long part of a write, outside of any transaction."""

    records: Records
    blobs: BlobStore
    images: ImageWork
    limits: Limits

    def contents(
        self, project_id: str, now: datetime, request: StreamedRequest[Any] | None = None
    ) -> PageContents:
        """Return what settles contents of one request; some media may be in drafts already."""
        limits = self.limits
        keeper = MediaKeeper(self.blobs, project_id, limit_bytes=limits.medium_bytes, now=now)
        return PageContents(
            StoredMedia(self.records, self.blobs, project_id),
            MediaMover(keeper, limits.media_per_result, request.media if request else {}),
            limits,
            is_quick=request is not None and request.is_quick,
        )

    async def prepare(
        self, contents: PageContents, page_id: str, fields: PageFields, content: object
    ) -> PreparedPage:
        """Settle a page's content.

        Raises:
            InvalidPayloadError, PayloadTooLargeError: The content; nothing is visible.
            StoreUnavailableError: The blob store did not answer.
        """
        await run_in_loop_if(contents.is_quick, check_words, fields)
        settled = await contents.settle(fields.modality, content)
        return await self.complete(contents, Page(page_id, fields, settled.body, {}), settled)

    async def complete(
        self, contents: PageContents, page: Page, settled: SettledContent
    ) -> PreparedPage:
        """Add to a page what its levels are derived from, its text and the smaller form of it.

        An image's smaller form that was derived when its content was written is taken over. Where a
        supplied one took its place it is made again.

        Args:
            contents: Where media are.
            page: The page.
            settled: Its content, if that has come with the request, and what it now refers to.
        """
        source = settled.source
        text = await read_referred_text(
            contents.media,
            page.fields.modality,
            page.full,
            source=source,
            limit_bytes=self.limits.page_text_bytes,
        )
        reduced, smaller = await self._reduced(contents, page, source)
        return PreparedPage(
            page=page,
            forms=settled.forms,
            text=text,
            reduced=reduced,
            resources=[*settled.resources, *smaller],
            now=contents.mover.keeper.now,
            # What a reference stands for may be long, however short the request is.
            is_quick=contents.is_quick and text is None,
        )

    async def _reduced(
        self, contents: PageContents, page: Page, source: MediaSource | None
    ) -> tuple[Body | None, list[Resource]]:
        """Make the smaller form of an image; returns it, and its resource if that is a new one."""
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
        read = partial(self._read, contents, str(body.value), source)
        made = await self._smaller(contents, media.mime_type, media.size_bytes, read)
        if made is None:
            return None, []
        if made.data is None:
            return body, []
        resource = await contents.mover.keeper.store(InMemoryMedia(made.data), made.mime_type, None)
        return blob_body(resource), [resource]

    async def _smaller(
        self,
        contents: PageContents,
        mime_type: str,
        size_bytes: int,
        read: Callable[[int], Awaitable[bytes]],
    ) -> _Smaller | None:
        cost = await self.images.cost_of(await read(_HEAD_BYTES), mime_type)
        if cost is None:
            return None

        async def make(decode: Decode) -> _Smaller | None:
            data = await read(size_bytes)
            made = await decode(data, mime_type, None)
            if made is None:
                return None
            return _Smaller(None if made.data is data else made.data, made.mime_type)

        project_id = contents.mover.keeper.project_id
        try:
            return await self.images.run(project_id, cost, size_bytes, make)
        except (TooCostlyError, UndecidedError):
            return None

    async def _read(
        self, contents: PageContents, reference: str, source: MediaSource | None, size_bytes: int
    ) -> bytes:
        """Return the first bytes of a page's image: at hand, or where the reference leads."""
        if source is not None:
            return await anyio.to_thread.run_sync(source.head, size_bytes)
        resource = await contents.media.resource(reference)
        return await read_whole(
            self.blobs, contents.media.project_id, resource.digest, end=size_bytes
        )


@dataclass(frozen=True, slots=True)
class KeptContent:
    """What stays of a stored page where its content does, and what was said about the page."""

    content: StoredContent
    supplied: Mapping[Level, Body]
    fields: PageFields


@dataclass(frozen=True, slots=True)
class PageChange:
    """A version of a page with all that is written beside it, serialised."""

    version: PageVersion
    """The version."""
    levels: Sequence[StoredRepresentation]
    """Those above FULL."""
    words: SearchWords | None
    """Those a search finds it by; `None` where they are what they were."""
    fetched_resource_id: str | None
    """What its address was downloaded to."""
    resources: Mapping[str, Resource]
    """Those that it refers to and that may not be stored yet, by id."""
    stored_resource_ids: set[str]
    """The others that it refers to."""
    now: datetime
    """When it is written."""


def plan_change(
    prepared: PreparedPage, current: StoredPage | None, kept: KeptContent | None, limits: Limits
) -> PageChange:
    """Return the version of a page that follows a stored one, or the first.

    Args:
        prepared: The page as it is to be.
        current: The page as it is stored; its content is not needed.
        kept: What stays, if the content does.
        limits: How much may be said about it.

    Raises:
        InvalidPayloadError: A supplied level does not fit there any more.
        PayloadTooLargeError: What is said about the page is too long.
    """
    now, content = prepared.now, kept.content if kept else prepared.content
    page = _with_levels(prepared, kept.supplied if kept else {})
    stamp = Stamp(current.version + 1, current.created_at, now) if current else Stamp(1, now, now)
    version = page_version(page, content, stamp)
    if len(version.descriptor) > limits.page_fields_bytes:
        raise PayloadTooLargeError(
            "Caption, transcript, scenes, metadata and the other fields of a page may have "
            f"{limits.page_fields_bytes} bytes in all. Store what is longer as a resource or as a "
            "page of its own. Nothing was stored."
        )
    has_words = kept is not None and _searched(kept.fields) == _searched(page.fields)
    wanted = resource_ids(page) | content.resource_ids
    resources = {each.resource_id: each for each in prepared.resources}
    return PageChange(
        version,
        stored_levels(page, now),
        None if has_words else search_words(searchable_text(page, prepared.text)),
        content.fetched_resource_id,
        {key: resource for key, resource in resources.items() if key in wanted},
        wanted - resources.keys(),
        now,
    )


def plan_same_content(
    prepared: PreparedPage,
    current: StoredPage,
    levels: Iterable[StoredRepresentation],
    limits: Limits,
) -> PageChange | None:
    """Return what makes a page with this content the prepared one; `None` if it is that already.

    Levels that a client supplied stay as long as the content does.

    Args:
        prepared: The page as it is to be.
        current: The page as it is stored, without its content.
        levels: Its levels.
        limits: How much may be said about it.

    Raises:
        InvalidPayloadError, PayloadTooLargeError: See `plan_change`.
    """
    content = prepared.content
    # What was read is written back: the references in it still stand for what was moved.
    inline_form = content.inline_form or current.inline_form
    before = read_fields(read_descriptor(current))
    if inline_form == current.inline_form and same_fields(prepared.page.fields, before):
        return None
    kept = KeptContent(
        StoredContent(content.text, inline_form, current.fetched_resource_id),
        supplied_levels(map(read_representation, levels)),
        before,
    )
    return plan_change(prepared, current, kept, limits)


def supplied_levels(levels: Iterable[Representation]) -> dict[Level, Body]:
    """Return the levels that a client has supplied."""
    return {each.level: each.body for each in levels if each.origin == "supplied"}


def _with_levels(prepared: PreparedPage, supplied: Mapping[Level, Body]) -> Page:
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


def _searched(fields: PageFields) -> tuple[object, ...]:
    """Return the fields that a search looks in, or is narrowed by."""
    words = (fields.hint, fields.caption, fields.transcript, scenes_of(fields))
    return (*words, fields.session_id, fields.modality)
