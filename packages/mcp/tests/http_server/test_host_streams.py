"""Recent events are kept within limits, and dropped ones are reported."""

import pytest

from pagefault_mcp.http_server.host_streams import (
    MAX_BYTES,
    MAX_EVENTS,
    NoSuchEventError,
    SentEvents,
)
from pagefault_mcp.messages.lines import Line


def add(sent: SentEvents, stream: str, text: bytes) -> str:
    """Send a line; the id of the event."""
    with Line() as line:
        line.add(text)
        return sent.add(stream, line)


def texts(sent: SentEvents, event_id: str) -> list[bytes]:
    """Return the data that is sent again after an event."""
    return [text for event in sent.find_later_events(event_id)[1] for text in event.make_texts()]


def test_oldest_events_give_way_by_number_and_by_bytes() -> None:
    for most, text in ((MAX_EVENTS, b"{}\n"), (4, b"x" * (MAX_BYTES // 4))):
        sent = SentEvents()
        before = sent.begin("1")
        ids = [add(sent, "1", text) for _ in range(most + 1)]
        assert len(texts(sent, ids[0])) == most
        with pytest.raises(NoSuchEventError):
            sent.find_later_events(before)


def test_stream_that_missed_nothing_is_known_however_much_was_sent_on_others() -> None:
    sent = SentEvents()
    sent.begin("1")
    own = add(sent, "1", b"{}\n")
    sent.begin("2")
    for _ in range(2 * MAX_EVENTS):
        add(sent, "2", b"{}\n")
    assert sent.find_later_events(own) == ("1", [])
    # One that has ended is known for as long as anything of it is kept.
    sent.mark_ended("1")
    with pytest.raises(NoSuchEventError):
        sent.find_later_events(own)
    sent.mark_ended("2")
    assert len(texts(sent, f"2-{MAX_EVENTS + 1}")) == MAX_EVENTS


def test_event_that_is_too_large_is_an_error_for_each_request_it_answers() -> None:
    sent = SentEvents()
    before = sent.begin("1")
    long = b'"%s"' % (b"x" * MAX_BYTES)
    add(sent, "1", b'{"jsonrpc":"2.0","method":"m","params":{"a":%s}}\n' % long)
    add(sent, "1", b'{"jsonrpc":"2.0","id":"a","result":{"a":%s}}\n' % long)
    add(sent, "1", b'{"jsonrpc":"2.0","id":2,"result":{}}\n')
    replaced, small = texts(sent, before)
    assert replaced.startswith(b'{"jsonrpc": "2.0", "id": "a", "error"')
    assert small == b'{"jsonrpc":"2.0","id":2,"result":{}}\n'


@pytest.mark.parametrize(
    "event_id", ["", "1", "-", "1-", "1--1", "1-\u0661", "1-2", "2-1", "x-1", f"1-{'9' * 5_000}"]
)
def test_event_that_was_never_sent_is_told(event_id: str) -> None:
    sent = SentEvents()
    sent.begin("1")
    add(sent, "1", b"{}\n")
    with pytest.raises(NoSuchEventError):
        sent.find_later_events(event_id)
