"""Derives smaller images, for models with limits, from stored images, and stores them as well.

A derived image is a resource that is deleted with its source. If the source is deleted before the
image is stored, no row is written, and a sweep removes the bytes later. If the source is in a
record, and not in the blob store, the derived image is not stored.

Raw audio samples are converted to WAV files in the same way, for models that accept only those.
"""

import hashlib
from dataclasses import dataclass, replace
from functools import partial

import anyio.to_thread

from app.errors import BlobSweptError
from app.models.identity import utc_now
from app.models.limits import Limits
from app.models.resource_descriptor import FittedImage, derive_resource_id
from app.services.concurrency.background import run_to_completion
from app.services.images.image_work import Decode, ImageWork
from app.services.images.image_worker import UndecidedError
from app.services.media.media_checks import probe_media
from app.services.media.media_keeper import MediaKeeper
from app.stores.blobs.store import BlobStore, read_whole
from app.stores.records.derived_images import DerivedImageRecords, ImageOutcome
from app.stores.records.records import Records
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.media.raw_audio import WAV_TYPE, plan_wav_file
from pagefault_dialects.model.conversation import InlineBytes, StoredBytes
from pagefault_dialects.model.media import InMemoryMedia
from pagefault_dialects.model.resource import DerivedImage, ImageRecipe, Resource, resource_kind

# Images that are derived from images in records stay in memory, many at the same time. So their
# size is limited: an image of a kilobyte may have megabytes in another format.
_MIN_LIMIT_BYTES = 128 * 1024
_MAX_GROWTH = 4
_HEAD_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class DerivedImages:
    """Derives and stores smaller images. Implements `SmallerImages`."""

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
        """See `SmallerImages.get`."""
        try:
            if isinstance(source, InlineBytes):
                return await self._make_in_memory(project_id, source.data, mime_type, recipe)
            return await self._get_stored(
                project_id, source.digest, recipe, mime_type=mime_type, size_bytes=size_bytes
            )
        except UndecidedError:
            return None

    async def _get_stored(
        self,
        project_id: str,
        digest: str,
        recipe: ImageRecipe,
        *,
        mime_type: str,
        size_bytes: int,
    ) -> DerivedImage | None:
        # This import is here, so that only processes that derive images load Pillow.
        from app.services.images.pixels import CODEC_VERSION  # noqa: PLC0415

        # The key has the limit and the version of the decoder, so that a failed image is tried
        # again if they change.
        key = f"{recipe.key};{self.limits.image_pixels};{CODEC_VERSION}"

        async def make(decode: Decode) -> ImageOutcome | None:
            # Another request may have derived the image while this one was waiting.
            recorded = await self.find(project_id, digest, key)
            if recorded is not None:
                return recorded
            max_bytes = self.limits.image_bytes
            data = await read_whole(self.blobs, project_id, digest, end=max_bytes + 1)
            if len(data) > max_bytes:
                return None
            fitted = await decode(data, mime_type, recipe)
            # The image is complete, so it is stored even if the client has left.
            return await run_to_completion(self._store_with_retry(project_id, digest, key, fitted))

        recorded = await self.find(project_id, digest, key)
        if recorded is None and size_bytes <= self.limits.image_bytes:
            head = await read_whole(self.blobs, project_id, digest, end=_HEAD_BYTES)
            cost = await self.images.cost_of(head, mime_type)
            if cost is None:
                return None
            recorded = await self.images.run(project_id, cost, size_bytes, make)
        return recorded.image if recorded else None

    async def _make_in_memory(
        self, project_id: str, data: bytes, mime_type: str, recipe: ImageRecipe
    ) -> DerivedImage | None:
        if len(data) > self.limits.image_bytes:
            return None
        limit_bytes = max(_MIN_LIMIT_BYTES, _MAX_GROWTH * len(data))
        max_bytes = limit_bytes if recipe.max_bytes is None else min(limit_bytes, recipe.max_bytes)
        cost = await self.images.cost_of(data[:_HEAD_BYTES], mime_type)
        if cost is None:
            return None
        bounded = replace(recipe, max_bytes=max_bytes)
        made = await self.images.run(
            project_id, cost, len(data), lambda decode: decode(data, mime_type, bounded)
        )
        if made is None:
            return None
        resource = await anyio.to_thread.run_sync(_describe, project_id, made)
        return DerivedImage(resource, made.is_first_picture, made.data)

    async def get_wav(
        self, project_id: str, digest: str, *, mime_type: str, size_bytes: int
    ) -> DerivedImage | None:
        """See `SmallerImages.get_wav`."""
        wav = plan_wav_file(mime_type, size_bytes)
        if wav is None or wav.size_bytes > self.limits.image_bytes:
            return None
        key = f"wav;{mime_type}"
        recorded = await self.find(project_id, digest, key)
        if recorded is None:
            async with self.images.reserve(project_id, size_bytes + wav.size_bytes):
                samples = await read_whole(self.blobs, project_id, digest)
                whole = await anyio.to_thread.run_sync(wav.write, samples)
                made = FittedImage(whole, WAV_TYPE, is_first_picture=False)
                recorded = await run_to_completion(
                    self._store_with_retry(project_id, digest, key, made)
                )
        return recorded.image

    async def find(self, project_id: str, digest: str, key: str) -> ImageOutcome | None:
        """Return the recorded result of an earlier attempt, if there was one.

        Args:
            project_id: The project.
            digest: The digest of the source.
            key: The kind of derived image.
        """
        return await self.records.read(
            project_id, lambda unit: unit[DerivedImageRecords].find(digest, key)
        )

    async def _store_with_retry(
        self, project_id: str, digest: str, key: str, fitted: FittedImage | None
    ) -> ImageOutcome:
        store = partial(self.store, project_id, digest, key, fitted)
        try:
            return await store()
        except BlobSweptError:
            # The same bytes were in the store already, as garbage, and a sweep has removed them.
            return await store()

    async def store(
        self, project_id: str, digest: str, key: str, fitted: FittedImage | None
    ) -> ImageOutcome:
        """Store the bytes of a derived image; then its rows, if the source still exists.

        Args:
            project_id: The project.
            digest: The digest of the source.
            key: The kind of derived image.
            fitted: The image; `None` if it cannot be derived.

        Raises:
            BlobSweptError: A sweep has removed the same bytes as garbage. Call this again.
            StoreUnavailableError: A store did not answer.
        """
        now = utc_now()
        image: DerivedImage | None = None
        if fitted is not None:
            keeper = MediaKeeper(self.blobs, project_id, limit_bytes=len(fitted.data), now=now)
            resource = await keeper.store(InMemoryMedia(fitted.data), fitted.mime_type, None)
            image = DerivedImage(resource, fitted.is_first_picture)

        def record(unit: UnitOfWork) -> ImageOutcome:
            unit[DerivedImageRecords].lock()
            recorded = unit[DerivedImageRecords].find(digest, key)
            if recorded is not None:
                return recorded
            if unit[DerivedImageRecords].has_source(digest):
                unit[DerivedImageRecords].note(digest, key, image, now=now)
            return ImageOutcome(image)

        return await self.records.write(project_id, record)


def _describe(project_id: str, fitted: FittedImage) -> Resource:
    """Return the descriptor of an image that is not stored."""
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
