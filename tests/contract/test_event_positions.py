"""Starts of event streams: positions, resets, and the requests of a page load."""

import gc
import logging
from collections.abc import Iterator

import httpx
import pytest

from tests.contract.page_requests import outcome, pointers, put
from tests.contract.session_requests import MESSAGES, append, call_tool
from tests.kit.event_streams import HEARTBEAT, Block, heard, listening
from tests.kit.servers import LiveService

pytestmark = pytest.mark.engines("embedded")

PROJECT = "/api/events"
SESSION = "/api/sessions/s/events"
RETRY = "1000"


def opening(client: httpx.Client, path: str) -> Block:
    with listening(client, path) as stream:
        return stream.opening


def reset(position: int) -> Block:
    data = b'{"reason":"position-not-kept","position":%d}' % position
    return Block(str(position), "reset", data)


@pytest.fixture
def filled(client: httpx.Client) -> httpx.Client:
    """A client whose session `s` has three entries, behind two events of another one."""
    for session_id in ("t", "t", "s", "s", "s"):
        append(client, session_id, content="x")
    return client


@pytest.mark.engines("embedded", "server")
@pytest.mark.parametrize(("path", "last"), [(PROJECT, 5), (SESSION, 3)])
def test_stream_begins_now_and_says_where_that_is(
    filled: httpx.Client, path: str, last: int
) -> None:
    with listening(filled, path) as stream:
        assert stream.opening == Block(str(last), retry=RETRY)
        append(filled, content="new")
        event = stream.next()
    assert (event.position, event.told["message"]["content"]) == (last + 1, "new")


@pytest.mark.parametrize("path", [PROJECT, SESSION])
def test_stream_of_nothing_begins_at_0(client: httpx.Client, path: str) -> None:
    with listening(client, path) as stream:
        assert stream.opening == Block("0", retry=RETRY)
        append(client, content="first")
        assert stream.next().id == "1"


@pytest.mark.engines("embedded", "server")
@pytest.mark.parametrize(("path", "last"), [(PROJECT, 5), (SESSION, 3)])
def test_every_position_is_one_to_begin_behind(filled: httpx.Client, path: str, last: int) -> None:
    everything = heard(filled, path, count=last)
    assert [block.position for block in everything] == list(range(1, last + 1))
    for after in range(last):
        with listening(filled, path, after=after) as stream:
            assert stream.opening == Block(str(after), retry=RETRY)
            assert stream.some(last - after) == everything[after:]


@pytest.mark.parametrize(("path", "last"), [(PROJECT, 5), (SESSION, 3)])
def test_last_event_id_comes_before_after(filled: httpx.Client, path: str, last: int) -> None:
    with listening(filled, path, after=0, last_event_id=last - 1) as stream:
        assert stream.opening.position == last - 1
        assert stream.next().position == last


@pytest.mark.parametrize(("path", "last"), [(PROJECT, 5), (SESSION, 3)])
def test_last_event_id_in_the_query_comes_before_after_and_behind_the_header(
    filled: httpx.Client, path: str, last: int
) -> None:
    """As `event-source-polyfill` comes back: it keeps the address, and adds the last id to it."""
    with listening(filled, path, after=0, queried_event_id=last - 1) as stream:
        assert stream.opening.position == last - 1
        assert stream.next().position == last
    with listening(filled, path, last_event_id=last - 1, queried_event_id=0) as stream:
        assert stream.opening.position == last - 1


@pytest.mark.engines("embedded", "server")
@pytest.mark.promise(
    "security.md#other-projects-data",
    "A stream from a position that never existed sends `reset` and begins now",
    kept_by="app/services/events/stream.py",
    tried="8 places",
)
@pytest.mark.parametrize(("path", "last"), [(PROJECT, 5), (SESSION, 3)])
@pytest.mark.parametrize("beyond", [1, 2, 1_000, 2**63 - 3])
def test_position_that_never_was_is_reset_to_now(
    filled: httpx.Client, path: str, last: int, beyond: int
) -> None:
    place = min(last + beyond, 2**63 - 2)
    with listening(filled, path, last_event_id=place) as stream:
        # The place of the reset is not told before the reset is: a connection may break in between.
        assert (stream.opening, stream.next()) == (Block(retry=RETRY), reset(last))
        append(filled, content="new")
        assert stream.next().position == last + 1


