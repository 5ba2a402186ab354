"""The pipes to a host: asynchronous reading of standard input, and writing to standard output."""

import os
import select
import sys
from collections.abc import AsyncIterator
from contextlib import suppress

import anyio.to_thread

_PIECE_BYTES = 256 * 1024


async def read_standard_input() -> AsyncIterator[bytes]:
    """Yield pieces of standard input until the host closes the pipe."""
    # A thread reads, because standard input may be a file, for which an event loop cannot wait.
    while piece := await anyio.to_thread.run_sync(
        os.read, sys.stdin.fileno(), _PIECE_BYTES, abandon_on_cancel=True
    ):
        yield piece


async def wait_for_hangup() -> None:
    """Wait until the host has closed the pipe, even if unread input remains."""
    poller = select.poll()
    # An event mask of 0 reports only that the pipe was closed.
    poller.register(sys.stdin.fileno(), 0)
    await anyio.to_thread.run_sync(poller.poll, abandon_on_cancel=True)


async def write_standard_output(piece: bytes) -> None:
    """Write all bytes to the host. If the host has disconnected, drop them."""

    def write() -> None:
        unwritten = memoryview(piece)
        # The end of standard input shows that the host has disconnected, so no error is needed.
        with suppress(BrokenPipeError):
            while unwritten:
                unwritten = unwritten[os.write(sys.stdout.fileno(), unwritten) :]

    await anyio.to_thread.run_sync(write)
