"""Requests that are answered before their bodies have come: read, and over soon after."""

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from app.config.settings import QuotaSettings
from app.models.limits import Limits
from tests.kit.nginx import Nginx, balancing
from tests.kit.raw_http import answer_of, connected, is_last, problem, rest
from tests.kit.recorded_answers import answers
from tests.kit.servers import Backends, LiveService, serving

AT_ONCE = 20
PIECE = bytes(65_536)
GIGABYTE = 1 << 30
MIB = 1 << 20


@pytest.fixture
def service(backends: Backends, tmp_path: Path) -> Iterator[LiveService]:
    """A service that takes a few connections and bodies of 1 MiB."""
    limits = Limits(connections_at_once=AT_ONCE, body_bytes=MIB)
    settings = backends.settings("embedded", tmp_path / "data", limits=limits)
    with serving(settings) as live:
        yield live


def head(*headers: str, path: str = "/api/resources", length: int | None = GIGABYTE) -> bytes:
    """Return the head of a request with a body, by default one that is announced to be large."""
    framing = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    lines = [f"POST {path} HTTP/1.1", "Host: a", framing, *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def is_well(service: LiveService) -> bool:
    """Tell whether a new connection is taken."""
    return httpx.get(f"{service.base_url}/healthz", trust_env=False).status_code == 200


def send_for_ever(connection: socket.socket) -> None:
    """Send a gigabyte, if it is taken; raises ConnectionError when the service has gone."""
    for _ in range(GIGABYTE // len(PIECE)):
        connection.sendall(PIECE)


@pytest.mark.promise(
    "security.md#the-transport",
    "A refused body occupies no connection",
    kept_by="app/server/lingering_close.py",
    tried="twice as many as may be open",
)
def test_refused_bodies_hold_no_connection(service: LiveService) -> None:
    with contextlib.ExitStack() as open_ones:
        for _ in range(2 * AT_ONCE):
            connection = open_ones.enter_context(connected(service.port))
            connection.sendall(head())
            told = answer_of(connection)
            assert problem(told) == (401, "unauthorized")
            assert is_last(told)
            connection.sendall(b"x")
        assert is_well(service)


@pytest.mark.promise(
    "security.md#the-transport",
    "A client that continues to send a refused body is cut off after 64 KiB and a second",
    kept_by="app/server/lingering_close.py",
    tried="of a length, and in chunks",
)
@pytest.mark.parametrize("length", [GIGABYTE, None], ids=["announced", "chunked"])
def test_client_that_goes_on_sending_is_cut_off(service: LiveService, length: int | None) -> None:
    with connected(service.port) as connection:
        connection.sendall(head(length=length))
        answer_of(connection)
        with pytest.raises(ConnectionError):
            send_for_ever(connection)


def test_refused_body_ends_the_connection_though_nothing_more_comes(service: LiveService) -> None:
    with connected(service.port) as connection:
        connection.sendall(head())
        assert problem(rest(connection)) == (401, "unauthorized")


@pytest.mark.promise(
    "security.md#the-transport",
    "An answer that does not wait for a large body is the last one of its connection",
    kept_by="app/server/http_protocol.py",
    tried="6 answers",
)
@pytest.mark.parametrize(
    ("path", "header", "told"),
    [
        ("/api/nothing", "X: y", (404, "no-such-route")),
        ("/healthz", "X: y", (405, "method-not-allowed")),
        ("/api/resources", "X: y", (413, "payload-too-large")),
        ("/api/resources", "Content-Encoding: gzip", (415, "unsupported-media-type")),
        ("/api/tool-results", "Content-Type: text/plain", (415, "unsupported-media-type")),
        ("/api/resources", "Expect: 100-continue", (413, "payload-too-large")),
    ],
)
def test_every_answer_that_does_not_wait_for_a_large_body_is_the_last(
    service: LiveService, path: str, header: str, told: tuple[int, str]
) -> None:
    key = service.new_key()
    with connected(service.port) as connection:
        connection.sendall(head(f"Authorization: Bearer {key}", header, path=path))
        answer = rest(connection)
    assert problem(answer) == told
    assert is_last(answer)


def test_quota_that_is_used_up_is_told_so_too(backends: Backends, tmp_path: Path) -> None:
    settings = backends.settings("embedded", tmp_path / "data")
    quotas = QuotaSettings(requests_per_minute=1)
    with serving(settings.model_copy(update={"quotas": quotas})) as service:
        key = service.new_key()
        with service.client(key) as client:
            assert client.get("/api/resources").status_code == 200
        with connected(service.port) as connection:
            connection.sendall(head(f"Authorization: Bearer {key}"))
            answer = rest(connection)
    assert problem(answer) == (429, "quota-exceeded")
    assert is_last(answer)


def test_internal_error_is_answered_without_a_reset(backends: Backends, tmp_path: Path) -> None:
    settings = backends.settings("server", tmp_path / "data")
    assert settings.db.url
    with serving(settings) as service, connected(service.port) as connection:
        key = service.new_key()
        with psycopg.connect(settings.db.url.get_secret_value(), autocommit=True) as database:
            database.execute("DROP TABLE api_keys")
        for _ in range(3):
            connection.sendall(head(f"Authorization: Bearer {key}", length=len(PIECE)) + PIECE)
            assert problem(answer_of(connection)) == (500, "internal-error")
    # No route announces this answer.
    assert [answer.status for answer in answers().take()] == [500] * 3


@pytest.mark.promise(
    "security.md#the-transport",
    "A small body that was not read does not end the connection",
    kept_by="app/server/http_protocol.py",
    tried="3 on one connection",
)
def test_small_body_that_was_not_read_leaves_the_connection_as_it_was(
    service: LiveService,
) -> None:
    with connected(service.port) as connection:
        for _ in range(3):
            connection.sendall(head(length=2_000) + bytes(1_000))
            told = answer_of(connection)
            assert problem(told) == (401, "unauthorized")
            assert not is_last(told)
            connection.sendall(bytes(1_000))
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        assert answer_of(connection).startswith(b"HTTP/1.1 200")


def test_small_body_that_does_not_come_ends_the_connection(service: LiveService) -> None:
    with connected(service.port) as connection:
        connection.sendall(head(length=2_000))
        assert problem(answer_of(connection)) == (401, "unauthorized")
        # Ended with a reset or without.
        with contextlib.suppress(ConnectionResetError):
            assert rest(connection) == b""


@pytest.mark.promise(
    "security.md#the-transport",
    "No `100 Continue` is sent for a body that will be refused",
    kept_by="app/server/http_protocol.py",
    tried="no 100",
)
def test_nobody_is_asked_for_a_body_that_is_refused(service: LiveService) -> None:
    with connected(service.port) as connection:
        connection.sendall(head("Expect: 100-continue", length=4))
        told = rest(connection)
    assert problem(told) == (401, "unauthorized")
    assert is_last(told)


@pytest.mark.promise(
    "security.md#the-transport",
    "Nothing after a refused body is taken for a request",
    kept_by="app/server/http_protocol.py",
    tried="10 requests, 1 answer",
)
def test_nothing_behind_a_refused_body_is_answered(service: LiveService) -> None:
    more = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
    with connected(service.port) as connection:
        connection.sendall(head(length=None) + b"1\r\na\r\n")
        told = answer_of(connection)
        connection.sendall(b"0\r\n\r\n" + more * 10)
        told += rest(connection)
    assert told.count(b"HTTP/1.1 ") == 1


@pytest.mark.promise(
    "security.md#the-transport",
    "A client that sends everything before it reads still gets the refusal",
    kept_by="app/server/lingering_close.py",
    tried="64 MiB, 413",
)
@pytest.mark.parametrize("is_chunked", [False, True])
def test_client_that_sends_before_it_reads_gets_the_answer(
    service: LiveService, *, is_chunked: bool
) -> None:
    content = bytes(64 * MIB)
    pieces = (content[start : start + MIB] for start in range(0, len(content), MIB))
    with service.client() as client:
        answer = client.post("/api/resources", content=pieces if is_chunked else content)
        assert (answer.status_code, answer.json()["code"]) == (413, "payload-too-large")
        assert client.get("/api/resources").json()["items"] == []


@pytest.mark.promise(
    "security.md#the-transport",
    "The refusal of a large body passes through nginx",
    kept_by="app/server/lingering_close.py",
    tried="401 and 413, each six times",
)
@pytest.mark.parametrize("is_chunked", [False, True])
@pytest.mark.parametrize(
    ("has_key", "told"), [(False, (401, "unauthorized")), (True, (413, "payload-too-large"))]
)
def test_refusal_of_a_large_body_passes_through_nginx(
    service: LiveService,
    tmp_path: Path,
    *,
    has_key: bool,
    is_chunked: bool,
    told: tuple[int, str],
) -> None:
    here = f"127.0.0.1:{service.port}"
    content = bytes(16 * MIB)
    with (
        service.client(service.new_key() if has_key else "none") as client,
        Nginx(tmp_path, balancing(here, here)) as nginx,
    ):
        client.base_url = httpx.URL(nginx.base_url)
        for _ in range(3):
            pieces = (content[start : start + MIB] for start in range(0, len(content), MIB))
            sent = pieces if is_chunked else content
            answer = client.post("/api/resources", content=sent)
            assert (answer.status_code, answer.json()["code"]) == told


@pytest.mark.promise(
    "security.md#the-transport",
    "Connections that are ending do not count against new ones",
    kept_by="app/server/lingering_close.py",
    tried="128 more than may be open",
)
def test_connection_that_ends_makes_room_for_one_that_begins(
    service: LiveService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.server.lingering_close.LINGER_SECONDS", 3_600.0)
    monkeypatch.setattr("app.server.lingering_close.MAX_CLOSING_CONNECTIONS", 0)
    with contextlib.ExitStack() as open_ones:
        refused = [open_ones.enter_context(connected(service.port)) for _ in range(AT_ONCE)]
        for connection in refused:
            connection.sendall(head())
            answer_of(connection)
        assert is_well(service)
        with pytest.raises(ConnectionError):
            send_for_ever(refused[0])
