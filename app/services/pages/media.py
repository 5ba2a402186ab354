"""The media of pages as text again: data URIs, base64, and contents as they were sent."""

from collections.abc import Sequence

import anyio.to_thread
import pybase64

from app.models.limits import Limits
from app.models.media_types import OCTET_STREAM
from app.models.page import Body, Level, Page, StoredPage
from app.models.rendering import JsonPiece, MediaPiece
from app.models.resource import parse_resource_id
from app.rendering.media_places import MediaPlaces
from app.services.inline_media.data_uris import load_forms, split_data_uri
from app.services.inline_media.restoring import check_fits
from app.services.pages.contents import PageContents

_ROOT = ""


class PageMediaReader:
    """Reads the media of one page.

    Args:
        contents: Where they are.
        stored: The page, with how its data URIs were written.
        limits: For the largest media that stand in an answer.
    """

    def __init__(self, contents: PageContents, stored: StoredPage, limits: Limits) -> None:
        self._contents = contents
        self._forms = load_forms(stored.inline_form)
        self._limits = limits

    @property
    def declared_type(self) -> str | None:
        """The MIME type in the data URI that the page's content was moved out of, if it was."""
        form = self._forms.get(_ROOT)
        uri = split_data_uri(form.head) if form else None
        return uri.mime_type if uri else None

    async def address(self, page: Page, level: Level, *, places: MediaPlaces | None) -> str | None:
        """What a model or a browser may load the image of a level from.

        Args:
            page: The page.
            level: The level.
            places: Where the bytes of a stored image are to stand; `None` for its reference.

        Returns:
            An `http(s)` URL, a `data:` URI, or, without `places`, the `@blob:` reference of a
            stored one; `None` where the level holds no image that is really there.

        Raises:
            PayloadTooLargeError: It is too large to stand in an answer.
        """
        representation = page.at(level)
        body = representation.body if representation else None
        if body is None or level > Level.REDUCED or page.fields.modality != "image":
            return None
        if body.kind == "url":
            return str(body.value)
        if body.media is None or not body.media.mime_type.startswith("image/"):
            return None
        if body.kind == "blob" and places is None:
            return str(body.value)
        return await self._data_uri(places or MediaPlaces(), body)

    async def base64(self, places: MediaPlaces, body: Body) -> str | None:
        """What stands for a medium's bytes as plain base64; `None` if it has none here.

        Raises:
            NotFoundError: The medium is gone.
            PayloadTooLargeError: It is too large to stand in an answer.
        """
        return None if body.media is None else await self._base64(places, body)

    async def content_as_sent(self, content: bytes) -> Sequence[JsonPiece]:
        """The content with every moved data URI as it was written, byte for byte.

        Raises:
            NotFoundError: One of its media is gone.
            PayloadTooLargeError: They are too large to stand in an answer.
            StoreUnavailableError: The store did not answer.
        """
        return await self._contents.media.as_sent(
            content, self._forms, limit_bytes=self._limits.inline_bytes
        )

    async def _data_uri(self, places: MediaPlaces, body: Body) -> str:
        """The medium as a data URI: as the client wrote it, if everybody can read that."""
        if body.kind == "data":
            uri = split_data_uri(str(body.value))
            if uri is not None and uri.is_plain:
                return uri.text
        form = self._forms.get(_ROOT)
        mime_type = body.media.mime_type if body.media else OCTET_STREAM
        head = f"data:{mime_type};base64,"
        is_own = form is not None and form.resource_id == parse_resource_id(str(body.value))
        if form is not None and is_own and form.is_plain:
            head = form.head
        return head + await self._base64(places, body)

    async def _base64(self, places: MediaPlaces, body: Body) -> str:
        if body.kind == "data":
            uri = split_data_uri(str(body.value))
            data = uri.data or b"" if uri else b""
            return await anyio.to_thread.run_sync(_base64, data)
        resource = await self._contents.media.resource(str(body.value))
        check_fits(resource, self._limits.image_bytes)
        return places.mark(MediaPiece(resource.digest, resource.size_bytes))


def _base64(data: bytes) -> str:
    return pybase64.b64encode(data).decode()
