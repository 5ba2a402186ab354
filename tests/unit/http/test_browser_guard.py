"""Which `Host`, `Origin` and `Sec-Fetch-Site` are answered, whatever the server passes on."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from app.http.browser_guard import BrowserGuard

HOSTS = ("media.example.com", "media.example.com:443", "pf.internal:9000", "box")
OWN = "https://media.example.com"
NAMED = "https://app.example.com"
ANSWERED = [
    "localhost",
    "localhost:8000",
    "LocalHost:8000",
    "localhost.:8000",
    "localhost:",
    "localhost:65535",
    "viewer.localhost:8000",
    "a.b_c.3000.localhost",
    "3000.localhost:80",
    "127.0.0.1",
    "127.0.0.1:8000",
    "127.255.255.254:1",
    "[::1]",
    "[::1]:8000",
    "[0:0:0:0:0:0:0:1]:8000",
    " localhost:8000\t",
    "media.example.com",
    "MEDIA.example.com:443",
    "pf.internal:9000",
    "box",
    "box:1234",
    "box.:1234",
]
FOREIGN = [
    "",
    " ",
    ":8000",
    ".",
    ".localhost",
    "a..localhost",
    "localhost..",
    "evil.example",
    "evil.example:8000",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "127.0.0.1.nip.io:8000",
    "evil.example.localhost.evil.example",
    "xlocalhost",
    "localhost:8000:8000",
    "localhost:x",
    "localhost:-1",
    "localhost:8 0",
    "local host",
    "localhost:123456",
    "localhost,evil.example",
    "localhost, localhost",
    "evil.example@localhost",
    "evil.example/localhost",
    "evil.example#.localhost",
    "evil.example%00.localhost",
    "localhost\x00",
    "l\u00f6calhost",
    "0.0.0.0",  # noqa: S104 - to be refused
    "0.0.0.0:8000",
    "[::]:8000",
    "0",
    "127.1",
    "127.0.0.1.",
    "127.0.0.01",
    "0177.0.0.1",
    "0x7f.0.0.1",
    "0x7f000001",
    "2130706433",
    "2130706433:8000",
    "128.0.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "::1",
    "::1:8000",
    "[::1",
    "[::1]8000",
    "[::1]:x",
    "[::1%lo]:8000",
    "[::ffff:127.0.0.1]:8000",
    "[::2]",
    "[localhost]",
    "pf.internal",
    "pf.internal:9001",
    "other.media.example.com",
    "media.example.com.evil.example",
    "box.evil.example",
    "a" * 10_000 + ".localhost",
]

ANSWERS_HANDSHAKES: dict[str, object] = {"websocket.http.response": {}}
Headers = Sequence[tuple[str, str]]


async def asked(guard: BrowserGuard, scope: Scope) -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError("nothing of the request is read")

    await guard(scope, receive, send)
    return sent


async def accepting(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "accepted"})


def outcome(
    headers: Headers,
    *,
    kind: str = "http",
    method: str = "GET",
    scheme: str = "http",
    **changed: object,
) -> int:
    """The status that is answered before the application, or 0 if it is asked."""
    options: dict[str, Any] = {
        "needs_no_key": True,
        "hosts": HOSTS,
        "own_origins": [OWN],
        "allowed_origins": [NAMED],
        **changed,
    }
    raw = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers]
    scope: Scope = {"type": kind, "scheme": scheme, "path": "/a", "headers": raw, "state": {}}
    scope.update({"method": method} if kind == "http" else {"extensions": ANSWERS_HANDSHAKES})
    sent = asyncio.run(asked(BrowserGuard(accepting, **options), scope))
    if sent == [{"type": "accepted"}]:
        return 0
    start, body = sent
    assert dict(start["headers"])[b"content-type"] == b"application/problem+json"
    assert json.loads(body["body"])["status"] == start["status"]
    return int(start["status"])


OPEN: dict[str, Any] = {"method": "POST", "hosts": ()}
KEYED: dict[str, Any] = {"method": "POST", "hosts": None, "needs_no_key": False}


def sent_by(origin: str | None, site: str | None = None, host: str = "localhost:8000") -> Headers:
    given = {"host": host, "origin": origin, "sec-fetch-site": site}
    return [(name, value) for name, value in given.items() if value is not None]


@pytest.mark.parametrize("host", ANSWERED)
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_name_of_loopback_and_listed_name_is_answered(host: str, kind: str) -> None:
    assert outcome([("host", host)], kind=kind) == 0


@pytest.mark.promise(
    "security.md#calls-from-a-browser",
    "Each spelling of `Host` is either recognised as loopback or refused",
    kept_by="app/http/browser_guard.py",
    tried="22 spellings answered, 58 refused",
)
@pytest.mark.parametrize("host", FOREIGN, ids=lambda host: ascii(host[:40]))
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_any_other_host_is_misdirected(host: str, kind: str) -> None:
    assert outcome([("host", host)], kind=kind) == 421


@pytest.mark.promise(
    "security.md#calls-from-a-browser",
    (
        "Several `Host` headers, or none, are a 421 where the server lets them pass (HTTP/1.0"
        " without `Host`, other servers than `pagefault serve`)"
    ),
    kept_by="app/http/browser_guard.py",
    tried="4 ways",
)
@pytest.mark.parametrize(
    "hosts", [[], ["localhost", "localhost"], ["localhost", "evil.example"], ["a", "localhost"]]
)
def test_several_hosts_or_none_are_misdirected(hosts: list[str]) -> None:
    assert outcome([("host", host) for host in hosts]) == 421


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST", "DELETE", "TRACE", "x"])
def test_host_is_judged_for_every_method(method: str) -> None:
    assert outcome([("host", "evil.example")], method=method) == 421


@pytest.mark.parametrize("host", [*ANSWERED, *FOREIGN], ids=lambda host: ascii(host[:40]))
def test_host_is_not_judged_where_a_key_is_asked_for(host: str) -> None:
    assert outcome([("host", host)], hosts=None, needs_no_key=False) == 0


@pytest.mark.promise(
    "security.md#calls-from-a-browser",
    "Pages of the service itself, pages of a listed origin and programs may write",
    kept_by="app/http/browser_guard.py",
    tried="13 sets of headers in 3 modes",
)
@pytest.mark.parametrize(
    "headers",
    [
        sent_by(None),
        sent_by(None, "none"),
        sent_by(None, "same-origin"),
        sent_by("http://localhost:8000"),
        sent_by("http://localhost:8000", "same-origin"),
        sent_by("http://localhost:8000", host="LOCALHOST:8000"),
        sent_by("http://localhost", host="localhost"),
        sent_by("http://localhost", host="localhost:80"),
        sent_by("http://[::1]:8000", host="[::1]:8000"),
        sent_by(OWN, host="localhost:8000"),
        sent_by(NAMED),
        sent_by(NAMED, "cross-site"),
        sent_by(NAMED, "same-site"),
    ],
    ids=str,
)
@pytest.mark.parametrize("given", [OPEN, KEYED, {**OPEN, "kind": "websocket", "scheme": "ws"}])
def test_own_and_named_pages_and_programs_may_write(
    headers: Headers, given: dict[str, Any]
) -> None:
    assert outcome(headers, **given) == 0


FOREIGN_PAGES = [
    sent_by(None, "cross-site"),
    sent_by(None, "same-site"),
    sent_by("null"),
    sent_by("null", "cross-site"),
    sent_by(""),
    sent_by("https://evil.example"),
    sent_by("https://evil.example", "cross-site"),
    sent_by("http://localhost:3000", "same-site"),
    sent_by("http://localhost:3000"),
    sent_by("http://localhost"),
    sent_by("http://127.0.0.1:8000"),
    sent_by("http://localhost:8000", "cross-site"),
    sent_by(OWN, "cross-site"),
    sent_by("http://media.example.com"),
    sent_by("https://media.example.com:8443"),
    sent_by("https://APP.example.com"),
    sent_by("http://app.example.com"),
    sent_by("https://app.example.com.evil.example"),
    sent_by("https://app.example.com/"),
    sent_by("http://localhost:8000.evil.example"),
    sent_by("chrome-extension://localhost:8000"),
    sent_by("localhost:8000"),
    [*sent_by("http://localhost:8000"), ("origin", "https://evil.example")],
    [*sent_by(NAMED), ("origin", NAMED)],
    [*sent_by("http://localhost:8000", "same-origin"), ("sec-fetch-site", "cross-site")],
]


@pytest.mark.parametrize("headers", FOREIGN_PAGES, ids=str)
@pytest.mark.parametrize("given", [OPEN, KEYED, {**OPEN, "kind": "websocket", "scheme": "ws"}])
def test_pages_of_other_origins_may_not(headers: Headers, given: dict[str, Any]) -> None:
    assert outcome(headers, **given) == 403


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "x", "get"])
def test_every_method_but_those_that_read_is_a_write(method: str) -> None:
    assert outcome(FOREIGN_PAGES[5], **{**OPEN, "method": method}) == 403


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
@pytest.mark.parametrize("headers", FOREIGN_PAGES, ids=str)
def test_reading_is_left_to_the_browser(headers: Headers, method: str) -> None:
    assert outcome(headers, **{**OPEN, "method": method}) == 0


def test_scheme_is_part_of_the_origin_without_a_proxy() -> None:
    assert outcome(sent_by("https://localhost:8000"), **OPEN) == 403
    assert outcome(sent_by("https://localhost:8000"), scheme="https", **OPEN) == 0


@pytest.mark.parametrize(
    "headers",
    [
        sent_by("https://any.example", host="any.example"),
        sent_by("https://any.example", host="any.example:443"),
        sent_by("https://any.example:8443", host="any.example:8443"),
        # A proxy that says another name than the browser did, or leaves the port out.
        sent_by("https://any.example", "same-origin", host="upstream"),
        sent_by("https://any.example:8443", "same-origin", host="any.example"),
    ],
    ids=str,
)
def test_proxy_may_take_tls_off_and_change_the_host_where_keys_are_asked_for(
    headers: Headers,
) -> None:
    assert outcome(headers, **KEYED) == 0
    assert outcome(headers, **OPEN) != 0


def test_socket_of_a_server_that_cannot_answer_it_is_closed() -> None:
    guard = BrowserGuard(accepting, needs_no_key=True, hosts=(), own_origins=(), allowed_origins=())
    scope: Scope = {"type": "websocket", "scheme": "ws", "path": "/a", "headers": []}
    sent = asyncio.run(asked(guard, scope))
    assert sent == [{"type": "websocket.close", "code": 1008, "reason": ""}]
