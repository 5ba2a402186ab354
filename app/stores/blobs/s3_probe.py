"""Proves that a bucket can be read and written, for as few requests as it takes.

Each check reads an object that need not be there: the answer says whether the store is there, takes
the key, has the bucket, and allows both to read and to list, since a missing object is called
denied to those who may not list. It says nothing about writing. That is proven by whatever was last
written: an hour after the last success, and at once after a failure, a check puts a small object
and removes it.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

import obstore
import structlog
from obstore.store import S3Store

from app.errors import StoreUnavailableError
from app.stores.blobs.s3_objects import failures_translated, missing_ignored

if TYPE_CHECKING:
    from obstore import PutResult

# One name for all processes, below what a sweep removes: nothing piles up.
PROBE_PATH = "tmp/readiness"
_PROVEN_SECONDS = 3600.0
# The version that a bucket gives whose versioning is suspended: it is overwritten and removed.
_NO_VERSION = "null"

_log = structlog.get_logger(__name__)


class StoreProbe:
    """What is known of a bucket's readiness.

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
            StoreUnavailableError: The bucket cannot be read, or what was last written failed and
                writing still does.
        """
        with failures_translated(), missing_ignored():
            await obstore.get_async(self._objects, PROBE_PATH, options={"range": (0, 1)})
        if time.monotonic() >= self._proven_until:
            await self._write()

    @contextmanager
    def writing(self, *, is_proof: bool = True) -> Iterator[None]:
        """Raise failures as `failures_translated` does, and remember whether there was one.

        Args:
            is_proof: Whether going well proves that the bucket can be written.
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
        """Warn, once in a process, if the bucket keeps versions of what is removed."""
        if result["version"] not in (None, _NO_VERSION):
            _warn_of_versions(self._bucket)

    async def _write(self) -> None:
        with self.writing():
            self.note_version(
                await obstore.put_async(self._objects, PROBE_PATH, b"ready?", use_multipart=False)
            )
            await obstore.delete_async(self._objects, PROBE_PATH)


@cache
def _warn_of_versions(bucket: str) -> None:
    _log.warning(
        "bucket keeps versions",
        bucket=bucket,
        advice="what is deleted keeps its bytes as a noncurrent version until a lifecycle rule "
        "expires it: set the rule in docs/deployment.md, or suspend versioning",
    )
