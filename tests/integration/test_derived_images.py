"""Smaller images that are made once, on both engines: found again, and gone with their source."""

import errno
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, replace

import anyio
import anyio.lowlevel
import av
import PIL
import pytest
from PIL import Image, ImageFile
from sqlalchemy import text

from app.config.settings import Settings
from app.errors import (
    BlobSweptError,
    MemoryExhaustedError,
    NotFoundError,
    StoreUnavailableError,
)
from app.models.identity import utc_now
from app.models.limits import Limits
from app.models.session import MESSAGE, ResourceRelease, Session
from app.services.images.derived_images import DerivedImages
from app.services.images.image_work import ImageWork
from app.services.images.posters import Posters
from app.services.media.media_keeper import MediaKeeper
from app.services.memory_budget.budget import MemoryBudget
from app.services.resources.resources import Resources
from app.stores.blobs.store import BlobMissingError, BlobStore
from app.stores.records.derived_images import DerivedImageRecords, ImageOutcome
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.session_resources import SessionResourceRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.swept_blobs import SweptBlobRecords
from pagefault_dialects.model.conversation import InlineBytes, StoredBytes
from pagefault_dialects.model.media import InMemoryMedia
from pagefault_dialects.model.resource import DerivedImage, ImageRecipe, Resource
from tests.integration.sweep_stores import NOW, PROJECT, Stores, opened_stores
from tests.kit.images import opened, picture, saved, see_through
from tests.kit.media import mp4, noise_bytes
from tests.kit.units import reading, writing

pytestmark = pytest.mark.anyio
RECIPE = ImageRecipe(("image/jpeg", "image/png"), max_side=100)
OTHER_RECIPE = ImageRecipe(("image/png",), max_side=100)
PICTURE, OTHER = saved(picture(), "PNG"), saved(see_through(), "PNG")
_WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"
BROKEN = PICTURE[:2_000]


@dataclass(frozen=True)
class Bench:
    """The stores, and the service that makes images over them."""

    stores: Stores
    images: DerivedImages

    async def store(
        self, data: bytes, filename: str | None = "a.png", *, session_id: str | None = None
    ) -> Resource:
        """Store an image, as an upload or as part of a session."""
        keeper = MediaKeeper(self.stores.blobs, PROJECT, limit_bytes=2**30, now=NOW)
        resource = await keeper.store(InMemoryMedia(data), "image/png", filename)
        async with writing(self.stores.records, PROJECT) as unit:
            if session_id is None:
                await unit[ResourceRecords].ensure(resource)
                return resource
            await unit[SessionRecords].add(Session(session_id, NOW, NOW, 0))
            await unit[ResourceRecords].ensure_linked(
                [resource], owner_kind=MESSAGE, owner_id=session_id, session_id=session_id
            )
        return resource

    async def get(
        self, source: Resource, recipe: ImageRecipe = RECIPE, *, images: DerivedImages | None = None
    ) -> DerivedImage | None:
        return await (images or self.images).get(
            PROJECT,
            StoredBytes(source.resource_id, source.digest),
            mime_type=source.mime_type,
            size_bytes=source.size_bytes,
            recipe=recipe,
        )

    async def made(self, source: Resource, recipe: ImageRecipe = RECIPE) -> DerivedImage:
        image = await self.get(source, recipe)
        assert image is not None
        return image

    async def end(self, session_id: str) -> list[ResourceRelease]:
        """Do with the resources of a session what its deletion does."""
        return await self.stores.records.write(
            PROJECT, lambda unit: unit[SessionResourceRecords].release(session_id)
        )

    async def swept(self, source: Resource) -> str:
        """Have a sweep remove the bytes that are made of a source; returns their digest."""
        resources = Resources(self.stores.records, self.stores.blobs, limit_bytes=2**30)
        image = await self.made(source)
        await resources.delete(PROJECT, image.resource.uri)
        await self.stores.sweep().run(0)
        return image.resource.digest

    async def made_first_in_order(self) -> tuple[Resource, Resource]:
        """A source of the session `s`, and an image of it whose id is before the source's."""
        for number in range(99):
            source = await self.store(PICTURE, f"{number}.png", session_id="s")
            image = (await self.made(source)).resource
            if image.resource_id < source.resource_id:
                return source, image
            await self.end("s")
        raise AssertionError("ids are in no order that can be foreseen")

    async def until_one_waits(self) -> None:
        """Return when somebody waits for a row; SQLite has one writer, waited for at once."""
        if self.stores.settings.is_embedded_database:
            await anyio.lowlevel.checkpoint()
            return
        with anyio.fail_after(30):
            with self.stores.engines.reader.connect() as connection:
                while not connection.execute(text(_WAITING)).scalar_one():
                    await anyio.lowlevel.checkpoint()

    async def resources(self) -> set[str]:
        async with reading(self.stores.records, PROJECT) as unit:
            return {
                resource.resource_id
                for resource in await unit[ResourceRecords].list_resources(before=None, limit=99)
            }

    async def notes(self) -> int:
        """Return the number of stored derived images."""
        with self.stores.engines.reader.connect() as connection:
            counted = connection.execute(text("SELECT count(*) FROM derived_images"))
            return int(counted.scalar_one())


