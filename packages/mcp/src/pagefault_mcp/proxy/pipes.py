"""Asynchronous reading of standard input, and writing to standard output."""

import os
import select
import sys
from collections.abc import AsyncIterator
from contextlib import suppress

import anyio.to_thread

_PIECE_BYTES = 256 * 1024


async def standard_input() -> AsyncIterator[bytes]:
    """Yield pieces of standard input until the host closes the pipe."""
    # A thread, because standard input may be a file, which the event loop cannot wait for.
    while piece := await anyio.to_thread.run_sync(
        os.read, sys.stdin.fileno(), _PIECE_BYTES, abandon_on_cancel=True
    ):
        yield piece


async def wait_for_hangup() -> None:
    """Wait until the host has closed the pipe, even if unread input remains."""
    poller = select.poll()
    # Without events, only a hang-up is reported.
    poller.register(sys.stdin.fileno(), 0)
    await anyio.to_thread.run_sync(poller.poll, abandon_on_cancel=True)


async def write_out(piece: bytes) -> None:
    """Write all bytes for the host, unless it has disconnected."""

    def write() -> None:
        unwritten = memoryview(piece)
        # A disconnected host is detected where its input ends.
        with suppress(BrokenPipeError):
            while unwritten:
                unwritten = unwritten[os.write(sys.stdout.fileno(), unwritten) :]

    await anyio.to_thread.run_sync(write)
