"""The media of pages as text again: data URIs, base64, and contents as they were sent."""

from collections.abc import Sequence

import anyio.to_thread
import pybase64

from app.errors import NotFoundError, StoreUnavailableError
from app.media.data_uris import split_data_uri
from app.media.soundness import without_damaged_chunks
from app.media.types import OCTET_STREAM
from app.models.limits import Limits
from app.models.page import Body, Level, Page, StoredPage
from app.models.rendering import JsonPiece, MediaPiece
from app.models.resource import Damage, Resource, parse_resource_id
from app.rendering.pages.effective_level import attached_image
from app.rendering.texts.json_strings import MediaPlaces
from app.services.inline_media.restoring import StoredMedia, check_fits
from app.services.pages.contents import PageContents
from app.services.persistence.media_checks import MediaChecks
from app.services.requests.data_uris import load_forms

_ROOT = ""
_NO_BASE64 = Damage("damaged-media", "What its data: URI announces as base64 is none.")


class PageMediaReader:
    """Reads the media of one page.

    Args:
        contents: Where they are.
        stored: The page, with how its data URIs were written.
        checks: Says whether they are sound.
        limits: For the largest media that stand in an answer.
    """

    def __init__(
        self, contents: PageContents, stored: StoredPage, checks: MediaChecks, limits: Limits
    ) -> None:
        self._contents = contents
        self._checks = checks
        self._forms = load_forms(stored.inline_form)
        self._limits = limits

    @property
    def project_id(self) -> str:
        """The project whose page it is."""
        return self._contents.media.project_id

    @property
    def declared_type(self) -> str | None:
        """The MIME type in the data URI that the page's content was moved out of, if it was."""
        form = self._forms.get(_ROOT)
        uri = split_data_uri(form.head) if form else None
        return uri.declared_type if uri else None

    async def damage(self, page: Page, level: Level) -> dict[Level, Damage]:
        """What is wrong with the images of a page, by level, as far as their bytes are here.

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
            return await damage_of_stored(
                self._checks, self._contents.media, await self._resource(body)
            )
        return await self._checks.of_bytes(_data_of(body), body.media.mime_type)

    async def address(
        self,
        page: Page,
        level: Level,
        *,
        places: MediaPlaces | None,
        is_repaired: bool = False,
    ) -> str | None:
        """What a model or a browser may load the image of a level from.

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
            return await self._repaired(body)
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

    async def _repaired(self, body: Body) -> str:
        data = _data_of(body)
        if body.kind == "blob":
            limit_bytes = self._limits.image_bytes
            data = await self._contents.media.read(str(body.value), limit_bytes=limit_bytes)
        return await anyio.to_thread.run_sync(repaired_uri, data)

    async def _resource(self, body: Body) -> Resource:
        return await self._contents.media.resource(str(body.value))

    async def _base64(self, places: MediaPlaces, body: Body) -> str:
        if body.kind == "data":
            return await anyio.to_thread.run_sync(_base64, _data_of(body))
        resource = await self._resource(body)
        check_fits(resource, self._limits.image_bytes)
        return places.mark(MediaPiece(resource.digest, resource.size_bytes))


async def damage_of_stored(
    checks: MediaChecks, media: StoredMedia, resource: Resource
) -> Damage | None:
    """What is wrong with a stored medium of a project.

    Raises:
        StoreUnavailableError: The store did not answer.
    """
    return await checks.of_blob(
        media.project_id,
        resource.digest,
        mime_type=resource.mime_type,
        size_bytes=resource.size_bytes,
    )


def repaired_uri(data: bytes) -> str:
    """A PNG without what is damaged beside its picture, as a data URI."""
    return f"data:image/png;base64,{_base64(without_damaged_chunks(data))}"


def _data_of(body: Body) -> bytes:
    uri = split_data_uri(str(body.value)) if body.kind == "data" else None
    return uri.data or b"" if uri else b""


def _base64(data: bytes) -> str:
    return pybase64.b64encode(data).decode()
