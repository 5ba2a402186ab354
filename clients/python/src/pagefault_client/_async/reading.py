"""The content of a resource: whole, in pieces, or from any place of it."""

import errno
import hashlib
import io
import os
from collections.abc import AsyncIterator
from pathlib import Path

import httpx

from pagefault_client import aio, operations
from pagefault_client._async.transport import AsyncTransport, lost
from pagefault_client.errors import ConnectionFailedError, DigestMismatchError
from pagefault_client.models import ResourceDescriptor
from pagefault_client.retrying import Attempts

FIRST_AHEAD_BYTES = 64 * 1024
MOST_AHEAD_BYTES = 4 * 1024 * 1024


async def written(pieces: AsyncIterator[bytes], target: Path) -> Path:
    """Write a file, and return its path; unless all came, there is none."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            async for piece in pieces:
                await aio.in_thread(file.write, piece)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return target


class AsyncContent:
    """The bytes of one resource, read as from a file.

    Read in order, it asks for more and more ahead, from 64 KiB to 4 MiB at once. When it has been
    read from the beginning to the end, the bytes are compared with the digest.

    Attributes:
        descriptor: What the resource is: its type, name, size and digest.
    """

    def __init__(
        self,
        transport: AsyncTransport,
        descriptor: ResourceDescriptor,
        *,
        read_ahead: int = MOST_AHEAD_BYTES,
    ) -> None:
        self.descriptor = descriptor
        self.size = descriptor["size"]
        self._transport = transport
        self._most_ahead = max(1, read_ahead)
        self._ahead = min(FIRST_AHEAD_BYTES, self._most_ahead)
        self._position = 0
        self._held = b""
        self._held_from = 0
        self._hash = hashlib.sha256()
        self._hashed = 0

    async def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes: `size` of them, fewer at the end, all that follow if negative.

        Raises:
            DigestMismatchError: All was read in order, and it is not what was stored.
        """
        left = max(0, self.size - self._position)
        wanted = left if size is None or size < 0 else min(size, left)
        pieces: list[bytes] = []
        while wanted:
            piece = await self._some(wanted)
            pieces.append(piece)
            wanted -= len(piece)
        return b"".join(pieces)

    async def read_at(self, start: int, end: int) -> bytes:
        """Return the bytes from `start` up to `end`; the position stays.

        Raises:
            DigestMismatchError: All was read in order, and it is not what was stored.
        """
        end = min(end, self.size)
        piece = await self._fetched(start, end) if start < end else b""
        self._note(piece, start)
        return piece

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position, and return it. Nothing is asked for."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size}[whence]
        if base + offset < 0:
            # What a file of the system raises, which `zipfile` and others expect.
            raise OSError(errno.EINVAL, "a position before the beginning")
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        """Return the position."""
        return self._position

    async def stream(self) -> AsyncIterator[bytes]:
        """Yield all bytes from the beginning in pieces, with one request unless it is cut off.

        Raises:
            DigestMismatchError: The bytes are not those that were stored.
            ConnectionFailedError: Several times in a row, the connection brought nothing.
        """
        self.seek(0)
        async for piece in self._pieces(0, self.size):
            self._position += len(piece)
            self._note(piece, self._position - len(piece))
            yield piece

    async def _some(self, wanted: int) -> bytes:
        """Return at least one byte at the position, of those held or of the next ones."""
        start = self._position - self._held_from
        if not 0 <= start < len(self._held):
            # Whoever goes on where the last piece ended reads in order: look further ahead.
            in_order = self._position == self._held_from + len(self._held)
            self._ahead = min(self._ahead * 2, self._most_ahead) if in_order else FIRST_AHEAD_BYTES
            end = min(self.size, self._position + max(self._ahead, min(wanted, MOST_AHEAD_BYTES)))
            self._held = await self._fetched(self._position, end)
            self._held_from, start = self._position, 0
        piece = self._held[start : start + wanted]
        self._note(piece, self._position)
        self._position += len(piece)
        return piece

    async def _fetched(self, start: int, end: int) -> bytes:
        return b"".join([piece async for piece in self._pieces(start, end)])

    async def _pieces(self, start: int, end: int) -> AsyncIterator[bytes]:
        """Yield the bytes of a range, going on where the connection was lost."""
        whole = operations.get_resource_content(self.descriptor["uri"])
        attempts = Attempts(whole, self._transport.options.retries)
        while start < end:
            # A proxy that compresses would make other positions of these.
            wanted = {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
            call = whole.changed(headers=wanted)
            try:
                response = await self._transport.open(call)
                try:
                    # What does not know ranges sends all of it.
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
                    raise ConnectionFailedError(f"GET {call.path}: the answer ended early")
            except httpx.RequestError as error:
                pause = attempts.pause_after(lost(error, call))
                if pause is None:
                    raise lost(error, call) from error
            except ConnectionFailedError as error:
                pause = attempts.pause_after(error)
                if pause is None:
                    raise
            else:
                return
            await aio.sleep(pause)

    def _note(self, piece: bytes, position: int) -> None:
        """Hash what continues what was hashed; compare at the end."""
        if position > self._hashed or position + len(piece) <= self._hashed:
            return
        self._hash.update(piece[self._hashed - position :])
        self._hashed = position + len(piece)
        stored = self.descriptor["digest"].removeprefix("sha-256:")
        if self._hashed == self.size and self._hash.hexdigest() != stored:
            uri = self.descriptor["uri"]
            raise DigestMismatchError(f"{uri} arrived with other bytes than were stored")
