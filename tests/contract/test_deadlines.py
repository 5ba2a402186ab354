"""Slow, endless and too many requests: each ends, with an answer where somebody waits for one."""

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import httpx
import pytest

from app.models.limits import Limits
from tests.kit.process import ROOT
from tests.kit.raw_http import WAIT_SECONDS, answer_of, connected, problem, rest
from tests.kit.servers import Backends, LiveService, serving

DEPLOY = ROOT / "deploy"
IDLE_SECONDS = re.compile(r"^\s+keepalive(?:_timeout)? (\d+)s;?$", re.MULTILINE)


@pytest.fixture
def impatient(backends: Backends, tmp_path: Path) -> Iterator[LiveService]:
    """A service with short deadlines that works on one request at a time."""
    limits = Limits(
        header_seconds=0.2, header_bytes=4_096, body_idle_seconds=0.2, requests_at_once=1
    )
    with serving(backends.settings("embedded", tmp_path / "data", limits=limits)) as service:
        yield service


@pytest.fixture
def patient(backends: Backends, tmp_path: Path) -> Iterator[LiveService]:
    """A service that works on one request at a time and waits for its body."""
    limits = Limits(requests_at_once=1)
    with serving(backends.settings("embedded", tmp_path / "data", limits=limits)) as service:
        yield service


@pytest.mark.promise(
    "security.md#the-transport",
    "A connection whose headers come too slowly is ended",
    kept_by="app/server/http_protocol.py",
    tried="3 beginnings",
)
@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHos", b"GET / HTTP/1.1\r\nHost: x\r\n"])
def test_headers_that_take_too_long_end_the_connection(impatient: LiveService, sent: bytes) -> None:
    with connected(impatient.port) as connection:
        connection.sendall(sent)
        assert rest(connection) == b""


def test_later_request_of_a_connection_has_the_deadline_too(impatient: LiveService) -> None:
    with connected(impatient.port) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHos")
        assert rest(connection).count(b"HTTP/1.1 ") == 1


def test_connection_without_a_request_ends_after_the_keep_alive(
    backends: Backends, tmp_path: Path
) -> None:
    limits = Limits(keep_alive_seconds=1)
    settings = backends.settings("embedded", tmp_path / "data", limits=limits)
    with serving(settings) as service, connected(service.port) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert rest(connection).startswith(b"HTTP/1.1 200")


def test_deadline_of_headers_does_not_end_a_connection_that_was_answered_early(
    impatient: LiveService,
) -> None:
    with connected(impatient.port) as connection:
        connection.sendall(b"POST /api/resources HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n")
        assert answer_of(connection).startswith(b"HTTP/1.1 401")
        connection.sendall(b"rest")
        with connected(impatient.port) as later:
            # The deadline of this connection began later.
            assert rest(later) == b""
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert answer_of(connection).startswith(b"HTTP/1.1 200")


def test_proxies_of_the_examples_close_idle_connections_before_the_service_does() -> None:
    for example in ("nginx/pagefault.conf", "caddy/Caddyfile"):
        assert IDLE_SECONDS.findall((DEPLOY / example).read_text()) == ["60"], example
    assert Limits().keep_alive_seconds == 130


@pytest.mark.promise(
    "security.md#the-transport",
    "Headers without an end are refused",
    kept_by="app/server/http_protocol.py",
    tried="2 ways, 431",
)
@pytest.mark.parametrize(
    "headers", [b"X: " + b"a" * 10_000_000, b"X: a\r\n" * 1_000_000], ids=["long", "many"]
)
def test_endless_headers_are_refused(impatient: LiveService, headers: bytes) -> None:
    with connected(impatient.port) as connection:
        try:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n" + headers)
            answer = rest(connection)
        except ConnectionError:
            # The service has answered and closed before all was sent.
            return
    assert problem(answer) == (431, "headers-too-large")


def test_what_is_no_http_is_refused_with_a_problem(impatient: LiveService) -> None:
    with connected(impatient.port) as connection:
        connection.sendall(b"\x16\x03\x01\x02\x00 hello\r\n\r\n")
        assert problem(rest(connection)) == (400, "malformed-request")


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A body that pauses for too long is given up",
    kept_by="app/http/bodies.py",
    tried="408, 0 rows",
)
def test_body_that_pauses_is_given_up_and_leaves_nothing(impatient: LiveService) -> None:
    key = impatient.new_key()
    with connected(impatient.port) as connection:
        connection.sendall(
            b"POST /api/resources HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            b"Authorization: Bearer " + key.encode() + b"\r\nContent-Length: 100\r\n\r\npart"
        )
        assert problem(rest(connection)) == (408, "slow-body")
    with impatient.client(key) as client:
        assert client.get("/api/resources").json()["items"] == []


