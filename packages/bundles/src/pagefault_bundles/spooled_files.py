"""Bodies of requests in temporary files, for readers that seek."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import IO

import anyio
import anyio.to_thread

from app.stores.disk_full import translate_disk_full

_CHUNK_BYTES = 1024 * 1024


@asynccontextmanager
async def spool(chunks: AsyncIterator[bytes]) -> AsyncIterator[IO[bytes]]:
    """Write all chunks into a temporary file, which is removed when the block ends.

    Raises:
        StoreFullError: The disk is full.
    """
    file = await anyio.to_thread.run_sync(_open_temporary_file)
    try:
        buffer = bytearray()
        async for chunk in chunks:
            buffer += chunk
            if len(buffer) >= _CHUNK_BYTES:
                await anyio.to_thread.run_sync(_write, file, bytes(buffer))
                buffer.clear()
        await anyio.to_thread.run_sync(_write, file, bytes(buffer))
        yield file
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(file.close)


def _open_temporary_file() -> IO[bytes]:
    # Without a buffer, since the file is read with `os.pread`.
    return tempfile.TemporaryFile(buffering=0)


def _write(file: IO[bytes], data: bytes) -> None:
    view = memoryview(data)
    with translate_disk_full():
        while view:
            view = view[file.write(view) :]