def images_of(records: Records, blobs: BlobStore, limits: Limits) -> DerivedImages:
    work = ImageWork(MemoryBudget(limits.memory_bytes), limits)
    return DerivedImages(records, blobs, images=work, limits=limits)


def limits_of(settings: Settings) -> Limits:
    return settings.limits


@pytest.fixture
async def bench(settings: Settings) -> AsyncIterator[Bench]:
    async with opened_stores(settings) as stores:
        images = images_of(stores.records, stores.blobs, limits_of(settings))
        async with images.images.lifespan():
            yield Bench(stores, images)


async def read(blobs: BlobStore, digest: str) -> bytes:
    return b"".join([piece async for piece in await blobs.open(PROJECT, digest)])


async def test_image_is_made_and_described(bench: Bench) -> None:
    source = await bench.store(PICTURE, "a map.png")
    image = await bench.made(source)
    data = await read(bench.stores.blobs, image.resource.digest)
    assert (image.is_first_picture, image.resource.mime_type, image.resource.filename) == (
        *(False, "image/jpeg"),
        None,
    )
    assert image.data is None
    shown = (image.resource.hints.width, image.resource.hints.height)
    assert opened(data).size == shown == (100, 67)
    assert image.resource.size_bytes == len(data)
    async with reading(bench.stores.records, PROJECT) as unit:
        assert await unit[ResourceRecords].find(image.resource.resource_id) == image.resource


async def test_image_that_was_made_is_found_without_any_bytes(bench: Bench) -> None:
    source = await bench.store(PICTURE)
    image = await bench.made(source)
    for digest in (source.digest, image.resource.digest):
        await bench.stores.blobs.delete(PROJECT, digest)
    assert await bench.get(source) == image
    with pytest.raises(BlobMissingError):
        await bench.get(source, OTHER_RECIPE)


async def test_what_cannot_be_made_is_not_tried_again(bench: Bench) -> None:
    source = await bench.store(BROKEN)
    assert await bench.get(source) is None
    await bench.stores.blobs.delete(PROJECT, source.digest)
    assert await bench.get(source) is None
    assert (await bench.notes(), await bench.resources()) == (1, {source.resource_id})


@pytest.mark.parametrize(
    "failure",
    [
        MemoryError(),
        OSError(errno.EMFILE, "Too many open files"),
        OSError("out of memory when reading image file"),
    ],
    ids=["memory", "system", "memory of the decoder"],
)
async def test_what_could_not_be_made_for_want_of_something_is_tried_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def fail(_: object) -> None:
        raise failure

    source = await bench.store(PICTURE)
    with monkeypatch.context() as patched:
        patched.setattr(ImageFile.ImageFile, "load", fail)
        assert await bench.get(source) is None
        assert await inline(bench, PICTURE) is None
    assert await bench.notes() == 0
    assert await bench.get(source) is not None


