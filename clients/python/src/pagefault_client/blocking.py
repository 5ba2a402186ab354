"""The waiting functions of `Pagefault`; `aio.py` has those of `AsyncPagefault`."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, TypeVar

from pagefault_client.calls import Body

T = TypeVar("T")

PIECE_BYTES = 1024 * 1024


def sleep(seconds: float) -> None:
    """Wait."""
    time.sleep(seconds)


def run_in_thread(function: Callable[..., T], *arguments: object) -> T:
    """Call a function, and return its result."""
    return function(*arguments)


def body(content: Body | None) -> bytes | Iterator[bytes] | None:
    """Convert a body to a type that httpx accepts."""
    return content if content is None or isinstance(content, bytes) else _read_in_pieces(content)


def _read_in_pieces(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(PIECE_BYTES):
        yield piece


def pieces(source: Iterable[bytes]) -> Iterator[bytes]:
    """Iterate over an iterable."""
    yield from source
