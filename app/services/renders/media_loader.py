"""Gets what the ladder wishes: smaller images, and the texts of files."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import anyio

from app.errors import ServiceError
from app.models.conversation import ComposedTurn, InlineBytes, Medium, StoredBytes
from app.models.resource import DerivedImage, ImageRecipe
from app.models.text_windows import decode_text
from app.rendering.targets.fitting import LoadedMedia, MediaPlan, places_of
from app.services.images.derived_images import DerivedImages
from app.services.persistence.media_checks import MediaChecks
from app.stores.blobs import BlobStore, read_whole

_AT_ONCE = 4
_MOST_IN_MEMORY = 256


class MediaLoader:
    """Reads and makes what a rendering needs, for any project."""

    def __init__(self, blobs: BlobStore, images: DerivedImages, checks: MediaChecks) -> None:
        self.checks = checks
        self._blobs = blobs
        self._images = images

    async def gather(
        self, project_id: str, turns: Sequence[ComposedTurn], media_plan: MediaPlan
    ) -> LoadedMedia:
        """What became of the wishes.

        Args:
            project_id: Whose media they are.
            turns: The conversation.
            media_plan: What is wished for its media.

        Raises:
            StoreUnavailableError: The store did not answer.
        """
        media = [place.medium for place in places_of(turns)]
        images: dict[int, DerivedImage] = {}
        texts: dict[int, str] = {}

        async def make(index: int, recipe: ImageRecipe) -> None:
            made = await self._smaller(project_id, media[index], recipe)
            if made is not None:
                images[index] = made

        async def read(index: int) -> None:
            text = decode_text(await self._bytes(project_id, media[index]))
            # A text in an encoding that is not told is no text that could be read out.
            if "\ufffd" not in text:
                texts[index] = text

        await together(
            [
                *(
                    partial(make, index, media_plan.images[index])
                    for index in _wanted(media, media_plan)
                ),
                *(partial(read, index) for index in media_plan.texts),
            ]
        )
        return LoadedMedia(images, texts)

    async def _smaller(
        self, project_id: str, medium: Medium, recipe: ImageRecipe
    ) -> DerivedImage | None:
        if not isinstance(medium.source, StoredBytes | InlineBytes):
            return None
        return await self._images.get(
            project_id,
            medium.source,
            mime_type=medium.mime_type,
            size_bytes=medium.size_bytes or 0,
            recipe=recipe,
        )

    async def _bytes(self, project_id: str, medium: Medium) -> bytes:
        source = medium.source
        if isinstance(source, InlineBytes):
            return source.data
        if not isinstance(source, StoredBytes):
            return b""
        return await read_whole(self._blobs, project_id, source.digest)


def _wanted(media: Sequence[Medium], media_plan: MediaPlan) -> list[int]:
    """The images to be made: of those that are held in memory until they are sent, the newest."""
    held = sorted(
        index for index in media_plan.images if isinstance(media[index].source, InlineBytes)
    )
    left_out = set(held[:-_MOST_IN_MEMORY])
    return [index for index in media_plan.images if index not in left_out]


async def together(works: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """Do some of the works at a time, all of them in the end, or none after one has failed."""
    limiter = anyio.CapacityLimiter(_AT_ONCE)
    failures: list[ServiceError] = []

    async def do(work: Callable[[], Awaitable[None]]) -> None:
        async with limiter:
            if failures:
                return
            try:
                await work()
            except ServiceError as exc:
                # Raised from here it would come out of the group as one of many.
                failures.append(exc)

    async with anyio.create_task_group() as tasks:
        for work in works:
            tasks.start_soon(do, work)
    if failures:
        raise failures[0]
