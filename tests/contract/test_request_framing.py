"""Framing of bodies: trailers, chunk extensions, empty lines, and requests sent ahead."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from app.models.limits import Limits
from tests.e2e.test_resumable_upload import Process
from tests.kit.raw_http import answer_of, connected, is_last, problem, rest
from tests.kit.servers import Backends, LiveService, serving

MIB = 1 << 20
LARGE = 100 * MIB
MAX_GROWTH_BYTES = 16 * MIB
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
MAX_SENT_AHEAD = 16

ENDLESS = {
    "trailers": (b"0\r\n", b"a:\r\n"),
    "value of a trailer": (b"0\r\na: ", b"v"),
    "name of a trailer": (b"0\r\n", b"n"),
    "chunk extension": (b"1;", b"e"),
    "size of a chunk": (b"", b"0"),
    "lines of one long trailer": (b"0\r\na: ", b"v\r\n "),
}


@pytest.fixture
def service(backends: Backends, tmp_path: Path) -> Iterator[LiveService]:
    """A service with little room and time for headers that works on one request at a time."""
    limits = Limits(
        header_seconds=0.2, keep_alive_seconds=1, header_bytes=4_096, requests_at_once=1
    )
    with serving(backends.settings("embedded", tmp_path / "data", limits=limits)) as live:
        yield live


def head(*headers: str) -> bytes:
    """Return the head of an upload in chunks."""
    lines = ["POST /api/resources HTTP/1.1", "Host: a", "Transfer-Encoding: chunked", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def repeated(unit: bytes, size: int) -> bytes:
    """Return so many bytes of a unit."""
    return unit * (size // len(unit))


@contextmanager
def only_place_taken(service: LiveService, monkeypatch: pytest.MonkeyPatch) -> Iterator[bytes]:
    """Have all requests wait until the block is left; yields one that waits."""
    monkeypatch.setattr("app.http.request_context.WAIT_SECONDS", 20.0)
    key = service.new_key()
    with connected(service.port) as connection:
        connection.sendall(head(f"Authorization: Bearer {key}", "Expect: 100-continue"))
        assert connection.recv(65_536).startswith(b"HTTP/1.1 100")
        waiting = HEALTH.replace(b"/healthz", b"/api/resources").strip()
        yield waiting + f"\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
        connection.sendall(b"4\r\nfour\r\n0\r\n\r\n")
        assert answer_of(connection).startswith(b"HTTP/1.1 201")


@pytest.mark.promise(
    "security.md#the-transport",
    "Trailers are not read as headers",
    kept_by="app/server/http_protocol.py",
    tried="401 for a key in a trailer",
)
def test_trailer_is_no_header(service: LiveService) -> None:
    key = service.new_key()
    with connected(service.port) as connection:
        trailer = f"Authorization: Bearer {key}\r\n".encode()
        connection.sendall(head() + b"5\r\nhello\r\n0\r\n" + trailer + b"\r\n")
        assert problem(answer_of(connection)) == (401, "unauthorized")
        connection.sendall(HEALTH)
        assert answer_of(connection).startswith(b"HTTP/1.1 200")


def test_chunks_of_a_byte_an_extension_and_trailers_are_a_body(service: LiveService) -> None:
    key = service.new_key()
    content = bytes(range(256)) * 80
    chunks = b"".join(b"1\r\n" + content[at : at + 1] + b"\r\n" for at in range(len(content)))
    with connected(service.port) as connection:
        connection.sendall(head(f"Authorization: Bearer {key}", "Connection: close"))
        connection.sendall(chunks + b"00;a=b\r\nContent-Type: text/html\r\nX: y\r\n\r\n")
        created = rest(connection)
    assert created.startswith(b"HTTP/1.1 201")
    with service.client(key) as client:
        (item,) = client.get("/api/resources").json()["items"]
        assert client.get(f"/api/resources/{item['uri']}/content").content == content


@pytest.mark.promise(
    "security.md#the-transport",
    "Trailers, chunk extensions and chunk sizes without an end are refused, and nothing is stored",
    kept_by="app/server/http_protocol.py",
    tried="6 ways, 400",
)
@pytest.mark.parametrize("name", ENDLESS)
def test_endless_framing_of_a_body_is_refused(service: LiveService, name: str) -> None:
    begin, unit = ENDLESS[name]
    key = service.new_key()
    with connected(service.port) as connection:
        connection.sendall(head(f"Authorization: Bearer {key}") + b"4\r\nfour\r\n" + begin)
        connection.sendall(repeated(unit, MIB))
        answer = rest(connection)
    assert problem(answer) == (400, "malformed-request")
    assert is_last(answer)
    with service.client(key) as client:
        assert client.get("/api/resources").json()["items"] == []


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A service in a process of its own that has answered a request of the kind before."""
    started = Process(tmp_path_factory.mktemp("framing") / Path("data"))
    with started, connected(started.port) as connection:
        connection.sendall(head() + b"0\r\na: b\r\n\r\n")
        answer_of(connection)
        yield started


