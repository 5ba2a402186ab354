"""Posters: the first key frame of a stored video, made once, and kept as images made smaller are.

It is made by a process of its own (`poster_process`), where the optional package `av` is there.
"""

import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from subprocess import DEVNULL, PIPE

import anyio
import structlog

from app.errors import NotFoundError
from app.models.resource import DerivedImage, FittedImage, Resource
from app.services.images.derived_images import DerivedImages
from app.stores.blobs import BlobStore

_FORMATS = {
    "video/mp4": "mov",
    "video/quicktime": "mov",
    "video/webm": "matroska",
    "video/x-matroska": "matroska",
}
_MOST_VIDEO_BYTES = 256 * 1024 * 1024
"""A larger video has none: it would have to be copied to be decoded."""
_MOST_POSTER_BYTES = 4 * 1024 * 1024
_SECONDS = 15.0
_KEY = "poster/1"
_log = structlog.get_logger(__name__)


@cache
def can_make_posters() -> bool:
    """Say whether the package that decodes videos is installed."""
    return find_spec("av") is not None


@dataclass(frozen=True, slots=True, eq=False)
class Posters:
    """Makes posters, for any project; two at a time."""

    blobs: BlobStore
    """Where the videos are."""
    derived: DerivedImages
    """Keeps what was made."""
    turns: anyio.CapacityLimiter
    """How many are made at once."""

    async def get(self, project_id: str, video: Resource) -> DerivedImage:
        """Return the poster of a video, made unless it has been.

        Raises:
            NotFoundError: It has none: it is no video of a known format, too large or broken, or
                the package `av` is not installed.
            StoreUnavailableError: A store did not answer, or has lost the bytes.
        """
        video_format = _FORMATS.get(video.mime_type)
        if video_format is None or video.size_bytes > _MOST_VIDEO_BYTES or not can_make_posters():
            raise _no_poster()
        noted = await self.derived.noted(project_id, video.digest, _KEY)
        if noted is None:
            async with self.turns:
                noted = await self.derived.noted(project_id, video.digest, _KEY)
                if noted is None:
                    made = await self._made(project_id, video, video_format)
                    noted = await self.derived.keep(project_id, video.digest, _KEY, made)
        if noted.image is None:
            raise _no_poster()
        return noted.image

    async def _made(
        self, project_id: str, video: Resource, video_format: str
    ) -> FittedImage | None:
        async with self._as_file(project_id, video) as path:
            # `-P`: nothing of the folder that the service was started in is imported.
            command = [sys.executable, "-P", "-m", "app.services.images.poster_process"]
            with anyio.move_on_after(_SECONDS):
                done = await anyio.run_process(
                    [*command, video_format, path],
                    stdin=DEVNULL,
                    stdout=PIPE,
                    stderr=DEVNULL,
                    check=False,
                )
                is_made = done.returncode == 0 and 0 < len(done.stdout) <= _MOST_POSTER_BYTES
                return FittedImage(done.stdout, "image/jpeg", True) if is_made else None
        _log.info("poster given up", resource=video.resource_id)
        return None

    @asynccontextmanager
    async def _as_file(self, project_id: str, video: Resource) -> AsyncIterator[str]:
        """Copy a video to a temporary file, which is removed at the end of the block."""
        with tempfile.NamedTemporaryFile(prefix="pagefault-poster-") as file:
            target = anyio.wrap_file(file)
            async with aclosing(await self.blobs.open(project_id, video.digest)) as reader:
                async for piece in reader:
                    await target.write(piece)
            await target.flush()
            yield file.name


def _no_poster() -> NotFoundError:
    return NotFoundError(
        "poster",
        detail="There is no poster of this resource: it is no MP4, QuickTime, WebM or Matroska "
        "video that can be decoded, is larger than 256 MiB, or the service lacks the package `av` "
        "(`pip install 'pagefault[video]'`).",
    )