async def test_what_was_beyond_a_bound_is_tried_again_within_another(
    bench: Bench, settings: Settings
) -> None:
    source = await bench.store(PICTURE)
    tight = limits_of(settings).model_copy(update={"image_pixels": 1_000})
    images = images_of(bench.stores.records, bench.stores.blobs, tight)
    assert await bench.get(source, images=images) is None
    assert await bench.get(source) is not None


async def test_file_above_the_limit_is_not_read(bench: Bench, settings: Settings) -> None:
    source = await bench.store(PICTURE)
    tight = limits_of(settings).model_copy(update={"image_bytes": len(PICTURE) - 1})
    images = images_of(bench.stores.records, bench.stores.blobs, tight)
    assert await bench.get(replace(source, size_bytes=1), images=images) is None
    await bench.stores.blobs.delete(PROJECT, source.digest)
    assert await bench.get(source, images=images) is None
    assert await bench.notes() == 0


async def test_same_image_at_once_is_one(bench: Bench, settings: Settings) -> None:
    source = await bench.store(PICTURE)
    other = images_of(bench.stores.records, bench.stores.blobs, limits_of(settings))
    made: list[DerivedImage | None] = []

    async def get(images: DerivedImages) -> None:
        made.append(await bench.get(source, images=images))

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(get, bench.images if number % 2 else other)
    image = await bench.made(source)
    described = [item.resource.resource_id for item in made if item]
    assert described == [image.resource.resource_id] * 8
    assert await bench.notes() == 1
    assert await bench.resources() == {source.resource_id, image.resource.resource_id}


async def test_same_bytes_under_two_names_at_once_are_one(bench: Bench) -> None:
    sources = [await bench.store(PICTURE, f"{number}.png") for number in range(8)]
    made: set[str] = set()

    async def get(source: Resource) -> None:
        made.add((await bench.made(source)).resource.resource_id)

    async with anyio.create_task_group() as tasks:
        for source in sources:
            tasks.start_soon(get, source)
    assert len(made) == 1
    assert await bench.resources() == made.union(resource.resource_id for resource in sources)


async def test_image_that_fits_is_its_own_derived_one(bench: Bench) -> None:
    recipe = ImageRecipe(("image/png",))
    nameless = await bench.store(PICTURE, None)
    image = (await bench.made(nameless, recipe)).resource
    assert image == replace(nameless, created_at=image.created_at)
    named = await bench.store(OTHER, "a.png", session_id="s")
    copy = (await bench.made(named, recipe)).resource
    assert (copy.digest, copy.filename) == (named.digest, None)
    assert copy.resource_id != named.resource_id
    await bench.end("s")
    assert await bench.resources() == {nameless.resource_id}


async def test_deleted_session_takes_what_was_derived_with_it(bench: Bench) -> None:
    kept = await bench.store(OTHER)
    kept_image = await bench.made(kept)
    source = await bench.store(PICTURE, session_id="s")
    broken = await bench.store(BROKEN, "b.png", session_id="s")
    images = [await bench.made(source), await bench.made(source, OTHER_RECIPE)]
    assert await bench.get(broken) is None
    released = await bench.end("s")
    # What was derived is no part of what the session is said to have used.
    assert {resource.resource_id for resource in released} == {
        source.resource_id,
        broken.resource_id,
    }
    assert await bench.resources() == {kept.resource_id, kept_image.resource.resource_id}
    assert await bench.notes() == 1
    await bench.stores.sweep().run(0)
    assert await bench.stores.blob_ids() == {kept.digest, kept_image.resource.digest}
    assert {image.resource.digest for image in images}.isdisjoint(await bench.stores.blob_ids())


async def test_image_stays_while_another_session_has_the_source(bench: Bench) -> None:
    source = await bench.store(PICTURE, session_id="s")
    await bench.store(PICTURE, session_id="t")
    image = await bench.made(source)
    await bench.end("s")
    assert await bench.get(source) == image
    await bench.end("t")
    assert (await bench.resources(), await bench.notes()) == (set(), 0)


