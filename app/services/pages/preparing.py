"""What a page takes before it is planned: content settled, media stored, one smaller image."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import anyio.to_thread

from app.media.data_uris import split_data_uri
from app.models.limits import Limits
from app.models.media import InMemoryMedia, MediaSource
from app.models.page import Body, Level, Page, PageFields
from app.models.resource import Resource
from app.services.concurrency.large_work import run_in_loop_if
from app.services.images.image_work import ImageWork
from app.services.inline_media.stored_media import MediaMover, StoredMedia
from app.services.pages.contents import PageContents, SettledContent, blob_body, check_words
from app.services.pages.planning import PreparedPage
from app.services.persistence.media_keeper import MediaKeeper
from app.services.requests.streamed_requests import StreamedRequest
from app.stores.blobs import BlobStore
from app.stores.records import Records


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
        text = await contents.referred_text(page.fields.modality, page.full, source)
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
        async with self.images.turn(media.size_bytes, media.width, media.height):
            if source is None:
                data = await contents.media.read(
                    str(body.value), limit_bytes=self.limits.image_bytes
                )
            else:
                data = await anyio.to_thread.run_sync(source.head, source.size_bytes)
            # Pillow, which a process that prepares no image does without.
            from app.services.images.reducing import reduce_image  # noqa: PLC0415

            reduce = partial(reduce_image, most_pixels=self.limits.image_pixels)
            made = await anyio.to_thread.run_sync(reduce, data, media.mime_type)
        if made is None:
            return None, []
        small, mime_type = made
        if small is data:
            return body, []
        resource = await contents.mover.keeper.store(InMemoryMedia(small), mime_type, None)
        return blob_body(resource), [resource]
