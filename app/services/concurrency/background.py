"""Work that goes on beside a block: started, ended and waited for in one way.

`run_beside` is no task group, which would hand on whatever its block raises as a group of errors,
and would cancel the block when the work fails. A loop whose failures are to be followed by another
try says so with `log_failures`.
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
    """Run something for the length of the block, and wait until it has ended.

    What it raises is logged at once, and is nothing to the block.

    Args:
        work: What goes on beside the block.
        end: Tells it to end; by default it is cancelled.
    """
    task = asyncio.create_task(work, name=getattr(work, "__qualname__", None))
    task.add_done_callback(_log_fault)
    try:
        yield task
    finally:
        (end or task.cancel)()
        # Whoever is cancelled waits for it all the same: it may be about to give something back.
        with anyio.CancelScope(shield=True):
            await asyncio.wait([task])


@dataclass(frozen=True, slots=True)
class log_failures:  # noqa: N801 - read as the verb that it is in `with log_failures(…):`
    """A block that may fail: its errors are logged and go no further.

    A service's error is a warning with its code, an expected one a warning with its name; any other
    is logged as an error, with where it came from.
    """

    log: structlog.stdlib.BoundLogger
    """Of the module that tries."""
    event: str
    """What has happened then."""
    fault: str | None = None
    """The same for an error that nobody expected; by default `event`."""
    expected: tuple[type[Exception], ...] = ()
    """Errors of libraries that are told by their names."""

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """Log what the block raised. Cancellation, and what ends the process, are handed on."""
        if isinstance(error, PagefaultError):
            self.log.warning(self.event, code=error.problem_code)
        elif isinstance(error, self.expected):
            self.log.warning(self.event, error=type(error).__name__)
        elif isinstance(error, Exception):
            self.log.error(self.fault or self.event, exc_info=error)
        return isinstance(error, Exception)


def _log_fault(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (fault := task.exception()) is not None:
        _log.error("background work failed", work=task.get_name(), exc_info=fault)


async def run_to_completion(step: Coroutine[Any, Any, _T]) -> _T:
    """Run a step to its end, even if the caller is cancelled meanwhile; that takes effect after."""
    task = asyncio.ensure_future(step)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with anyio.CancelScope(shield=True):
            await asyncio.gather(task, return_exceptions=True)
        raise