async def test_what_is_made_does_not_depend_on_who_asks_first(bench: Bench) -> None:
    secret = await bench.store(PICTURE, "secret.png", session_id="s")
    other = await bench.store(PICTURE, "other.png", session_id="t")
    image = await bench.made(secret)
    assert await bench.made(other) == image
    await bench.end("s")
    assert await bench.resources() == {other.resource_id, image.resource.resource_id}
    await bench.end("t")
    last = await bench.store(PICTURE, "last.png")
    again = (await bench.made(last)).resource
    assert again == replace(image.resource, created_at=again.created_at)


async def test_image_of_two_sources_goes_with_the_last(bench: Bench) -> None:
    source = await bench.store(saved(picture(), "PNG"), session_id="s")
    twin = await bench.store(saved(picture(), "PNG", compress_level=1), session_id="t")
    image = await bench.made(source)
    twins = (await bench.made(twin)).resource
    assert twins == replace(image.resource, created_at=twins.created_at)
    await bench.end("s")
    assert await bench.resources() == {twin.resource_id, image.resource.resource_id}
    await bench.end("t")
    assert await bench.resources() == set()


@pytest.mark.parametrize("is_before", [True, False])
async def test_file_that_somebody_has_stored_too_stays(bench: Bench, is_before: bool) -> None:
    # The image is made elsewhere first, to know its bytes.
    first = await bench.store(PICTURE, session_id="first")
    image = await bench.made(first)
    data = await read(bench.stores.blobs, image.resource.digest)
    await bench.end("first")
    source: Resource | None = None
    if not is_before:
        source = await bench.store(PICTURE, session_id="s")
        await bench.made(source)
    keeper = MediaKeeper(bench.stores.blobs, PROJECT, limit_bytes=2**30, now=utc_now())
    uploaded = await keeper.store(InMemoryMedia(data), "image/jpeg", image.resource.filename)
    async with writing(bench.stores.records, PROJECT) as unit:
        # To who stores it, it is new.
        assert await unit[ResourceRecords].ensure(uploaded) == (uploaded, True)
        assert await unit[ResourceRecords].ensure(replace(uploaded, created_at=NOW)) == (
            uploaded,
            False,
        )
    source = source or await bench.store(PICTURE, session_id="s")
    assert (await bench.made(source)).resource.resource_id == uploaded.resource_id
    await bench.end("s")
    assert await bench.resources() == {uploaded.resource_id}


async def test_image_that_something_refers_to_stays_and_is_a_source_itself(bench: Bench) -> None:
    source = await bench.store(PICTURE, session_id="s")
    image = await bench.made(source)
    async with writing(bench.stores.records, PROJECT) as unit:
        await unit[SessionRecords].add(Session("t", NOW, NOW, 0))
        await unit[ResourceRecords].ensure_linked(
            [image.resource], owner_kind=MESSAGE, owner_id="t", session_id="t"
        )
    smaller = await bench.made(image.resource, ImageRecipe(("image/png",), 50))
    await bench.end("s")
    assert await bench.resources() == {
        image.resource.resource_id,
        smaller.resource.resource_id,
    }
    await bench.end("t")
    assert (await bench.resources(), await bench.notes()) == (set(), 0)


async def test_deleted_resource_takes_what_was_derived_with_it(bench: Bench) -> None:
    resources = Resources(bench.stores.records, bench.stores.blobs, limit_bytes=2**30)
    source = await bench.store(PICTURE)
    image = await bench.made(source)
    await resources.delete(PROJECT, image.resource.uri)
    assert (await bench.resources(), await bench.notes()) == ({source.resource_id}, 0)
    assert (await bench.made(source)).resource.digest == image.resource.digest
    await resources.delete(PROJECT, source.uri)
    assert (await bench.resources(), await bench.notes()) == (set(), 0)


