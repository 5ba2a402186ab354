"""Gets what the ladder wishes: smaller images, the texts of files, and whether bytes are sound."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

import anyio
import anyio.to_thread

from app.errors import ServiceError
from app.models.conversation import ComposedTurn, InlineBytes, Item, Medium, StoredBytes
from app.models.derived_image import DerivedImage, ImageRecipe
from app.models.media import InMemoryMedia
from app.models.media_types import sniff
from app.models.text_encoding import decode_text
from app.rendering.targets.fitting import places_of
from app.rendering.targets.wishes import Gathered, Wishes
from app.services.derived_images import DerivedImages
from app.services.persistence.probing import probe_media
from app.stores.blobs import BlobStore, read_whole

_HEAD_BYTES = 512
_AT_ONCE = 4
_MOST_IN_MEMORY = 256
# Containers that hold both, and are named after what is in them.
_RECORDINGS = frozenset({"audio", "video"})


class Gathering:
    """Reads and makes what a rendering needs, for any project."""

    def __init__(self, blobs: BlobStore, images: DerivedImages) -> None:
        self._blobs = blobs
        self._images = images

    async def gather(
        self, project_id: str, turns: Sequence[ComposedTurn], wishes: Wishes
    ) -> Gathered:
        """What became of the wishes.

        Args:
            project_id: Whose media they are.
            turns: The conversation.
            wishes: What is wished for its media.

        Raises:
            StoreUnavailableError: The store did not answer.
        """
        media = [place.medium for place in places_of(turns)]
        images: dict[int, DerivedImage] = {}
        texts: dict[int, str] = {}
        unsound: set[int] = set()

        async def make(index: int, recipe: ImageRecipe) -> None:
            made = await self._smaller(project_id, media[index], recipe)
            if made is not None:
                images[index] = made

        async def read(index: int) -> None:
            text = decode_text(await self._bytes(project_id, media[index]))
            # A text in an encoding that is not told is no text that could be read out.
            if "\ufffd" not in text:
                texts[index] = text

        async def look(index: int) -> None:
            head = await self._bytes(project_id, media[index], most_bytes=_HEAD_BYTES)
            if not _is_sound(head, media[index].mime_type):
                unsound.add(index)

        await _together(
            [
                *(partial(make, index, wishes.images[index]) for index in _wanted(media, wishes)),
                *(partial(read, index) for index in wishes.texts),
                *(partial(look, index) for index in wishes.heads),
            ]
        )
        return Gathered(images, texts, frozenset(unsound))

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

    async def _bytes(
        self, project_id: str, medium: Medium, *, most_bytes: int | None = None
    ) -> bytes:
        source = medium.source
        if isinstance(source, InlineBytes):
            return source.data[:most_bytes]
        if not isinstance(source, StoredBytes):
            return b""
        return await read_whole(self._blobs, project_id, source.digest, end=most_bytes)


def _wanted(media: Sequence[Medium], wishes: Wishes) -> list[int]:
    """The images to be made: of those that are held in memory until they are sent, the newest."""
    held = sorted(index for index in wishes.images if isinstance(media[index].source, InlineBytes))
    left_out = set(held[:-_MOST_IN_MEMORY])
    return [index for index in wishes.images if index not in left_out]


async def _together(works: Sequence[Callable[[], Awaitable[None]]]) -> None:
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


async def measured(turns: Sequence[ComposedTurn]) -> Sequence[ComposedTurn]:
    """The turns, with the hints of the media that are in the records themselves."""
    if not any(_is_inline(item) for turn in turns for item in turn.items):
        return turns
    return await anyio.to_thread.run_sync(lambda: [_measured(turn) for turn in turns])


def _is_inline(item: object) -> bool:
    return isinstance(item, Medium) and isinstance(item.source, InlineBytes)


def _measured(turn: ComposedTurn) -> ComposedTurn:
    items: list[Item] = []
    for item in turn.items:
        if isinstance(item, Medium) and isinstance(item.source, InlineBytes):
            data = item.source.data
            hints = probe_media(data, InMemoryMedia(data), item.mime_type)
            items.append(replace(item, hints=hints))
        else:
            items.append(item)
    changed: ComposedTurn = replace(turn, items=tuple(items))
    return changed


def _is_sound(head: bytes, mime_type: str) -> bool:
    """Whether a file begins as one of its type does, for types that can be known by that."""
    family = mime_type.partition("/")[0]
    shown = sniff(head)
    if mime_type == "application/pdf":
        return shown == mime_type
    if family not in _RECORDINGS:
        return True
    return shown is not None and shown.partition("/")[0] in _RECORDINGS
