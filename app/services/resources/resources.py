"""Resources: uploaded files and their descriptors."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

from app.errors import BlobSweptError, ConflictError, NotFoundError
from app.models.identity import decode_time_cursor, encode_time_cursor
from app.models.resource_descriptor import check_alias, derive_resource_id
from app.services.inline_media.stored_media import StoredMedia
from app.services.media.media_keeper import describe_stored
from app.services.requests.validation import require_found
from app.services.resources.aliases import assign_alias
from app.stores.blobs.store import BlobMissingError, BlobStore, StoredBlob, read_whole
from app.stores.records.derived_images import DerivedImageRecords
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.media.file_names import safe_file_name
from pagefault_dialects.media.file_type import HEAD_BYTES, detect_type
from pagefault_dialects.model.resource import Resource

_MAX_NAMED_OWNERS = 10
_EMPTY_DIGEST = sha256().hexdigest()


@dataclass(frozen=True, slots=True)
class Upload:
    """The metadata of an upload, as the client declares them."""

    mime_type: str | None
    filename: str | None
    """The name of the file, not sanitized yet."""
    digest: str | None
    """The SHA-256 of the file in 64 hex digits."""
    alias: str | None = None
    """The alias to assign to the resource."""


@dataclass(frozen=True, slots=True, eq=False)
class Resources:
    """Stores, reads and deletes the resources of a project."""

    records: Records
    blobs: BlobStore
    limit_bytes: int
    """The maximum size of a file."""

    async def upload(
        self, project_id: str, upload: Upload, chunks: AsyncIterator[bytes]
    ) -> tuple[Resource, bool]:
        """Store a file while it arrives; return its resource, and True if it is new.

        Raises:
            InvalidPayloadError: The alias is invalid; the file was not read.
            ConflictError: The alias belongs to another resource; nothing was stored.
            PayloadTooLargeError: The file is larger than the limit; nothing was stored.
            DigestMismatchError: The file does not have the declared digest; nothing was stored.
            NotFoundError: The client sent no bytes, only a digest, and the project has no file with
                this digest.
            StoreUnavailableError: A store did not respond; nothing is visible.
        """
        if upload.alias is not None:
            check_alias(upload.alias)
        head = bytearray()
        async with self.blobs.writer(project_id, limit_bytes=self.limit_bytes) as writer:
            async for chunk in chunks:
                if len(head) < HEAD_BYTES:
                    head += chunk[: HEAD_BYTES - len(head)]
                await writer.write(chunk)
            if not head and upload.digest not in (None, _EMPTY_DIGEST):
                return require_found(await self.upload_by_digest(project_id, upload), "blob")
            blob = await writer.commit(upload.digest)
        return await self._store_descriptor(project_id, upload, blob, bytes(head))

    async def upload_by_digest(
        self, project_id: str, upload: Upload
    ) -> tuple[Resource, bool] | None:
        """Store a file by its digest, if the project has its bytes; otherwise return `None`.

        Raises:
            Exception: See `upload`.
        """
        if upload.alias is not None:
            check_alias(upload.alias)
        digest = upload.digest or ""
        found = await self._find_by_digest(project_id, digest)
        # If the blob of the resource is lost, the client has to send the bytes.
        if found is None or await self.blobs.size(project_id, digest) != found.size_bytes:
            return None
        blob = StoredBlob(digest, found.size_bytes)
        # These errors are raised if the resource was deleted and a sweep has removed its blob.
        with suppress(BlobMissingError, BlobSweptError):
            head = await read_whole(self.blobs, project_id, digest, end=HEAD_BYTES)
            if upload.alias is None and found.resource_id == _derive_id(project_id, upload, head):
                # The same file was uploaded before.
                return found, False
            return await self._store_descriptor(project_id, upload, blob, head)
        return None

    async def _store_descriptor(
        self, project_id: str, upload: Upload, blob: StoredBlob, head: bytes
    ) -> tuple[Resource, bool]:
        """Store the descriptor of an uploaded file; return it, and True if it is new."""
        resource = await describe_blob(self.blobs, project_id, blob=blob, upload=upload, head=head)

        def ensure(unit: UnitOfWork) -> tuple[Resource, bool]:
            stored, is_new = unit[ResourceRecords].ensure(resource)
            if upload.alias is not None:
                assign_alias(unit, upload.alias, stored)
            return stored, is_new

        return await self.records.write(project_id, ensure)

    async def get(self, project_id: str, uri: str) -> Resource:
        """Return the resource with this URI, `@blob:` reference or bare id.

        Raises:
            NotFoundError: The project has no such resource.
        """
        return await StoredMedia(self.records, self.blobs, project_id).resource(uri)

    async def get_by_digest(self, project_id: str, digest: str) -> Resource:
        """Return the first resource whose bytes have this SHA-256, 64 hex digits.

        Raises:
            NotFoundError: The project has no such resource.
        """
        return require_found(await self._find_by_digest(project_id, digest), "blob")

    async def _find_by_digest(self, project_id: str, digest: str) -> Resource | None:
        return await self.records.read(
            project_id, lambda unit: unit[ResourceRecords].find_by_digest(digest)
        )

    async def list(
        self, project_id: str, *, cursor: str | None, limit: int
    ) -> tuple[Sequence[Resource], str | None]:
        """Return up to `limit` resources, newest first, and the next cursor.

        Raises:
            InvalidCursorError: The cursor belongs to another list.
        """
        before = decode_time_cursor("resources", cursor)
        found = await self.records.read(
            project_id,
            lambda unit: unit[ResourceRecords].list_resources(before=before, limit=limit + 1),
        )
        if len(found) <= limit:
            return found, None
        last = found[limit - 1]
        return found[:limit], encode_time_cursor("resources", last.created_at, last.resource_id)

    async def delete(self, project_id: str, uri: str) -> None:
        """Remove a resource without references, its aliases, and the resources derived from it.

        A sweep removes the bytes later.

        Raises:
            NotFoundError: The project has no such resource.
            ConflictError: Records refer to the resource. The error names them.
        """
        resource = await self.get(project_id, uri)

        def delete(unit: UnitOfWork) -> None:
            locked = unit[DerivedImageRecords].lock_sources([resource])
            if resource.resource_id not in locked:
                raise NotFoundError("resource")
            owners = unit[ResourceRecords].list_owners(
                resource.resource_id, limit=_MAX_NAMED_OWNERS
            )
            if owners:
                owner_names = ", ".join(f"{kind} {owner_id}" for kind, owner_id in owners)
                raise ConflictError(
                    f"The resource is still referred to by {owner_names}. Delete that first.",
                    code="resource-in-use",
                )
            unit[ResourceRecords].remove(resource.resource_id)
            unit[DerivedImageRecords].remove_sourceless([resource.digest])

        await self.records.write(project_id, delete, is_alone=True)


def _derive_id(project_id: str, upload: Upload, head: bytes) -> str:
    """Return the id of the resource of an upload with a digest."""
    filename = safe_file_name(upload.filename)
    mime_type = detect_type(head, upload.mime_type, filename)
    return derive_resource_id(project_id, upload.digest or "", mime_type, filename)


async def describe_blob(
    blobs: BlobStore, project_id: str, *, blob: StoredBlob, upload: Upload, head: bytes
) -> Resource:
    """Return the descriptor of an uploaded file: detect its type, sanitize its name, measure it.

    Args:
        blobs: The store of the bytes.
        project_id: The project.
        blob: The stored bytes.
        upload: The metadata of the client.
        head: The first `HEAD_BYTES` of the bytes.
    """
    filename = safe_file_name(upload.filename)
    mime_type = detect_type(head, upload.mime_type, filename)
    return await describe_stored(blobs, project_id, blob, mime_type, filename)