@pytest.mark.parametrize("data", [PICTURE, BROKEN])
async def test_of_a_source_without_a_row_nothing_is_kept_but_bytes(
    bench: Bench, data: bytes
) -> None:
    source = await bench.store(data, session_id="s")
    await bench.end("s")
    image = await bench.get(source)
    assert (image is not None) == (data == PICTURE)
    if image is not None:
        assert opened(await read(bench.stores.blobs, image.resource.digest)).size == (100, 67)
    assert (await bench.resources(), await bench.notes()) == (set(), 0)


async def inline(bench: Bench, data: bytes, recipe: ImageRecipe = RECIPE) -> DerivedImage | None:
    """Return the image that is derived from one of a record."""
    return await bench.images.get(
        PROJECT,
        InlineBytes(data),
        mime_type="image/png",
        size_bytes=len(data),
        recipe=recipe,
    )


async def test_image_in_a_record_is_made_without_any_store(bench: Bench) -> None:
    image = await inline(bench, PICTURE)
    assert image is not None
    assert image.data is not None
    assert opened(image.data).size == (100, 67)
    assert (await bench.resources(), await bench.notes()) == (set(), 0)
    assert await bench.stores.blob_ids() == set()
    stored = await bench.made(await bench.store(PICTURE))
    assert stored.resource == replace(image.resource, created_at=stored.resource.created_at)
    assert await read(bench.stores.blobs, stored.resource.digest) == image.data


async def test_image_in_a_record_that_cannot_be_made_is_not(
    bench: Bench, settings: Settings
) -> None:
    tight = limits_of(settings).model_copy(update={"image_bytes": len(PICTURE) - 1})
    images = images_of(bench.stores.records, bench.stores.blobs, tight)
    assert await inline(replace(bench, images=images), PICTURE) is None
    assert await inline(bench, BROKEN) is None


@pytest.mark.slow
async def test_small_image_in_a_record_is_made_no_large_one(bench: Bench) -> None:
    row = noise_bytes(256) * 8
    rough = saved(Image.frombytes("L", (2_048, 2_048), row * 2_048), "PNG", optimize=True)
    recipe = ImageRecipe(("image/jpeg",))
    stored = await bench.made(await bench.store(rough), recipe)
    image = await inline(bench, rough, recipe)
    assert image is not None
    assert image.resource.size_bytes <= 128 * 1_024 < stored.resource.size_bytes


async def test_bytes_that_are_swept_before_they_are_noted_are_stored_again(
    bench: Bench, settings: Settings
) -> None:
    source = await bench.store(PICTURE)
    digest = await bench.swept(source)
    asked: list[str] = []

    async def size_of(project_id: str, digest: str) -> int | None:
        if not asked:
            await bench.stores.blobs.delete(project_id, digest)
        asked.append(digest)
        return await bench.stores.blobs.size(project_id, digest)

    records = Records(bench.stores.engines, blob_size=size_of)
    images = images_of(records, bench.stores.blobs, limits_of(settings))
    image = await bench.get(source, images=images)
    assert image is not None
    assert (image.resource.digest, asked) == (digest, [digest, digest])
    assert await bench.stores.blob_ids() == {source.digest, digest}
    assert await bench.get(source) == image


async def test_image_whose_bytes_are_being_swept_is_made_when_they_are_gone(bench: Bench) -> None:
    source = await bench.store(PICTURE)
    digest = await bench.swept(source)
    async with writing(bench.stores.records, PROJECT) as unit:
        claim = await unit[SweptBlobRecords].claim([digest])
        assert claim is not None
    with pytest.raises(BlobSweptError):
        await bench.get(source)
    assert (await bench.resources(), await bench.notes()) == ({source.resource_id}, 0)
    await bench.stores.delete(claim)
    await bench.stores.end(claim)
    image = await bench.made(source)
    assert await bench.stores.blob_ids() == {source.digest, image.resource.digest}


