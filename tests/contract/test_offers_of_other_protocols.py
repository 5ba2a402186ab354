"""Requests that offer another protocol: a service may go on as if they did not (RFC 9110 §7.8)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.test_request_framing import HEALTH
from tests.kit.raw_http import answer_of, connected, is_last, problem, rest
from tests.kit.servers import Backends, LiveService, serving

# As java.net.http.HttpClient sends it over plain HTTP, unless told to speak HTTP/1.1.
OFFER = (
    "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
    "HTTP2-Settings: AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA\r\n"
)
CHUNKED = b"%x\r\n%b\r\n0\r\n\r\n" % (len(HEALTH), HEALTH)


@pytest.fixture(scope="module")
def service(backends: Backends, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """A service of these tests."""
    root: Path = tmp_path_factory.mktemp("offers")
    with serving(backends.settings("embedded", root / "data")) as live:
        yield live


def upload(key: str, *headers: str) -> bytes:
    """Return the head of an upload that offers another protocol."""
    lines = ["POST /api/resources HTTP/1.1", "Host: a", f"Authorization: Bearer {key}", *headers]
    return ("\r\n".join(lines) + "\r\n" + OFFER + "\r\n").encode()


def health(*headers: str) -> bytes:
    """Return a request without a body that offers another protocol."""
    return HEALTH.replace(b"\r\n\r\n", ("\r\n" + "\r\n".join([*headers, OFFER, ""])).encode())


@pytest.mark.promise(
    "security.md#the-transport",
    (
        "A request that offers another protocol (`Upgrade: h2c`) is handled as if it did not:"
        " its body is its body, and what follows is the next request"
    ),
    kept_by="app/server/http_protocol.py",
    tried="bodies with a length and in chunks, split at each byte",
)
@pytest.mark.parametrize("piece", [1, 7, 1_000_000], ids=["bytes", "pieces", "whole"])
@pytest.mark.parametrize(
    ("header", "body"),
    [(f"Content-Length: {len(HEALTH)}", HEALTH), ("Transfer-Encoding: chunked", CHUNKED)],
    ids=["length", "chunks"],
)
def test_body_of_a_request_that_offers_another_protocol_is_its_body(
    service: LiveService, header: str, body: bytes, piece: int
) -> None:
    # What is sent as a body reads like a request.
    key = service.new_key()
    sent = upload(key, header) + body
    with connected(service.port) as connection:
        for status in (b"HTTP/1.1 201", b"HTTP/1.1 200"):
            for start in range(0, len(sent), piece):
                connection.sendall(sent[start : start + piece])
            assert answer_of(connection).startswith(status)
        connection.sendall(HEALTH)
        assert answer_of(connection).startswith(b"HTTP/1.1 200")
    with service.client(key) as client:
        (kept,) = client.get("/api/resources").json()["items"]
        assert client.get(f"/api/resources/{kept['uri']}/content").content == HEALTH


def test_requests_sent_ahead_that_offer_another_protocol_are_all_answered(
    service: LiveService,
) -> None:
    key = service.new_key()
    length = f"Content-Length: {len(HEALTH)}"
    with connected(service.port) as connection:
        connection.sendall(
            health() + upload(key, length) + HEALTH + health("Connection: close") + HEALTH
        )
        told = rest(connection)
    statuses = [part[:3] for part in told.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"201", b"200"]
    assert told.lower().count(b"connection: close") == 1


def test_head_that_offers_another_protocol_is_waited_for_without_a_body(
    service: LiveService,
) -> None:
    key = service.new_key()
    with connected(service.port) as connection:
        connection.sendall(upload(key, "Content-Length: 4", "Expect: 100-continue"))
        assert connection.recv(65_536).startswith(b"HTTP/1.1 100")
        connection.sendall(b"four")
        assert answer_of(connection).startswith(b"HTTP/1.1 201")


@pytest.mark.promise(
    "security.md#the-transport",
    "What follows CONNECT or a refused WebSocket is never read as a request",
    kept_by="app/server/http_protocol.py",
    tried="a request after the head",
)
@pytest.mark.parametrize(
    "head",
    [
        b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n",
        b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n" + OFFER.encode(),
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n",
    ],
    ids=["tunnel", "tunnel with an offer", "socket"],
)
def test_nothing_behind_a_tunnel_or_a_socket_is_a_request(
    service: LiveService, head: bytes
) -> None:
    with connected(service.port) as connection:
        connection.sendall(head + b"\r\n" + HEALTH)
        told = rest(connection)
    assert told.count(b"HTTP/1.1 ") == 1
    assert not told.startswith(b"HTTP/1.1 2")
    assert is_last(told)


@pytest.mark.parametrize("protocol", [b"websocket", b"h2c"])
def test_tunnel_or_socket_with_a_body_is_refused(service: LiveService, protocol: bytes) -> None:
    method = b"GET" if protocol == b"websocket" else b"CONNECT"
    target = b"/healthz" if protocol == b"websocket" else b"a:1"
    with connected(service.port) as connection:
        connection.sendall(
            b"%b %b HTTP/1.1\r\nHost: a:1\r\nConnection: upgrade\r\nUpgrade: %b\r\n"
            b"Content-Length: %d\r\n\r\n" % (method, target, protocol, len(HEALTH))
        )
        connection.sendall(HEALTH)
        told = rest(connection)
    assert problem(told) == (400, "malformed-request")
