"""Objects in an S3-compatible bucket: requests, windows, readiness, and signed URLs.

The exceptions of obstore do not leave this module; `s3_errors` translates them. If a store does not
answer, this raises `StoreUnavailableError` after seconds: connecting, waiting and retrying are
bounded. Requests that timed out or were refused are not sent again.
"""

import hashlib
import hmac
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, timedelta
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import anyio
import obstore
import structlog
from obstore.exceptions import BaseError
from obstore.store import S3Store

from app.errors import StoreUnavailableError
from app.stores.blobs.s3_errors import STORE, is_missing_object, is_unsatisfiable_range, store_error
from app.stores.blobs.store import BlobMissingError, ListedBlob, is_blob_name
from pagefault_dialects.model.media import CHUNK_BYTES

if TYPE_CHECKING:
    from obstore import ObjectMeta, PutResult
    from obstore.store import ClientConfig, RetryConfig, S3Config

_REQUEST_TIMEOUT = timedelta(seconds=10)
_CONNECT_TIMEOUT = timedelta(seconds=2)
_WINDOW_BYTES = 4 * CHUNK_BYTES
_LISTED_AT_ONCE = 1_000
_ASKED_AT_ONCE = 8
_SIGNATURE = "X-Amz-Signature"
# One name for all processes, in the folder of a sweep, so objects do not accumulate.
PROBE_PATH = "tmp/readiness"
_PROVEN_SECONDS = 3600.0
# The version of objects in a bucket whose versioning is suspended: they are overwritten.
_NO_VERSION = "null"

_log = structlog.get_logger(__name__)


async def open_object(
    objects: S3Store, path: str, start: int, end: int | None
) -> AsyncGenerator[bytes, None]:
    """Read a range of an object window by window; the first one before this returns.

    Raises:
        BlobMissingError: There is no such object, which is asked for even if the range is empty.
    """
    first_end = start + _WINDOW_BYTES if end is None else min(start + _WINDOW_BYTES, end)
    window = memoryview(b"")
    size_bytes: int | None
    try:
        if first_end > start:
            window, size_bytes = await _fetch(objects, path, start, first_end)
        else:
            size_bytes = await object_size(objects, path)
    except _UnsatisfiableRangeError:
        # S3 refuses ranges that hold no byte, and any range of an empty object is one.
        size_bytes = await object_size(objects, path)
        if size_bytes is not None and start < size_bytes:
            raise
    if size_bytes is None:
        raise BlobMissingError
    return _pieces(
        objects, path, window, start, size_bytes if end is None else min(end, size_bytes)
    )


async def _pieces(
    objects: S3Store, path: str, window: memoryview, position: int, end: int
) -> AsyncGenerator[bytes, None]:
    """Yield a window and what follows it up to `end`; between two windows nothing is held."""
    while window:
        position += len(window)
        while window:
            piece = bytes(window[:CHUNK_BYTES])
            window = window[CHUNK_BYTES:]
            yield piece
        if position < end:
            window, _ = await _fetch(objects, path, position, min(position + _WINDOW_BYTES, end))


async def _fetch(objects: S3Store, path: str, start: int, end: int) -> tuple[memoryview, int]:
    """Fetch the window from `start` to `end`, and the size of the whole object."""
    with failures_translated():
        try:
            answer = await obstore.get_async(objects, path, options={"range": (start, end)})
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
    if len(window) != min(end, size_bytes) - start:
        raise StoreUnavailableError(STORE)
    return window, size_bytes


class _UnsatisfiableRangeError(StoreUnavailableError):
    """The object is there and has no byte of the range."""


def connect(
    config: "S3Config", prefix: str | None, request_timeout: timedelta = _REQUEST_TIMEOUT
) -> S3Store:
    """Return a client for a bucket, or a prefix in it; making it sends nothing.

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
    """Return the object's size in bytes, `None` if there is none."""
    found = await found_object(objects, path)
    return found.size_bytes if found else None


async def object_sizes(objects: S3Store, paths: Mapping[str, str]) -> dict[str, int]:
    """Return the sizes of objects at many paths, by the paths' names; absent ones are missing."""
    remaining = iter(paths.items())
    sizes: dict[str, int] = {}
    failures: list[StoreUnavailableError] = []

    async def ask() -> None:
        for name, path in remaining:
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
    """Return the blob at a path without reading it, `None` if there is none."""
    with failures_translated():
        try:
            return _described(await obstore.head_async(objects, path))
        except FileNotFoundError:
            return None


