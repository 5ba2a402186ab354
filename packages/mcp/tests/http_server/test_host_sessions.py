"""Sessions of hosts over HTTP: failures before and after the server is connected."""

import json
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import pytest

from pagefault_mcp.http_server.host_sessions import HostSession
from pagefault_mcp.http_server.host_streams import Exchange
from pagefault_mcp.upstreams.server_connections import Connection

pytestmark = pytest.mark.anyio


def make_no_proxy(*_: object) -> Any:  # noqa: ANN401 - never called
    raise AssertionError


async def post(session: HostSession, request_id: int) -> Exchange:
    request = {"jsonrpc": "2.0", "id": request_id, "method": "tools/list"}
    return await session.forward(json.dumps(request).encode() + b"\n", request)


def ids(exchange: Exchange) -> list[int]:
    """Return the ids of the queued responses, and close the exchange."""
    found = [json.loads(line.read())["id"] for line in exchange.lines]
    exchange.close()
    return found


def fail_to_connect() -> AbstractAsyncContextManager[Connection]:
    raise ValueError("embedded null byte")


async def start(session: HostSession) -> Any:  # noqa: ANN401 - as anyio returns it
    async with anyio.create_task_group() as group:
        return await group.start(session.run, fail_to_connect)


async def test_request_is_answered_once_even_if_the_session_ends_twice() -> None:
    session = HostSession(make_no_proxy, print)
    await start(session)
    exchanges = [await post(session, request_id) for request_id in (1, 2)]
    assert [ids(exchange) for exchange in exchanges] == [[1], [2]]


async def test_unexpected_failure_to_connect_is_reported_to_the_caller() -> None:
    warnings: list[str] = []
    session = HostSession(make_no_proxy, warnings.append)
    assert await start(session) == "cannot connect to the server"
    assert warnings == ["a session has ended: embedded null byte"]
