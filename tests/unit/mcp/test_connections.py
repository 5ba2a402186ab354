"""Servers that are programs: how they are told to end, and what is told of it."""

import pytest

from app.mcp.connections import started

pytestmark = pytest.mark.anyio


async def test_server_that_is_told_to_end_more_than_once_ends_with_its_own_status() -> None:
    ended = []
    for _ in range(10):
        async with started(["sleep", "60"]) as server:
            # One of them comes when it has ended, and nobody knows yet.
            for _ in range(30):
                server.interrupt()
            ended.append(await server.ended())
    assert ended == [(143, "the server sleep ended with signal 15")] * 10


async def test_server_that_has_ended_is_told_nothing() -> None:
    async with started(["true"]) as server:
        assert await server.ended() == (0, "")
        server.interrupt()
        assert await server.ended() == (0, "")
