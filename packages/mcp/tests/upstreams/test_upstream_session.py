"""Sessions that a server of Streamable HTTP has forgotten, and streams that are heard on."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.abc
import httpx
import pytest

from pagefault_mcp.upstreams.http_upstream import HttpUpstream
from pagefault_mcp.upstreams.upstream_messages import Refusal
from pagefault_mcp.upstreams.upstream_session import is_unknown_session

pytestmark = [pytest.mark.engines("embedded"), pytest.mark.anyio]

Json = dict[str, Any]
STREAM = {"content-type": "text/event-stream"}
URL = "http://127.0.0.1:1/mcp"
POSTED = httpx.Request("POST", URL)
LOST = "the server has forgotten the session"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def request(number: int, method: str = "tools/call") -> Json:
    return {"jsonrpc": "2.0", "id": number, "method": method}


def answer(number: int, result: object) -> Json:
    return {"jsonrpc": "2.0", "id": number, "result": result}


def refused(number: int, reason: str) -> Json:
    error = {"code": -32603, "message": f"the server answered {reason}"}
    return {"jsonrpc": "2.0", "id": number, "error": error}


READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
REVISION = {"protocolVersion": "2025-06-18"}


class Forgetful:
    """A server whose sessions are numbers, and which says in which one a request was made."""

    def __init__(self, status: int = 404, refusal: object = None, *, streams: bool = False) -> None:
        self.refusal = httpx.Response(status, json=refusal)
        self.streams = streams
        self.begun = 0
        self.known: str | None = None
        self.requests: list[tuple[str | None, str]] = []
        self.listened: list[str | None] = []
        self.is_listened_to = anyio.Event()
        self.refuses_others = False
        self.together = 1
        self.waiting = anyio.Event()

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        name = request.headers.get("mcp-session-id")
        if request.method != "POST":
            self.listened.append(name)
            if name == "2":
                self.is_listened_to.set()
            return httpx.Response(405)
        message = json.loads(request.content)
        self.requests.append((name, message["method"]))
        if message["method"] == "initialize":
            return self._begin(message["id"])
        if name != self.known:
            await self._wait_for_others()
            return httpx.Response(self.refusal.status_code, content=self.refusal.content)
        if "id" not in message:
            return httpx.Response(202)
        return httpx.Response(200, json=answer(message["id"], name))

    async def _wait_for_others(self) -> None:
        self.together -= 1
        if self.together > 0:
            await self.waiting.wait()
        self.waiting.set()

    def _begin(self, number: int) -> httpx.Response:
        if self.begun and self.refuses_others:
            return httpx.Response(503)
        self.begun += 1
        self.known = str(self.begun)
        named = {"mcp-session-id": self.known}
        message = answer(number, REVISION)
        if not self.streams:
            return httpx.Response(200, json=message, headers=named)
        notification = {"jsonrpc": "2.0", "method": "notifications/message"}
        content = b"".join(
            b"data: %s\n\n" % json.dumps(item).encode() for item in (notification, message)
        )
        return httpx.Response(200, content=content, headers={**named, **STREAM})


class Pipe:
    """A host's side."""

    def __init__(self, upstream: HttpUpstream) -> None:
        self.upstream = upstream
        self.lines = upstream.receive_pieces()

    async def say(self, *messages: object) -> None:
        for message in messages:
            await self.upstream.write(json.dumps(message).encode() + b"\n")

    async def hear(self) -> Json:
        line = b""
        while not line.endswith(b"\n"):
            line += await anext(self.lines)
        requests: Json = json.loads(line)
        return requests


@asynccontextmanager
async def before(handler: Any, warn: Callable[[str], None]) -> AsyncIterator[Pipe]:  # noqa: ANN401
    """Begin a session with a server."""
    async with httpx.AsyncClient(transport=httpx.MockTransport(handler)) as client:
        upstream = HttpUpstream(client, URL, warn, "http")
        async with upstream.lifespan():
            host = Pipe(upstream)
            await host.say(request(0, "initialize"))
            while "id" not in await host.hear():
                pass
            await host.say(READY)
            yield host


NULL = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "no such session"}}
OLDER = {"jsonrpc": "2.0", "id": "server-error", "error": {
    "code": -32600, "message": "Bad Request: No valid session ID provided"
}}  # fmt: skip


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(("status", "refusal"), [(404, None), (404, NULL), (400, OLDER)])
async def test_request_of_a_forgotten_session_is_made_in_another_one(
    status: int, refusal: object, streams: bool
) -> None:
    server = Forgetful(status, refusal, streams=streams)
    warnings: list[str] = []
    async with before(server, warnings.append) as host:
        server.known = None
        await host.say(request(1))
        assert await host.hear() == answer(1, "2")
        await host.say(request(2))
        assert await host.hear() == answer(2, "2")
    begun = [(None, "initialize"), ("1", READY["method"])]
    again = [("1", "tools/call"), (None, "initialize"), ("2", READY["method"])]
    assert server.requests == [*begun, *again, ("2", "tools/call"), ("2", "tools/call")]
    assert warnings == [f"{LOST}; another one was begun"]


