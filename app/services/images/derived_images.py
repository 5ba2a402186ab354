"""Smaller images of stored ones, for models that take no others: each is made once, and kept.

What is made is a resource that goes when its source goes. Where the source was deleted meanwhile,
nothing is noted: the bytes that were made are garbage that a sweep removes after its grace. What is
made of an image that is part of a record is neither noted nor stored.
"""

import hashlib
from dataclasses import dataclass, replace
from functools import partial

import anyio.to_thread
import structlog

from app.errors import BlobSweptError
from app.models.conversation import InlineBytes, StoredBytes
from app.models.identity import utc_now
from app.models.limits import Limits
from app.models.media import InMemoryMedia
from app.models.resource import (
    DerivedImage,
    FittedImage,
    ImageRecipe,
    Resource,
    derive_resource_id,
    resource_kind,
)
from app.services.images.image_work import ImageWork
from app.services.persistence.media_checks import probe_media, probe_stored_media
from app.services.persistence.media_keeper import MediaKeeper
from app.stores.blobs import BlobStore, StoredBlob, read_whole
from app.stores.records import Records, UnitOfWork
from app.stores.records.derived_images import NotedImage

# What is made of bytes in a record is held in memory, many at a time: a kilobyte can be a picture
# that takes megabytes in every other type.
_LEAST_ROOM_BYTES = 128 * 1024
_MOST_GROWTH = 4
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Made:
    """What decoding came to; `image` is `None` where it never comes to anything."""

    image: FittedImage | None


@dataclass(frozen=True, slots=True)
class DerivedImages:
    """Makes smaller images, for any project."""

    records: Records
    blobs: BlobStore
    images: ImageWork
    limits: Limits

    async def get(
        self,
        project_id: str,
        source: StoredBytes | InlineBytes,
        *,
        mime_type: str,
        size_bytes: int,
        recipe: ImageRecipe,
    ) -> DerivedImage | None:
        """Return the image as the recipe wants it, made unless it has been.

        Args:
            project_id: Whose it is.
            source: The image.
            mime_type: Its type.
            size_bytes: How many bytes it has.
            recipe: What it has to be like.

        Returns:
            What was made. Its bytes are in the blob store, or in itself if the source is part of a
            record. It has no row where no resource has the bytes of the source. `None` if it cannot
            be made.

        Raises:
            OverloadedError: The memory for its pixels was not free for a second.
            StoreUnavailableError: A store did not answer, or has lost the bytes.
        """
        if isinstance(source, InlineBytes):
            return await self._make_in_memory(project_id, source.data, mime_type, recipe)
        # Pillow, which a process that makes no image smaller does without.
        from app.services.images.pixels import CODEC_VERSION  # noqa: PLC0415

        # What is beyond the bounds or the decoder of today need not be so tomorrow.
        key = f"{recipe.key};{self.limits.image_pixels};{CODEC_VERSION}"
        digest = source.digest
        noted = await self.noted(project_id, digest, key)
        if noted is None and size_bytes <= self.limits.image_bytes:
            # Whoever waited here may find what it waited for.
            blob = StoredBlob(digest, size_bytes)
            hints = await probe_stored_media(self.blobs, project_id, blob, mime_type)
            async with self.images.turn(size_bytes, hints.width, hints.height):
                noted = await self.noted(project_id, digest, key)
                if noted is None:
                    noted = await self._make(
                        project_id, digest, recipe, mime_type=mime_type, key=key
                    )
        return noted.image if noted else None

    async def _make_in_memory(
        self, project_id: str, data: bytes, mime_type: str, recipe: ImageRecipe
    ) -> DerivedImage | None:
        if len(data) > self.limits.image_bytes:
            return None
        room = max(_LEAST_ROOM_BYTES, _MOST_GROWTH * len(data))
        most_bytes = room if recipe.most_bytes is None else min(room, recipe.most_bytes)
        hints = probe_media(data, InMemoryMedia(data), mime_type)
        async with self.images.turn(len(data), hints.width, hints.height):
            made = await self._fitted(data, mime_type, replace(recipe, most_bytes=most_bytes))
        if made is None or made.image is None:
            return None
        resource = await anyio.to_thread.run_sync(_described, project_id, made.image)
        return DerivedImage(resource, made.image.is_first_picture, made.image.data)

    async def noted(self, project_id: str, digest: str, key: str) -> NotedImage | None:
        """Return what was made of a blob before, if it was tried.

        Args:
            project_id: Whose it is.
            digest: That of the source.
            key: What was to be made.
        """
        return await self.records.read(
            project_id, lambda unit: unit.derived_images.find(digest, key)
        )

    async def _make(
        self, project_id: str, digest: str, recipe: ImageRecipe, *, mime_type: str, key: str
    ) -> NotedImage | None:
        most_bytes = self.limits.image_bytes
        data = await read_whole(self.blobs, project_id, digest, end=most_bytes + 1)
        if len(data) > most_bytes:
            return None
        made = await self._fitted(data, mime_type, recipe)
        if made is None:
            return None
        keep = partial(self.keep, project_id, digest, key, made.image)
        try:
            return await keep()
        except BlobSweptError:
            # The bytes had been there before, as garbage, and were removed in this moment.
            return await keep()

    async def _fitted(self, data: bytes, mime_type: str, recipe: ImageRecipe) -> _Made | None:
        """Return what became of an image; `None` if that could not be found out now."""
        from app.services.images.pixels import fit_image  # noqa: PLC0415 - see `make`

        fit = partial(fit_image, data, mime_type, recipe, most_pixels=self.limits.image_pixels)
        try:
            return _Made(await anyio.to_thread.run_sync(fit))
        except (MemoryError, OSError) as exc:
            _log.warning("image not made smaller", error=type(exc).__name__)
            return None

    async def keep(
        self, project_id: str, digest: str, key: str, fitted: FittedImage | None
    ) -> NotedImage:
        """Store the bytes of an image, then its rows, if there is still a source for them.

        Args:
            project_id: Whose it is.
            digest: That of the source.
            key: What was to be made.
            fitted: What was made; `None` where nothing can be made of the source.

        Raises:
            BlobSweptError: The same bytes were removed as garbage in this moment: call it again.
            StoreUnavailableError: A store did not answer.
        """
        now = utc_now()
        image: DerivedImage | None = None
        if fitted is not None:
            keeper = MediaKeeper(self.blobs, project_id, limit_bytes=len(fitted.data), now=now)
            resource = await keeper.store(InMemoryMedia(fitted.data), fitted.mime_type, None)
            image = DerivedImage(resource, fitted.is_first_picture)

        def note(unit: UnitOfWork) -> NotedImage:
            unit.derived_images.lock()
            noted = unit.derived_images.find(digest, key)
            if noted is not None:
                return noted
            if unit.derived_images.has_source(digest):
                unit.derived_images.note(digest, key, image, now=now)
            return NotedImage(image)

        return await self.records.write(project_id, note)


def _described(project_id: str, fitted: FittedImage) -> Resource:
    """Return what a resource over the image would be; there is none."""
    data, mime_type = fitted.data, fitted.mime_type
    digest = hashlib.sha256(data).hexdigest()
    return Resource(
        resource_id=derive_resource_id(project_id, digest, mime_type, None),
        digest=digest,
        mime_type=mime_type,
        filename=None,
        size_bytes=len(data),
        kind=resource_kind(mime_type),
        hints=probe_media(data, InMemoryMedia(data), mime_type),
        created_at=utc_now(),
    )
