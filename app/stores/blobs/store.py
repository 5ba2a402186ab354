"""The contract of a blob store: bytes addressed by project and SHA-256, whole or not at all.

A blob becomes visible in one step, complete and under its own digest; whatever interrupts a write
(an error, a cancelled request, `kill -9`) leaves nothing visible. Bytes are shared inside a
project and never seen across projects, not even as a faster answer. A store knows no names, no
types and no owners: those are rows, written only after the blob is here. It counts no references
either, so it deletes what it is told to.
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
    """A row says the blob is here and it is not: damage, never the caller's fault."""

    sentence = "The stored bytes of this resource cannot be found. The operator has to look."


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """The identity of a committed blob.

    `digest` is the SHA-256 of its bytes as 64 hex digits, computed here and never taken from a
    caller.
    """

    digest: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ListedBlob:
    """A file under the name of a digest. Its bytes were not compared with that digest.

    `modified_at` is when it was last put, in UTC and by the store's clock.
    """

    digest: str
    size_bytes: int
    modified_at: datetime


class BlobWriter(Protocol):
    """One blob being written; got from `BlobStore.writer` and used by one task."""

    async def write(self, chunk: bytes) -> None:
        """Append bytes.

        Chunks may be of any size: small ones are gathered, and the loop is never blocked.

        After an error, or a cancellation, the writer is of no more use.

        Raises:
            PayloadTooLargeError: The limit is passed; known before the bytes are kept.
            StoreUnavailableError: The bytes could not be kept.
        """

    async def commit(self, expected_digest: str | None = None) -> StoredBlob:
        """Make the blob durable and visible, replacing whatever stood under its digest.

        It returns only when the bytes would survive a power loss. It may be called once.

        Args:
            expected_digest: The SHA-256 the caller announced, as lower-case hex digits.

        Raises:
            DigestMismatchError: The bytes have another digest; nothing is left of them.
            StoreUnavailableError: The blob is not visible, or it is visible and whole.
        """


class BlobDraft(Protocol):
    """A blob to be. What is not `async` blocks and belongs in a worker thread; one at a time."""

    @property
    def size_bytes(self) -> int:
        """The number of bytes appended so far."""

    def digest(self) -> str:
        """Return the SHA-256 of what it has by now, as 64 hex digits."""

    def append(self, data: bytes) -> None:
        """Hash and keep the next bytes.

        Raises:
            PayloadTooLargeError: The limit is passed; known before the bytes are kept.
            StoreUnavailableError: The bytes could not be kept.
        """

    def rest(self) -> None:
        """Let go of the file until it is needed again: a request may have thousands of drafts."""

    def read(self, start: int, size_bytes: int) -> bytes:
        """Return bytes from `start` on, fewer than asked only at the end; also after the commit.

        Raises:
            StoreUnavailableError: They cannot be read.
        """

    async def commit(self) -> StoredBlob:
        """Make it durable and visible, as `BlobWriter.commit`; again, it is the same blob."""

    async def discard(self) -> None:
        """Remove it unless it was committed; never fails."""


class BlobReader(Protocol):
    """The bytes of an open blob, in order: an `AsyncIterator[bytes]` that can be closed.

    Close it unless it was read to its end. One task reads it.
    """

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Return the reader itself."""

    async def __anext__(self) -> bytes:
        """Return the next piece, never empty.

        Raises:
            StoreUnavailableError: The rest cannot be read; what came so far is right.
        """

    async def aclose(self) -> None:
        """Let go of the file or connection; may be called at any time, and again."""


class BlobStore(Protocol):
    """Keeps blobs.

    Callers write the row that refers to a blob after its write has returned, and close the readers
    they do not exhaust. An implementation may not block the event loop, hold a whole large blob in
    memory, trust a file because of its name, build a path from anything but its own digests, or
    let a foreign exception through: they become `StoreUnavailableError`.
    """

    def writer(
        self, project_id: str, *, limit_bytes: int
    ) -> AbstractAsyncContextManager[BlobWriter]:
        """Return a writer for bytes that arrive piece by piece, at most `limit_bytes` of them.

        Leaving the context without a commit, by whichever way, removes what was written.
        """

    def draft(self, project_id: str, *, limit_bytes: int) -> BlobDraft:
        """Return a draft of at most `limit_bytes`; whoever asked for it discards it in the end."""

    async def put(self, project_id: str, source: MediaSource, *, limit_bytes: int) -> StoredBlob:
        """Keep all bytes of a handle.

        Raises:
            PayloadTooLargeError: There are more than `limit_bytes`; nothing is left of them.
            StoreUnavailableError: Nothing was kept, or the blob is visible and whole.
        """

    async def put_all(
        self,
        project_id: str,
        sources: Sequence[MediaSource],
        *,
        limit_bytes: int,
        meanwhile: Callable[[], None] | None = None,
    ) -> list[StoredBlob]:
        """Keep all bytes of several handles, cheaper than one by one; the blobs in their order.

        Of a draft of this store, that is to commit it.

        Args:
            project_id: Whose they are.
            sources: The handles.
            limit_bytes: How many bytes each may have.
            meanwhile: Called once in a worker thread, before any blob is visible; what it raises
                is raised, and nothing was kept.

        Raises:
            PayloadTooLargeError: One has more than `limit_bytes`.
            StoreUnavailableError: Some may be visible and whole; there is no telling which.
        """

    async def open(
        self, project_id: str, digest: str, *, start: int = 0, end: int | None = None
    ) -> BlobReader:
        """Return the bytes from `start` up to, not including, `end`, clamped like a slice.

        The blob is known to be there when this returns. Pieces are at most 1 MiB.

        Raises:
            BlobMissingError: This project has no such blob.
            StoreUnavailableError: The store did not answer, now or while reading.
        """

    async def size(self, project_id: str, digest: str) -> int | None:
        """Return the blob's size in bytes, `None` if this project has no such blob."""

    async def sizes(self, project_id: str, digests: Collection[str]) -> dict[str, int]:
        """Return many blobs' sizes in bytes, by digest, asked for at once; absent ones are missing.

        Raises:
            StoreUnavailableError: The store did not answer.
        """

    async def find(self, project_id: str, digest: str) -> ListedBlob | None:
        """Return what lies under this digest, without reading it; `None` if there is nothing."""

    def listed(self, project_id: str) -> AsyncGenerator[ListedBlob, None]:
        """Yield all blobs of a project, in no particular order; takes memory for a few of them.

        What is put or deleted meanwhile may be listed or not. Whatever has not the name of a blob
        is passed over. Close it unless it was read to its end.

        Raises:
            StoreUnavailableError: The store did not answer; what came so far is right.
        """

    async def delete(self, project_id: str, digest: str) -> None:
        """Remove the blob; one that is absent is removed already.

        An open reader may read on or fail with `BlobMissingError`.
        """

    async def quarantine(self, project_id: str, digest: str) -> None:
        """Move the blob out of sight, in place of what was moved from there before.

        It stays for people to look at, and survives a power loss there; nothing here removes it
        again. One that is absent is out of sight already.
        """

    async def check(self) -> None:
        """Prove cheaply that the store can be read and written.

        A bucket is only read, as long as the last write went well and is no hour old.

        Raises:
            StoreFullError: It can be read, and there is no room for another file.
            StoreMisconfiguredError: It refuses the service.
            StoreUnavailableError: It does not answer.
        """

    async def sweep_temporary(self, older_than_seconds: float, *, dry_run: bool = False) -> int:
        """Remove what interrupted writes left behind; returns how many objects that were.

        The age has to exceed the longest upload the service waits for, since a write in flight
        looks just like an abandoned one. A dry run only counts.
        """


