"""A server at an address that answers oddly, or a host that says odd things: one message fails."""

import json
from collections.abc import AsyncIterator, Callable

import anyio
import httpx
import pytest

from app.mcp.event_streams import read_events
from app.mcp.http_upstream import HttpUpstream, Transport

pytestmark = [pytest.mark.engines("embedded"), pytest.mark.anyio]

MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
PING = b'{"jsonrpc":"2.0","id":9,"method":"ping"}\n'
PONG = {"jsonrpc": "2.0", "id": 9, "result": {}}
DEEP = b"[" * 100_000

Handler = Callable[[httpx.Request], httpx.Response]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def line(message: object) -> bytes:
    return json.dumps(message).encode() + b"\n"


def answering(answer: bytes, *, status: int = 200) -> Handler:
    """A server that answers a ping, and everything else with the same bytes."""

    def answered(request: httpx.Request) -> httpx.Response:
        if request.method != "POST":
            return httpx.Response(405)
        if b'"ping"' in request.content:
            return httpx.Response(200, json=PONG)
        return httpx.Response(status, content=answer, headers={"content-type": "application/json"})

    return answered


async def said_to(handler: Handler, *lines: bytes, transport: Transport = "http") -> list[object]:
    """What a host gets for its lines, and for a ping after them."""
    got = b""
    async with httpx.AsyncClient(transport=httpx.MockTransport(handler)) as client:
        upstream = HttpUpstream(client, "http://127.0.0.1:1/mcp", lambda _: None, transport)

        async def receive() -> None:
            nonlocal got
            got = b"".join([each async for each in upstream.received()])

        async with anyio.create_task_group() as group:
            group.start_soon(receive)
            async with upstream.running():
                for each in [*lines, PING]:
                    await upstream.write(each)
    # An empty line is no message, and a host may stop at one.
    return [json.loads(each) for each in got.split(b"\n")[:-1]]


@pytest.mark.parametrize(
    "sent",
    [
        line({"jsonrpc": "2.0", "method": "notifications/€", "params": MODERN}),
        line({"jsonrpc": "2.0", "method": "notifications/a\nb", "params": MODERN}),
    ],
)
async def test_message_that_no_header_can_hold_fails_alone(sent: bytes) -> None:
    assert await said_to(answering(b"", status=202), sent) == [PONG]


@pytest.mark.parametrize(
    "answer",
    [
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no", "data": {"result": 1}}},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"title": "It has no name."}]}},
    ],
)
async def test_odd_list_of_tools_is_passed_on(answer: object) -> None:
    asked = line({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert await said_to(answering(line(answer)), asked) == [answer, PONG]


async def test_revision_that_is_a_number_is_passed_on() -> None:
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": 5}}
    asked = line({"jsonrpc": "2.0", "id": 1, "method": "initialize"})
    assert await said_to(answering(line(answer)), asked) == [answer, PONG]


async def test_deep_refusal_is_an_error_of_its_request() -> None:
    asked = line({"jsonrpc": "2.0", "id": 1, "method": "tools/call"})
    got = await said_to(answering(DEEP, status=400), asked)
    assert sorted(str(each["id"]) for each in got if isinstance(each, dict)) == ["1", "9"]


async def test_deep_line_of_the_host_ends_nothing() -> None:
    assert await said_to(answering(b"", status=202), DEEP + b"\n") == [PONG]


async def test_server_that_names_no_address_is_no_server_of_2024() -> None:
    def opened(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            text = b"event: endpoint\ndata: /m?\x7f\n\n"
            return httpx.Response(200, content=text, headers={"content-type": "text/event-stream"})
        return answering(b"{}")(request)

    assert await said_to(opened, transport="sse") == [PONG]


async def test_digit_that_is_no_number_is_no_time_to_wait() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield "retry: ²\nid: 1\ndata: {}\n\n".encode()

    [event] = [each async for each in read_events(pieces())]
    assert (event.retry_seconds, event.event_id) == (None, "1")
