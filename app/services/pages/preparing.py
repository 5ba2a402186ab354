"""What a page takes before its transaction: content settled, media stored, levels derived."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

import anyio.to_thread

from app.errors import InvalidPayloadError
from app.media.data_uris import split_data_uri
from app.models.limits import Limits
from app.models.media import InMemoryMedia, MediaSource
from app.models.page import Body, Level, Page, PageFields
from app.models.resource import Resource
from app.models.search import SearchWords, search_words
from app.rendering.pages import derive_levels
from app.services.image_work import ImageWork
from app.services.pages.contents import PageContents, SettledContent, page_media
from app.services.pages.fitting import check_words
from app.services.pages.thumbnails import reduce_image
from app.services.pages.versions import searchable_text
from app.services.streaming.requests import StreamedMedia
from app.stores.blobs import BlobStore
from app.stores.records import Records


@dataclass(frozen=True, slots=True)
class PreparedPage:
    """A page whose media are stored and whose levels are derived, none of them supplied.

    `text` is what a reference to a text resource stands for; `reduced` the smaller form of an
    image. `resources` are new or named by the client; the transaction makes them last.
    """

    page: Page
    settled: SettledContent
    words: SearchWords
    text: str | None
    reduced: Body | None
    resources: Mapping[str, Resource]
    now: datetime


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
        """Settles contents of one request, of which some media may be in drafts already."""
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
        """Settle a page's content and derive its levels.

        Raises:
            InvalidPayloadError, PayloadTooLargeError: The content; nothing is visible.
            StoreUnavailableError: The blob store did not answer.
        """
        await anyio.to_thread.run_sync(check_words, fields)
        settled = await contents.settle(fields.modality, content)
        resources = {resource.resource_id: resource for resource in settled.resources}
        text = await contents.referred_text(fields.modality, settled.body, settled.source)
        reduced, smaller = await self.reduced(contents, fields, settled.body, settled.source)
        if smaller is not None:
            resources[smaller.resource_id] = smaller
        page = await anyio.to_thread.run_sync(
            partial(
                with_levels,
                Page(page_id, fields, settled.body, {}),
                supplied={},
                reduced=reduced,
                text=text,
            )
        )
        return PreparedPage(
            page=page,
            settled=settled,
            words=await words_of(page, text),
            text=text,
            reduced=reduced,
            resources=resources,
            now=contents.keeper.now,
        )

    async def reduced(
        self, contents: PageContents, fields: PageFields, body: Body, source: MediaSource | None
    ) -> tuple[Body | None, Resource | None]:
        """The smaller form of an image, and the resource it was stored as, if it is a new one.

        Args:
            contents: Where media are.
            fields: The page's.
            body: The page's content.
            source: Its medium, where that is at hand.
        """
        media = body.media
        if fields.modality != "image" or media is None or media.width is None:
            return None, None
        if media.size_bytes > self._limits.image_bytes:
            return None, None
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
            return None, None
        small, mime_type = made
        if small is data:
            return body, None
        resource = await contents.keeper.store(InMemoryMedia(small), mime_type, None)
        return Body("blob", resource.reference, page_media(resource)), resource

    def _reduce(self, data: bytes, mime_type: str) -> tuple[bytes, str] | None:
        return reduce_image(data, mime_type, most_pixels=self._limits.image_pixels)


def with_levels(
    page: Page, *, supplied: Mapping[Level, Body], reduced: Body | None, text: str | None
) -> Page:
    """The page with what was supplied and what can be derived; takes a thread's time.

    Raises:
        InvalidPayloadError: A supplied level does not fit there any more.
    """
    try:
        levels = derive_levels(
            page.page_id,
            page.fields,
            page.full,
            reduced_image=reduced,
            supplied=supplied,
            text=text,
        )
    except InvalidPayloadError as exc:
        raise InvalidPayloadError(
            f"{exc.detail} It was supplied before: supply a shorter one first, or DELETE it at "
            "`/representations/{level}` to have it derived.",
            code="level-too-long",
        ) from exc
    return replace(page, levels=levels)


async def words_of(page: Page, text: str | None) -> SearchWords:
    """The words a search finds the page by, worked out in a thread.

    Args:
        page: The page.
        text: The text its content stands for where it refers to a text resource.
    """
    return await anyio.to_thread.run_sync(lambda: search_words(searchable_text(page, text)))