async def test_requests_that_fail_together_begin_one_session() -> None:
    server = Forgetful()
    async with before(server, lambda _: None) as host:
        server.known, server.together = None, 3
        await host.say(*map(request, (1, 2, 3)))
        got = [await host.hear() for _ in range(3)]
    assert sorted(item["id"] for item in got) == [1, 2, 3]
    assert [item["result"] for item in got] == ["2"] * 3
    assert server.begun == 2


async def test_what_the_server_says_on_its_own_is_heard_in_the_other_session() -> None:
    server = Forgetful()
    async with before(server, lambda _: None) as host:
        server.known = None
        await host.say(request(1))
        assert await host.hear() == answer(1, "2")
        await server.is_listened_to.wait()
    # The last one ends the session.
    assert server.listened == ["1", "2", "2"]


async def test_requests_are_refused_together_where_no_session_is_begun() -> None:
    server = Forgetful(404, NULL)
    warnings: list[str] = []
    async with before(server, warnings.append) as host:
        server.known, server.together, server.refuses_others = None, 3, True
        await host.say(*map(request, (1, 2, 3)))
        got = sorted([await host.hear() for _ in range(3)], key=lambda item: int(item["id"]))
    assert got == [refused(number, "404: no such session") for number in (1, 2, 3)]
    assert warnings == [f"{LOST}, and begins no other one: the server answered 503"]
    assert [method for _, method in server.requests].count("initialize") == 2


@pytest.mark.parametrize(
    ("status", "error", "request_id", "is_forgotten"),
    [
        (404, None, None, True),
        (404, {"code": -32601, "message": "Method not found"}, 1, False),
        (400, {"message": "Bad Request: Server not initialized"}, None, True),
        (400, {"message": "Mcp-Session-Id header is required: missing session"}, None, True),
        (400, {"message": "Invalid session ID"}, "server-error", True),
        (400, {"message": "session 7 of the tool is not open"}, 1, False),
        (400, {"message": "session_id is unknown"}, None, True),
        (400, {"message": "Unsupported protocol version"}, None, False),
        (400, None, None, False),
        (404, {"code": -32002, "message": "there is no such page"}, 1, False),
        (404, {"code": -32600, "message": "Session not found"}, 1, True),
        (500, {"message": "Invalid session ID"}, None, False),
    ],
)
def test_refusal_says_whether_the_session_is_forgotten(
    status: int, error: object, request_id: object, is_forgotten: bool
) -> None:
    text = json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode()
    assert is_unknown_session(Refusal(httpx.Response(status, request=POSTED), text)) is is_forgotten


@pytest.mark.parametrize(
    ("kind", "is_forgotten"), [("text/plain; charset=utf-8", True), ("text/html", False)]
)
def test_refusal_that_is_a_plain_text_says_so_too(kind: str, is_forgotten: bool) -> None:
    answer = httpx.Response(400, headers={"content-type": kind}, request=POSTED)
    refusal = Refusal(answer, b"Invalid session ID\n")
    assert is_unknown_session(refusal) is is_forgotten


SAID = {"jsonrpc": "2.0", "method": "notifications/message"}


class Talkative:
    """A server whose stream of its own breaks off after each part of it."""

    def __init__(self, *parts: bytes | int) -> None:
        self.parts = list(parts)
        self.resumed: list[bytes | None] = []
        self.over = anyio.Event()

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            message = json.loads(request.content)
            if "id" not in message:
                return httpx.Response(202)
            return httpx.Response(200, json=answer(message["id"], REVISION))
        raw = {name.lower(): value for name, value in request.headers.raw}
        self.resumed.append(raw.get(b"last-event-id"))
        if not self.parts:
            self.over.set()
            return httpx.Response(405)
        part = self.parts.pop(0)
        if isinstance(part, int):
            return httpx.Response(part)
        return httpx.Response(200, content=part, headers=STREAM)


SHORTLY = b"retry: 0\n\n"


@pytest.mark.parametrize(
    ("parts", "resumed"),
    [
        ([SHORTLY + b"id: a\ndata: {}\n\n", b"id: b\n\n", b""], [None, b"a", b"b", b"b"]),
        ([SHORTLY + "id: ü\n\n".encode()], [None, "ü".encode()]),
        ([SHORTLY + b"id: a\n\n" + b"id\n\n"], [None, None]),
        ([SHORTLY + b"id: a\n\n" + b"id: \x07\n\n"], [None, None]),
        ([SHORTLY + b"id: a\n\n" + b"id: " + b"a" * 9_000 + b"\n\n"], [None, None]),
        ([SHORTLY + b"id: a\n\n", 400], [None, b"a", None]),
        ([SHORTLY, 503, b""], [None, None, None, None]),
    ],
)
async def test_stream_that_broke_off_is_heard_on_from_its_last_event(
    parts: list[bytes | int], resumed: list[bytes | None]
) -> None:
    server = Talkative(*parts)
    async with before(server, lambda _: None):
        await server.over.wait()
    assert server.resumed[: len(resumed)] == resumed
