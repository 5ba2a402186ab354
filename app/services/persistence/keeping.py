"""Keeps one medium: its bytes into the blob store, its type and hints into a descriptor."""

import base64
from dataclasses import dataclass
from datetime import datetime

import anyio.to_thread

from app.models.damage import Damage
from app.models.file_evidence import contradicts
from app.models.media import MediaSource
from app.models.media_types import OCTET_STREAM, mime_type_for_filename, settle_mime_type
from app.models.normalized import NormalizedMedia
from app.models.resource import Resource, derive_resource_id, resource_kind
from app.rendering.file_names import safe_file_name
from app.services.persistence.probing import probe_media, second_opinion
from app.services.soundness import MediaChecks, damage_of
from app.stores.blobs import BlobStore, DraftMedia

HEAD_BYTES = 4_096
INLINE_LIMIT_BYTES = 1_024
_SMALL_BYTES = 64 * 1_024


@dataclass(frozen=True, slots=True)
class KeptMedium:
    """A medium after this stage: a stored resource, or a small image as plain base64.

    `damage` is what is wrong with its bytes; they were kept all the same.
    """

    mime_type: str
    filename: str | None
    resource: Resource | None
    inline_base64: str | None = None
    damage: Damage | None = None

    @property
    def reference(self) -> str:
        """`@blob:…`, or the base64 of a medium that stays inline."""
        return self.resource.reference if self.resource else self.inline_base64 or ""


class MediaKeeper:
    """Keeps media for one project.

    Args:
        blobs: Where the bytes go.
        project_id: Whose they are.
        limit_bytes: The largest medium taken.
        now: When this happens; the `created_at` of new descriptors.
        checks: Is told what is wrong with each, so that nobody reads it again for that.
    """

    def __init__(
        self,
        blobs: BlobStore,
        project_id: str,
        *,
        limit_bytes: int,
        now: datetime,
        checks: MediaChecks | None = None,
    ) -> None:
        self._blobs = blobs
        self._project_id = project_id
        self._limit_bytes = limit_bytes
        self.now = now
        self._checks = checks
        self._kept: dict[tuple[object, ...], KeptMedium] = {}

    async def keep(self, medium: NormalizedMedia) -> KeptMedium:
        """Store a medium, or leave it inline if it is an image below 1,024 bytes.

        Raises:
            PayloadTooLargeError: It is larger than the limit.
            StoreUnavailableError: The blob store did not take it.
        """
        source = medium.source
        if source.size_bytes > _SMALL_BYTES:
            return await self._keep(medium)
        # Results repeat icons and thumbnails; each is written, and waited for, once.
        identity = (
            source.head(_SMALL_BYTES),
            source.declared_mime_type,
            medium.filename,
            medium.must_be_stored,
        )
        if identity not in self._kept:
            self._kept[identity] = await self._keep(medium)
        return self._kept[identity]

    async def _keep(self, medium: NormalizedMedia) -> KeptMedium:
        source = medium.source
        filename = safe_file_name(medium.filename)
        mime_type = settle_type(source.head(HEAD_BYTES), source.declared_mime_type, filename)
        if _may_stay_inline(medium, mime_type):
            inline = base64.b64encode(source.head(INLINE_LIMIT_BYTES)).decode()
            return KeptMedium(mime_type, filename, None, inline, damage_of(source, mime_type))
        resource = await self.store(source, mime_type, filename)
        damage = await anyio.to_thread.run_sync(damage_of, source, mime_type)
        if self._checks is not None:
            self._checks.remember(resource.digest, mime_type, damage)
        return KeptMedium(mime_type, filename, resource, damage=damage)

    async def store(self, source: MediaSource, mime_type: str, filename: str | None) -> Resource:
        """Store bytes of a settled type and describe them."""
        if isinstance(source, DraftMedia):
            blob = await source.draft.commit()
        else:
            blob = await self._blobs.put(self._project_id, source, limit_bytes=self._limit_bytes)
        hints = await anyio.to_thread.run_sync(
            probe_media, source.head(HEAD_BYTES), source, mime_type
        )
        return Resource(
            resource_id=derive_resource_id(self._project_id, blob.digest, mime_type, filename),
            digest=blob.digest,
            mime_type=mime_type,
            filename=filename,
            size_bytes=blob.size_bytes,
            kind=resource_kind(mime_type),
            hints=hints,
            created_at=self.now,
        )


@dataclass(frozen=True, slots=True)
class MediaKeepers:
    """What keepers for any project have in common; see `MediaKeeper`."""

    blobs: BlobStore
    limit_bytes: int
    checks: MediaChecks

    def keeper(self, project_id: str, *, now: datetime) -> MediaKeeper:
        """Return a keeper for one project, and for one request."""
        return MediaKeeper(
            self.blobs, project_id, limit_bytes=self.limit_bytes, now=now, checks=self.checks
        )


def settle_type(head: bytes, declared: str | None, filename: str | None) -> str:
    """The MIME type of bytes: by our own table and the claim, a second opinion, then the name.

    Neither a claim nor a name makes an image, a sound or a video of a program or a web page.
    """
    mime_type = settle_mime_type(head, declared)
    if contradicts(head, mime_type):
        mime_type = OCTET_STREAM
    if mime_type != OCTET_STREAM:
        return mime_type
    by_name = mime_type_for_filename(filename) if filename else None
    if by_name is not None and contradicts(head, by_name):
        by_name = None
    return second_opinion(head) or by_name or OCTET_STREAM


def _may_stay_inline(medium: NormalizedMedia, mime_type: str) -> bool:
    return (
        not medium.must_be_stored
        and medium.source.size_bytes < INLINE_LIMIT_BYTES
        and resource_kind(mime_type) == "image"
        and mime_type != "image/svg+xml"
    )
