"""Stores the bytes of media in the blob store, and makes their resources.

The resources have the type, the size and the pixels or duration of the media. This module does not
write their rows: the caller does, in the transaction that refers to them.
"""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeAlias

from app.models.identity import utc_now
from app.models.resource_descriptor import derive_resource_id
from app.services.media.media_checks import MediaChecks, probe_media, probe_stored_media
from app.stores.blobs.store import BlobStore, StoredBlob
from pagefault_dialects.media.embedded_data_uris import INLINE_LIMIT_BYTES
from pagefault_dialects.media.file_names import safe_file_name
from pagefault_dialects.media.file_type import HEAD_BYTES, detect_type
from pagefault_dialects.media.soundness import check_source_soundness
from pagefault_dialects.model.media import MediaSource
from pagefault_dialects.model.normalized import NormalizedMedia
from pagefault_dialects.model.resource import Damage, MediaHints, Resource, resource_kind

# Media up to this size are compared by their bytes.
_SMALL_BYTES = 64 * 1_024


@dataclass(frozen=True, slots=True)
class ProcessedMedium:
    """A medium of a tool result: it was stored, or it is so small that it stays inline."""

    mime_type: str
    filename: str | None
    resource: Resource | None
    """The resource of a stored medium; `None` for a small image."""
    inline_base64: str | None = None
    """The bytes of a small image as base64; `None` for a stored medium."""
    damage: Damage | None = None
    """The damage, if the medium is damaged. It is stored nevertheless."""

    @property
    def reference(self) -> str:
        """`@blob:…`, or the base64 of a medium that stays inline."""
        return self.resource.reference if self.resource else self.inline_base64 or ""


class BlobPuts(Protocol):
    """The method of `BlobStore` that stores media."""

    async def put_all(
        self,
        project_id: str,
        sources: Sequence[MediaSource],
        *,
        limit_bytes: int,
        meanwhile: Callable[[], None] | None = None,
    ) -> list[StoredBlob]:
        """Store all bytes of several sources; see `BlobStore.put_all`."""


@dataclass(frozen=True, slots=True, eq=False)
class MediaKeeper:
    """Stores the media of one request."""

    blobs: BlobPuts
    project_id: str
    """The project of the media."""
    limit_bytes: int
    """The maximum size of a medium."""
    now: datetime
    """The `created_at` of new resources."""
    checks: MediaChecks | None = None
    """Caches the damage of stored media, so that a rendering does not read them again."""
    _processed: dict["_Identity", ProcessedMedium] = field(init=False, default_factory=dict)

    async def process_all(self, media: Sequence[NormalizedMedia]) -> list[ProcessedMedium]:
        """Store media in one call of the blob store, except images below 1,024 bytes.

        Equal media are stored once.

        Returns:
            The outcome for each medium, in the same order.

        Raises:
            PayloadTooLargeError: A medium is larger than the limit.
            StoreUnavailableError: The blob store could not store a medium.
        """
        identities = [_identify(medium) for medium in media]
        to_store: dict[_Identity, _ExaminedMedium] = {}
        for identity, medium in zip(identities, media, strict=True):
            if identity in self._processed or identity in to_store:
                continue
            source, filename = medium.source, safe_file_name(medium.filename)
            mime_type = detect_type(source.head(HEAD_BYTES), source.declared_mime_type, filename)
            examined = _ExaminedMedium(source, mime_type, filename)
            if _may_stay_inline(medium, examined.mime_type):
                self._processed[identity] = examined.encode_inline()
            else:
                to_store[identity] = examined
        if to_store:
            resources = await self._store_all(list(to_store.values()))
            for (identity, examined), resource in zip(to_store.items(), resources, strict=True):
                if self.checks is not None:
                    self.checks.remember(resource.digest, examined.mime_type, examined.damage)
                self._processed[identity] = ProcessedMedium(
                    examined.mime_type, examined.filename, resource, damage=examined.damage
                )
        return [self._processed[identity] for identity in identities]

    async def store(self, source: MediaSource, mime_type: str, filename: str | None) -> Resource:
        """Store the bytes of a medium, and return its resource. Its damage is not checked.

        Args:
            source: The bytes.
            mime_type: The detected type.
            filename: The file name, if there is one.
        """
        medium = _ExaminedMedium(source, mime_type, filename, checks_damage=False)
        return (await self._store_all([medium]))[0]

    async def _store_all(self, media: Sequence["_ExaminedMedium"]) -> list[Resource]:
        """Store the bytes of media and examine them at the same time; return their resources."""

        def examine() -> None:
            for medium in media:
                medium.examine()

        blobs = await self.blobs.put_all(
            self.project_id,
            [medium.source for medium in media],
            limit_bytes=self.limit_bytes,
            meanwhile=examine,
        )
        return [
            Resource(
                resource_id=derive_resource_id(
                    self.project_id, blob.digest, medium.mime_type, medium.filename
                ),
                digest=blob.digest,
                mime_type=medium.mime_type,
                filename=medium.filename,
                size_bytes=blob.size_bytes,
                kind=resource_kind(medium.mime_type),
                hints=medium.hints,
                created_at=self.now,
            )
            for medium, blob in zip(media, blobs, strict=True)
        ]