@contextmanager
def at_work(service: LiveService) -> Iterator[socket.socket]:
    """The one place is taken, by a request whose body of four bytes has yet to come."""
    key = service.new_key().encode()
    with connected(service.port) as connection:
        connection.sendall(
            b"POST /api/resources HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue"
            b"\r\nAuthorization: Bearer " + key + b"\r\nContent-Length: 4\r\n\r\n"
        )
        # The service asks for the body, so it is at work on this request.
        assert connection.recv(65_536).startswith(b"HTTP/1.1 100")
        yield connection


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A request beyond the limit of requests at once gets a `Retry-After`",
    kept_by="app/http/request_context.py",
    tried="503 with `Retry-After`",
)
def test_one_request_too_many_is_told_to_come_again(
    patient: LiveService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.http.request_context.WAIT_SECONDS", 0.01)
    with at_work(patient) as connection, patient.client() as client:
        refused = client.get("/api/resources")
        connection.sendall(b"four")
        assert rest(connection).startswith(b"HTTP/1.1 201")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert refused.json()["code"] == "overloaded"


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A request waits a moment for a free slot before it is refused",
    kept_by="app/http/request_context.py",
    tried="1 slot that becomes free",
)
def test_request_that_waits_gets_the_place_that_is_left(
    patient: LiveService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.http.request_context.WAIT_SECONDS", float(WAIT_SECONDS))
    key = patient.new_key()
    with at_work(patient) as connection, connected(patient.port) as waiting:
        waiting.sendall(
            b"GET /api/resources HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            b"Authorization: Bearer " + key.encode() + b"\r\n\r\n"
        )
        connection.sendall(b"four")
        assert rest(connection).startswith(b"HTTP/1.1 201")
        assert rest(waiting).startswith(b"HTTP/1.1 200")


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Health checks are answered however many requests are running",
    kept_by="app/http/request_context.py",
    tried="200",
)
def test_who_asks_for_health_needs_no_place(patient: LiveService) -> None:
    with at_work(patient):
        assert httpx.get(f"{patient.base_url}/healthz", trust_env=False).status_code == 200


@pytest.fixture
def hurried(backends: Backends, tmp_path: Path) -> Iterator[LiveService]:
    """A service that works on one request at a time, and does not wait for idle readers."""
    limits = Limits(requests_at_once=1, answer_idle_seconds=0.2)
    with serving(backends.settings("embedded", tmp_path / "data", limits=limits)) as service:
        yield service


def test_reader_that_takes_nothing_is_cut_off_and_one_that_does_gets_it_all(
    hurried: LiveService,
) -> None:
    content = bytes(range(256)) * 100_000
    key = hurried.new_key()
    with hurried.client(key) as client:
        uri = client.post("/api/resources", content=content).json()["uri"]
        path = f"/api/resources/{uri.removeprefix('blob:')}/content"
        text = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n"
        with connected(hurried.port) as connection:
            connection.sendall(text.encode())
            assert connection.recv(12) == b"HTTP/1.1 200"
            # While it is sent nobody else has a place; it is given up, and the place is free.
            while client.get(path, headers={"Range": "bytes=0-9"}).status_code == 503:
                pass
            # What was on its way may still be read; the rest is never sent.
            with contextlib.suppress(ConnectionResetError):
                assert len(rest(connection)) < len(content)
        assert client.get(path).content == content


def wait_until(is_so: Callable[[], bool]) -> None:
    """Return once something is so; meanwhile the service, another thread, has the processor."""
    until = monotonic() + WAIT_SECONDS
    nothing = threading.Event()
    while not is_so():
        assert monotonic() < until
        nothing.wait(0.002)


def send_answered(service: LiveService, connection: socket.socket, request: bytes) -> None:
    """Send a request; returns once the service has answered, without reading the answer."""
    before = service.answered
    connection.sendall(request)
    wait_until(lambda: service.answered > before)


def test_last_answer_that_nobody_takes_is_cut_off(hurried: LiveService) -> None:
    key = hurried.new_key()
    with hurried.client(key) as client:
        # Less than the service has in its own hands before it waits for a reader.
        uri = client.post("/api/resources", content=bytes(60_000)).json()["uri"]
    text = f"GET /api/resources/{uri}/content HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}"
    with connected(hurried.port) as connection:
        while not any(hurried.unsent_bytes):
            send_answered(hurried, connection, f"{text}\r\n\r\n".encode())
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        wait_until(lambda: hurried.unsent_bytes == [])
