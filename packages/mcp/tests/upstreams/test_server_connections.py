"""Servers that are programs are terminated, and their end is reported."""

import os
import signal
import subprocess
import sys

import anyio
import anyio.lowlevel
import pytest

from pagefault_mcp.upstreams import server_connections
from pagefault_mcp.upstreams.server_connections import start_server
from tests.kit.process import ROOT, WAIT_SECONDS, environment

pytestmark = pytest.mark.anyio


async def test_server_that_is_told_to_end_more_than_once_ends_with_its_own_status() -> None:
    ended = []
    for _ in range(10):
        async with start_server(["sleep", "60"]) as server:
            # One of the signals hits a process that has ended but was not yet waited for.
            for _ in range(30):
                server.terminate()
            ended.append(await server.wait_for_exit())
    assert ended == [(143, "the server sleep ended with signal 15")] * 10


async def test_server_that_has_ended_is_told_nothing() -> None:
    async with start_server(["true"]) as server:
        assert await server.wait_for_exit() == (0, "")
        server.terminate()
        assert await server.wait_for_exit() == (0, "")


def test_server_whose_own_program_goes_on_is_not_read_for_ever_once_its_host_has_left() -> None:
    leave = """
import anyio
from pagefault_mcp.upstreams import server_connections
from pagefault_mcp.upstreams.server_connections import start_server
server_connections._GRACE_SECONDS = 0.1
async def leave():
    command = ["sh", "-c", "sleep 120 & echo $!; exec cat"]
    async with start_server(command) as server, anyio.create_task_group() as group:
        async for piece in server.receive_pieces():
            print(piece.decode())
            group.start_soon(server.disconnect)
anyio.run(leave)
"""
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", leave],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        timeout=WAIT_SECONDS,
        check=True,
    )
    os.kill(int(done.stdout), signal.SIGKILL)


async def test_all_that_a_server_wrote_before_it_ended_is_read_however_slowly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # No more than pipes and buffers hold, so that it ends by itself.
    wrote = 100_000
    monkeypatch.setattr(server_connections, "_PIECE_BYTES", 1_000)
    command = ["sh", "-c", f"cat; head -c {wrote} /dev/zero"]
    async with (
        server_connections.start_server(command) as server,
        anyio.create_task_group() as group,
    ):
        await server.end()
        monkeypatch.setattr(server_connections, "_GRACE_SECONDS", 0)
        receive_pieces = server.receive_pieces()
        size_bytes = len(await anext(receive_pieces))
        group.start_soon(server.disconnect)
        for _ in range(1_000):
            await anyio.lowlevel.checkpoint()
        async for piece in receive_pieces:
            size_bytes += len(piece)
    assert size_bytes == wrote
