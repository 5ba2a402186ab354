"""The process that decodes what takes long: ended, killed or crashed, it costs no other image."""

import os
import signal
from collections.abc import AsyncIterator

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from app.models.resource_descriptor import FittedImage
from app.services.images.image_tasks import ImageTask
from app.services.images.image_worker import ImageWorker, UndecidedError
from pagefault_dialects.model.resource import ImageRecipe
from tests.kit.bombs import jpeg_of_scans
from tests.kit.child_processes import ChildProcess, children_of
from tests.kit.images import opened, picture, saved

pytestmark = pytest.mark.anyio
MIB = 1024 * 1024
RECIPE = ImageRecipe(("image/jpeg",), max_side=100)
TASK = ImageTask("image/png", RECIPE, max_pixels=20_000_000, max_work=10**12)
PICTURE = saved(picture(), "PNG")
# A minute of work and more.
ENDLESS = jpeg_of_scans(2_500, 12_000)


@pytest.fixture
async def worker() -> AsyncIterator[ImageWorker]:
    started = ImageWorker()
    yield started
    await started.end()


async def make(
    worker: ImageWorker,
    data: bytes = PICTURE,
    *,
    memory_bytes: int = 128 * MIB,
    seconds: float = 60,
) -> FittedImage | None:
    return await worker.make(data, TASK, memory_bytes=memory_bytes, seconds=seconds)


async def is_right(worker: ImageWorker) -> bool:
    made = await make(worker)
    return made is not None and opened(made.data).size == (100, 67)


async def the_process() -> ChildProcess:
    """The worker, as soon as there is one."""
    with anyio.fail_after(60):
        while True:
            for child in children_of(os.getpid()):
                if "app.services.images.image_process" in child.command:
                    return child
            await anyio.lowlevel.checkpoint()


async def wait_until_gone(process: ChildProcess) -> None:
    await anyio.to_thread.run_sync(process.wait_until_gone, 60)


async def test_one_process_makes_one_image_after_the_other(worker: ImageWorker) -> None:
    assert await is_right(worker)
    process = await the_process()
    assert await make(worker, PICTURE[:2_000]) is None
    itself = FittedImage(PICTURE, "image/png", is_first_picture=False)
    task = ImageTask("image/png", ImageRecipe(("image/png",)), 10**6, 10**6)
    assert await worker.make(PICTURE, task, memory_bytes=128 * MIB, seconds=60) == itself
    assert await is_right(worker)
    assert await the_process() == process


@pytest.mark.promise(
    "security.md#decoders",
    "A process that decodes has no variable of the service's environment",
    kept_by="app/services/images/child_process.py",
    tried="0 variables",
)
async def test_worker_has_nothing_of_the_environment(
    worker: ImageWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGEFAULT_SIGNING_KEYS", "k1:secret")
    assert await is_right(worker)
    assert (await the_process()).environment == b""


async def test_worker_that_was_killed_while_it_was_idle_is_started_again(
    worker: ImageWorker,
) -> None:
    assert await is_right(worker)
    process = await the_process()
    process.send(signal.SIGKILL)
    await wait_until_gone(process)
    assert await is_right(worker)


@pytest.mark.promise(
    "security.md#decoders",
    "A decoder that crashes, or is killed, costs the image that it was given and nothing else",
    kept_by="app/services/images/image_worker.py",
    tried="2 signals",
)
@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
async def test_worker_that_dies_costs_one_image(
    worker: ImageWorker, number: signal.Signals
) -> None:
    outcomes: list[object] = []

    async def ask() -> None:
        try:
            outcomes.append(await make(worker, ENDLESS))
        except UndecidedError:
            outcomes.append("undecided")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        (await the_process()).send(number)
    assert outcomes == ["undecided"]
    assert await is_right(worker)


@pytest.mark.promise(
    "security.md#decoders",
    "A decoder is ended at its deadline, whatever it does",
    kept_by="app/services/images/image_worker.py",
    tried="a JPEG that takes minutes",
)
async def test_worker_is_ended_at_its_deadline(worker: ImageWorker) -> None:
    assert await is_right(worker)
    process = await the_process()
    with pytest.raises(UndecidedError):
        await make(worker, ENDLESS, seconds=0.1)
    await wait_until_gone(process)
    assert await is_right(worker)


async def test_worker_is_ended_when_its_caller_is(worker: ImageWorker) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(make, worker, ENDLESS)
        process = await the_process()
        tasks.cancel_scope.cancel()
    await wait_until_gone(process)
    assert await is_right(worker)


@pytest.mark.slow
async def test_worker_takes_no_more_memory_than_it_is_given(worker: ImageWorker) -> None:
    large = saved(picture(3_000, 2_000), "PNG", compress_level=1)
    with pytest.raises(UndecidedError):
        await make(worker, large, memory_bytes=32 * MIB)
    made = await make(worker, large)
    assert made is not None
    assert opened(made.data).size == (100, 67)
