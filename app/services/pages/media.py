"""The media of pages as text again: data URIs, base64, and contents as they were sent.

Messages of page faults keep references to images in the history; a model gets the images.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import anyio.to_thread
import pybase64

from app.errors import NotFoundError, StoreUnavailableError
from app.models.limits import Limits
from app.services.inline_media.stored_media import StoredMedia, check_fits
from app.services.media.media_checks import MediaChecks
from app.services.requests.data_uris import InlineForm, load_forms
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.media.data_uris import split_data_uri
from pagefault_dialects.media.soundness import without_damaged_chunks
from pagefault_dialects.media.types import OCTET_STREAM
from pagefault_dialects.model.page import Body, Level, Page, StoredPage
from pagefault_dialects.model.rendering import JsonPiece, MediaPiece
from pagefault_dialects.model.resource import Damage, Resource, parse_resource_id
from pagefault_dialects.pages.effective_level import attached_image
from pagefault_dialects.pages.page_blocks import image_damaged
from pagefault_dialects.texts.json_strings import MediaPlaces

_ROOT = ""
_REFERENCE_MARK = "@blob:"
# As it begins in a message, whose strings are written without escapes where they need none.
_REFERENCE = b'"@blob:'
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
            return await damage_of_stored(self.checks, self.media, resource)
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


async def damage_of_stored(
    checks: MediaChecks, media: StoredMedia, resource: Resource
) -> Damage | None:
    """Return what is wrong with a stored medium of a project.

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
    """Return a PNG without what is damaged beside its picture, as a data URI."""
    return f"data:image/png;base64,{_base64(without_damaged_chunks(data))}"


def _data_of(body: Body) -> bytes:
    uri = split_data_uri(str(body.value)) if body.kind == "data" else None
    return uri.data or b"" if uri else b""


def _base64(data: bytes) -> str:
    return pybase64.b64encode(data).decode()


def image_ids(message: bytes) -> set[str]:
    """Return the ids of the resources that a message of a page fault shows."""
    if _REFERENCE not in message:
        return set()
    images = _stored_images(json.loads(message))
    return set(filter(None, (parse_resource_id(image["url"]) for _, image in images)))


async def with_images(
    media: StoredMedia, message: bytes, *, limit_bytes: int, checks: MediaChecks | None = None
) -> Sequence[JsonPiece]:
    """Return the message with a data URI in the place of every reference to an image.

    Args:
        media: Where the images are.
        message: The message; it may be older than the check of its image.
        limit_bytes: How many bytes of images stand in it in all.
        checks: Says whether they are sound: of one that is not there is a text that says so.
            `None` for a message that is read and not handed to a model.

    Raises:
        NotFoundError: One of the images is gone.
        PayloadTooLargeError: The images have more than `limit_bytes` in all.
        StoreUnavailableError: The store did not answer.
    """
    if _REFERENCE not in message:
        return [message]
    value = json.loads(message)
    images = _stored_images(value)
    if not images:
        return [message]
    places = MediaPlaces()
    for block, image in images:
        resource = await media.resource(image["url"])
        check_fits(resource, limit_bytes)
        limit_bytes -= resource.size_bytes
        damage = await damage_of_stored(checks, media, resource) if checks else None
        if damage is None:
            mark = places.mark(MediaPiece(resource.digest, resource.size_bytes))
            image["url"] = f"data:{resource.mime_type};base64,{mark}"
        elif damage.is_repairable:
            data = await media.read(resource.resource_id, limit_bytes=resource.size_bytes)
            image["url"] = await anyio.to_thread.run_sync(repaired_uri, data)
        else:
            block.clear()
            block.update(type="text", text=image_damaged(damage.detail))
    text = await anyio.to_thread.run_sync(lambda: json_text(value).encode())
    return places.pieces(text)


def _stored_images(message: Mapping[str, JsonValue]) -> list[tuple[JsonValue, JsonValue]]:
    """Return the blocks of a message that show stored images, each with its `image_url`."""
    content = message["content"]
    blocks = content if isinstance(content, list) else []
    images = [(each, each["image_url"]) for each in blocks if each["type"] == "image_url"]
    return [each for each in images if each[1]["url"].startswith(_REFERENCE_MARK)]
