"""The contract of a blob store: bytes addressed by project and SHA-256, whole or not at all.

A blob becomes visible in one step, complete and under its digest. A write that is interrupted (by
an error, a cancelled request, `kill -9`) leaves nothing visible. Equal bytes are stored once in a
project, and again in every other project, so the time of a response discloses nothing about other
projects. Names and types are in the database, in rows that are written after the blob. `delete`
does not check whether a row refers to the blob.
"""

import hashlib
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Protocol, runtime_checkable

from app.errors import StoreUnavailableError
from pagefault_dialects.errors import PayloadTooLargeError
from pagefault_dialects.model.media import MediaSource

_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


class BlobMissingError(StoreUnavailableError, code="blob-missing"):
    """A row refers to a blob that does not exist: the store is damaged."""

    sentence = "The stored bytes of this resource cannot be found. The operator has to look."


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """The identity of a committed blob.

    `digest` is the SHA-256 of its bytes as 64 hex digits, always computed by the store.
    """

    digest: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ListedBlob:
    """A file whose name is a digest. Its bytes were not compared with the digest.

    `modified_at` is the time of the last write, in UTC and by the store's clock.
    """

    digest: str
    size_bytes: int
    modified_at: datetime


class BlobWriter(Protocol):
    """A blob that is being written, returned by `BlobStore.writer` and used by one task."""

    async def write(self, chunk: bytes) -> None:
        """Append bytes.

        Small chunks are buffered, and the event loop is never blocked. After an error or a
        cancellation, the writer cannot be used any more.

        Raises:
            PayloadTooLargeError: The limit is exceeded; raised before the bytes are stored.
            StoreUnavailableError: The bytes could not be stored.
        """

    async def commit(self, expected_digest: str | None = None) -> StoredBlob:
        """Make the blob durable and visible. An existing blob with this digest is replaced.

        When this returns, the bytes survive a power loss. A writer can be committed only once.

        Args:
            expected_digest: The SHA-256 that the client announced, as lower-case hex digits.

        Raises:
            DigestMismatchError: The bytes have another digest; they were removed.
            StoreUnavailableError: The blob may be visible; if so, it is complete.
        """


class BlobDraft(Protocol):
    """A blob before its commit, whose bytes can be read already.

    Methods that are not `async` block, so callers run them in a worker thread.
    """

    @property
    def size_bytes(self) -> int:
        """The number of bytes appended so far."""

    def digest(self) -> str:
        """Return the SHA-256 of the bytes so far, as 64 hex digits."""

    def append(self, data: bytes) -> None:
        """Hash and store the next bytes.

        Raises:
            PayloadTooLargeError: The limit is exceeded; raised before the bytes are stored.
            StoreUnavailableError: The bytes could not be stored.
        """

    def release(self) -> None:
        """Close the file until it is used again; a request may have thousands of drafts."""

    def read(self, start: int, size_bytes: int) -> bytes:
        """Return bytes from `start` on, before or after the commit; fewer only at the end.

        Raises:
            StoreUnavailableError: The bytes cannot be read.
        """

    async def commit(self) -> StoredBlob:
        """Make the blob durable and visible, see `BlobWriter.commit`; may be called again."""

    async def discard(self) -> None:
        """Remove the draft unless it was committed; never fails."""


