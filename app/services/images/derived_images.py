"""Makes and stores copies of images that fit the limits of a model: *derived images*.

A derived image is a resource that is deleted with its source. If the source is deleted while the
copy is made, no row is written, and a sweep removes the bytes later. If the bytes of the source are
inline in a record, not in the blob store, the copy is not stored either.

Raw audio samples are converted to WAV files in the same way, for models that accept only WAV files.
Posters of videos (`posters.py`) are stored as derived images too.
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

# Copies of inline images stay in memory, many at the same time. So a copy has at most four times
# the size of its source, or 128 KiB: an image of a kilobyte may have megabytes in another format.
_MIN_INLINE_LIMIT_BYTES = 128 * 1024
_MAX_INLINE_GROWTH = 4
_HEAD_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class DerivedImages:
    """Makes derived images, and finds those that were made before."""

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
        """Return a copy of an image that fits a recipe. Make the copy if it does not exist yet.

        Args:
            project_id: The project of the image.
            source: The bytes of the image, or their digest in the blob store.
            mime_type: The type of the image.
            size_bytes: The size of its file.
            recipe: The allowed types, sides and file size of the copy.

        Returns:
            The copy. `DerivedImage.data` has its bytes if the source is inline; otherwise they are
            in the blob store. `None` if no copy that fits can be made, or not at present.

        Raises:
            TooCostlyError: Decoding the image would take too much work or memory.
            OverloadedError: The memory for its pixels was not available within a second, or too
                many images of the project wait.
            MalformedRequestError: The client has disconnected.
            StoreUnavailableError: A store did not answer, or has lost the bytes.
        """
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
        # Imported here, so that only processes that decode images load Pillow.
        from app.services.images.pixels import CODEC_VERSION  # noqa: PLC0415

        # Failures are recorded too. The key contains the limit of pixels and the version of the
        # decoder, so that a failed image is tried again if one of them changes.
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
            # Once the image has been made, it is stored even if the client disconnects.
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
        limit_bytes = max(_MIN_INLINE_LIMIT_BYTES, _MAX_INLINE_GROWTH * len(data))
        max_bytes = limit_bytes if recipe.max_bytes is None else min(limit_bytes, recipe.max_bytes)
        cost = await self.images.cost_of(data[:_HEAD_BYTES], mime_type)
        if cost is None:
            return None
        bounded_recipe = replace(recipe, max_bytes=max_bytes)
        fitted = await self.images.run(
            project_id, cost, len(data), lambda decode: decode(data, mime_type, bounded_recipe)
        )
        if fitted is None:
            return None
        resource = await anyio.to_thread.run_sync(_describe, project_id, fitted)
        return DerivedImage(resource, fitted.is_first_picture, fitted.data)

    async def get_wav(
        self, project_id: str, digest: str, *, mime_type: str, size_bytes: int
    ) -> DerivedImage | None:
        """Return stored audio samples as a WAV file. Make the file if it does not exist yet.

        Args:
            project_id: The project of the samples.
            digest: The digest of the samples, which have no header.
            mime_type: The type of the samples, such as `audio/L16;rate=24000`.
            size_bytes: The size of the samples.

        Returns:
            The file; `None` if it would be too large, or if the type is not one of raw samples.

        Raises:
            OverloadedError: The memory for the file was not available within a second, or too many
                files of the project wait.
            StoreUnavailableError: A store did not answer, or has lost the bytes.
        """
        wav = plan_wav_file(mime_type, size_bytes)
        if wav is None or wav.size_bytes > self.limits.image_bytes:
            return None
        key = f"wav;{mime_type}"
        recorded = await self.find(project_id, digest, key)
        if recorded is None:
            async with self.images.reserve(project_id, size_bytes + wav.size_bytes):
                samples = await read_whole(self.blobs, project_id, digest)
                file = await anyio.to_thread.run_sync(wav.write, samples)
                fitted = FittedImage(file, WAV_TYPE, is_first_picture=False)
                recorded = await run_to_completion(
                    self._store_with_retry(project_id, digest, key, fitted)
                )
        return recorded.image

    async def find(self, project_id: str, digest: str, key: str) -> ImageOutcome | None:
        """Return the recorded outcome of an earlier attempt to derive an image.

        Args:
            project_id: The project of the source.
            digest: The digest of the source.
            key: The recipe of the derived image, as text.

        Returns:
            The outcome, which is without an image if none could be made; `None` if there was no
            attempt.
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
        """Store the bytes of a derived image, and record the outcome if the source still exists.

        If another request has recorded an outcome meanwhile, that outcome is returned.

        Args:
            project_id: The project of the source.
            digest: The digest of the source.
            key: The recipe of the derived image, as text.
            fitted: The image; `None` if it cannot be derived.

        Raises:
            BlobSweptError: A sweep has removed the same bytes as garbage. Call this method again.
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
    """Return a resource for an image that is not stored, as if it were stored."""
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
