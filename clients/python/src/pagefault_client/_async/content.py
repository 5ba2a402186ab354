"""The content of a resource: whole, in pieces, or a range of it."""

import errno
import hashlib
import io
import os
from collections.abc import AsyncIterator
from pathlib import Path

import httpx

from pagefault_client import aio, operations
from pagefault_client._async.transport import AsyncTransport, stream_error
from pagefault_client.errors import APIConnectionError, DigestMismatchError
from pagefault_client.models import ResourceDescriptor
from pagefault_client.retries import Attempts

FIRST_AHEAD_BYTES = 64 * 1024
MAX_AHEAD_BYTES = 4 * 1024 * 1024


async def write_file(pieces: AsyncIterator[bytes], target: Path) -> Path:
    """Write a file, and return its path. If an error occurs, no file is left behind."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            async for piece in pieces:
                await aio.run_in_thread(file.write, piece)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return target


class AsyncContent:
    """The bytes of one resource, with the interface of a file.

    Sequential reads read ahead, with requests that grow from 64 KiB to 4 MiB. After a sequential
    read from the beginning to the end, the digest is checked.

    Attributes:
        descriptor: The type, name, size and digest of the resource.
    """

    def __init__(
        self,
        transport: AsyncTransport,
        descriptor: ResourceDescriptor,
        *,
        read_ahead: int = MAX_AHEAD_BYTES,
    ) -> None:
        self.descriptor = descriptor
        self.size = descriptor["size"]
        self._transport = transport
        self._max_ahead = max(1, read_ahead)
        self._ahead = min(FIRST_AHEAD_BYTES, self._max_ahead)
        self._position = 0
        self._buffer = b""
        self._buffer_start = 0
        self._hash = hashlib.sha256()
        self._hashed = 0

    async def read(self, size: int | None = -1) -> bytes:
        """Return the next `size` bytes, fewer at the end; if `size` is negative, all that follow.

        Raises:
            DigestMismatchError: The content was read sequentially, and its digest is wrong.
        """
        remaining = max(0, self.size - self._position)
        if size is not None and size >= 0:
            remaining = min(size, remaining)
        pieces: list[bytes] = []
        while remaining:
            piece = await self._read_some(remaining)
            pieces.append(piece)
            remaining -= len(piece)
        return b"".join(pieces)

    async def read_at(self, start: int, end: int) -> bytes:
        """Return the bytes from `start` up to `end`, without moving the position.

        Raises:
            DigestMismatchError: The content was read sequentially, and its digest is wrong.
        """
        end = min(end, self.size)
        piece = await self._fetch(start, end) if start < end else b""
        self._update_hash(piece, start)
        return piece

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position, and return it. No request is sent."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size}[whence]
        if base + offset < 0:
            # `zipfile` and others expect the error that a file of the system raises.
            raise OSError(errno.EINVAL, "a position before the beginning")
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        """Return the position."""
        return self._position

    async def stream(self) -> AsyncIterator[bytes]:
        """Yield all bytes from the beginning in pieces. After a lost connection, it resumes.

        Raises:
            DigestMismatchError: The digest of the bytes is wrong.
            APIConnectionError: All retries failed without receiving a byte.
        """
        self.seek(0)
        async for piece in self._pieces(0, self.size):
            self._position += len(piece)
            self._update_hash(piece, self._position - len(piece))
            yield piece

    async def _read_some(self, size: int) -> bytes:
        """Return between one and `size` bytes at the position, from the buffer or by a request."""
        start = self._position - self._buffer_start
        if not 0 <= start < len(self._buffer):
            # A read that continues at the end of the buffer is sequential: read further ahead.
            in_order = self._position == self._buffer_start + len(self._buffer)
            self._ahead = min(self._ahead * 2, self._max_ahead) if in_order else FIRST_AHEAD_BYTES
            end = min(self.size, self._position + max(self._ahead, min(size, MAX_AHEAD_BYTES)))
            self._buffer = await self._fetch(self._position, end)
            self._buffer_start, start = self._position, 0
        piece = self._buffer[start : start + size]
        self._update_hash(piece, self._position)
        self._position += len(piece)
        return piece

    async def _fetch(self, start: int, end: int) -> bytes:
        return b"".join([piece async for piece in self._pieces(start, end)])

    async def _pieces(self, start: int, end: int) -> AsyncIterator[bytes]:
        """Yield the bytes of a range, resuming after lost connections."""
        whole = operations.get_resource_content(self.descriptor["uri"])
        attempts = Attempts(whole, self._transport.options.max_retries)
        while start < end:
            # A proxy that compresses would change the positions.
            headers = {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
            call = whole.replace(headers=headers)
            try:
                response = await self._transport.open(call)
                try:
                    # Servers without support for ranges send all bytes.
                    skipped = start if response.status_code == 200 else 0
                    async for piece in response.aiter_bytes():
                        used = piece[skipped:][: end - start]
                        skipped = max(0, skipped - len(piece))
                        if used:
                            start += len(used)
                            attempts.made = 0
                            yield used
                finally:
                    await response.aclose()
                if start < end:
                    raise APIConnectionError(f"GET {call.path}: the answer ended early")
            except httpx.RequestError as error:
                pause = attempts.pause_after(stream_error(error, call))
                if pause is None:
                    raise stream_error(error, call) from error
            except APIConnectionError as error:
                pause = attempts.pause_after(error)
                if pause is None:
                    raise
            else:
                return
            await aio.sleep(pause)

    def _update_hash(self, piece: bytes, position: int) -> None:
        """Add the bytes after the hashed ones to the hash, and check the digest at the end."""
        if position > self._hashed or position + len(piece) <= self._hashed:
            return
        self._hash.update(piece[self._hashed - position :])
        self._hashed = position + len(piece)
        stored = self.descriptor["digest"].removeprefix("sha-256:")
        if self._hashed == self.size and self._hash.hexdigest() != stored:
            uri = self.descriptor["uri"]
            raise DigestMismatchError(f"{uri} was changed in transit: its digest differs")
