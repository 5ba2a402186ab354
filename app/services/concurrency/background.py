"""Runs tasks in the background of a block, and steps that must not be cancelled.

`run_beside` is used instead of a task group, which would wrap the errors of the block in an
exception group, and cancel the block if a task fails. `log_failures` is for loops that go on after
an error.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

import anyio
import structlog

from pagefault_dialects.errors import PagefaultError

_T = TypeVar("_T")
_log = structlog.get_logger(__name__)


@asynccontextmanager
async def run_beside(
    work: Coroutine[Any, Any, _T], *, end: Callable[[], object] | None = None
) -> AsyncIterator[asyncio.Task[_T]]:
    """Run a task during the block. At the end of the block, end the task and wait for it.

    An error of the task is logged, and is not raised in the block.

    Args:
        work: The coroutine of the task.
        end: Makes the task end; `None` to cancel it.
    """
    task = asyncio.create_task(work, name=getattr(work, "__qualname__", None))
    task.add_done_callback(_log_task_error)
    try:
        yield task
    finally:
        (end or task.cancel)()
        # Even a cancelled caller waits for the task, which may have resources to release.
        with anyio.CancelScope(shield=True):
            await asyncio.wait([task])


@dataclass(frozen=True, slots=True)
class log_failures:  # noqa: N801 - read as the verb that it is in `with log_failures(…):`
    """A context manager that logs an error of its block, and suppresses it.

    A `PagefaultError` is logged as a warning with its code, an error of a class in `expected` as a
    warning with the name of the class, and any other error as an error with its traceback.
    """

    log: structlog.stdlib.BoundLogger
    """The logger of the calling module."""
    event: str
    """The text of the log line."""
    fault: str | None = None
    """The text of the log line for an unexpected error; `None` for `event`."""
    expected: tuple[type[Exception], ...] = ()
    """The classes of errors that are logged as warnings."""

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """Log the error of the block. Cancellation and process exits propagate."""
        if isinstance(error, PagefaultError):
            self.log.warning(self.event, code=error.problem_code)
        elif isinstance(error, self.expected):
            self.log.warning(self.event, error=type(error).__name__)
        elif isinstance(error, Exception):
            self.log.error(self.fault or self.event, exc_info=error)
        return isinstance(error, Exception)


def _log_task_error(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (fault := task.exception()) is not None:
        _log.error("background work failed", work=task.get_name(), exc_info=fault)


async def run_to_completion(step: Coroutine[Any, Any, _T]) -> _T:
    """Run a step, and return its result. If the caller is cancelled, finish the step first."""
    task = asyncio.ensure_future(step)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with anyio.CancelScope(shield=True):
            await asyncio.gather(task, return_exceptions=True)
        raise
