"""Spool bundles into temporary files on their way in or out."""

import errno
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import IO

import anyio
import anyio.to_thread

from app.errors import StoreFullError

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_GATHERED_BYTES = 1024 * 1024


@contextmanager
def disk_full_as_store_full() -> Iterator[None]:
    """Raise a full disk as StoreFullError."""
    try:
        yield
    except OSError as exc:
        if exc.errno in _NO_ROOM:
            raise StoreFullError from exc
        raise


@asynccontextmanager
async def spool(chunks: AsyncIterator[bytes]) -> AsyncIterator[IO[bytes]]:
    """Write all chunks into a temporary file, which is there for the length of the block.

    Raises:
        StoreFullError: There is no room for it.
    """
    file = await anyio.to_thread.run_sync(_opened)
    try:
        gathered = bytearray()
        async for chunk in chunks:
            gathered += chunk
            if len(gathered) >= _GATHERED_BYTES:
                await anyio.to_thread.run_sync(_write, file, bytes(gathered))
                gathered.clear()
        await anyio.to_thread.run_sync(_write, file, bytes(gathered))
        yield file
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(file.close)


def _opened() -> IO[bytes]:
    # Unbuffered: it is read by position, past any buffer.
    return tempfile.TemporaryFile(buffering=0)


def _write(file: IO[bytes], data: bytes) -> None:
    view = memoryview(data)
    with disk_full_as_store_full():
        while view:
            view = view[file.write(view) :]
