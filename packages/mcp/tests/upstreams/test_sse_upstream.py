"""A server of HTTP+SSE, and its open requests when the host disconnects."""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable

import anyio
import httpx
import pytest

from pagefault_mcp.upstreams.sse_upstream import NoStreamError, SseSession

pytestmark = pytest.mark.anyio


async def stream() -> AsyncIterator[bytes]:
    """Name the endpoint, and say nothing more."""
    yield b"event: endpoint\ndata: /messages\n\n"
    await anyio.sleep_forever()


async def answer(request: httpx.Request) -> httpx.Response:
    if request.method == "GET":
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=stream())
    return httpx.Response(202)


async def ignore(pieces: Iterable[bytes]) -> None:
    """Ignore all messages."""


@pytest.mark.parametrize(("forgotten", "is_waited"), [([1, 2], False), ([1], True)])
async def test_answer_to_a_cancelled_request_is_not_waited_for(
    forgotten: list[int], is_waited: bool
) -> None:
    async with (
        httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client,
        anyio.create_task_group() as group,
    ):
        session = SseSession(client, "http://far.example/sse", ignore, lambda sentence: None)
        await group.start(session.run)
        assert await session.send(b"[]", {1, 2}) is None
        for request_id in forgotten:
            session.forget(request_id)
        with anyio.move_on_after(0) as waiting:
            await session.wait_for_answers(60)
        assert waiting.cancelled_caught == is_waited
        group.cancel_scope.cancel()


async def refuse(request: httpx.Request) -> httpx.Response:
    return await answer(request) if request.method == "GET" else httpx.Response(503)


async def end(request: httpx.Request) -> httpx.Response:
    """Name the endpoint, and end the stream."""
    if request.method != "GET":
        return httpx.Response(202)
    content = b"event: endpoint\ndata: /messages\n\n"
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=content)


@pytest.mark.parametrize(
    ("server", "reason"), [(refuse, "it answered 503"), (end, "it does not begin")]
)
async def test_stream_on_which_nothing_can_be_begun_is_closed(
    server: Callable[[httpx.Request], Coroutine[None, None, httpx.Response]], reason: str
) -> None:
    initialize = b'{"jsonrpc":"2.0","id":1,"method":"initialize"}'
    async with (
        httpx.AsyncClient(transport=httpx.MockTransport(server)) as client,
        # It ends with the stream.
        anyio.create_task_group() as group,
    ):
        session = SseSession(client, "http://far.example/sse", ignore, lambda sentence: None)
        await group.start(session.run)
        with pytest.raises(NoStreamError, match=reason):
            await session.restart(initialize, b"")
    assert session.has_ended
