"""The media of a conversation: which are damaged, and what can be sent in place of large ones.

`check_media` finds damaged media. It checks only media that can be attached, the newest first: if a
target accepts a limited number of a kind, older ones are reduced anyway. Then `MediaLoader` makes
the smaller images that the media plan lists, and reads the texts of files.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import anyio
import anyio.to_thread

from app.errors import StoreUnavailableError
from app.models.identity import utc_now
from app.services.images.derived_images import DerivedImages
from app.services.images.image_tasks import TooCostlyError
from app.services.media.media_checks import MediaChecks, probe_media
from app.stores.blobs.store import BlobStore, read_whole
from pagefault_dialects.errors import PagefaultError
from pagefault_dialects.media.expired_links import check_link_expiry
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
    LoadedMedia,
    MediaLimits,
    MediaPlan,
    MediumRef,
    list_media,
)
from pagefault_dialects.targets.media_lines import format_size
from pagefault_dialects.targets.profile import MediaClass, Profile
from pagefault_dialects.texts.file_texts import (
    HEAD_BYTES,
    MAX_WHOLE_BYTES,
    TAIL_BYTES,
    FileText,
    read_file_ends,
    read_file_text,
)

_CLASSES: tuple[MediaClass, ...] = ("image", "audio", "video", "document")
_MAX_CONCURRENT = 4
MAX_IN_MEMORY = 256
"""The maximum number of smaller images of inline media in one rendering."""


@dataclass(frozen=True, slots=True, eq=False)
class MediaLoader:
    """Loads the smaller images and file texts of renderings."""

    blobs: BlobStore
    images: DerivedImages
    """Makes smaller images, and WAV files of other sounds."""
    checks: MediaChecks
    """Finds damage; used by `check_media`."""

    async def load(
        self,
        project_id: str,
        turns: Sequence[ComposedTurn],
        media_plan: MediaPlan,
        max_chars: int,
    ) -> LoadedMedia:
        """Return the images, sounds and texts of a plan, as far as they can be loaded.

        Args:
            project_id: The project of the media.
            turns: The conversation.
            media_plan: What to load, by the index of a medium in the conversation.
            max_chars: The length in characters up to which the text of a file is shown whole.

        Raises:
            StoreUnavailableError: The store did not answer.
        """
        media = [ref.medium for ref in list_media(turns)]
        images: dict[int, DerivedImage] = {}
        decode_refusals: dict[int, str] = {}
        texts: dict[int, FileText] = {}
        wavs: dict[int, DerivedImage] = {}

        async def make(index: int, recipe: ImageRecipe) -> None:
            try:
                made = await self._make_smaller(project_id, media[index], recipe)
            except TooCostlyError as exc:
                decode_refusals[index] = exc.reason
                return
            if made is not None:
                images[index] = made

        async def read(index: int) -> None:
            text = await self._read_text(project_id, media[index], max_chars)
            if text is not None:
                texts[index] = text

        async def convert(index: int, digest: str) -> None:
            sound = media[index]
            made = await self.images.get_wav(
                project_id, digest, mime_type=sound.mime_type, size_bytes=sound.size_bytes or 0
            )
            if made is not None:
                wavs[index] = made

        recipes = _omit_oldest_inline(media, media_plan.images)
        makes = (partial(make, index, recipe) for index, recipe in recipes.items())
        conversions = (
            partial(convert, index, source.digest)
            for index in media_plan.wavs
            if isinstance(source := media[index].source, StoredBytes)
        )
        reads = (partial(read, index) for index in media_plan.texts)
        await _run_all([*makes, *conversions, *reads])
        return LoadedMedia(images, texts, decode_refusals, wavs)

    async def _make_smaller(
        self, project_id: str, medium: Medium, recipe: ImageRecipe
    ) -> DerivedImage | None:
        """Return a smaller image; `None` if the medium cannot be made smaller.

        Raises:
            TooCostlyError: Decoding the image would take too much time or memory.
        """
        if not isinstance(medium.source, StoredBytes | InlineBytes):
            return None
        return await self.images.get(
            project_id,
            medium.source,
            mime_type=medium.mime_type,
            size_bytes=medium.size_bytes or 0,
            recipe=recipe,
        )

    async def _read_text(self, project_id: str, medium: Medium, max_chars: int) -> FileText | None:
        """Return the text of a file, or its ends if it is large; `None` for other files."""
        declared, size = medium.declared_type, medium.size_bytes or 0
        # Detecting a charset is slow, so it runs in a thread.
        run = anyio.to_thread.run_sync
        if isinstance(medium.source, InlineBytes):
            return await run(read_file_text, medium.source.data, declared, max_chars)
        if not isinstance(medium.source, StoredBytes):
            return None
        read = partial(read_whole, self.blobs, project_id, medium.source.digest)
        if size <= MAX_WHOLE_BYTES:
            return await run(read_file_text, await read(), declared, max_chars)
        ends = await read(end=HEAD_BYTES), await read(start=size - TAIL_BYTES)
        return await run(read_file_ends, *ends, declared, f"most of {format_size(size)}")


def _omit_oldest_inline(
    media: Sequence[Medium], recipes: Mapping[int, ImageRecipe]
) -> Mapping[int, ImageRecipe]:
    """Return the recipes without those of the oldest inline images, if there are too many.

    Smaller images of inline media are in no store: they stay in memory until they are sent.
    """
    inline = sorted(index for index in recipes if isinstance(media[index].source, InlineBytes))
    omitted = set(inline[:-MAX_IN_MEMORY])
    return {index: recipe for index, recipe in recipes.items() if index not in omitted}


def measure_media(turns: Sequence[ComposedTurn]) -> Sequence[ComposedTurn]:
    """Return the turns with the pixel sizes of inline media, and with expired links as damaged."""
    if all(isinstance(ref.medium.source, StoredBytes) for ref in list_media(turns)):
        return turns
    return _change_media(turns, _measure_medium)


async def check_media(
    checks: MediaChecks,
    project_id: str,
    turns: Sequence[ComposedTurn],
    profile: Profile,
    options: RenderOptions,
) -> Sequence[ComposedTurn]:
    """Return the turns, with the damage of those media that can be attached.

    Raises:
        StoreUnavailableError: The store did not answer, or has lost the bytes. This error is not
            raised with `media=reference`, which sends no bytes.
    """
    refs = list_media(turns)
    limits = MediaLimits(profile, options, refs)
    damages: dict[int, Damage] = {}

    async def check(ref: MediumRef) -> None:
        try:
            damage = await checks.check_medium(project_id, ref.medium)
        except StoreUnavailableError:
            if options.media != "reference":
                raise
            return
        if damage is not None:
            damages[ref.index] = damage

    for kind in _CLASSES:
        unchecked = [ref for ref in refs if ref.media_class == kind and limits.may_be_attached(ref)]
        max_count = limits.find_max_media(kind)
        free_count = len(unchecked) if max_count is None else max_count
        while unchecked and free_count > 0:
            newest = unchecked[-free_count:]
            del unchecked[-free_count:]
            await _run_all([partial(check, ref) for ref in newest])
            # A medium that is damaged or too large is not attached, so an older one can be.
            free_count -= sum(
                ref.index not in damages and limits.find_obstacle(ref) is None for ref in newest
            )
    if not damages:
        return turns
    indexes = iter(range(len(refs)))

    def add_damage(medium: Medium) -> Medium:
        damage = damages.get(next(indexes))
        if damage is None:
            return medium
        has_pixels = medium.hints.width is not None
        return replace(medium, damage=damage, hints=medium.hints if has_pixels else damage.hints)

    return _change_media(turns, add_damage)


def _measure_medium(medium: Medium) -> Medium:
    if isinstance(medium.source, Address):
        damage = check_link_expiry(medium.source.url, utc_now())
        return medium if damage is None else replace(medium, damage=damage)
    if not isinstance(medium.source, InlineBytes):
        return medium
    data = medium.source.data
    return replace(medium, hints=probe_media(data, InMemoryMedia(data), medium.mime_type))


def _change_media(
    turns: Sequence[ComposedTurn], change: Callable[[Medium], Medium]
) -> Sequence[ComposedTurn]:
    """Return the turns with `change` applied to each medium, in the order of the conversation."""

    def change_item(item: Item) -> Item:
        return change(item) if isinstance(item, Medium) else item

    return [replace(turn, items=tuple(map(change_item, turn.items))) for turn in turns]


async def _run_all(functions: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """Call all functions, a few at a time. After the first error, no further one is called."""
    limiter = anyio.CapacityLimiter(_MAX_CONCURRENT)
    failures: list[PagefaultError] = []

    async def run(function: Callable[[], Awaitable[None]]) -> None:
        async with limiter:
            if failures:
                return
            try:
                await function()
            except PagefaultError as exc:
                # A task group would wrap the error in an exception group.
                failures.append(exc)

    async with anyio.create_task_group() as tasks:
        for function in functions:
            tasks.start_soon(run, function)
    if failures:
        raise failures[0]
