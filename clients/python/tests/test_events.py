"""Events, over connections that do not last."""

import itertools
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from clients.python.tests.servers import CuttingProxy, Reply, ScriptedService, problem, serving
from pagefault_client import (
    APIConnectionError,
    AsyncPagefault,
    NotFoundError,
    Pagefault,
    Session,
)
from pagefault_client.sse import Block, Decoder

STREAM = (
    b'id: 4\nretry: 1000\n\n: ping\n\nevent: a\r\ndata: {"x": "\xe2\x80\xa8"}\r\nid: 5\r\n\r\n'
    b"event: b\rdata: 1\rdata:2\rid: 6\r\rdata: cut off"
)
BLOCKS = [
    Block("message", "4", ""),
    Block("a", "5", '{"x": "\u2028"}'),
    Block("b", "6", "1\n2"),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_blocks_are_read_however_they_are_cut(size: int) -> None:
    decoder = Decoder()
    fed = [decoder.feed(STREAM[at : at + size]) for at in range(0, len(STREAM), size)]
    assert list(itertools.chain.from_iterable(fed)) == BLOCKS


def test_events_are_typed_by_their_names(session: Session) -> None:
    session.append({"role": "user", "content": "Hi\u2028there"})
    session.tool_result("clock", "call_1", "ten")
    first, second = itertools.islice(session.events(after=0), 2)
    assert first["event"] == "message:created"
    assert (first["id"], first["data"]["message"]["content"]) == (1, "Hi\u2028there")
    assert second["event"] == "llmservice:toolResult"
    assert second["data"]["sanitized"]["parts"] == [{"type": "text", "text": "ten"}]


def test_a_lost_connection_loses_no_event(proxy: CuttingProxy, session: Session) -> None:
    seqs = [session.append({"role": "user", "content": str(number)})["seq"] for number in range(9)]
    received = []
    with Pagefault(proxy.url) as client:
        # Each connection is cut within its answer.
        proxy.cuts = [-700, -900, -1100, -1300]
        for event in client.session(session.id).events(after=0):
            received.append(event["id"])
            if event["id"] == seqs[-1]:
                break
    assert (received, proxy.cuts) == (seqs, [])


@pytest.mark.anyio
async def test_a_service_that_restarts_is_waited_for(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with serving(data_dir) as url:
        port = int(url.rpartition(":")[2])
        client = AsyncPagefault(url)
        session = client.session("s")
        await session.append({"role": "user", "content": "before"})
        stream = session.events(after=0)
        received = aiter(stream)
        assert (await anext(received))["id"] == 1
    with serving(data_dir, port=port):
        await session.append({"role": "user", "content": "after"})
        assert ((await anext(received))["id"], stream.position) == (2, 2)
        await client.close()


def test_a_position_that_is_not_kept_is_told_and_passed(session: Session) -> None:
    session.append({"role": "user", "content": "Hi"})
    (reset,) = itertools.islice(session.events(after=99), 1)
    assert reset["event"] == "reset"
    assert reset["data"]["position"] == 1


def test_refusals_end_the_stream(
    scripted: Callable[..., ScriptedService], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "pagefault_client")
    service = scripted(
        Reply(200, b"id: 3\n\nevent: new:kind\ndata: {}\nid: 4\n\n"),
        problem(503, "overloaded", Retry_After="0"),
        problem(404, "not-found"),
    )
    received = iter(Pagefault(service.url, max_retries=0).events())
    event = next(received)
    with pytest.raises(NotFoundError):
        next(received)
    assert [event] == [{"event": "new:kind", "id": 4, "data": {}}]
    assert [request.path for request in service.requests] == [
        *("/api/events", "/api/events?after=4", "/api/events?after=4"),
    ]
    assert [item.message for item in caplog.records if item.name == "pagefault_client"] == [
        "Reopening /api/events after 4 in 0.1 seconds: the stream ended",
        "Reopening /api/events after 4 in 0.2 seconds: 503 overloaded: No. (request r1)",
    ]


def test_a_service_that_is_not_there_is_an_error() -> None:
    with pytest.raises(APIConnectionError):
        next(iter(Pagefault("http://127.0.0.1:9", max_retries=0).events()))