@pytest.mark.promise(
    "security.md#other-projects-data",
    "A position that is not a number is refused",
    kept_by="app/http/event_streams.py",
    tried="422",
)
@pytest.mark.parametrize("path", [PROJECT, SESSION])
def test_place_that_is_no_position_is_refused(client: httpx.Client, path: str) -> None:
    for place in ("x", "", "-1", "1.5", "1e3", "\u0661 1", str(2**63 - 1), "9" * 5_000):
        in_query = client.get(path, params={"after": place})
        assert outcome(in_query) == (422, "invalid-payload")
        assert pointers(in_query) == ["/query/after"]
        in_query = client.get(path, params={"lastEventId": place})
        assert pointers(in_query) == ["/query/lastEventId"]
        in_header = client.get(path, headers={b"Last-Event-ID": place.encode()})
        assert outcome(in_header) == (422, "invalid-payload")


@pytest.mark.parametrize("name", ["-a", "a" * 129, "a%0Ab"])
def test_name_that_no_session_can_have_is_refused(client: httpx.Client, name: str) -> None:
    assert outcome(client.get(f"/api/sessions/{name}/events")) == (422, "invalid-payload")


@pytest.mark.engines("embedded", "server")
def test_stream_of_a_session_has_only_that_session(client: httpx.Client) -> None:
    with listening(client, SESSION) as stream:
        for session_id in ("t", "s", "s.t", "S", "s"):
            append(client, session_id, content=session_id)
        put(client, content="x")
        call_tool(client, "c", session_id=None)
        append(client, content="end")
        told = [(block.id, block.told["sessionId"], block.told["seq"]) for block in stream.some(3)]
    assert told == [("1", "s", 1), ("2", "s", 2), ("3", "s", 3)]
    assert [b.told["sessionId"] for b in heard(client, SESSION, count=3)] == ["s"] * 3


@pytest.mark.engines("embedded", "server")
def test_listener_of_a_deleted_session_is_told_and_sees_the_next_one(filled: httpx.Client) -> None:
    """A listener at 2 of 3 when the session ended; another session of its name has begun since."""
    with listening(filled, SESSION, after=2) as stream:
        assert stream.next().position == 3
        assert filled.delete("/api/sessions/s").status_code == 200
        append(filled, content="anew")
        live = stream.some(2)
    with listening(filled, SESSION, last_event_id=2) as stream:
        assert stream.opening.position == 2
        assert stream.some(2) == live
    assert [(block.id, block.event) for block in live] == [
        ("4", "session:deleted"),
        ("1", "message:created"),
    ]
    assert heard(filled, SESSION, after=4, count=1) == live[1:]
    assert heard(filled, SESSION, after=0, count=1) == live[1:]


def test_listener_of_a_session_that_is_gone_is_told_once(filled: httpx.Client) -> None:
    filled.delete("/api/sessions/s")
    (deletion,) = heard(filled, SESSION, after=3, count=1)
    assert (deletion.id, deletion.event) == ("4", "session:deleted")
    assert opening(filled, SESSION).position == 0