@dataclass(slots=True)
class _ExaminedMedium:
    """A medium of a known type. `examine` finds its hints and its damage."""

    source: MediaSource
    mime_type: str
    filename: str | None
    checks_damage: bool = True
    hints: MediaHints = field(default_factory=MediaHints)
    damage: Damage | None = None

    def examine(self) -> None:
        """Find the hints and the damage. This reads the bytes, so call it in a thread."""
        self.hints = probe_media(self.source.head(HEAD_BYTES), self.source, self.mime_type)
        if self.checks_damage:
            self.damage = check_source_soundness(self.source, self.mime_type)

    def encode_inline(self) -> ProcessedMedium:
        """Return the medium as base64, without storing it."""
        data = base64.b64encode(self.source.head(INLINE_LIMIT_BYTES)).decode()
        damage = check_source_soundness(self.source, self.mime_type)
        return ProcessedMedium(self.mime_type, self.filename, None, data, damage)


_Identity: TypeAlias = tuple[object, str | None, str | None, bool]
"""The bytes or the source of a medium, its declared type, its name, and if it must be stored."""


def _identify(medium: NormalizedMedia) -> _Identity:
    """Return a key that is equal for media that need to be stored only once."""
    source = medium.source
    is_small = source.size_bytes <= _SMALL_BYTES
    # Results often repeat icons and thumbnails, so small media are compared by their bytes.
    data = source.head(source.size_bytes) if is_small else source
    return data, source.declared_mime_type, medium.filename, medium.must_be_stored


@dataclass(frozen=True, slots=True)
class MediaKeepers:
    """Makes a `MediaKeeper` for each request. See `MediaKeeper` for the fields."""

    blobs: BlobStore
    limit_bytes: int
    checks: MediaChecks

    def keeper(self, project_id: str, *, now: datetime) -> MediaKeeper:
        """Return a keeper for one request of a project."""
        return MediaKeeper(
            self.blobs, project_id, limit_bytes=self.limit_bytes, now=now, checks=self.checks
        )


def _may_stay_inline(medium: NormalizedMedia, mime_type: str) -> bool:
    return (
        not medium.must_be_stored
        and medium.source.size_bytes < INLINE_LIMIT_BYTES
        and resource_kind(mime_type) == "image"
        and mime_type != "image/svg+xml"
    )


async def describe_stored(
    blobs: BlobStore, project_id: str, blob: StoredBlob, mime_type: str, filename: str | None
) -> Resource:
    """Return the resource of a blob that is stored already. Its row is not written.

    Args:
        blobs: Reads the header of the medium.
        project_id: The project of the blob.
        blob: The stored bytes.
        mime_type: The detected type.
        filename: The file name, if there is one.
    """
    return Resource(
        resource_id=derive_resource_id(project_id, blob.digest, mime_type, filename),
        digest=blob.digest,
        mime_type=mime_type,
        filename=filename,
        size_bytes=blob.size_bytes,
        kind=resource_kind(mime_type),
        hints=await probe_stored_media(blobs, project_id, blob, mime_type),
        created_at=utc_now(),
    )