async def test_sources_that_are_deleted_while_images_are_made_leave_nothing(
    bench: Bench,
) -> None:
    bodies = [saved(picture(60 + number, 40), "PNG") for number in range(12)]
    sources = [
        await bench.store(data, f"{number}.png", session_id=f"s{number}")
        for number, data in enumerate(bodies)
    ]
    recipe = ImageRecipe(("image/jpeg",), 20)
    made: list[DerivedImage | None] = []

    async def get(source: Resource) -> None:
        made.append(await bench.get(source, recipe))

    async def end(session_id: str) -> None:
        with suppress(StoreUnavailableError):
            await bench.end(session_id)

    async with anyio.create_task_group() as tasks:
        for number, source in enumerate(sources):
            tasks.start_soon(get, source)
            tasks.start_soon(end, f"s{number}")
    assert None not in made
    assert (await bench.resources(), await bench.notes()) == (set(), 0)


async def test_links_and_images_and_deletions_at_once_do_not_block_each_other(
    bench: Bench,
) -> None:
    sources = [await bench.store(saved(picture(160 + n, 90), "PNG"), f"{n}.png") for n in range(6)]
    images = [(await bench.made(source)).resource for source in sources]
    both = [*sources, *images]

    async def link(number: int) -> None:
        async with writing(bench.stores.records, PROJECT) as unit:
            await unit[SessionRecords].add(Session(f"t{number}", NOW, NOW, 0))
            await unit[ResourceRecords].ensure_linked(
                both, owner_kind=MESSAGE, owner_id=f"t{number}", session_id=f"t{number}"
            )
        await bench.end(f"t{number}")

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(link, number)
            tasks.start_soon(bench.get, sources[number % 6], OTHER_RECIPE)
    assert (await bench.resources(), await bench.notes()) == (set(), 0)


async def test_deleted_session_waits_for_an_image_before_it_holds_the_source(bench: Bench) -> None:
    source, image = await bench.made_first_in_order()
    over: list[str] = []

    async def end() -> None:
        await bench.end("s")
        over.append("session")

    async with anyio.create_task_group() as tasks, writing(bench.stores.records, PROJECT) as unit:
        assert await unit[ResourceRecords].lock(image.resource_id)
        tasks.start_soon(end)
        await bench.until_one_waits()
        # Whoever holds several goes on in the order of their ids.
        assert await unit[ResourceRecords].lock(source.resource_id)
        over.append("other")
    assert over == ["other", "session"]
    assert await bench.resources() == set()


async def test_poster_reserves_memory_for_its_frame(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.memory_budget.budget.WAIT_SECONDS", 0.0)
    video = replace(await bench.store(mp4(), "a.mp4"), mime_type="video/mp4")
    budget = MemoryBudget(256 * 1024 * 1024)
    posters = Posters(bench.stores.blobs, bench.images, memory=budget)
    async with budget.reserving(65 * 1024 * 1024):
        with pytest.raises(MemoryExhaustedError):
            await posters.get(PROJECT, video)
    assert (await posters.get(PROJECT, video)).resource.mime_type == "image/jpeg"
    assert budget.held_bytes == 0


async def test_verdict_on_a_video_is_that_of_its_decoder(bench: Bench) -> None:
    video = replace(await bench.store(mp4()[:64], "a.mp4"), mime_type="video/mp4")
    posters = Posters(bench.stores.blobs, bench.images, memory=MemoryBudget(2**30))
    with pytest.raises(NotFoundError):
        await posters.get(PROJECT, video)
    noted = await bench.images.find(PROJECT, video.digest, f"poster/2;{av.__version__}")
    assert noted == ImageOutcome(None)


async def test_nothing_of_another_project_is_seen_or_removed(bench: Bench) -> None:
    source = await bench.store(PICTURE)
    image = await bench.made(source)
    key = f"{RECIPE.key};{limits_of(bench.stores.settings).image_pixels};{PIL.__version__}"
    async with writing(bench.stores.records, "other") as unit:
        assert await unit[DerivedImageRecords].find(source.digest, key) is None
        assert not await unit[DerivedImageRecords].has_source(source.digest)
        assert await unit[DerivedImageRecords].lock_sources([source]) == set()
        await unit[DerivedImageRecords].remove_sourceless([source.digest])
    async with reading(bench.stores.records, PROJECT) as unit:
        assert await unit[DerivedImageRecords].find(source.digest, key) == ImageOutcome(image)
