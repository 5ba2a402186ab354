"""Turns at decoding images: memory is held before, and what takes long has a process of its own."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from PIL import Image

from app.errors import MalformedRequestError, OverloadedError
from app.models.limits import Limits
from app.services.concurrency.client_disconnects import wait_for_disconnect
from app.services.images.image_tasks import TooCostlyError
from app.services.images.image_work import Decode, ImageWork
from app.services.images.image_worker import UndecidedError
from app.services.memory_budget.budget import MemoryBudget
from pagefault_dialects.media.decoding_cost import DecodingCost
from pagefault_dialects.model.resource import ImageRecipe
from tests.kit.bombs import jpeg_of_scans
from tests.kit.images import opened, picture, saved

pytestmark = pytest.mark.anyio
MIB = 1024 * 1024
RECIPE = ImageRecipe(("image/jpeg",), max_side=100)
SMALL = DecodingCost(1_000, 8_000, is_bounded=True)


@asynccontextmanager
async def image_work(
    memory_bytes: int = 256 * MIB,
) -> AsyncIterator[tuple[ImageWork, MemoryBudget]]:
    budget = MemoryBudget(memory_bytes)
    images = ImageWork(budget, Limits())
    async with images.lifespan():
        yield images, budget


async def run(
    images: ImageWork, data: bytes, *, project_id: str = "p", recipe: ImageRecipe = RECIPE
) -> tuple[int, int]:
    """Have an image made smaller; returns the pixels of what was made."""

    async def attempt(decode: Decode) -> tuple[int, int]:
        made = await decode(data, "image/png", recipe)
        assert made is not None
        return opened(made.data).size

    cost = await images.cost_of(data, "image/png")
    assert cost is not None
    return await images.run(project_id, cost, len(data), attempt)


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "An image reserves memory for its file and its pixels before it is decoded",
    kept_by="app/services/images/image_work.py",
    tried="an image for a thread, and one for the worker",
)
@pytest.mark.parametrize(
    ("cost", "held"),
    [
        (SMALL, 500 + 8_000),
        (DecodingCost(2_000_000, 20_000_000, is_bounded=True), 2 * 500 + 20_000_000 + 16 * MIB),
    ],
    ids=["thread", "worker"],
)
async def test_image_holds_its_file_and_its_pixels_until_it_is_decoded(
    cost: DecodingCost, held: int
) -> None:
    async with image_work() as (images, budget):

        async def attempt(_: Decode) -> int:
            return budget.held_bytes

        assert await images.run("p", cost, 500, attempt) == held
        assert budget.held_bytes == 0


async def test_image_is_refused_where_its_pixels_do_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.services.memory_budget.budget.WAIT_SECONDS", 0.0)
    async with image_work(100_000) as (images, budget):
        async with budget.reserving(95_000):
            with pytest.raises(OverloadedError):
                await images.run("p", SMALL, 500, _decoded)
        assert await images.run("p", SMALL, 500, _decoded) == "decoded"


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
async def test_image_of_almost_as_many_pixels_as_may_be_is_made_smaller(mode: str) -> None:
    data = saved(Image.new(mode, (8_200, 2_400)), "PNG")
    async with image_work() as (images, _):
        made = await run(images, data, recipe=ImageRecipe(("image/jpeg", "image/png"), 8_000))
        assert made == (3_201, 937)


async def test_image_that_takes_more_memory_than_there_is_is_not_decoded() -> None:
    large = DecodingCost(10**7, 60 * MIB, is_bounded=True)
    async with image_work(64 * MIB) as (images, _):
        with pytest.raises(TooCostlyError, match="76 MiB of memory, and there are 64"):
            await images.run("p", large, 500, _decoded)


async def _decoded(_: Decode) -> str:
    return "decoded"


@pytest.mark.parametrize(
    ("make", "is_in_worker"),
    [
        (lambda: saved(picture(1_280, 800), "JPEG"), False),
        (lambda: saved(picture(1_280, 820), "JPEG"), True),
        (lambda: saved(picture(300, 300), "JPEG", progressive=True), False),
        (lambda: jpeg_of_scans(300, 12), True),
        (lambda: saved(picture(600, 600), "BMP"), True),
        (lambda: saved(picture(), "AVIF"), True),
    ],
    ids=["a screenshot", "more pixels", "10 scans", "12 scans", "more than 1 MiB", "avif"],
)
async def test_a_thread_decodes_what_is_quick_and_the_worker_all_else(
    make: Callable[[], bytes], is_in_worker: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    monkeypatch.setattr("app.services.images.image_worker.start_child", _note_start(started))
    async with image_work() as (images, _):
        assert max(await run(images, make())) == 100
    assert bool(started) == is_in_worker


def _note_start(started: list[str]) -> Callable[..., Awaitable[object]]:
    from app.services.images.child_process import start_child  # noqa: PLC0415 - the real one

    async def start(module: str) -> object:
        started.append(module)
        return await start_child(module)

    return start


@pytest.mark.slow
@pytest.mark.promise(
    "security.md#decoders",
    "A JPEG of very many scans is not decoded, and an honest progressive one is",
    kept_by="packages/dialects/src/pagefault_dialects/media/decoding_cost.py",
    tried="2,000 scans, and 10, of 2500x2500",
)
async def test_jpeg_of_very_many_scans_is_not_decoded() -> None:
    async with image_work() as (images, _):
        with pytest.raises(TooCostlyError, match="2010 passes over 6250000 pixels"):
            await run(images, jpeg_of_scans(2_500, 2_010))
        honest = saved(picture(2_500, 2_500), "JPEG", progressive=True)
        assert await run(images, honest) == (100, 100)


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "An image that is being decoded for a client that has left is given up at once",
    kept_by="app/services/images/image_work.py",
    tried="one that is decoded, and one that waits",
)
async def test_worker_is_ended_when_the_client_has_left() -> None:
    left, began = anyio.Event(), anyio.Event()
    ended: list[str] = []
    cost = DecodingCost(2_000_000, MIB, is_bounded=True)

    async def attempt(_: Decode) -> None:
        began.set()
        await anyio.sleep_forever()

    async def ask(images: ImageWork) -> None:
        wait_for_disconnect.set(left.wait)
        try:
            await images.run("p", cost, 500, attempt)
        except MalformedRequestError as exc:
            ended.append(exc.detail)

    async with image_work() as (images, budget), anyio.create_task_group() as tasks:
        tasks.start_soon(ask, images)
        await began.wait()
        tasks.start_soon(ask, images)
        await anyio.wait_all_tasks_blocked()
        left.set()
    assert ended == ["The client left before the answer. Nothing was stored."] * 2
    assert budget.held_bytes == 0


async def test_projects_take_turns_at_the_worker() -> None:
    order: list[str] = []
    cost = DecodingCost(2_000_000, MIB, is_bounded=True)
    go_on = anyio.Event()

    async def ask(images: ImageWork, project_id: str) -> None:
        async def attempt(_: Decode) -> None:
            order.append(project_id)
            await go_on.wait()

        await images.run(project_id, cost, 500, attempt)

    async with image_work() as (images, _), anyio.create_task_group() as tasks:
        for project_id in ("a", "a", "a", "b"):
            tasks.start_soon(ask, images, project_id)
            await anyio.wait_all_tasks_blocked()
        assert order == ["a"]
        go_on.set()
    assert order == ["a", "b", "a", "a"]


async def test_deadline_says_nothing_of_an_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.services.images.image_work._MIN_SECONDS", -10.0)
    async with image_work() as (images, _):
        with pytest.raises(UndecidedError):
            await run(images, saved(picture(1_280, 820), "JPEG"))
