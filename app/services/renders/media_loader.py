"""Loads the media of a conversation for a rendering, in three steps that `TurnResolver` calls.

`measure_media` reads the sizes of inline media. `check_media` finds damaged media. Then
`MediaLoader` loads what a media plan lists: smaller copies of images, WAV files of other sounds,
and the texts of files.
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

_MEDIA_CLASSES: tuple[MediaClass, ...] = ("image", "audio", "video", "document")
# The number of media of one rendering that are loaded at the same time.
_MAX_CONCURRENT = 4
MAX_IN_MEMORY = 256
"""The maximum number of smaller copies of inline images in one rendering.

They are in no store, and stay in memory until they are sent.
"""


@dataclass(frozen=True, slots=True, eq=False)
class MediaLoader:
    """Loads what is sent in place of the media of a conversation."""

    blobs: BlobStore
    images: DerivedImages
    """Makes smaller copies of images, and WAV files of other sounds."""
    checks: MediaChecks
    """Finds damaged media. `TurnResolver` passes it to `check_media`."""

    async def load(
        self,
        project_id: str,
        turns: Sequence[ComposedTurn],
        media_plan: MediaPlan,
        max_chars: int,
    ) -> LoadedMedia:
        """Load the images, sounds and texts of a plan. Those that cannot be made are left out.

        Args:
            project_id: The project of the media.
            turns: The conversation.
            media_plan: What to load, by the index of the medium in the conversation.
            max_chars: The length up to which the text of a file is shown whole, in characters.

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
                image = await self._make_smaller(project_id, media[index], recipe)
            except TooCostlyError as exc:
                decode_refusals[index] = exc.reason
                return
            if image is not None:
                images[index] = image

        async def read(index: int) -> None:
            text = await self._read_text(project_id, media[index], max_chars)
            if text is not None:
                texts[index] = text

        async def convert(index: int, digest: str) -> None:
            sound = media[index]
            wav = await self.images.get_wav(
                project_id, digest, mime_type=sound.mime_type, size_bytes=sound.size_bytes or 0
            )
            if wav is not None:
                wavs[index] = wav

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
        """Return a copy of an image that fits a recipe; `None` if no such copy can be made.

        Raises:
            TooCostlyError: Decoding the image would take too much work or memory.
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
        """Return the text of a file, or the beginning and the end of a large file.

        Returns:
            `None` if the file is not a text.
        """
        declared_type, size_bytes = medium.declared_type, medium.size_bytes or 0
        # Detecting a charset is slow, so it runs in a thread.
        run = anyio.to_thread.run_sync
        if isinstance(medium.source, InlineBytes):
            return await run(read_file_text, medium.source.data, declared_type, max_chars)
        if not isinstance(medium.source, StoredBytes):
            return None
        read = partial(read_whole, self.blobs, project_id, medium.source.digest)
        if size_bytes <= MAX_WHOLE_BYTES:
            return await run(read_file_text, await read(), declared_type, max_chars)
        head, tail = await read(end=HEAD_BYTES), await read(start=size_bytes - TAIL_BYTES)
        omitted = f"most of {format_size(size_bytes)}"
        return await run(read_file_ends, head, tail, declared_type, omitted)


def _omit_oldest_inline(
    media: Sequence[Medium], recipes: Mapping[int, ImageRecipe]
) -> Mapping[int, ImageRecipe]:
    """Return the recipes, except those of the oldest inline images above `MAX_IN_MEMORY`.

    Args:
        media: The media of the conversation.
        recipes: The recipes of images to make, by the index of the medium.
    """
    inline = sorted(index for index in recipes if isinstance(media[index].source, InlineBytes))
    omitted = set(inline[:-MAX_IN_MEMORY])
    return {index: recipe for index, recipe in recipes.items() if index not in omitted}


def measure_media(turns: Sequence[ComposedTurn]) -> Sequence[ComposedTurn]:
    """Return the turns with the hints of inline media, such as pixels, and of expired links.

    A link that has expired by the parameters in its URL counts as damaged.
    """
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
    """Return the turns with the damage of those media that can be attached.

    If the target accepts a limited number of media of a class, only the newest are checked, because
    older ones are not attached anyway.

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

    for media_class in _MEDIA_CLASSES:
        unchecked = [
            ref for ref in refs if ref.media_class == media_class and limits.may_be_attached(ref)
        ]
        max_count = limits.find_max_media(media_class)
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
    """Return a medium with its hints, or as damaged; see `measure_media`."""
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
    """Call all functions, a few at a time. After the first error, call no more, and raise it."""
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
