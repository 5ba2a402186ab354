"""Events of a session over a WebSocket: what a client may say, and what it gets."""

import json
from collections.abc import Iterator
from contextlib import suppress
from logging import ERROR
from pathlib import Path
from socket import SHUT_WR
from typing import Any

import httpx
import pytest

from tests.contract.session_requests import append
from tests.kit.event_streams import Block, heard, ticket_of
from tests.kit.listening_sockets import closed, read_event, refusal, socket_of
from tests.kit.raw_http import connected, rest
from tests.kit.servers import Backends, LiveService, serving

pytestmark = pytest.mark.engines("embedded")

EVENTS = "/api/sessions/s/events"
ORIGIN = "https://app.example.com"
NOT_UNDERSTOOD = 1007
SERVICE_RESTART = 1012
HANDSHAKE = (
    b"GET /api/sessions/s/ws HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %b\r\n"
    b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
# Not all of them come before the answer, and behind the handshake.
EARLY_ONES = 20


@pytest.fixture(scope="module")
def open_to_some(
    backends: Backends, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    """A client of a service behind a public address, that pages of one more origin may call."""
    settings = backends.settings("embedded", tmp_path_factory.mktemp("origins") / Path("data"))
    changed = {"cors_origins": (ORIGIN,), "public_url": "https://media.example.com/below"}
    with serving(settings.model_copy(update=changed)) as service, service.client() as client:
        append(client, content="x")
        yield client


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the first word waited for as long as a test may take."""
    monkeypatch.setattr("app.routers.events._FIRST_MESSAGE_SECONDS", 3_600.0)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no word waited for."""
    monkeypatch.setattr("app.routers.events._FIRST_MESSAGE_SECONDS", 0.01)


@pytest.fixture
def filled(client: httpx.Client) -> httpx.Client:
    """A client whose session has three entries."""
    for number in range(3):
        append(client, content=f"{number}\u2028\r\n")
    return client


@pytest.mark.engines("embedded", "server")
@pytest.mark.usefixtures("patient")
def test_client_names_its_place_at_once_and_gets_the_bytes_of_the_stream(
    filled: httpx.Client,
) -> None:
    with socket_of(filled) as socket:
        socket.send('{"after":1}')
        live = [read_event(socket), read_event(socket)]
        append(filled, "t", content="offload_location")
        append(filled, content="new")
        live.append(read_event(socket))
    assert live == heard(filled, EVENTS, after=1, count=3)
    assert [block.position for block in live] == [2, 3, 4]


@pytest.mark.usefixtures("patient")
def test_client_that_names_no_place_begins_with_the_handshake(filled: httpx.Client) -> None:
    with socket_of(filled) as socket:
        append(filled, content="new")
        socket.send("{}")
        assert read_event(socket).position == 4


@pytest.mark.usefixtures("impatient")
def test_client_that_says_nothing_begins_with_the_handshake(filled: httpx.Client) -> None:
    with socket_of(filled) as socket:
        append(filled, content="new")
        assert read_event(socket).position == 4


@pytest.mark.usefixtures("patient")
def test_place_may_stand_in_the_query(filled: httpx.Client) -> None:
    with socket_of(filled, "?after=2") as socket:
        assert read_event(socket).position == 3
        socket.send('{"after":0}')
        assert [read_event(socket).position for _ in range(3)] == [1, 2, 3]


@pytest.mark.usefixtures("patient")
def test_later_word_begins_anew(filled: httpx.Client) -> None:
    with socket_of(filled) as socket:
        for after in (0, 2, 1):
            socket.send(json.dumps({"after": after}))
            places = [read_event(socket).position for _ in range(3 - after)]
            assert places == list(range(after + 1, 4))
        append(filled, content="new")
        assert read_event(socket).position == 4


@pytest.mark.engines("embedded", "server")
@pytest.mark.usefixtures("patient")
def test_place_that_is_not_kept_is_reset(filled: httpx.Client) -> None:
    with socket_of(filled) as socket:
        socket.send('{"after":99}')
        reset = b'{"reason":"position-not-kept","position":3}'
        assert read_event(socket) == Block("3", "reset", reset)
        append(filled, content="new")
        assert read_event(socket).position == 4


@pytest.mark.parametrize(
    "word",
    [
        "",
        "x",
        "[]",
        "1",
        "null",
        '{"after":-1}',
        '{"after":1.5}',
        '{"after":"1"}',
        '{"after":9223372036854775807}',
        '{"after":1,"more":1}',
        b"{}",
        b'{"after":0}',
    ],
)
def test_nonsense_ends_the_conversation(open_to_some: httpx.Client, word: str | bytes) -> None:
    with socket_of(open_to_some) as socket:
        socket.send(word)
        assert closed(socket) == NOT_UNDERSTOOD


def test_nonsense_later_ends_it_too(filled: httpx.Client) -> None:
    with socket_of(filled, "?after=2") as socket:
        assert read_event(socket).position == 3
        socket.send("x")
        assert closed(socket) == NOT_UNDERSTOOD


@pytest.mark.parametrize(
    ("query", "more", "expected"),
    [
        ("", {"Authorization": None}, (401, "unauthorized")),
        ("", {"Authorization": "Bearer x"}, (401, "unauthorized")),
        ("?ticket=x", {}, (401, "unauthorized")),
        ("", {"Origin": "https://evil.example"}, (403, "forbidden-origin")),
        ("", {"Origin": "null"}, (403, "forbidden-origin")),
        ("", {"Origin": "http://127.0.0.1:1"}, (403, "forbidden-origin")),
        ("", {"session_id": "-"}, (404, "not-found")),
        ("", {"session_id": "a" * 129}, (404, "not-found")),
        ("?after=x", {}, (422, "invalid-payload")),
        ("?aftre=1", {}, (422, "unknown-parameter")),
        ("?aftre=1&after=x", {}, (422, "unknown-parameter")),
        ("?after=-1", {}, (422, "invalid-payload")),
        ("?after=9223372036854775807", {}, (422, "invalid-payload")),
    ],
    ids=str,
)
def test_handshake_is_refused_by_a_problem(
    open_to_some: httpx.Client, query: str, more: dict[str, Any], expected: tuple[int, str]
) -> None:
    assert refusal(open_to_some, query, **more) == expected


def test_page_of_the_service_itself_may_listen(filled: httpx.Client) -> None:
    own = str(filled.base_url).rstrip("/")
    with socket_of(filled, "?after=2", Origin=own) as socket:
        assert read_event(socket).position == 3


@pytest.mark.parametrize("origin", [ORIGIN, "https://media.example.com"])
def test_page_of_an_origin_that_is_named_may_listen(
    open_to_some: httpx.Client, origin: str
) -> None:
    with socket_of(open_to_some, "?after=0", Origin=origin) as socket:
        assert read_event(socket).position == 1


@pytest.mark.promise(
    "security.md#calls-from-a-browser",
    "A page of another origin opens no WebSocket",
    kept_by="app/http/browser_guard.py",
    tried="6 origins",
)
@pytest.mark.parametrize(
    "origin",
    [
        "https://app.example.com.evil.example",
        "https://evil.example",
        "http://app.example.com",
        "https://app.example.com:8443",
        "https://APP.example.com",
        "https://example.com",
    ],
)
def test_page_of_any_other_origin_may_not(open_to_some: httpx.Client, origin: str) -> None:
    assert refusal(open_to_some, Origin=origin) == (403, "forbidden-origin")


@pytest.mark.engines("embedded", "server")
def test_ticket_opens_a_socket(filled: httpx.Client) -> None:
    query = f"?after=2&ticket={ticket_of(filled)}"
    with socket_of(filled, query, Authorization=None) as socket:
        assert read_event(socket).position == 3


@pytest.mark.engines("embedded", "server")
def test_foreign_session_is_as_silent_as_an_absent_one(
    filled: httpx.Client, service: LiveService
) -> None:
    with service.client() as stranger:
        first = []
        for session_id in ("s", "absent"):
            with socket_of(stranger, "?after=0", session_id=session_id) as socket:
                append(filled, content="theirs")
                append(stranger, session_id, content="own")
                first.append(read_event(socket))
    assert [block.told["message"]["content"] for block in first] == ["own", "own"]
    assert [block.position for block in first] == [1, 1]


@pytest.mark.promise(
    "security.md#the-transport",
    "Frames before the answer to a WebSocket handshake end the socket without a traceback",
    kept_by="app/server/lingering_close.py",
    tried="6 ways, 20 times each",
)
@pytest.mark.parametrize(
    "early",
    [b"\x81\x80", b"\x00\x00\xff\xff", HEALTH, b"\x88\x80abcd", b"\x89\x80abcd", b"\x81\x82abcd{}"],
    ids=["no mask", "no message", "request", "close", "ping", "word"],
)
def test_frames_before_the_answer_to_the_handshake_leave_nothing_in_the_log(
    service: LiveService, caplog: pytest.LogCaptureFixture, early: bytes
) -> None:
    handshake = HANDSHAKE % service.new_key().encode()
    for _ in range(EARLY_ONES):
        with connected(service.port) as connection, suppress(ConnectionError):
            connection.sendall(handshake)
            connection.sendall(early * 4)
            connection.shutdown(SHUT_WR)
            rest(connection)
    assert [record.getMessage() for record in caplog.records if record.levelno >= ERROR] == []


@pytest.mark.engines("embedded", "server")
def test_socket_of_a_service_that_stops_is_told_to_come_back(
    backends: Backends, tmp_path: Path
) -> None:
    settings = backends.settings("embedded", tmp_path / "data")
    with (
        serving(settings) as service,
        service.client() as client,
        socket_of(client, "?after=0") as socket,
    ):
        append(client, content="x")
        assert read_event(socket).position == 1
        service.stop()
        assert closed(socket) == SERVICE_RESTART