class BlobReader(Protocol):
    """The bytes of an open blob, in order: an `AsyncIterator[bytes]` that can be closed.

    It has to be closed unless it was read to its end. One task reads it.
    """

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Return the reader itself."""

    async def __anext__(self) -> bytes:
        """Return the next piece, never empty.

        Raises:
            StoreUnavailableError: The rest cannot be read; the pieces so far are correct.
        """

    async def aclose(self) -> None:
        """Close the file or connection; may be called at any time, and again."""


class BlobStore(Protocol):
    """Stores blobs.

    Callers write the row that refers to a blob after the write of the blob has returned, and close
    readers that they do not read to the end. An implementation must not block the event loop, load
    a large blob into memory, trust the name of a file, or build a path from anything except digests
    that it has computed. It translates foreign exceptions into `StoreUnavailableError`.
    """

    def writer(
        self, project_id: str, *, limit_bytes: int
    ) -> AbstractAsyncContextManager[BlobWriter]:
        """Return a writer for at most `limit_bytes` bytes, which arrive piece by piece.

        If the context ends without a commit, the written bytes are removed.
        """

    def draft(self, project_id: str, *, limit_bytes: int) -> BlobDraft:
        """Return a draft of at most `limit_bytes`, which the caller discards at the end."""

    async def put(self, project_id: str, source: MediaSource, *, limit_bytes: int) -> StoredBlob:
        """Store all bytes of a source.

        Raises:
            PayloadTooLargeError: There are more than `limit_bytes`; nothing was stored.
            StoreUnavailableError: The blob may be visible; if so, it is complete.
        """

    async def put_all(
        self,
        project_id: str,
        sources: Sequence[MediaSource],
        *,
        limit_bytes: int,
        meanwhile: Callable[[], None] | None = None,
    ) -> list[StoredBlob]:
        """Store the bytes of several sources, faster than one by one; return the blobs in order.

        If a source is a draft of this store, the draft is committed.

        Args:
            project_id: The project.
            sources: The sources.
            limit_bytes: The maximum size of each.
            meanwhile: A function to run in a worker thread while files are written. It is called
                once, before any blob is visible. If it raises, nothing is stored.

        Raises:
            PayloadTooLargeError: A source has more than `limit_bytes`.
            StoreUnavailableError: Some blobs may be visible; these are complete.
        """

    async def open(
        self, project_id: str, digest: str, *, start: int = 0, end: int | None = None
    ) -> BlobReader:
        """Return a reader of the bytes from `start` to before `end`, clamped like a slice.

        The blob exists when this returns. Pieces have at most 1 MiB.

        Raises:
            BlobMissingError: This project has no such blob.
            StoreUnavailableError: The store did not respond, now or while reading.
        """

    async def size(self, project_id: str, digest: str) -> int | None:
        """Return the size of a blob in bytes; `None` if this project has no such blob."""

    async def sizes(self, project_id: str, digests: Collection[str]) -> dict[str, int]:
        """Return the sizes in bytes of the blobs that exist, by digest.

        Raises:
            StoreUnavailableError: The store did not respond.
        """

    async def find(self, project_id: str, digest: str) -> ListedBlob | None:
        """Return the blob of this digest, without reading it; `None` if there is none."""

    def list_blobs(self, project_id: str) -> AsyncGenerator[ListedBlob, None]:
        """Yield all blobs of a project, in no particular order.

        Blobs that are stored or deleted meanwhile may be missing. Files whose names are not digests
        are skipped. Callers close the generator unless they have read it to its end.

        Raises:
            StoreUnavailableError: The store did not respond; the blobs so far are correct.
        """

    async def delete(self, project_id: str, digest: str) -> None:
        """Remove the blob, if it exists.

        A reader that is open may continue, or fail with `BlobMissingError`.
        """

    async def quarantine(self, project_id: str, digest: str) -> None:
        """Move a damaged blob, if it exists, to a path for the operator, and make that durable.

        No method reads or removes blobs at such paths. A blob that was moved earlier is replaced.
        """

    async def check(self) -> None:
        """Check cheaply that the store can be read and written.

        A bucket is only read if a write has succeeded within the last hour, and none has failed.

        Raises:
            StoreFullError: The store can be read, but it is full.
            StoreMisconfiguredError: The store refuses the service.
            StoreUnavailableError: The store does not respond.
        """

    async def sweep_temporary(self, older_than_seconds: float, *, dry_run: bool = False) -> int:
        """Remove the files of interrupted writes; return their number.

        Running writes have such files as well, so the age has to exceed the longest upload. A dry
        run only counts the files.
        """


@runtime_checkable
class LocalBlobs(Protocol):
    """A store whose blobs are files of this machine."""

    async def path(self, project_id: str, digest: str) -> Path:
        """Return the absolute path of the blob, which must not be changed.

        Raises:
            BlobMissingError: This project has no such blob.
            StoreUnavailableError: The store did not respond.
        """


@runtime_checkable
class LinkedBlobs(Protocol):
    """A store whose blobs can be read with signed URLs."""

    async def link(
        self, project_id: str, digest: str, *, content_type: str, disposition: str, seconds: int
    ) -> str:
        """Return a signed URL with which the blob can be read by GET.

        This does not check that the blob exists. The signature covers the type and disposition, so
        a URL with others is invalid.

        Args:
            project_id: The project.
            digest: The SHA-256 of the blob, as 64 hex digits.
            content_type: The `Content-Type` of the store's response.
            disposition: The `Content-Disposition` of the store's response.
            seconds: How long the URL is valid.

        Raises:
            StoreUnavailableError: There is no key to sign with.
        """


async def read_whole(
    blobs: BlobStore, project_id: str, digest: str, *, start: int = 0, end: int | None = None
) -> bytes:
    """Return the bytes of a blob from `start` to before `end`, which the caller has limited.

    Raises:
        BlobMissingError: The project has no such blob.
        StoreUnavailableError: The store did not respond.
    """
    async with aclosing(await blobs.open(project_id, digest, start=start, end=end)) as reader:
        return b"".join([piece async for piece in reader])


def blob_path(project_id: str, digest: str) -> str:
    """Return the path of a blob below the root of a store: `blobs/<project>/<aa>/<digest>`.

    `<project>` is the first 16 digits of the SHA-256 of the project's id, so the path contains no
    text of a client. `<aa>` is the first two digits of the digest.

    Raises:
        ValueError: `digest` is not 64 lower-case hex digits.
    """
    _check_digest(digest)
    return f"{project_path(project_id)}/{digest[:2]}/{digest}"


def quarantine_path(project_id: str, digest: str) -> str:
    """Return the path of a blob in quarantine: `quarantine/<project>/<digest>`."""
    _check_digest(digest)
    return f"quarantine/{_project_digits(project_id)}/{digest}"


def project_path(project_id: str) -> str:
    """Return the path of all blobs of a project: `blobs/<project>`."""
    return f"blobs/{_project_digits(project_id)}"


def is_blob_name(folder: str, name: str) -> bool:
    """Return whether a name is a digest, and its folder is named by the first two digits."""
    return _DIGEST.match(name) is not None and folder == name[:2]


@lru_cache(maxsize=1_024)
def _project_digits(project_id: str) -> str:
    return hashlib.sha256(project_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _check_digest(digest: str) -> None:
    if not _DIGEST.match(digest):
        raise ValueError("a blob is addressed by 64 lower-case hex digits")


def too_large_error(limit_bytes: int) -> PayloadTooLargeError:
    """Return the error for a blob larger than a limit."""
    return PayloadTooLargeError(
        f"The content is larger than the {limit_bytes} bytes that may be stored as one resource. "
        "Nothing was stored."
    )
