"""The host a request is for: one, in one place, and a host."""

from collections.abc import Iterator

import pytest

from tests.kit.raw_http import connected, is_last, problem, rest
from tests.kit.servers import Backends, LiveService, serving

UPGRADE = (
    b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)
REFUSED = [
    b"",
    b"Host: a\r\nHost: a\r\n",
    b"Host: a\r\nhOST: b\r\n",
    b"Host: a\r\nX: y\r\nHost: \r\n",
    b"Host:\r\n",
    b"Host: \r\n",
    b"Host: a, b\r\n",
    b"Host: a b\r\n",
    b"Host: a\tb\r\n",
    b"Host: a/b\r\n",
    b"Host: a@b\r\n",
    b"Host: http://a\r\n",
    b"Host: a:80:80\r\n",
    b"Host: a:x\r\n",
    b"Host: a:123456\r\n",
    b"Host: ::1\r\n",
    b"Host: [a]\r\n",
    b"Host: [::1\r\n",
    b"Host: \xff\r\n",
    b"Host: a%2eb\r\n",
]
TAKEN = [b"a", b"A.b-c_d.", b"a:80", b"a:", b"127.0.0.1:8000", b"[::1]:8000", b"[::1]", b" a \t"]


@pytest.fixture(scope="module")
def service(backends: Backends, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    with serving(backends.settings("embedded", tmp_path_factory.mktemp("hosts") / "data")) as live:
        yield live


def answer(service: LiveService, line: bytes, headers: bytes) -> bytes:
    """Return all that is said to a request, until the connection ends."""
    with connected(service.port) as connection:
        connection.sendall(line + b"\r\n" + headers + b"\r\n")
        return rest(connection)


@pytest.mark.promise(
    "security.md#the-transport",
    "A request names exactly one valid host, else it is a 400; only HTTP/1.0 may name none",
    kept_by="app/server/request_target.py",
    tried="20 ways, 400",
)
@pytest.mark.parametrize("path", [b"/healthz", b"http://a/healthz"])
@pytest.mark.parametrize("headers", REFUSED)
def test_request_without_exactly_one_host_is_refused(
    service: LiveService, path: bytes, headers: bytes
) -> None:
    told = answer(service, b"GET " + path + b" HTTP/1.1", headers + b"Connection: close\r\n")
    assert problem(told) == (400, "malformed-request")
    assert is_last(told)


@pytest.mark.promise(
    "security.md#the-transport",
    "The handshake of a WebSocket names exactly one valid host, else it is a 400",
    kept_by="app/server/request_target.py",
    tried="20 ways, 400",
)
@pytest.mark.parametrize("headers", REFUSED)
def test_handshake_without_exactly_one_host_is_refused(
    service: LiveService, headers: bytes
) -> None:
    told = answer(service, b"GET /api/sessions/s/ws HTTP/1.1", headers + UPGRADE)
    assert problem(told) == (400, "malformed-request")


@pytest.mark.parametrize("host", TAKEN)
def test_every_spelling_of_a_host_is_taken(service: LiveService, host: bytes) -> None:
    headers = b"Host: " + host + b"\r\nConnection: close\r\n"
    assert answer(service, b"GET /healthz HTTP/1.1", headers).startswith(b"HTTP/1.1 200")


def test_request_of_http_1_0_needs_no_host(service: LiveService) -> None:
    assert answer(service, b"GET /healthz HTTP/1.0", b"").startswith(b"HTTP/1.1 200")
    told = answer(service, b"GET /healthz HTTP/1.0", b"Host: a\r\nHost: a\r\n")
    assert problem(told) == (400, "malformed-request")


@pytest.mark.parametrize(
    ("target", "status"),
    [
        (b"http://a/healthz", 200),
        (b"HTTPS://A:443/healthz?x", 200),
        (b"http:///healthz", 400),
        (b"http://a@b/healthz", 400),
        (b"http://a,b/healthz", 400),
        (b"ftp://a/healthz", 400),
        (b"http:/healthz", 400),
        (b"healthz", 400),
    ],
)
def test_target_is_a_path_or_a_url(service: LiveService, target: bytes, status: int) -> None:
    told = answer(service, b"GET " + target + b" HTTP/1.1", b"Host: a\r\nConnection: close\r\n")
    assert int(told.split()[1]) == status


@pytest.mark.parametrize("target", [b"http://a", b"http://a?x"])
def test_url_without_a_path_is_that_of_the_root(service: LiveService, target: bytes) -> None:
    headers = b"Host: a\r\nConnection: close\r\n"
    asked, root = (
        answer(service, b"GET " + item + b" HTTP/1.1", headers) for item in (target, b"/")
    )
    assert asked.split()[1] == root.split()[1]
