"""Restores the media of pages as text: data URIs, base64, and contents as they were sent."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import anyio.to_thread
import pybase64

from app.errors import NotFoundError, StoreUnavailableError
from app.models.limits import Limits
from app.services.inline_media.stored_media import StoredMedia, check_fits
from app.services.media.media_checks import MediaChecks
from app.services.pages.message_images import repair_image
from pagefault_dialects.media.data_uris import split_data_uri
from pagefault_dialects.media.embedded_data_uris import InlineForm, load_forms
from pagefault_dialects.media.types import OCTET_STREAM
from pagefault_dialects.model.page import Body, Level, Page, StoredPage
from pagefault_dialects.model.render_options import JsonPiece, MediaPiece
from pagefault_dialects.model.resource import Damage, parse_resource_id
from pagefault_dialects.pages.effective_level import attached_image
from pagefault_dialects.texts.json_strings import MediaPlaces

_ROOT = ""
_NO_BASE64 = Damage("damaged-media", "What its data: URI announces as base64 is none.")


@dataclass(frozen=True)
class PageMediaReader:
    """Reads the media of one page."""

    media: StoredMedia
    """The media of the project."""
    stored: StoredPage
    """The page, with the original form of its data URIs."""
    checks: MediaChecks
    """Checks of images."""
    limits: Limits
    """The largest media in an answer."""

    @cached_property
    def _forms(self) -> dict[str, InlineForm]:
        return load_forms(self.stored.inline_form)

    @property
    def declared_type(self) -> str | None:
        """Return the MIME type in the data URI that the content was moved out of, if any."""
        form = self._forms.get(_ROOT)
        uri = split_data_uri(form.head) if form else None
        return uri.declared_type if uri else None

    async def damage(self, page: Page, level: Level) -> dict[Level, Damage]:
        """Return the damage of the images of a page, by level. Remote images are not checked.

        Args:
            page: The page.
            level: The requested level. Missing images of other levels are ignored.

        Raises:
            NotFoundError: The image of the level was deleted.
            StoreUnavailableError: The store did not answer.
        """
        found: dict[Level, Damage] = {}
        for each in (Level.FULL, Level.REDUCED):
            try:
                damage = await self._damage_at(page, each)
            except (NotFoundError, StoreUnavailableError):
                if each is level:
                    raise
                continue
            if damage is not None:
                found[each] = damage
        return found

    async def _damage_at(self, page: Page, level: Level) -> Damage | None:
        body = attached_image(page, level)
        if body is None:
            return None
        if body.media is None:
            return _NO_BASE64 if body.kind == "data" else None
        if body.kind == "blob":
            resource = await self.media.resource(str(body.value))
            return await self.checks.of_resource(self.media.project_id, resource)
        return await self.checks.of_bytes(_data_of(body), body.media.mime_type)

    async def address(
        self,
        page: Page,
        level: Level,
        *,
        places: MediaPlaces | None,
        is_repaired: bool = False,
    ) -> str | None:
        """Return the URL of the image of a level, for a model or a browser.

        Args:
            page: The page.
            level: The level.
            places: The places of stored images in the JSON; `None` for references.
            is_repaired: Whether damaged chunks of a PNG are left out.

        Returns:
            An `http(s)` URL, a `data:` URI, or, without `places`, the `@blob:` reference of a
            stored image; `None` if the level has no image.

        Raises:
            PayloadTooLargeError: The image is too large for an answer.
        """
        body = attached_image(page, level)
        if body is None:
            return None
        if body.media is None or (body.kind == "blob" and places is None):
            return str(body.value)
        if is_repaired:
            data = _data_of(body)
            if body.kind == "blob":
                limit_bytes = self.limits.image_bytes
                data = await self.media.read(str(body.value), limit_bytes=limit_bytes)
            return await anyio.to_thread.run_sync(repair_image, data)
        return await self._data_uri(places or MediaPlaces(), body)

    async def base64(self, places: MediaPlaces, body: Body) -> str | None:
        """Return the base64 of a medium, or a mark in `places` for it; `None` without a medium.

        Raises:
            NotFoundError: The medium was deleted.
            PayloadTooLargeError: The medium is too large for an answer.
        """
        if body.media is None:
            return None
        if body.kind == "data":
            return await anyio.to_thread.run_sync(_base64, _data_of(body))
        resource = await self.media.resource(str(body.value))
        check_fits(resource, self.limits.image_bytes)
        return places.mark(MediaPiece(resource.digest, resource.size_bytes))

    async def content_as_sent(self, content: bytes) -> Sequence[JsonPiece]:
        """Return the content with every moved data URI as it was written, byte for byte.

        Raises:
            NotFoundError: One of its media was deleted.
            PayloadTooLargeError: Its media are too large for an answer.
            StoreUnavailableError: The store did not answer.
        """
        return await self.media.as_sent(content, self._forms, limit_bytes=self.limits.inline_bytes)

    async def _data_uri(self, places: MediaPlaces, body: Body) -> str:
        """Return the medium as a data URI, in the form of the client if that is plain."""
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
        return f"{head}{await self.base64(places, body)}"


def _data_of(body: Body) -> bytes:
    uri = split_data_uri(str(body.value)) if body.kind == "data" else None
    return uri.data or b"" if uri else b""


def _base64(data: bytes) -> str:
    return pybase64.b64encode(data).decode()
