"""What waits, for `Pagefault`; `aio.py` has the same for `AsyncPagefault`."""

import functools
import inspect
import io
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, ParamSpec, TypeAlias, TypeVar, cast

import anyio.to_thread

from pagefault_client.calls import Body
from pagefault_client.files import ContentFile

if TYPE_CHECKING:
    from pagefault_client._sync.memory import Memory
    from pagefault_client._sync.reading import Content

OpenedContent: TypeAlias = io.BufferedReader

T = TypeVar("T")
P = ParamSpec("P")

PIECE_BYTES = 1024 * 1024


def sleep(seconds: float) -> None:
    """Wait."""
    time.sleep(seconds)


def in_thread(function: Callable[..., T], *arguments: object) -> T:
    """Return what a function returns. It may wait, as everything here may."""
    return function(*arguments)


def body(content: Body | None) -> bytes | Iterator[bytes] | None:
    """Return a body as httpx takes it."""
    return content if content is None or isinstance(content, bytes) else _read_in_pieces(content)


def _read_in_pieces(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(PIECE_BYTES):
        yield piece


def opened(content: "Content") -> io.BufferedReader:
    """Return content as a file."""
    return io.BufferedReader(ContentFile(content))


def pieces(source: Iterable[bytes]) -> Iterator[bytes]:
    """Yield what an iterable yields."""
    yield from source


def wrapped(tool: Callable[P, object], memory: "Memory") -> Callable[P, Any]:
    """Return a function that runs a tool and returns what the model should see of its result.

    One that awaits gives one that awaits, which stores the result in a thread.
    """
    if _is_awaited(tool):
        return _wrapped_coroutine(cast("Callable[P, Coroutine[Any, Any, object]]", tool), memory)

    @functools.wraps(tool)
    def remembered(*args: P.args, **kwargs: P.kwargs) -> Any:  # noqa: ANN401 - the target's
        name, call_id = memory.call_of(tool, args, kwargs)
        try:
            result = tool(*args, **kwargs)
        except Exception as error:
            memory.keep_error(name, call_id, error)
            raise
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            raise TypeError(
                f"{name} returned a {type(result).__name__}, which has to be awaited: wrap it with "
                "AsyncPagefault.wrap, or wrap an `async def` that awaits it"
            )
        return memory.keep(name, call_id, result)

    return remembered


def _is_awaited(tool: Callable[..., object]) -> bool:
    """Return whether a tool is an `async def`, or a part or an object that calls one."""
    while isinstance(tool, functools.partial):
        tool = tool.func
    return inspect.iscoroutinefunction(tool) or inspect.iscoroutinefunction(type(tool).__call__)


def _wrapped_coroutine(
    tool: Callable[P, Coroutine[Any, Any, object]], memory: "Memory"
) -> Callable[P, Coroutine[Any, Any, Any]]:
    @functools.wraps(tool)
    async def remembered(*args: P.args, **kwargs: P.kwargs) -> Any:  # noqa: ANN401 - the target's
        name, call_id = memory.call_of(tool, args, kwargs)
        try:
            result = await tool(*args, **kwargs)
        except Exception as error:
            await anyio.to_thread.run_sync(memory.keep_error, name, call_id, error)
            raise
        return await anyio.to_thread.run_sync(memory.keep, name, call_id, result)

    return remembered
