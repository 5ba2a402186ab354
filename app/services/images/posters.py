"""Makes the posters of videos: JPEGs of their first key frames, stored as derived images.

A child process (`poster_process.py`) decodes the video, if the optional package `av` is installed.
"""

import tempfile
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import version
from importlib.util import find_spec

import anyio
import structlog

from app.errors import NotFoundError, OverloadedError
from app.models.resource_descriptor import FittedImage
from app.services.concurrency.client_disconnects import until_disconnect
from app.services.concurrency.large_work import ProjectTurns
from app.services.images.child_process import GRACE_SECONDS, start_child
from app.services.images.derived_images import DerivedImages
from app.services.images.poster_process import NO_PICTURE, TOO_LARGE
from app.services.memory_budget.budget import MemoryBudget
from app.stores.blobs.store import BlobStore
from pagefault_dialects.model.resource import DerivedImage, Resource

_MODULE = "app.services.images.poster_process"
# FFmpeg's names of the formats of videos that are decoded.
_FORMATS_BY_TYPE = {
    "video/mp4": "mov",
    "video/quicktime": "mov",
    "video/webm": "matroska",
    "video/x-matroska": "matroska",
}
_MAX_VIDEO_BYTES = 256 * 1024 * 1024
"""The maximum size of a video. It is limited because the video is copied to a temporary file."""
_MAX_POSTER_BYTES = 4 * 1024 * 1024
_MAX_SECONDS = 10.0
# The memory to decode a frame, measured for four codecs with frames of 3,840 x 2,160 pixels, ten
# bits per channel and no chroma subsampling.
_FRAME_BYTES = 192 * 1024 * 1024
# The version of the code that makes posters. If it changes, posters are made again.
_VERSION = 2
# Without the version of the decoder, because a frame is too large for every decoder.
_TOO_LARGE_KEY = f"poster/{_VERSION};too-large"
_log = structlog.get_logger(__name__)


@cache
def can_make_posters() -> bool:
    """Return True if the package that decodes videos is installed."""
    return find_spec("av") is not None


@cache
def _poster_key() -> str:
    """Return the key under which the outcomes of posters are recorded.

    It contains the version of the decoder, so that a failed video is tried again with a new one.
    """
    return f"poster/{_VERSION};{version('av')}"


@dataclass(frozen=True, slots=True, eq=False)
class Posters:
    """Makes posters for any project, one at a time."""

    blobs: BlobStore
    derived: DerivedImages
    """Finds and stores posters."""
    memory: MemoryBudget
    _turns: ProjectTurns = field(
        init=False, default_factory=lambda: ProjectTurns(max_waiting=64, max_running=1)
    )

    async def get(self, project_id: str, video: Resource) -> DerivedImage:
        """Return the poster of a video. Make the poster if it does not exist yet.

        Raises:
            NotFoundError: There is no poster: the resource is not a video of a known format, is
                too large or damaged, or the package `av` is not installed.
            OverloadedError: The poster cannot be made now, for lack of time or memory.
            MalformedRequestError: The client has disconnected.
            StoreUnavailableError: A store did not answer, or has lost the bytes.
        """
        video_format = _FORMATS_BY_TYPE.get(video.mime_type)
        if video_format is None or video.size_bytes > _MAX_VIDEO_BYTES or not can_make_posters():
            raise _no_poster_error()
        poster = await self._find(project_id, video)
        if poster is None:
            async with until_disconnect(), self._turns.turn(project_id):
                poster = await self._find(project_id, video)
                if poster is None:
                    poster = await self._make(project_id, video, video_format)
        return poster

    async def get_if_any(self, project_id: str, video: Resource) -> DerivedImage | None:
        """Return the poster of a video as `get` does, but `None` instead of a `NotFoundError`."""
        with suppress(NotFoundError):
            return await self.get(project_id, video)
        return None

    async def _find(self, project_id: str, video: Resource) -> DerivedImage | None:
        """Return the recorded poster of a video; `None` if there was no attempt to make it.

        Raises:
            NotFoundError: An earlier attempt found no frame, or a frame that is too large.
        """
        recorded = await self.derived.find(project_id, video.digest, _poster_key())
        if recorded is None:
            if await self.derived.find(project_id, video.digest, _TOO_LARGE_KEY):
                raise _too_large_error()
            return None
        if recorded.image is None:
            raise _no_poster_error()
        return recorded.image

    async def _make(self, project_id: str, video: Resource, video_format: str) -> DerivedImage:
        """Make and store a poster, or record that the video has none; see `get` for the errors."""
        try:
            status, data = await self._decode(project_id, video, video_format)
        except OSError:
            # The disk is full, or another process cannot be started. Any status except those of
            # `poster_process` means this.
            status, data = 1, b""
        store = partial(self.derived.store, project_id, video.digest)
        if status == 0 and 0 < len(data) <= _MAX_POSTER_BYTES:
            recorded = await store(_poster_key(), FittedImage(data, "image/jpeg", True))
            if recorded.image is not None:
                return recorded.image
        if status == TOO_LARGE:
            await store(_TOO_LARGE_KEY, None)
            raise _too_large_error()
        if status == NO_PICTURE:
            await store(_poster_key(), None)
            raise _no_poster_error()
        # Other failures are not recorded, because decoders also crash when they lack memory.
        _log.info("poster given up", resource=video.resource_id, status=status)
        raise OverloadedError(
            "The poster could not be made now: to decode the video took too much time or memory. "
            "Ask for it again when there is less to do."
        )

    async def _decode(
        self, project_id: str, video: Resource, video_format: str
    ) -> tuple[int, bytes]:
        """Decode a video in a child process, and return its exit status and its output."""
        async with (
            self._copy_to_file(project_id, video) as path,
            self.memory.reserving(_FRAME_BYTES) as memory,
        ):
            limits = (str(memory.size_bytes), str(_MAX_SECONDS + GRACE_SECONDS))
            child = await start_child(_MODULE, video_format, path, *limits)
            output = bytearray()
            try:
                with anyio.move_on_after(_MAX_SECONDS):
                    async for chunk in child.stdout:
                        output += chunk
                        if len(output) > _MAX_POSTER_BYTES:
                            break
                    await child.process.wait()
            finally:
                status = await child.end()
            return status, bytes(output)

    @asynccontextmanager
    async def _copy_to_file(self, project_id: str, video: Resource) -> AsyncIterator[str]:
        """Copy a video to a temporary file, and yield its path. The file is removed at the end."""
        with tempfile.NamedTemporaryFile(prefix="pagefault-poster-") as file:
            async_file = anyio.wrap_file(file)
            async with aclosing(await self.blobs.open(project_id, video.digest)) as reader:
                async for chunk in reader:
                    await async_file.write(chunk)
            await async_file.flush()
            yield file.name


def _no_poster_error() -> NotFoundError:
    return NotFoundError(
        "poster",
        detail="There is no poster of this resource: it is no MP4, QuickTime, WebM or Matroska "
        "video that can be decoded, is larger than 256 MiB, or the service lacks the package `av` "
        "(`pip install 'pagefault[video]'`).",
    )


def _too_large_error() -> NotFoundError:
    return NotFoundError(
        "poster",
        detail="There is no poster of this video: it has more pixels than 3840x2160. Its bytes are "
        "at `/content`.",
    )
