"""What a page takes before it is planned: content settled, media stored, one smaller image."""

from datetime import datetime

import anyio.to_thread

from app.media.data_uris import split_data_uri
from app.models.limits import Limits
from app.models.media import InMemoryMedia, MediaSource
from app.models.page import Body, Page, PageFields
from app.models.resource import Resource
from app.services.images.image_work import ImageWork
from app.services.pages.content_rules import check_words
from app.services.pages.contents import PageContents, blob_body
from app.services.pages.planning import PreparedPage
from app.services.pages.thumbnails import reduce_image
from app.services.requests.streamed_requests import StreamedMedia
from app.stores.blobs import BlobStore
from app.stores.records import Records


class PagePreparer:
    """Prepares pages; the long part of a write, outside of any transaction."""

    def __init__(
        self, records: Records, blobs: BlobStore, *, images: ImageWork, limits: Limits
    ) -> None:
        self._records = records
        self._blobs = blobs
        self._images = images
        self._limits = limits

    def contents(
        self, project_id: str, now: datetime, streamed: StreamedMedia | None = None
    ) -> PageContents:
        """Return what settles contents of one request; some media may be in drafts already."""
        return PageContents(
            self._records,
            self._blobs,
            project_id=project_id,
            limits=self._limits,
            now=now,
            streamed=streamed,
        )

    async def prepare(
        self, contents: PageContents, page_id: str, fields: PageFields, content: object
    ) -> PreparedPage:
        """Settle a page's content.

        Raises:
            InvalidPayloadError, PayloadTooLargeError: The content; nothing is visible.
            StoreUnavailableError: The blob store did not answer.
        """
        await anyio.to_thread.run_sync(check_words, fields)
        settled = await contents.settle(fields.modality, content)
        text = await contents.referred_text(fields.modality, settled.body, settled.source)
        reduced, smaller = await self.reduced(contents, fields, settled.body, settled.source)
        return PreparedPage(
            page=Page(page_id, fields, settled.body, {}),
            forms=settled.forms,
            text=text,
            reduced=reduced,
            resources=[*settled.resources, *smaller],
            now=contents.keeper.now,
        )

    async def reduced(
        self, contents: PageContents, fields: PageFields, body: Body, source: MediaSource | None
    ) -> tuple[Body | None, list[Resource]]:
        """Make the smaller form of an image; returns it, and its resource if that is a new one.

        Args:
            contents: Where media are.
            fields: The page's.
            body: The page's content.
            source: Its medium, where that is at hand.
        """
        media = body.media
        if fields.modality != "image" or media is None or media.width is None:
            return None, []
        if media.size_bytes > self._limits.image_bytes:
            return None, []
        if source is None and body.kind == "data":
            uri = split_data_uri(str(body.value))
            source = InMemoryMedia(uri.data) if uri and uri.data else None
        async with self._images.turn(media.size_bytes, media.width, media.height):
            if source is None:
                data = await contents.media.read(
                    str(body.value), limit_bytes=self._limits.image_bytes
                )
            else:
                data = await anyio.to_thread.run_sync(source.head, source.size_bytes)
            made = await anyio.to_thread.run_sync(self._reduce, data, media.mime_type)
        if made is None:
            return None, []
        small, mime_type = made
        if small is data:
            return body, []
        resource = await contents.keeper.store(InMemoryMedia(small), mime_type, None)
        return blob_body(resource), [resource]

    def _reduce(self, data: bytes, mime_type: str) -> tuple[bytes, str] | None:
        return reduce_image(data, mime_type, most_pixels=self._limits.image_pixels)