@runtime_checkable
class LocalBlobs(Protocol):
    """A store whose blobs are files of this machine."""

    async def path(self, project_id: str, digest: str) -> Path:
        """Return where the blob lies, absolute. Whoever reads it there must not change it.

        Raises:
            BlobMissingError: This project has no such blob.
            StoreUnavailableError: The store did not answer.
        """


@runtime_checkable
class LinkedBlobs(Protocol):
    """A store that gives blobs out itself, to whoever has a URL that was signed for them."""

    async def link(
        self, project_id: str, digest: str, *, content_type: str, disposition: str, seconds: int
    ) -> str:
        """Return a URL under which the blob can be read with GET for so many seconds.

        Whether there is such a blob is not looked at. The two headers are part of what is signed:
        under another type or disposition the URL is worth nothing.

        Args:
            project_id: Whose it is.
            digest: Its SHA-256, as 64 hex digits.
            content_type: The `Content-Type` that the store answers with.
            disposition: The `Content-Disposition` that the store answers with.
            seconds: How long the URL is good for.

        Raises:
            StoreUnavailableError: The keys to sign with could not be had.
        """


async def read_whole(
    blobs: BlobStore, project_id: str, digest: str, *, start: int = 0, end: int | None = None
) -> bytes:
    """Return the bytes of a blob from `start` up to, not including, `end`.

    How many that may be is for the caller to limit.

    Raises:
        BlobMissingError: The project has no such blob.
        StoreUnavailableError: The store did not answer.
    """
    async with aclosing(await blobs.open(project_id, digest, start=start, end=end)) as reader:
        return b"".join([piece async for piece in reader])


def blob_path(project_id: str, digest: str) -> str:
    """Return where a blob lives below a store's root: `blobs/<project>/<aa>/<digest>`.

    Nothing of the caller's text is part of it; the project is there as 16 digits of its SHA-256.

    Raises:
        ValueError: `digest` is not 64 lower-case hex digits, so it is none of ours.
    """
    _check_digest(digest)
    return f"{project_path(project_id)}/{digest[:2]}/{digest}"


def quarantine_path(project_id: str, digest: str) -> str:
    """Return where a blob is out of sight: `quarantine/<project>/<digest>`; see `blob_path`."""
    _check_digest(digest)
    return f"quarantine/{_project_digits(project_id)}/{digest}"


def project_path(project_id: str) -> str:
    """Return where all blobs of a project are: `blobs/<project>`."""
    return f"blobs/{_project_digits(project_id)}"


def is_blob_name(folder: str, name: str) -> bool:
    """Return whether an object is named as a blob: digest, in a folder of its first two digits."""
    return _DIGEST.match(name) is not None and folder == name[:2]


@lru_cache(maxsize=1_024)
def _project_digits(project_id: str) -> str:
    return hashlib.sha256(project_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _check_digest(digest: str) -> None:
    if not _DIGEST.match(digest):
        raise ValueError("a blob is addressed by 64 lower-case hex digits")


def too_large(limit_bytes: int) -> PayloadTooLargeError:
    """Return the error for bytes beyond a limit, the same words from every store."""
    return PayloadTooLargeError(
        f"The content is larger than the {limit_bytes} bytes that may be stored as one resource. "
        "Nothing was stored."
    )
