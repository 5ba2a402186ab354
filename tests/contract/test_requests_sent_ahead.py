"""Requests behind an answer that is not over: what is kept of them, and what they hold up."""

import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import httpx
import pytest

from app.models.limits import Limits
from tests.contract.test_request_framing import HEALTH, only_place_taken
from tests.kit.raw_http import WAIT_SECONDS, answer_of, connected, is_last, rest
from tests.kit.servers import Backends, LiveService, serving

MAX_BYTES = 4_096
UNREAD_BODY = HEALTH.replace(b"\r\n\r\n", b"\r\nContent-Length: 100000\r\n\r\n")
LARGE_HEAD = HEALTH.replace(
    b"\r\n\r\n", b"\r\nX: " + bytes(1_500).replace(b"\0", b"x") + b"\r\n\r\n"
)
RESET_AT_ONCE = struct.pack("ii", 1, 0)


@pytest.fixture
def service(backends: Backends, tmp_path: Path) -> Iterator[LiveService]:
    """A service that works on one request at a time."""
    limits = Limits(requests_at_once=1)
    with serving(backends.settings("embedded", tmp_path / "data", limits=limits)) as live:
        yield live


def stream(key: str) -> bytes:
    """Return a request for an answer without an end."""
    return f"GET /api/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n\r\n".encode()


def upload(key: str, length: int) -> bytes:
    """Return a request with a body of so many bytes."""
    head = f"POST /api/resources HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n"
    return f"{head}Content-Length: {length}\r\n\r\n".encode() + b"x" * length


def open_streams(service: LiveService) -> float:
    """Return how many streams of events the service counts."""
    lines = httpx.get(f"{service.base_url}/metrics", trust_env=False).text.splitlines()
    (line,) = (line for line in lines if line.startswith("pagefault_event_streams "))
    return float(line.split()[1])


@pytest.mark.promise(
    "security.md#the-transport",
    "An event stream whose client has gone ends, whatever the client had pipelined",
    kept_by="app/server/http_protocol.py",
    tried="4 ways, closed and reset",
)
@pytest.mark.parametrize("is_reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize(
    "ahead",
    [HEALTH, HEALTH * 3, UNREAD_BODY, UNREAD_BODY + b"x" * 90_000],
    ids=["one", "three", "body to come", "body in part"],
)
def test_stream_of_a_client_that_has_gone_ends_whatever_was_sent_ahead(
    service: LiveService, monkeypatch: pytest.MonkeyPatch, ahead: bytes, *, is_reset: bool
) -> None:
    # While a request waits nothing is read, so that a client has gone is noticed by writing.
    monkeypatch.setattr("app.http.event_streams._KEEPALIVE_SECONDS", 0.01)
    key = service.new_key()
    for before in (b"", HEALTH):
        with connected(service.port) as connection:
            connection.sendall(before + stream(key) + ahead)
            assert connection.recv(12) == b"HTTP/1.1 200"
            if is_reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_ONCE)
    until = monotonic() + WAIT_SECONDS
    while open_streams(service):
        assert monotonic() < until


@pytest.mark.promise(
    "security.md#the-transport",
    "The small body of a pipelined request is read in its turn",
    kept_by="app/server/http_protocol.py",
    tried="201 after a 200",
)
@pytest.mark.parametrize("length", [8, 2_000])
def test_small_body_that_was_sent_ahead_is_read_in_its_turn(
    service: LiveService, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    key = service.new_key()
    with connected(service.port) as connection:
        with only_place_taken(service, monkeypatch) as waiting:
            connection.sendall(waiting + upload(key, length))
        assert answer_of(connection).startswith(b"HTTP/1.1 200")
        created = answer_of(connection)
    assert created.startswith(b"HTTP/1.1 201")
    assert not is_last(created)


def test_requests_that_are_sent_ahead_again_and_again_are_all_answered(
    service: LiveService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.server.http_protocol._MAX_PIPELINED_BYTES", MAX_BYTES)
    with connected(service.port) as connection:
        for _ in range(5):
            with only_place_taken(service, monkeypatch) as waiting:
                connection.sendall(waiting + LARGE_HEAD * 2)
            data = b""
            while data.count(b'{"status":"ok"}') < 2:
                data += connection.recv(65_536)
            assert data.count(b"HTTP/1.1 200 ") == 3


@pytest.mark.promise(
    "security.md#the-transport",
    (
        "Pipelined requests may hold 32 KiB together; beyond, the connection ends after the "
        "answers that are due"
    ),
    kept_by="app/server/http_protocol.py",
    tried="a body, and heads",
)
@pytest.mark.parametrize("ahead", ["body", "heads"])
def test_more_bytes_than_may_wait_end_the_connection_behind_the_answers_before(
    service: LiveService, monkeypatch: pytest.MonkeyPatch, ahead: str
) -> None:
    monkeypatch.setattr("app.server.http_protocol._MAX_PIPELINED_BYTES", MAX_BYTES)
    key = service.new_key()
    sent = upload(key, 500_000) if ahead == "body" else LARGE_HEAD * 10
    with connected(service.port) as connection:
        with only_place_taken(service, monkeypatch) as waiting:
            connection.setblocking(False)
            connection.send(waiting + sent)
            connection.settimeout(WAIT_SECONDS)
        told = rest(connection)
    assert told.count(b"HTTP/1.1 200 ") == told.count(b"HTTP/1.1 ") == (1 if ahead == "body" else 3)
    assert told.lower().count(b"connection: close") == 1
    with service.client(key) as client:
        assert client.get("/api/resources").json()["items"] == []
