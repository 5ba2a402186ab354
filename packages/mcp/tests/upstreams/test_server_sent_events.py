"""Server-sent events, in whatever pieces they come."""

from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault_mcp.upstreams.server_sent_events import ServerEvent, StreamPosition, read_events

pytestmark = pytest.mark.anyio

STREAM = (
    b": a comment\r\n\r\n"
    b"id: first\nretry: 250\ndata: \n\n"
    b"event: endpoint\ndata: /messages?id=1\n\n"
    b'id:2\ndata: {"jsonrpc":"2.0","id":7,\ndata:"result":{}}\n\n'
    b'data: {"id":"a","result":1}\r\n\r\n'
    b'data: {"id":8,"method":"ping"}\n\n'
    b'data: [{"id":1,"result":{}},{"id":2,"method":"x"},{"id":3,"error":{}},4]\n\n'
    b'data: {"id":9,"result":"was cut'
)


@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=8))
async def test_events_are_the_same_however_the_stream_is_cut(cuts: list[int]) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for start, end in pairwise([0, *sorted(cuts), len(STREAM)]):
            yield STREAM[start:end]

    read = [
        (event.name, event.event_id, event.retry_seconds, event.text(), event.find_answered_ids())
        async for event in read_events(pieces())
    ]
    batch = b'[{"id":1,"result":{}},{"id":2,"method":"x"},{"id":3,"error":{}},4]'
    assert read == [
        ("message", "first", 0.25, b"", set()),
        ("endpoint", None, None, b"/messages?id=1", set()),
        ("message", "2", None, b'{"jsonrpc":"2.0","id":7, "result":{}}', {7}),
        ("message", None, None, b'{"id":"a","result":1}', {"a"}),
        ("message", None, None, b'{"id":8,"method":"ping"}', set()),
        ("message", None, None, batch, {1, 3}),
    ]


EVENTS = [
    (ServerEvent(retry_seconds=0.25), ("", 0.25)),
    (ServerEvent(event_id="a"), ("a", 0.25)),
    (ServerEvent(retry_seconds=0.0), ("a", 0.05)),
    (ServerEvent(event_id="b", retry_seconds=9_999.0), ("b", 60.0)),
    (ServerEvent(), ("b", 60.0)),
    (ServerEvent(event_id=""), ("", 60.0)),
]


def test_position_is_what_the_last_events_say_of_it() -> None:
    position = StreamPosition()
    positions = []
    for event, _ in EVENTS:
        position.advance(event)
        positions.append((position.event_id, position.wait_seconds))
    assert positions == [expected for _, expected in EVENTS]