@pytest.mark.promise(
    "security.md#the-transport",
    "Trailers, chunk extensions and chunk sizes without an end take no memory, even without a key",
    kept_by="app/server/http_protocol.py",
    tried="100 MiB in each of 6 ways, at most 16 MiB more",
)
@pytest.mark.parametrize("name", ENDLESS)
def test_endless_framing_takes_no_memory(process: Process, name: str) -> None:
    begin, unit = ENDLESS[name]
    before = process.peak_bytes()
    with connected(process.port) as connection, suppress(ConnectionError):
        connection.sendall(head() + begin)
        for _ in range(LARGE // MIB):
            connection.sendall(repeated(unit, MIB))
    assert process.peak_bytes() - before <= MAX_GROWTH_BYTES


@pytest.mark.promise(
    "security.md#the-transport",
    "Headers are counted also when they arrive all at once, each as its characters plus 32 bytes",
    kept_by="app/server/http_protocol.py",
    tried="2 ways, 431",
)
@pytest.mark.parametrize(
    "headers", [b"X: " + b"a" * 4_096 + b"\r\n", b"a:\r\n" * 128], ids=["long", "many"]
)
def test_headers_that_come_all_at_once_are_counted(service: LiveService, headers: bytes) -> None:
    with connected(service.port) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n" + headers + b"\r\n")
        assert problem(rest(connection)) == (431, "headers-too-large")


@pytest.mark.promise(
    "security.md#the-transport",
    "Empty lines between requests do not keep a connection open",
    kept_by="app/server/http_protocol.py",
    tried="1 line",
)
def test_empty_lines_keep_no_connection(service: LiveService) -> None:
    with connected(service.port) as connection:
        connection.sendall(HEALTH)
        answer_of(connection)
        connection.sendall(b"\r\n")
        assert rest(connection) == b""


@pytest.mark.promise(
    "security.md#the-transport",
    "At most 16 pipelined requests wait on a connection, and all of these are answered",
    kept_by="app/server/http_protocol.py",
    tried="1,000 sent",
)
def test_few_requests_may_be_sent_ahead_and_all_of_these_are_answered(
    service: LiveService, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connected(service.port) as connection:
        with only_place_taken(service, monkeypatch) as waiting:
            connection.sendall(waiting + HEALTH * 1_000)
        told = rest(connection)
    assert told.count(b"HTTP/1.1 200 ") == told.count(b"HTTP/1.1 ") == 1 + MAX_SENT_AHEAD
    assert told.lower().count(b"connection: close") == 1


@pytest.mark.promise(
    "security.md#the-transport",
    "The deadline of a pipelined request does not cost the answer before it",
    kept_by="app/server/http_protocol.py",
    tried="200 for both",
)
def test_deadline_of_a_request_sent_ahead_does_not_cost_the_answer_before_it(
    service: LiveService, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connected(service.port) as connection:
        with only_place_taken(service, monkeypatch) as waiting:
            connection.sendall(waiting + HEALTH[:20])
            with ExitStack() as later, suppress(ConnectionResetError):
                # Begun later, and its deadline is over: so is the one before.
                other = later.enter_context(connected(service.port))
                other.sendall(HEALTH[:20])
                assert rest(other) == b""
        assert answer_of(connection).startswith(b"HTTP/1.1 200")
        connection.sendall(HEALTH[20:])
        assert answer_of(connection).startswith(b"HTTP/1.1 200")


@pytest.mark.promise(
    "security.md#the-transport",
    "The refusal of a pipelined request is not taken for the answer before it",
    kept_by="app/server/http_protocol.py",
    tried="2 requests",
)
@pytest.mark.parametrize("bad", [b"\x16\x03\x01 no\r\n\r\n", b"GET /healthz HTTP/1.1\r\n\r\n"])
def test_refusal_of_a_request_sent_ahead_is_not_the_answer_before_it(
    service: LiveService, monkeypatch: pytest.MonkeyPatch, bad: bytes
) -> None:
    with connected(service.port) as connection:
        with only_place_taken(service, monkeypatch) as waiting:
            connection.sendall(waiting + bad)
        told = rest(connection)
    assert told.startswith(b"HTTP/1.1 200")
    assert told.count(b"HTTP/1.1 ") == 1
    assert is_last(told)
