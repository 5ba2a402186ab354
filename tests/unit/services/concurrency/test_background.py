"""Background tasks end with their block, and their errors are logged."""

import asyncio
from collections.abc import Callable

import anyio
import anyio.lowlevel
import pytest
import structlog
from structlog.testing import capture_logs

from app.errors import NotFoundError
from app.services.concurrency.background import log_failures, run_beside

pytestmark = pytest.mark.anyio
LOG = structlog.get_logger("test")


class Work:
    """Waits for ever, and takes a moment to come to rest."""

    def __init__(self) -> None:
        self.happened: list[str] = []

    async def run(self) -> None:
        self.happened.append("began")
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
            self.happened.append("ended")


async def test_work_is_cancelled_and_waited_for_at_the_end_of_its_block() -> None:
    work = Work()
    async with run_beside(work.run()):
        await anyio.wait_all_tasks_blocked()
        assert work.happened == ["began"]
    assert work.happened == ["began", "ended"]


async def test_work_is_waited_for_even_if_the_block_is_cancelled() -> None:
    work = Work()
    with anyio.CancelScope() as scope:
        async with run_beside(work.run()):
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
            await anyio.sleep_forever()
    assert work.happened == ["began", "ended"]


async def test_error_of_the_block_is_raised_as_it_is() -> None:
    with pytest.raises(LookupError, match="of the block"):
        async with run_beside(Work().run()):
            raise LookupError("of the block")


async def test_work_that_is_told_to_end_is_not_cancelled() -> None:
    told = asyncio.Event()
    happened: list[str] = []

    async def until_told() -> None:
        await told.wait()
        happened.append("ended by itself")

    async with run_beside(until_told(), end=told.set):
        pass
    assert happened == ["ended by itself"]


async def test_error_of_the_work_is_logged_and_is_nothing_to_the_block() -> None:
    fault = LookupError("of the work")

    async def failing() -> None:
        raise fault

    with capture_logs() as logs:
        async with run_beside(failing()) as task:
            await asyncio.wait([task])
            await anyio.lowlevel.checkpoint()
            told = list(logs)
    assert told == [
        {
            "event": "background work failed",
            "work": task.get_name(),
            "exc_info": fault,
            "log_level": "error",
        }
    ]
    assert task.get_name().endswith("failing")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            NotFoundError("page"),
            {"event": "not done", "code": "not-found", "log_level": "warning"},
        ),
        (
            ConnectionResetError(),
            {"event": "not done", "error": "ConnectionResetError", "log_level": "warning"},
        ),
        (
            wrong := LookupError("x"),
            {"event": "broken", "exc_info": wrong, "log_level": "error"},
        ),
    ],
)
def test_failure_is_logged_as_what_it_is(error: Exception, line: dict[str, object]) -> None:
    with capture_logs() as logs, log_failures(LOG, "not done", fault="broken", expected=(OSError,)):
        raise error
    assert logs == [line]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, asyncio.CancelledError])
def test_what_is_no_failure_is_handed_on(kind: Callable[[], BaseException]) -> None:
    raised = pytest.raises((KeyboardInterrupt, asyncio.CancelledError))
    with capture_logs() as logs, raised, log_failures(LOG, "not done"):
        raise kind()
    assert logs == []
