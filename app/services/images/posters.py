"""Makes posters: images of the first key frame of stored videos, stored as derived images.

A separate process (`poster_process`) decodes the video, if the optional package `av` is installed.
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
_FORMATS = {
    "video/mp4": "mov",
    "video/quicktime": "mov",
    "video/webm": "matroska",
    "video/x-matroska": "matroska",
}
_MAX_VIDEO_BYTES = 256 * 1024 * 1024
"""The maximum size of a video that is decoded. It is limited because the video is copied."""
_MAX_POSTER_BYTES = 4 * 1024 * 1024
_SECONDS = 10.0
# The memory to decode a frame, measured with 3,840 x 2,160 pixels in four codecs, with ten bits and
# without subsampling.
_FRAME_BYTES = 192 * 1024 * 1024
_KEY_OF_TOO_LARGE = "poster/2;too-large"
_log = structlog.get_logger(__name__)


@cache
def can_make_posters() -> bool:
    """Return True if the package that decodes videos is installed."""
    return find_spec("av") is not None


@cache
def _make_key() -> str:
    """Return the key of posters, with the version of the decoder.

    So a video without a poster is tried again with a new version.
    """
    return f"poster/2;{version('av')}"


@dataclass(frozen=True, slots=True, eq=False)
class Posters:
    """Makes posters for any project, one at a time."""

    blobs: BlobStore
    derived: DerivedImages
    """Stores posters."""
    memory: MemoryBudget
    _turns: ProjectTurns = field(
        init=False, default_factory=lambda: ProjectTurns(waiting=64, at_once=1)
    )

    async def get(self, project_id: str, video: Resource) -> DerivedImage:
        """Return the poster of a video. If there is none yet, make it.

        Raises:
            NotFoundError: There is no poster: the resource is not a video of a known format, is
                too large or damaged, or the package `av` is not installed.
            OverloadedError: The poster cannot be made now.
            MalformedRequestError: The client has disconnected.
            StoreUnavailableError: A store did not answer, or has lost the bytes.
        """
        video_format = _FORMATS.get(video.mime_type)
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
        """Return the poster of a video as `get` does; `None` if it has none."""
        with suppress(NotFoundError):
            return await self.get(project_id, video)
        return None

    async def _find(self, project_id: str, video: Resource) -> DerivedImage | None:
        """Return an existing poster; `None` if nobody has tried to make it.

        Raises:
            NotFoundError: An earlier attempt has found no picture.
        """
        recorded = await self.derived.find(project_id, video.digest, _make_key())
        if recorded is None:
            if await self.derived.find(project_id, video.digest, _KEY_OF_TOO_LARGE):
                raise _too_large_error()
            return None
        if recorded.image is None:
            raise _no_poster_error()
        return recorded.image

    async def _make(self, project_id: str, video: Resource, video_format: str) -> DerivedImage:
        try:
            status, data = await self._decode(project_id, video, video_format)
        except OSError:
            # The disk is full, or another process cannot be started.
            status, data = 1, b""
        store = partial(self.derived.store, project_id, video.digest)
        if status == 0 and 0 < len(data) <= _MAX_POSTER_BYTES:
            recorded = await store(_make_key(), FittedImage(data, "image/jpeg", True))
            if recorded.image is not None:
                return recorded.image
        if status == TOO_LARGE:
            await store(_KEY_OF_TOO_LARGE, None)
            raise _too_large_error()
        if status == NO_PICTURE:
            await store(_make_key(), None)
            raise _no_poster_error()
        # Other failures are not recorded: decoders also crash because of a lack of memory.
        _log.info("poster given up", resource=video.resource_id, status=status)
        raise OverloadedError(
            "The poster could not be made now: to decode the video took too much time or memory. "
            "Ask for it again when there is less to do."
        )

    async def _decode(
        self, project_id: str, video: Resource, video_format: str
    ) -> tuple[int, bytes]:
        """Decode a video in a process; return its status and output."""
        async with (
            self._as_file(project_id, video) as path,
            self.memory.reserving(_FRAME_BYTES) as memory,
        ):
            bounds = (str(memory.size_bytes), str(_SECONDS + GRACE_SECONDS))
            child = await start_child(_MODULE, video_format, path, *bounds)
            written = bytearray()
            try:
                with anyio.move_on_after(_SECONDS):
                    async for piece in child.stdout:
                        written += piece
                        if len(written) > _MAX_POSTER_BYTES:
                            break
                    await child.process.wait()
            finally:
                status = await child.end()
            return status, bytes(written)

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
