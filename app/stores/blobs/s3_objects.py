"""Objects in an S3-compatible bucket: requests, windows, readiness, and signed URLs.

The exceptions of obstore do not leave this module; `s3_errors` translates them. If a store does not
respond, `StoreUnavailableError` is raised after some seconds, because there are limits for
connecting, waiting and retrying. Requests that have timed out or were refused are not retried.
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
# The size of a window, which is the range of an object that one request reads.
_WINDOW_BYTES = 4 * CHUNK_BYTES
_LISTED_AT_ONCE = 1_000
_MAX_CONCURRENT_REQUESTS = 8
_SIGNATURE = "X-Amz-Signature"
# All processes use one name, in a folder that is swept, so objects do not accumulate.
PROBE_PATH = "tmp/readiness"
# How long a successful write proves that the bucket can be written.
_PROVEN_SECONDS = 3600.0
# The version id of objects in a bucket whose versioning is suspended.
_NO_VERSION = "null"

_log = structlog.get_logger(__name__)


async def open_object(
    objects: S3Store, path: str, start: int, end: int | None
) -> AsyncGenerator[bytes, None]:
    """Return the bytes of an object from `start` to before `end`. This reads the first window.

    Raises:
        BlobMissingError: The object does not exist; this is checked even for an empty range.
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
        # S3 refuses ranges without bytes, such as any range of an empty object.
        size_bytes = await object_size(objects, path)
        if size_bytes is not None and start < size_bytes:
            raise
    if size_bytes is None:
        raise BlobMissingError
    return _read_windows(
        objects, path, window, start, size_bytes if end is None else min(end, size_bytes)
    )


async def _read_windows(
    objects: S3Store, path: str, window: memoryview, position: int, end: int
) -> AsyncGenerator[bytes, None]:
    """Yield the pieces of a window, and of the windows after it up to `end`."""
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
    with translate_failures():
        try:
            response = await obstore.get_async(objects, path, options={"range": (start, end)})
            window = memoryview(await response.bytes_async())
        except FileNotFoundError as exc:
            if is_missing_object(exc):
                raise BlobMissingError from None
            raise
        except BaseError as exc:
            if is_unsatisfiable_range(exc):
                raise _UnsatisfiableRangeError(STORE) from None
            raise
    size_bytes = response.meta["size"]
    if len(window) != min(end, size_bytes) - start:
        raise StoreUnavailableError(STORE)
    return window, size_bytes


class _UnsatisfiableRangeError(StoreUnavailableError):
    """The object exists and has no byte of the range."""


def connect(
    config: "S3Config", prefix: str | None, request_timeout: timedelta = _REQUEST_TIMEOUT
) -> S3Store:
    """Return a client for a bucket, or for a prefix in it, without sending a request.

    Raises:
        StoreMisconfiguredError: The id or the secret of the key is missing.
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
    with translate_failures():
        return S3Store(
            prefix=prefix or None,
            config=config,
            client_options=client_options,
            retry_config=retry_config,
        )


async def object_size(objects: S3Store, path: str) -> int | None:
    """Return the size of an object in bytes; `None` if it does not exist."""
    found = await find_object(objects, path)
    return found.size_bytes if found else None


async def object_sizes(objects: S3Store, paths: Mapping[str, str]) -> dict[str, int]:
    """Return the sizes in bytes of the objects that exist, by the keys of `paths`."""
    remaining = iter(paths.items())
    sizes: dict[str, int] = {}
    failures: list[StoreUnavailableError] = []

    async def request_sizes() -> None:
        for key, path in remaining:
            if failures:
                return
            try:
                size = await object_size(objects, path)
            except StoreUnavailableError as exc:
                # If it were raised here, the task group would wrap it in an ExceptionGroup.
                failures.append(exc)
                return
            if size is not None:
                sizes[key] = size

    async with anyio.create_task_group() as tasks:
        for _ in range(min(_MAX_CONCURRENT_REQUESTS, len(paths))):
            tasks.start_soon(request_sizes)
    if failures:
        raise failures[0]
    return sizes


async def find_object(objects: S3Store, path: str) -> ListedBlob | None:
    """Return the blob at a path without reading it; `None` if it does not exist."""
    with translate_failures():
        try:
            return _listed_blob(await obstore.head_async(objects, path))
        except FileNotFoundError:
            return None


async def list_objects(objects: S3Store, folder: str) -> AsyncGenerator[ListedBlob, None]:
    """Yield the blobs in the folder of a project. Each request lists a thousand of them."""
    batches = aiter(obstore.list(objects, folder, chunk_size=_LISTED_AT_ONCE))
    while True:
        # Only failures of the listing are translated, not exceptions that a caller throws in.
        with translate_failures():
            try:
                batch = await anext(batches)
            except StopAsyncIteration:
                return
        for found in batch:
            folder_name, _, name = found["path"].removeprefix(f"{folder}/").partition("/")
            if is_blob_name(folder_name, name):
                yield _listed_blob(found)


def _listed_blob(found: "ObjectMeta") -> ListedBlob:
    digest = found["path"].rpartition("/")[2]
    return ListedBlob(digest, found["size"], found["last_modified"].astimezone(UTC))


@contextmanager
def translate_failures() -> Iterator[None]:
    """Log and translate the exceptions of obstore.

    Raises:
        StoreFullError: The store or a quota is full.
        StoreMisconfiguredError: The store refuses the service.
        StoreUnavailableError: Any other failure.
    """
    try:
        yield
    except (BaseError, OSError) as exc:
        # Not `from exc`: a traceback would show the store's response, which contains the key id.
        raise store_error(exc) from None


@contextmanager
def ignore_missing() -> Iterator[None]:
    """Ignore that an object is missing, but not that the bucket is."""
    try:
        yield
    except FileNotFoundError as exc:
        if not is_missing_object(exc):
            raise


class StoreProbe:
    """Checks with few requests that a bucket can be read and written.

    A check reads an object, which may be missing. The response proves that the store is reachable,
    accepts the key, has the bucket, and permits to read and to list (without the permission to
    list, a missing object is a 403). If no write has succeeded for an hour, or the last write has
    failed, a check also writes a small object and deletes it.

    Args:
        objects: The bucket.
        bucket: The name of the bucket, for the log.
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
        with translate_failures(), ignore_missing():
            await obstore.get_async(self._objects, PROBE_PATH, options={"range": (0, 1)})
        if time.monotonic() >= self._proven_until:
            with self.writing():
                put = obstore.put_async(self._objects, PROBE_PATH, b"ready?", use_multipart=False)
                self.note_version(await put)
                await obstore.delete_async(self._objects, PROBE_PATH)

    @contextmanager
    def writing(self, *, is_proof: bool = True) -> Iterator[None]:
        """Translate failures as `translate_failures` does, and record whether the write succeeded.

        Args:
            is_proof: True if success of the block proves that the bucket can be written.
        """
        try:
            with translate_failures():
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


def sign_link(signed_url: str, parameters: Mapping[str, str], secret: str) -> str:
    """Return a pre-signed URL for GET, with further parameters that its signature covers.

    The parameters select headers of the store's response. obstore cannot sign them, so this parses
    the signed URL, adds the parameters, and signs it again with the same host, path, key, date and
    duration.

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
    # The scope is `<date>/<region>/s3/aws4_request`. For each part, the next key is derived.
    for part in scope.split("/"):
        key = _mac(key, part)
    signature = _mac(key, text).hex()
    return f"{url.scheme}://{url.netloc}{url.path}?{query}&{_SIGNATURE}={signature}"


def _mac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()
