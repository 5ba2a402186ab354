"""The media of pages as text again: data URIs, base64, and contents as they were sent."""

import anyio.to_thread
import pybase64

from app.models.limits import Limits
from app.models.media_types import OCTET_STREAM
from app.models.page import Body, Level, Page, StoredPage
from app.models.resource import parse_resource_id
from app.services.inline_media.data_uris import (
    InlineForm,
    load_forms,
    split_data_uri,
    write_data_uri,
)
from app.services.pages.contents import PageContents

_ROOT = ""


class PageMediaReader:
    """Reads the media of one page.

    Args:
        contents: Where they are.
        stored: The page, with how its data URIs were written.
        limits: For the largest medium that is read into memory whole.
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

    async def address(self, page: Page, level: Level, *, inline: bool) -> str | None:
        """What a model or a browser may load the image of a level from.

        Returns:
            An `http(s)` URL, a `data:` URI, or, unless `inline`, the `@blob:` reference of a stored
            one; `None` where the level holds no image that is really there.

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
        if body.kind == "blob" and not inline:
            return str(body.value)
        return await self._data_uri(body)

    async def base64(self, body: Body) -> str | None:
        """A medium's bytes as plain base64; `None` if it has none here.

        Raises:
            PayloadTooLargeError: It is too large to stand in an answer.
        """
        data = None if body.media is None else await self._bytes(body)
        return None if data is None else await anyio.to_thread.run_sync(_base64, data)

    async def content_as_sent(self, content: bytes) -> bytes:
        """The content with every moved data URI as it was written, byte for byte.

        Raises:
            PayloadTooLargeError: They are too large to stand in an answer.
        """
        return await self._contents.media.as_sent(
            content, self._forms, limit_bytes=self._limits.inline_bytes
        )

    async def _data_uri(self, body: Body) -> str:
        """The medium as a data URI: as the client wrote it, if everybody can read that."""
        if body.kind == "data":
            uri = split_data_uri(str(body.value))
            if uri is not None and uri.is_plain:
                return uri.text
        form = self._forms.get(_ROOT)
        data = await self._bytes(body)
        mime_type = body.media.mime_type if body.media else OCTET_STREAM
        plain = InlineForm(resource_id="", head=f"data:{mime_type};base64,")
        is_own = form is not None and form.resource_id == parse_resource_id(str(body.value))
        if form is not None and is_own and form.is_plain:
            plain = form
        return await anyio.to_thread.run_sync(write_data_uri, plain, data)

    async def _bytes(self, body: Body) -> bytes:
        if body.kind == "data":
            uri = split_data_uri(str(body.value))
            return uri.data or b"" if uri else b""
        return await self._contents.media.read(
            str(body.value), limit_bytes=self._limits.image_bytes
        )


def _base64(data: bytes) -> str:
    return pybase64.b64encode(data).decode()
