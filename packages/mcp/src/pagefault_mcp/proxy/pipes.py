"""Standard input and output as a host of MCP talks over them: bytes, in pieces of any length."""

import os
import select
import sys
from collections.abc import AsyncIterator
from contextlib import suppress

import anyio.to_thread

_PIECE_BYTES = 256 * 1024


async def standard_input() -> AsyncIterator[bytes]:
    """Yield what the host says until it closes the pipe."""
    # A thread, because standard input may be a file, which the event loop cannot wait for.
    while piece := await anyio.to_thread.run_sync(
        os.read, sys.stdin.fileno(), _PIECE_BYTES, abandon_on_cancel=True
    ):
        yield piece


async def host_left() -> None:
    """Return when the host has closed the pipe, though there may be more to read of it."""
    poller = select.poll()
    # Asked for nothing, it tells of the other end's being closed alone.
    poller.register(sys.stdin.fileno(), 0)
    await anyio.to_thread.run_sync(poller.poll, abandon_on_cancel=True)


async def write_out(piece: bytes) -> None:
    """Write bytes for the host, all of them; one that has left is written nothing."""

    def write() -> None:
        left = memoryview(piece)
        # That it has left is seen where it no longer says anything.
        with suppress(BrokenPipeError):
            while left:
                left = left[os.write(sys.stdout.fileno(), left) :]

    await anyio.to_thread.run_sync(write)
