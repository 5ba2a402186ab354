"""Units of work that a test holds open while it does other things.

`Records.write` runs a function in a thread. Here, that function does what the test asks it to, one
thing after the other, until the test's block is over:

    async with writing(records, "p") as unit:
        await unit[SessionRecords].ensure("s", NOW)
        ...
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from contextlib import asynccontextmanager
from functools import partial
from operator import attrgetter, itemgetter
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeAlias, TypeVar

import anyio

from app.stores.records.blob_sizes import SizeUnknownError
from app.stores.records.records import Records
from app.stores.records.unit_of_work import Repository

_Result = TypeVar("_Result")
_Function: TypeAlias = Callable[[Any], Any]
_Run: TypeAlias = Callable[[_Function], Coroutine[Any, Any, Any]]

OpenUnit: TypeAlias = Any
"""Repositories whose methods and properties are all awaited: `await unit.new_events`.

`await unit.run(work)` does some work with those that it stands for.
"""


@asynccontextmanager
async def writing(records: Records, project_id: str) -> AsyncIterator[OpenUnit]:
    """A transaction: committed at the end of the block, rolled back if that raises.

    On SQLite, nobody else writes meanwhile.
    """
    async with _held(partial(records.write, project_id, is_alone=True)) as unit:
        yield unit


@asynccontextmanager
async def snapshot_of(records: Records, project_id: str) -> AsyncIterator[OpenUnit]:
    """Return the repositories of one snapshot."""
    async with _held(partial(records.read_snapshot, project_id)) as unit:
        yield unit


@asynccontextmanager
async def projects_of(records: Records) -> AsyncIterator[OpenUnit]:
    """A transaction over projects and keys."""
    async with _held(records.write_projects) as projects:
        yield projects


@asynccontextmanager
async def reading(records: Records, project_id: str) -> AsyncIterator[OpenUnit]:
    """Return the repositories of separate reads."""
    yield _Open(partial(records.read, project_id))


class _Path:
    """A repository, or a property or a method of one, by the way to it from the unit of work."""

    def __init__(self, call: _Run, find: _Function) -> None:
        self._call = call
        self._find = find

    def __getattr__(self, name: str) -> "_Path":
        return _Path(self._call, lambda unit: getattr(self._find(unit), name))

    def __call__(self, *args: object, **keywords: object) -> Coroutine[Any, Any, Any]:
        return self._call(lambda unit: self._find(unit)(*args, **keywords))

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._call(self._find).__await__()


class _Open:
    """The type of the repositories."""

    def __init__(self, call: _Run) -> None:
        self._call = call

    def __getattr__(self, name: str) -> _Path:
        return _Path(self._call, attrgetter(name))

    def __getitem__(self, kind: type[Repository]) -> _Path:
        return _Path(self._call, itemgetter(kind))

    async def run(self, work: Callable[[Any], _Result]) -> _Result:
        """Do some work with the repositories themselves."""
        result: _Result = await self._call(work)
        return result


class _GivenUpError(Exception):
    """Ends a transaction whose test was cancelled."""


class _Call(NamedTuple):
    function: _Function
    outcome: asyncio.Future[Any]


class _Held:
    """The functions that run in the thread of a transaction, until it ends."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._told: SimpleQueue[_Call | Exception | None] = SimpleQueue()
        self._again: _Call | None = None
        self._done: list[_Function] = []
        self.task: asyncio.Task[None] | None = None
        self.is_open = self._loop.create_future()

    def __call__(self, repositories: object) -> None:
        """Do what is told. It may run again, as a function of `Records` does: all is done again."""
        for function in self._done:
            function(repositories)
        self._tell(self.is_open, None)
        while (told := self._again or self._told.get()) is not None:
            self._again = None
            if isinstance(told, Exception):
                raise told
            try:
                result = told.function(repositories)
            except SizeUnknownError:
                # It is asked for outside of the transaction, which is begun anew.
                self._again = told
                raise
            except BaseException as exc:  # noqa: BLE001 - it is raised in the test
                self._tell(told.outcome, exc)
            else:
                self._done.append(told.function)
                self._tell(told.outcome, result)

    async def call(self, function: _Function) -> Any:  # noqa: ANN401 - of any method
        """Do something in the transaction."""
        assert self.task is not None
        outcome = self._loop.create_future()
        self._told.put(_Call(function, outcome))
        try:
            # Begun anew, the transaction may fail without an answer.
            await asyncio.wait({self.task, outcome}, return_when=asyncio.FIRST_COMPLETED)
            if not outcome.done():
                await self.task
            return outcome.result()
        finally:
            outcome.cancel()

    def end(self, error: Exception | None) -> None:
        """End the transaction."""
        self._told.put(error)

    def _tell(self, future: asyncio.Future[Any], outcome: object) -> None:
        self._loop.call_soon_threadsafe(_settle, future, outcome)


def _settle(future: asyncio.Future[Any], outcome: object) -> None:
    if future.done():
        return
    if isinstance(outcome, BaseException):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


@asynccontextmanager
async def _held(run: _Run) -> AsyncIterator[OpenUnit]:
    """A function of `Records`, held open for the length of a block."""
    held = _Held()
    task = held.task = asyncio.create_task(run(held))
    try:
        await asyncio.wait({task, held.is_open}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            # It was not opened.
            await task
        yield _Open(held.call)
    except Exception as exc:  # noqa: BLE001 - the transaction raises it again
        held.end(exc)
        await task
    except BaseException:
        held.end(_GivenUpError())
        if not held.is_open.done():
            task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait({task})
        if not task.cancelled():
            # Whatever it is, the test ends with what it was given up for.
            task.exception()
        raise
    else:
        held.end(None)
        await task