@pytest.mark.slow
@pytest.mark.engines("embedded", "server")
def test_listener_that_leaves_while_it_is_told_costs_no_connection(
    filled: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    """A read that is given up midway ends its connection to the database, which is logged."""
    with caplog.at_level(logging.WARNING):
        for _ in range(10):
            with listening(filled, after=0):
                pass
        append(filled, content="new")
        heard(filled, after=5, count=1)
        gc.collect()
    assert [record.getMessage() for record in caplog.records] == []


def test_heartbeats_say_that_a_silent_stream_lives(
    service: LiveService, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.http.event_streams._KEEPALIVE_SECONDS", 0.01)
    with listening(client, SESSION) as stream:
        assert [stream.raw() for _ in range(3)] == [HEARTBEAT] * 3
        append(client, content="x")
        assert stream.next().id == "1"


def test_answer_is_an_event_stream_that_nobody_keeps(client: httpx.Client) -> None:
    with listening(client) as stream:
        told = dict(stream.headers)
    assert told["content-type"] == "text/event-stream; charset=utf-8"
    assert (told["cache-control"], told["x-accel-buffering"]) == ("no-cache", "no")


def seqs(page: httpx.Response) -> list[int]:
    assert page.status_code == 200, page.text
    return [item["seq"] for item in page.json()["items"]]


@pytest.mark.engines("embedded", "server")
def test_history_goes_on_behind_a_number(client: httpx.Client) -> None:
    for number in (1, 2, 4, 5, 6):
        if number == 4:
            put(client, content="takes 3", session_id="s")
        append(client, content="x")
    pages = {after: seqs(client.get(MESSAGES, params={"after": after})) for after in range(8)}
    expected = [1, 2, 4, 5, 6]
    assert pages == {after: [seq for seq in expected if seq > after] for after in range(8)}
    assert seqs(client.get(MESSAGES, params={"after": 2**63 - 1})) == []


def test_history_behind_a_number_is_linked_by_cursors(client: httpx.Client) -> None:
    for _ in range(5):
        append(client, content="x")
    first = client.get(MESSAGES, params={"after": 1, "limit": 2})
    cursor = first.json()["nextCursor"]
    assert first.headers["link"] == f'<{MESSAGES}?limit=2&cursor={cursor}>; rel="next"'
    second = client.get(first.links["next"]["url"])
    assert (seqs(first), seqs(second), second.json()["nextCursor"]) == ([2, 3], [4, 5], None)
    both = client.get(MESSAGES, params={"after": 1, "cursor": cursor})
    assert pointers(both) == ["/query/after"]


def test_last_page_of_a_history_has_no_link_though_numbers_follow(client: httpx.Client) -> None:
    append(client, content="x")
    put(client, content="takes 2", session_id="s")
    page = client.get(MESSAGES, params={"limit": 1})
    assert (seqs(page), page.json()["nextCursor"], "link" in page.headers) == ([1], None, False)


@pytest.mark.parametrize("place", ["x", "-1", str(2**63)])
def test_history_behind_what_is_no_number_is_refused(client: httpx.Client, place: str) -> None:
    append(client, content="x")
    assert pointers(client.get(MESSAGES, params={"after": place})) == ["/query/after"]


@pytest.fixture(scope="module")
def named(service: LiveService) -> Iterator[httpx.Client]:
    """A client with sessions of many names."""
    with service.client() as client:
        for name in ("Chat-1", "chat-2", "a_b", "aXb", "CHAT:3", "x.y", "kk"):
            client.put(f"/api/sessions/{name}")
        yield client


FOUND: dict[str, set[str]] = {
    "chat": {"Chat-1", "chat-2", "CHAT:3"},
    "CHAT-": {"Chat-1", "chat-2"},
    "-2": {"chat-2"},
    "a_b": {"a_b"},
    "_": {"a_b"},
    "x": {"aXb", "x.y"},
    ".": {"x.y"},
    "%": set(),
    "a%b": set(),
    "\\": set(),
    "/": set(),
    "nothing": set(),
    "chat-1 ": set(),
    "\0": set(),
    "a\0b": set(),
    # It is lowered to the letter k.
    "\u212a": set(),
}


@pytest.mark.engines("embedded", "server")
def test_sessions_are_found_by_a_piece_of_their_name(named: httpx.Client) -> None:
    answers = {wanted: named.get("/api/sessions", params={"q": wanted}) for wanted in FOUND}
    assert {answer.status_code for answer in answers.values()} == {200}
    found = {
        wanted: {item["id"] for item in answer.json()["items"]}
        for wanted, answer in answers.items()
    }
    assert found == FOUND


def test_found_sessions_are_linked_and_end(named: httpx.Client) -> None:
    first = named.get("/api/sessions", params={"q": "chat", "limit": 2})
    second = named.get(first.links["next"]["url"])
    found = [item["id"] for page in (first, second) for item in page.json()["items"]]
    assert found == ["CHAT:3", "chat-2", "Chat-1"]
    assert second.json()["nextCursor"] is None


@pytest.mark.parametrize("wanted", ["", "x" * 129])
def test_piece_that_is_in_no_name_is_refused(named: httpx.Client, wanted: str) -> None:
    assert pointers(named.get("/api/sessions", params={"q": wanted})) == ["/query/q"]


@pytest.mark.engines("embedded", "server")
def test_sessions_of_others_are_not_found(named: httpx.Client, client: httpx.Client) -> None:
    assert client.get("/api/sessions", params={"q": "chat"}).json()["items"] == []
