"""The media of pages as text again: data URIs, base64, and contents as they were sent."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import anyio.to_thread
import pybase64

from app.errors import NotFoundError, StoreUnavailableError
from app.models.limits import Limits
from app.services.inline_media.stored_media import StoredMedia, check_fits
from app.services.media.media_checks import MediaChecks
from app.services.pages.message_images import repaired_uri
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
    """Where they are."""
    stored: StoredPage
    """The page, with how its data URIs were written."""
    checks: MediaChecks
    """Says whether they are sound."""
    limits: Limits
    """For the largest media that stand in an answer."""

    @cached_property
    def _forms(self) -> dict[str, InlineForm]:
        return load_forms(self.stored.inline_form)

    @property
    def declared_type(self) -> str | None:
        """Return the MIME type in the data URI that the content was moved out of, if it was."""
        form = self._forms.get(_ROOT)
        uri = split_data_uri(form.head) if form else None
        return uri.declared_type if uri else None

    async def damage(self, page: Page, level: Level) -> dict[Level, Damage]:
        """Return what is wrong with the images of a page, by level, as far as their bytes are here.

        Args:
            page: The page.
            level: The level that is asked for. The image of another one may be gone.

        Raises:
            NotFoundError: The image is gone.
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
        """Return what a model or a browser may load the image of a level from.

        Args:
            page: The page.
            level: The level.
            places: Where the bytes of a stored image are to stand; `None` for its reference.
            is_repaired: Whether bytes are given without what is damaged beside the picture.

        Returns:
            An `http(s)` URL, a `data:` URI, or, without `places`, the `@blob:` reference of a
            stored one; `None` where the level holds no image that is really there.

        Raises:
            PayloadTooLargeError: It is too large to stand in an answer.
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
            return await anyio.to_thread.run_sync(repaired_uri, data)
        return await self._data_uri(places or MediaPlaces(), body)

    async def base64(self, places: MediaPlaces, body: Body) -> str | None:
        """Return what stands for a medium's bytes as plain base64; `None` if it has none here.

        Raises:
            NotFoundError: The medium is gone.
            PayloadTooLargeError: It is too large to stand in an answer.
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
            NotFoundError: One of its media is gone.
            PayloadTooLargeError: They are too large to stand in an answer.
            StoreUnavailableError: The store did not answer.
        """
        return await self.media.as_sent(content, self._forms, limit_bytes=self.limits.inline_bytes)

    async def _data_uri(self, places: MediaPlaces, body: Body) -> str:
        """Return the medium as a data URI: as the client wrote it, if everybody can read that."""
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
