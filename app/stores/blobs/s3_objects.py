"""Objects in an S3-compatible bucket as this service talks to them: deadlines, errors, windows.

Nothing of obstore's exceptions leaves this edge, `s3_failures` names what they tell of. A store
that is gone is a `StoreUnavailableError` after seconds: connecting, answering and trying again are
all bounded. A request that timed out is not sent again, and neither is one that was refused.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, timedelta
from typing import TYPE_CHECKING

import anyio
import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from app.errors import StoreUnavailableError
from app.models.media import CHUNK_BYTES
from app.stores.blobs.s3_errors import STORE, is_missing_object, is_unsatisfiable_range, store_error
from app.stores.blobs.store import BlobMissingError, ListedBlob, is_blob_name

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ClientConfig, RetryConfig, S3Config

_REQUEST_TIMEOUT = timedelta(seconds=10)
_CONNECT_TIMEOUT = timedelta(seconds=2)
_WINDOW_BYTES = 4 * CHUNK_BYTES
_LISTED_AT_ONCE = 1_000
_ASKED_AT_ONCE = 8


class ObjectReader:
    """Reads an object range window by window; the first one while opening. See `BlobReader`."""

    def __init__(self, objects: S3Store, path: str, start: int, end: int | None) -> None:
        self._objects = objects
        self._path = path
        self._position = start
        self._wanted_end = end
        self._end = start
        self._window = memoryview(b"")

    async def open(self) -> None:
        """Ask for the first window, or at least make sure that there is such an object."""
        end = self._position + _WINDOW_BYTES
        if self._wanted_end is not None:
            end = min(end, self._wanted_end)
        if end > self._position:
            size_bytes = await self._first_window(end)
        else:
            size_bytes = await object_size(self._objects, self._path)
        if size_bytes is None:
            raise BlobMissingError
        self._end = size_bytes if self._wanted_end is None else min(self._wanted_end, size_bytes)

    def __aiter__(self) -> "ObjectReader":
        return self

    async def __anext__(self) -> bytes:
        if not self._window and self._position < self._end:
            await self._fetch(min(self._position + _WINDOW_BYTES, self._end))
        if not self._window:
            raise StopAsyncIteration
        piece = bytes(self._window[:CHUNK_BYTES])
        self._window = self._window[CHUNK_BYTES:]
        return piece

    async def aclose(self) -> None:
        """See `BlobReader.aclose`; between two windows nothing is held."""
        self._window = memoryview(b"")
        self._end = self._position

    async def _first_window(self, end: int) -> int | None:
        try:
            return await self._fetch(end)
        except _UnsatisfiableRangeError:
            # S3 refuses ranges that hold no byte, and any range of an empty object is one.
            size_bytes = await object_size(self._objects, self._path)
            if size_bytes is not None and self._position < size_bytes:
                raise
            return size_bytes

    async def _fetch(self, end: int) -> int:
        """Fetch the window that ends at `end` and return the size of the whole object."""
        with failures_translated():
            try:
                answer = await obstore.get_async(
                    self._objects, self._path, options={"range": (self._position, end)}
                )
                window = memoryview(await answer.bytes_async())
            except FileNotFoundError as exc:
                if is_missing_object(exc):
                    raise BlobMissingError from None
                raise
            except BaseError as exc:
                if is_unsatisfiable_range(exc):
                    raise _UnsatisfiableRangeError(STORE) from None
                raise
        size_bytes = answer.meta["size"]
        if len(window) != min(end, size_bytes) - self._position:
            raise StoreUnavailableError(STORE)
        self._window = window
        self._position += len(window)
        return size_bytes


class _UnsatisfiableRangeError(StoreUnavailableError):
    """The object is there and has no byte of the range."""


def connect(
    config: "S3Config", prefix: str | None, request_timeout: timedelta = _REQUEST_TIMEOUT
) -> S3Store:
    """A client for a bucket, or a prefix in it; making it sends nothing.

    Raises:
        StoreMisconfiguredError: One half of a key is missing.
    """
    client_options: ClientConfig = {
        "allow_http": config.get("endpoint", "").lower().startswith("http://"),
        "connect_timeout": _CONNECT_TIMEOUT,
        "timeout": request_timeout,
    }
    retry_config: RetryConfig = {
        "max_retries": 3,
        "retry_timeout": timedelta(seconds=10),
        "backoff": {
            "init_backoff": timedelta(milliseconds=100),
            "max_backoff": timedelta(seconds=1),
            "base": 2,
        },
    }
    with failures_translated():
        return S3Store(
            prefix=prefix or None,
            config=config,
            client_options=client_options,
            retry_config=retry_config,
        )


async def object_size(objects: S3Store, path: str) -> int | None:
    """The object's size in bytes, `None` if there is none."""
    with failures_translated():
        try:
            return (await obstore.head_async(objects, path))["size"]
        except FileNotFoundError:
            return None


async def object_sizes(objects: S3Store, paths: Mapping[str, str]) -> dict[str, int]:
    """The sizes of the objects at many paths, by what these are named; absent ones are missing."""
    left = iter(paths.items())
    sizes: dict[str, int] = {}
    failures: list[StoreUnavailableError] = []

    async def ask() -> None:
        for name, path in left:
            if failures:
                return
            try:
                size = await object_size(objects, path)
            except StoreUnavailableError as exc:
                # Raised from here it would come out of the group as one of many.
                failures.append(exc)
                return
            if size is not None:
                sizes[name] = size

    async with anyio.create_task_group() as tasks:
        for _ in range(min(_ASKED_AT_ONCE, len(paths))):
            tasks.start_soon(ask)
    if failures:
        raise failures[0]
    return sizes


async def found_object(objects: S3Store, path: str) -> ListedBlob | None:
    """What is known of the blob at a path, `None` if there is none."""
    with failures_translated():
        try:
            return _described(await obstore.head_async(objects, path))
        except FileNotFoundError:
            return None


async def listed_objects(objects: S3Store, folder: str) -> AsyncGenerator[ListedBlob, None]:
    """The blobs below a project's folder, asked for a thousand at a time."""
    batches = aiter(obstore.list(objects, folder, chunk_size=_LISTED_AT_ONCE))
    while True:
        # Only the listing's own failures are translated, not what a caller throws in.
        with failures_translated():
            try:
                batch = await anext(batches)
            except StopAsyncIteration:
                return
        for found in batch:
            if _is_blob(folder, found["path"]):
                yield _described(found)


def _is_blob(folder: str, path: str) -> bool:
    match path.removeprefix(f"{folder}/").split("/"):
        case [aa, name]:
            return is_blob_name(aa, name)
        case _:
            return False


def _described(found: "ObjectMeta") -> ListedBlob:
    digest = found["path"].rpartition("/")[2]
    return ListedBlob(digest, found["size"], found["last_modified"].astimezone(UTC))


@contextmanager
def failures_translated() -> Iterator[None]:
    """Log what obstore raises, and raise it as the error a caller is answered with.

    Raises:
        StoreFullError: There is no room left.
        StoreMisconfiguredError: The store refuses the service.
        StoreUnavailableError: Anything else.
    """
    try:
        yield
    except (BaseError, OSError) as exc:
        # Not `from exc`: a traceback would show the store's answer, with the key's id in it.
        raise store_error(exc) from None


@contextmanager
def missing_ignored() -> Iterator[None]:
    """Go on where there is no such object; a missing bucket is a failure all the same."""
    try:
        yield
    except FileNotFoundError as exc:
        if not is_missing_object(exc):
            raise