async def listed_objects(objects: S3Store, folder: str) -> AsyncGenerator[ListedBlob, None]:
    """Yield the blobs below a project's folder, in requests for a thousand each."""
    batches = aiter(obstore.list(objects, folder, chunk_size=_LISTED_AT_ONCE))
    while True:
        # Only failures of the listing are translated, not exceptions that a caller throws in.
        with failures_translated():
            try:
                batch = await anext(batches)
            except StopAsyncIteration:
                return
        for found in batch:
            aa, _, name = found["path"].removeprefix(f"{folder}/").partition("/")
            if is_blob_name(aa, name):
                yield _described(found)


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


class StoreProbe:
    """Proves that a bucket can be read and written, for as few requests as it takes.

    Each check reads an object that need not be there: the answer says whether the store is there,
    takes the key, has the bucket, and allows both to read and to list, since a missing object is
    called denied to those who may not list. It says nothing about writing. That is proven by
    whatever was last written: an hour after the last success, and at once after a failure, a check
    puts a small object and removes it.

    Args:
        objects: The bucket.
        bucket: Its name, for the log.
    """

    def __init__(self, objects: S3Store, bucket: str) -> None:
        self._objects = objects
        self._bucket = bucket
        self._proven_until = 0.0

    async def check(self) -> None:
        """See `BlobStore.check`.

        Raises:
            StoreUnavailableError: The bucket cannot be read, or the last write failed and writing
                still fails.
        """
        with failures_translated(), missing_ignored():
            await obstore.get_async(self._objects, PROBE_PATH, options={"range": (0, 1)})
        if time.monotonic() >= self._proven_until:
            with self.writing():
                put = obstore.put_async(self._objects, PROBE_PATH, b"ready?", use_multipart=False)
                self.note_version(await put)
                await obstore.delete_async(self._objects, PROBE_PATH)

    @contextmanager
    def writing(self, *, is_proof: bool = True) -> Iterator[None]:
        """Raise failures as `failures_translated` does, and store whether there was one.

        Args:
            is_proof: If it succeeds, the bucket can be written.
        """
        try:
            with failures_translated():
                yield
        except StoreUnavailableError:
            self._proven_until = 0.0
            raise
        if is_proof:
            self._proven_until = time.monotonic() + _PROVEN_SECONDS

    def note_version(self, result: "PutResult") -> None:
        """Warn, once in a process, if the bucket stores versions of deleted objects."""
        if result["version"] not in (None, _NO_VERSION):
            _warn_of_versions(self._bucket)


@cache
def _warn_of_versions(bucket: str) -> None:
    _log.warning(
        "bucket keeps versions",
        bucket=bucket,
        advice="what is deleted keeps its bytes as a noncurrent version until a lifecycle rule "
        "expires it: set the rule in docs/deployment.md, or suspend versioning",
    )


def link_with(signed_url: str, parameters: Mapping[str, str], secret: str) -> str:
    """Return a pre-signed URL for GET, with further parameters that its signature covers.

    They select the headers of the store's answer. obstore signs a URL, but without such parameters.
    So this parses the signed URL, adds the parameters, and signs it again with the same host, path,
    key, date and duration.

    Source: AWS, "Authenticating Requests: Using Query Parameters (AWS Signature Version 4)"; S3's
    GetObject, `response-content-type` and `response-content-disposition`.

    Args:
        signed_url: Signed with version 4 for GET, with no header but `host`.
        parameters: The parameters, by name.
        secret: The secret of the key that the URL names.
    """
    url = urlsplit(signed_url)
    query_parameters = dict(parse_qsl(url.query, keep_blank_values=True))
    query_parameters.pop(_SIGNATURE, None)
    query_parameters |= parameters
    query = urlencode(sorted(query_parameters.items()), quote_via=quote, safe="-_.~")
    request = f"GET\n{url.path}\n{query}\nhost:{url.netloc}\n\nhost\nUNSIGNED-PAYLOAD"
    _, _, scope = query_parameters["X-Amz-Credential"].partition("/")
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{query_parameters['X-Amz-Date']}\n{scope}\n{digest}"
    key = f"AWS4{secret}".encode()
    # Of the scope `<date>/<region>/s3/aws4_request`, each part is signed by the last.
    for part in scope.split("/"):
        key = _mac(key, part)
    signature = _mac(key, text).hex()
    return f"{url.scheme}://{url.netloc}{url.path}?{query}&{_SIGNATURE}={signature}"


def _mac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()
