"""A server at an address that answers oddly, or a host that says odd things: one message fails."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import httpx
import pytest

from pagefault_mcp.upstreams.http_upstream import HttpUpstream, Transport
from pagefault_mcp.upstreams.server_sent_events import read_events
from pagefault_mcp.upstreams.upstream_messages import parse_sent_line

pytestmark = [pytest.mark.engines("embedded"), pytest.mark.anyio]

MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
PING = b'{"jsonrpc":"2.0","id":9,"method":"ping"}\n'
PONG = {"jsonrpc": "2.0", "id": 9, "result": {}}
DEEP = b"[" * 100_000

Handler = Callable[[httpx.Request], httpx.Response]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def line(message: object) -> bytes:
    return json.dumps(message).encode() + b"\n"


def answering(answer: bytes, *, status: int = 200) -> Handler:
    """A server that answers a ping, and everything else with the same bytes."""

    def answered(request: httpx.Request) -> httpx.Response:
        if request.method != "POST":
            return httpx.Response(405)
        if b'"ping"' in request.content:
            return httpx.Response(200, json=PONG)
        return httpx.Response(status, content=answer, headers={"content-type": "application/json"})

    return answered


async def exchange(
    handler: Handler,
    *lines: bytes,
    transport: Transport = "http",
    warn: Callable[[str], None] = lambda _: None,
    url: str = "http://127.0.0.1:1/mcp",
) -> list[Any]:
    """Return the answers to lines of a host, and to a ping after them."""
    got = b""
    async with httpx.AsyncClient(transport=httpx.MockTransport(handler)) as client:
        upstream = HttpUpstream(client, url, warn, transport)

        async def receive() -> None:
            nonlocal got
            got = b"".join([item async for item in upstream.receive_pieces()])

        async with anyio.create_task_group() as group:
            group.start_soon(receive)
            async with upstream.lifespan():
                for item in [*lines, PING]:
                    await upstream.write(item)
    # An empty line is no message, and a host may stop at one.
    return [json.loads(word) for word in got.split(b"\n")[:-1]]


@pytest.mark.parametrize(
    "sent",
    [
        line({"jsonrpc": "2.0", "method": "notifications/€", "params": MODERN}),
        line({"jsonrpc": "2.0", "method": "notifications/a\nb", "params": MODERN}),
    ],
)
async def test_message_that_no_header_can_hold_fails_alone(sent: bytes) -> None:
    assert await exchange(answering(b"", status=202), sent) == [PONG]


def failed(message: str, request_id: object = 1) -> object:
    """Return the error for a request without an answer."""
    error = {"code": -32603, "message": message}
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


def called(**arguments: object) -> bytes:
    """A call of the tool whose arguments are repeated in headers."""
    params = {**MODERN, "name": "a", "arguments": arguments}
    return line({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})


LISTED = {"jsonrpc": "2.0", "id": 0, "result": {"tools": [{"name": "a", "inputSchema": {
    "properties": {"b": {"x-mcp-header": "B"}, "c": {"x-mcp-header": "c c\r\n"}}
}}]}}  # fmt: skip


def listing(request: httpx.Request) -> httpx.Response:
    """A server that lists a tool, and answers each call with the headers that repeat arguments."""
    if b'"tools/list"' in request.content:
        return httpx.Response(200, json=LISTED)
    if b'"tools/call"' in request.content:
        sent = {name: value for name, value in request.headers.items() if "param" in name}
        return httpx.Response(200, json={"jsonrpc": "2.0", "id": 1, "result": sent})
    return answering(b"", status=202)(request)


HALF = failed("a message is not sent: no header can repeat half of a surrogate pair")


@pytest.mark.parametrize(
    "message",
    [
        {"method": "resources/read", "params": {**MODERN, "uri": "\ud800"}},
        {"method": "prompts/get", "params": {**MODERN, "name": "a\udfff"}},
        {"method": "\ud800", "params": MODERN},
    ],
)
async def test_request_with_half_a_surrogate_pair_fails_alone(message: dict[str, object]) -> None:
    sent = line({"jsonrpc": "2.0", "id": 1, **message})
    assert await exchange(answering(b"", status=202), sent) == [HALF, PONG]


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"b": "\ud800"}, HALF),
        ({"b": "x", "c": "y"}, {"jsonrpc": "2.0", "id": 1, "result": {"mcp-param-b": "x"}}),
    ],
)
async def test_argument_that_no_header_can_repeat_fails_alone(
    arguments: dict[str, object], answer: object
) -> None:
    listed = line({"jsonrpc": "2.0", "id": 0, "method": "tools/list"})
    got = await exchange(listing, listed, called(**arguments))
    assert sorted(map(str, got)) == sorted(map(str, [LISTED, answer, PONG]))


NO_ANSWER = failed("what the server answered with is no answer")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"<html>", NO_ANSWER),
        (b"", NO_ANSWER),
        (b"{}", NO_ANSWER),
        (b"[]", NO_ANSWER),
        (b'{"jsonrpc":"2.0","id":1,"result":{"a"', NO_ANSWER),
        (b'{"jsonrpc":"2.0","id":2,"result":{}}', NO_ANSWER),
        (b'{"jsonrpc":"2.0","id":1,"result":"\xff"}', failed("the server's answer is not UTF-8")),
    ],
)
async def test_text_that_is_no_answer_fails_alone(answer: bytes, expected: object) -> None:
    got = await exchange(answering(answer), called())
    assert sorted(map(str, got)) == sorted(map(str, [expected, PONG]))


def odd(status: int = 200, content: bytes | AsyncIterator[bytes] = b"", **headers: str) -> Handler:
    """A server that answers a call with that, and a ping as usual."""

    def answered(request: httpx.Request) -> httpx.Response:
        if b'"tools/call"' not in request.content:
            return answering(b"", status=202)(request)
        named = [
            (name.replace("_", "-").encode(), header.encode()) for name, header in headers.items()
        ]
        return httpx.Response(status, content=content, headers=named)

    return answered


async def broken_off() -> AsyncIterator[bytes]:
    """Begin an answer, and end in the middle of it."""
    yield b'{"jsonrpc":"2.0","id":1,"resu'
    raise httpx.ReadError("")


STREAM = "text/event-stream"
PACKED = b"it is not packed"
KEPT_OPEN = b"event: ping\ndata: {}\n\n"
EVENTS = b'data: <html>\n\ndata: \xff\n\ndata: {"jsonrpc":"2.0",\ndata: "id":1,"result":{}}\n\n'


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        (odd(content=b"<html>", content_type="text/html"), "the server answered with text/html"),
        (odd(), "the server answered with nothing"),
        (odd(202), "the server's answer ended too early"),
        (odd(content=b"data\n\n", content_type=STREAM), "the server's answer ended too early"),
        (odd(307, location="/b?key=s3cret"), "for is at another address on 127.0.0.1"),
        (odd(307, location="https://s3cret@other.test/s3cret"), "another address on other.test"),
        (odd(500, b"[" * 100_000), "the server answered 500"),
        (odd(503, b"\r\n away\xff\n", content_type="text/plain; a=b"), "answered 503: away\ufffd"),
        (odd(400, b'{"id":1,"error":7}'), "the server answered 400"),
        (odd(400, b'{"error":{"message":"a\\u001b\\nb"}}'), "the server answered 400: a  b"),
        (odd(400, b'{"error":{"message":{}},"id":1e999}'), "the server answered 400"),
        (
            odd(content=PACKED, content_type="application/json", content_encoding="gzip"),
            "the server cannot be reached",
        ),
        (odd(302, location="http://[\u20ac"), "the server cannot be reached"),
        (odd(content=broken_off(), content_type="application/json"), "cannot be reached"),
    ],
)
async def test_odd_answer_is_an_error_of_its_request(handler: Handler, expected: str) -> None:
    got = {str(item["id"]): item for item in await exchange(handler, called())}
    assert got["9"] == PONG
    assert expected in got["1"]["error"]["message"]
    assert "s3cret" not in str(got)
    assert len(got) == 2


async def test_every_request_of_a_batch_that_is_refused_is_answered() -> None:
    refusal = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32600, "message": "no batches"}}
    batch = [{"jsonrpc": "2.0", "id": number, "method": "tools/call"} for number in (1, 2)]
    got = await exchange(answering(json.dumps(refusal).encode(), status=400), line(batch))
    other = {"code": -32603, "message": "the server answered 400: no batches"}
    assert sorted(got, key=lambda item: int(item["id"])) == [
        refusal,
        {"jsonrpc": "2.0", "id": 2, "error": other},
        PONG,
    ]


async def test_event_that_is_no_message_is_reported_and_not_forwarded() -> None:
    warnings: list[str] = []
    handler = odd(content=KEPT_OPEN + EVENTS, content_type=STREAM)
    got = await exchange(handler, called(), warn=warnings.append)
    answer = {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert sorted(map(str, got)) == sorted(map(str, [answer, PONG]))
    assert warnings == ["the server said something that is no message"] * 2


LONG = {"jsonrpc": "2.0", "id": 1, "result": "x" * 20_000_000}
CANCEL = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
ANSWERS = [
    odd(content=line(LONG), content_type="application/json"),
    odd(content=b"data: %s\n\n" % line(LONG), content_type=STREAM),
]


@pytest.mark.parametrize("handler", ANSWERS)
@pytest.mark.parametrize("last", [[], [line(CANCEL)]])
async def test_answer_that_is_on_its_way_is_not_cut(handler: Handler, last: list[bytes]) -> None:
    async with httpx.AsyncClient(transport=httpx.MockTransport(handler)) as client:
        upstream = HttpUpstream(client, "http://127.0.0.1:1/mcp", lambda _: None, "http")
        pieces = upstream.receive_pieces()
        got: list[bytes] = []

        async def receive() -> None:
            got.extend([piece async for piece in pieces])

        async with anyio.create_task_group() as group, upstream.lifespan():
            await upstream.write(called())
            got.append(await anext(pieces))
            # The next pieces fill all room, and more of them wait.
            await anyio.wait_all_tasks_blocked()
            for item in last:
                await upstream.write(item)
            group.start_soon(receive)
    [whole] = b"".join(got).splitlines()
    assert json.loads(whole) == LONG


@pytest.mark.parametrize(
    ("header", "value"),
    [("mcp-session-id", "\u20ac"), ("mcp-session-id", ""), ("set-cookie", "a=\u20ac")],
)
async def test_header_that_cannot_be_sent_back_is_not(header: str, value: str) -> None:
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "1\r\n"}}

    def begin(request: httpx.Request) -> httpx.Response:
        response = answering(line(answer))(request)
        response.headers = httpx.Headers([*response.headers.raw, (header.encode(), value.encode())])
        return response

    request_line = line({"jsonrpc": "2.0", "id": 1, "method": "initialize"})
    assert await exchange(begin, request_line) == [answer, PONG]


@pytest.mark.parametrize("transport", ["http", "sse", "auto"])
async def test_address_that_is_none_is_an_error_of_each_request(transport: Transport) -> None:
    got = await exchange(answering(b""), transport=transport, url="http://h/\x7f")
    assert [item["error"]["code"] for item in got] == [-32603]


@pytest.mark.parametrize("transport", ["http", "sse", "auto"])
@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        (
            "http://127.0.0.1:1/mcp",
            "the server asks for credentials: give them, as in --header 'Authorization: Bearer …'",
        ),
        (
            "http://name:word@127.0.0.1:1/mcp",
            "the server refuses the credentials that it is given as Authorization",
        ),
    ],
)
async def test_server_that_wants_a_login_is_told_of_once(
    transport: Transport, url: str, sentence: str
) -> None:
    warnings: list[str] = []

    def refuse(_: httpx.Request) -> httpx.Response:
        return httpx.Response(401)

    got = await exchange(refuse, called(), transport=transport, warn=warnings.append, url=url)
    refusals = [failed("the server answered 401", number) for number in (1, 9)]
    assert sorted(map(str, got)) == sorted(map(str, refusals))
    assert [warning for warning in warnings if "credentials" in warning] == [sentence]


async def test_truth_is_no_id_of_a_request() -> None:
    assert parse_sent_line(
        line([{"method": "a", "id": True}, {"method": "a", "id": "b"}])
    ).waiting == {"b"}


@pytest.mark.parametrize(
    "answer",
    [
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no", "data": {"result": 1}}},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"title": "It has no name."}]}},
    ],
)
async def test_odd_list_of_tools_is_passed_on(answer: object) -> None:
    request = line({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert await exchange(answering(line(answer)), request) == [answer, PONG]


async def test_revision_that_is_a_number_is_passed_on() -> None:
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": 5}}
    request = line({"jsonrpc": "2.0", "id": 1, "method": "initialize"})
    assert await exchange(answering(line(answer)), request) == [answer, PONG]


async def test_deep_refusal_is_an_error_of_its_request() -> None:
    request = line({"jsonrpc": "2.0", "id": 1, "method": "tools/call"})
    got = await exchange(answering(DEEP, status=400), request)
    assert sorted(str(item["id"]) for item in got if isinstance(item, dict)) == ["1", "9"]


async def test_deep_line_of_the_host_ends_nothing() -> None:
    assert await exchange(answering(b"", status=202), DEEP + b"\n") == [PONG]


async def test_server_that_names_no_address_is_no_server_of_2024() -> None:
    def opened(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            text = b"event: endpoint\ndata: /m?\x7f\n\n"
            return httpx.Response(200, content=text, headers={"content-type": "text/event-stream"})
        return answering(b"{}")(request)

    assert await exchange(opened, transport="sse") == [PONG]


async def test_digit_that_is_no_number_is_no_time_to_wait() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield "retry: ²\nid: 1\ndata: {}\n\n".encode()

    [event] = [item async for item in read_events(pieces())]
    assert (event.retry_seconds, event.event_id) == (None, "1")
