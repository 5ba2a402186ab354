"""Look at the media of a conversation, and load what the ladder plans for them.

Before anything is decided, the pixels and the damage of media are looked for. Only media that could
be attached are looked at, the newest first: where a target takes so many of a kind, those before
the newest sound ones step down anyway. Then smaller images are made, and the texts of files read.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import anyio
import anyio.to_thread

from app.errors import StoreUnavailableError
from app.models.identity import utc_now
from app.services.images.image_tasks import TooCostlyError
from app.services.images.smaller_images import SmallerImages
from app.services.media.media_checks import MediaChecks, probe_media
from app.stores.blobs.store import BlobStore, read_whole
from pagefault_dialects.errors import PagefaultError
from pagefault_dialects.media.expired_links import damage_of_link
from pagefault_dialects.model.conversation import (
    Address,
    ComposedTurn,
    InlineBytes,
    Item,
    Medium,
    StoredBytes,
)
from pagefault_dialects.model.media import InMemoryMedia
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.model.resource import Damage, DerivedImage, ImageRecipe
from pagefault_dialects.targets.fitting import (
    Fitting,
    LoadedMedia,
    MediaPlan,
    MediumRef,
    places_of,
)
from pagefault_dialects.targets.media_lines import size_words
from pagefault_dialects.targets.profile import MediaClass, Profile
from pagefault_dialects.texts.file_texts import (
    HEAD_BYTES,
    MOST_WHOLE_BYTES,
    TAIL_BYTES,
    FileText,
    read_file_ends,
    read_file_text,
)

_CLASSES: tuple[MediaClass, ...] = ("image", "audio", "video", "document")
_AT_ONCE = 4
MOST_IN_MEMORY = 256
"""Of the smaller images of one rendering that are no files, those that are made."""


@dataclass(frozen=True, slots=True, eq=False)
class MediaLoader:
    """Reads and makes what a rendering needs, for any project."""

    blobs: BlobStore
    images: SmallerImages
    checks: MediaChecks

    async def gather(
        self,
        project_id: str,
        turns: Sequence[ComposedTurn],
        media_plan: MediaPlan,
        most_chars: int,
    ) -> LoadedMedia:
        """Return the media that could be loaded.

        Args:
            project_id: Whose media they are.
            turns: The conversation.
            media_plan: What to load of its media.
            most_chars: How long the text of a file is shown whole.

        Raises:
            StoreUnavailableError: The store did not answer.
        """
        media = [place.medium for place in places_of(turns)]
        images: dict[int, DerivedImage] = {}
        costly: dict[int, str] = {}
        texts: dict[int, FileText] = {}

        async def make(index: int, recipe: ImageRecipe) -> None:
            medium = media[index]
            if not isinstance(medium.source, StoredBytes | InlineBytes):
                return
            try:
                made = await self.images.get(
                    project_id,
                    medium.source,
                    mime_type=medium.mime_type,
                    size_bytes=medium.size_bytes or 0,
                    recipe=recipe,
                )
            except TooCostlyError as exc:
                costly[index] = exc.reason
                return
            if made is not None:
                images[index] = made

        async def read(index: int) -> None:
            text = await self._read_text(project_id, media[index], most_chars)
            if text is not None:
                texts[index] = text

        # Of those that are held in memory until they are sent, the newest are made.
        held = sorted(
            index for index in media_plan.images if isinstance(media[index].source, InlineBytes)
        )
        left_out = set(held[:-MOST_IN_MEMORY])
        wanted = [index for index in media_plan.images if index not in left_out]
        makes = (partial(make, index, media_plan.images[index]) for index in wanted)
        await _together([*makes, *(partial(read, index) for index in media_plan.texts)])
        return LoadedMedia(images, texts, costly)

    async def _read_text(self, project_id: str, medium: Medium, most_chars: int) -> FileText | None:
        """Return the text of a file, or its ends if it is large; `None` if it is none."""
        declared, size = medium.declared_type, medium.size_bytes or 0
        # To find a charset takes a while, and most texts are in UTF-8.
        run = anyio.to_thread.run_sync
        if isinstance(medium.source, InlineBytes):
            return await run(read_file_text, medium.source.data, declared, most_chars)
        if not isinstance(medium.source, StoredBytes):
            return None
        read = partial(read_whole, self.blobs, project_id, medium.source.digest)
        if size <= MOST_WHOLE_BYTES:
            return await run(read_file_text, await read(), declared, most_chars)
        ends = await read(end=HEAD_BYTES), await read(start=size - TAIL_BYTES)
        return await run(read_file_ends, *ends, declared, f"most of {size_words(size)}")


def measured(turns: Sequence[ComposedTurn]) -> Sequence[ComposedTurn]:
    """Return the turns, with what the media in the records themselves, and links, say."""
    if all(isinstance(each.medium.source, StoredBytes) for each in places_of(turns)):
        return turns
    return _with_media(turns, _measured)


async def judged(
    checks: MediaChecks,
    project_id: str,
    turns: Sequence[ComposedTurn],
    profile: Profile,
    options: RenderOptions,
) -> Sequence[ComposedTurn]:
    """Return the turns, with the damage of the media that could be attached.

    Raises:
        StoreUnavailableError: The store did not answer, or has lost the bytes. Where only
            references are sent, such a medium is not judged instead.
    """
    places = places_of(turns)
    fitting = Fitting(profile, options, places)
    found: dict[int, Damage] = {}

    async def look(place: MediumRef) -> None:
        try:
            damage = await checks.of_medium(project_id, place.medium)
        except StoreUnavailableError:
            if options.media != "reference":
                raise
            return
        if damage is not None:
            found[place.index] = damage

    for kind in _CLASSES:
        waiting = [each for each in places if each.media_class == kind and fitting.is_wanted(each)]
        most = fitting.most(kind)
        wanted = len(waiting) if most is None else most
        while waiting and wanted > 0:
            newest = waiting[-wanted:]
            del waiting[-wanted:]
            await _together([partial(look, place) for place in newest])
            # A damaged one makes room for an older one, and so may one that is too large.
            wanted -= sum(
                each.index not in found and fitting.obstacle(each) is None for each in newest
            )
    if not found:
        return turns
    following = iter(range(len(places)))

    def with_damage(medium: Medium) -> Medium:
        damage = found.get(next(following))
        if damage is None:
            return medium
        has_pixels = medium.hints.width is not None
        return replace(medium, damage=damage, hints=medium.hints if has_pixels else damage.hints)

    return _with_media(turns, with_damage)


def _measured(medium: Medium) -> Medium:
    if isinstance(medium.source, Address):
        damage = damage_of_link(medium.source.url, utc_now())
        return medium if damage is None else replace(medium, damage=damage)
    if not isinstance(medium.source, InlineBytes):
        return medium
    data = medium.source.data
    return replace(medium, hints=probe_media(data, InMemoryMedia(data), medium.mime_type))


def _with_media(
    turns: Sequence[ComposedTurn], change: Callable[[Medium], Medium]
) -> Sequence[ComposedTurn]:
    """Return the turns with every medium changed, in reading order."""

    def changed(item: Item) -> Item:
        return change(item) if isinstance(item, Medium) else item

    return [replace(turn, items=tuple(map(changed, turn.items))) for turn in turns]


async def _together(works: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """Do some of the works at a time, all of them in the end, or none after one has failed."""
    limiter = anyio.CapacityLimiter(_AT_ONCE)
    failures: list[PagefaultError] = []

    async def do(work: Callable[[], Awaitable[None]]) -> None:
        async with limiter:
            if failures:
                return
            try:
                await work()
            except PagefaultError as exc:
                # Raised from here it would come out of the group as one of many.
                failures.append(exc)

    async with anyio.create_task_group() as tasks:
        for work in works:
            tasks.start_soon(do, work)
    if failures:
        raise failures[0]
