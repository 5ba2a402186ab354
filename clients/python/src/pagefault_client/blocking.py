"""What waits, for `Pagefault`; `aio.py` has the same for `AsyncPagefault`."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, TypeVar

from pagefault_client.calls import Body

T = TypeVar("T")

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


def pieces(source: Iterable[bytes]) -> Iterator[bytes]:
    """Yield what an iterable yields."""
    yield from source
