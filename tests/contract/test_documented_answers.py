"""Every kind of answer is compared with the document, and a fault names its place."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from tests.kit.documented_answers import all_faults
from tests.kit.process import PagefaultProcess
from tests.kit.recorded_answers import MAX_ANSWERS, AnswerLog, answers
from tests.kit.servers import with_a_database

HEALTH = {"status": "ok"}
JSON = "application/json"
RESET = {"reason": "position-not-kept", "position": 3}
PAGE = "/api/pages/p"


def sse(event: str, data: object) -> bytes:
    return f"event: {event}\ndata: {json.dumps(data)}\nid: 3\n\n".encode()


def frame(event: str, data: object) -> Message:
    text = json.dumps({"event": event, "id": 3, "data": data})
    return {"type": "websocket.send", "text": text}


def faults(
    path: str,
    *bodies: object,
    status: int = 200,
    kind: str = JSON,
    method: str = "GET",
    headers: dict[str, str] | None = None,
) -> list[str]:
    """The faults of one answer, sent in these pieces."""
    pieces = [item if isinstance(item, bytes) else json.dumps(item).encode() for item in bodies]
    named = {"content-type": kind, **(headers or {})}
    start: Message = {
        "type": "http.response.start",
        "status": status,
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
    }
    body = [{"type": "http.response.body", "body": piece, "more_body": True} for piece in pieces]
    end = {"type": "http.response.body", "body": b""}
    return faults_of({"type": "http", "method": method, "path": path}, start, *body, end)


def faults_of(scope: dict[str, Any], *messages: Message, log: AnswerLog | None = None) -> list[str]:
    """The faults of these messages of an application."""
    log = log or AnswerLog()

    async def answer(_: Scope, __: Receive, send: Send) -> None:
        for message in messages:
            await send(message)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(_: Message) -> None:
        pass

    anyio.run(log.recording(answer), {"headers": [], **scope}, receive, send)
    return all_faults(log.take())


def test_what_is_sent_to_a_client_that_has_left_is_no_answer() -> None:
    log = AnswerLog()

    async def answer(_: Scope, receive: Receive, send: Send) -> None:
        assert (await receive())["type"] == "http.disconnect"
        await send({"type": "http.response.start", "status": 400, "headers": []})
        await send({"type": "http.response.body", "body": b"nothing documented"})

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(_: Message) -> None:
        pass

    scope = {"type": "http", "method": "GET", "path": "/healthz", "headers": []}
    anyio.run(log.recording(answer), scope, receive, send)
    assert [*log.take()] == []


def test_answers_as_documented_have_no_faults() -> None:
    assert faults("/healthz", HEALTH) == []
    assert faults("/api/resources/r/content", b"<p>", kind="video/mp4") == []
    beginning = b"id: 2\nretry: 1000\n\n: ping\n\n"
    assert faults("/api/events", beginning, sse("reset", RESET), kind="text/event-stream") == []
    assert (
        faults("/docs/x", b"<p>", kind="text/html", headers={"content-security-policy": ""}) == []
    )


@pytest.mark.parametrize(
    ("find", "expected"),
    [
        (
            partial(faults, "/healthz", {**HEALTH, "load": 1}),
            "GET /healthz 200: `` Additional properties are not allowed ('load' was unexpected)",
        ),
        (partial(faults, "/healthz", {}), 'GET /healthz 200: `` "status" is a required property'),
        (
            partial(faults, "/healthz", HEALTH, kind="text/plain"),
            "GET /healthz 200: the media type is text/plain, and documented are application/json",
        ),
        (
            partial(faults, "/healthz", HEALTH, status=202),
            "GET /healthz 202: the document has no 202, only 200, 421",
        ),
        (
            partial(faults, "/api/aliases/a", HEALTH, status=204, method="DELETE"),
            "DELETE /api/aliases/{alias} 204: a body of application/json, where none is documented",
        ),
        (
            partial(faults, "/healthz", HEALTH, method="PUT"),
            "PUT /healthz 200: the document has no PUT of this path",
        ),
        (
            partial(faults, "/api/nothing", HEALTH),
            "GET /api/nothing 200: the document has no such path",
        ),
        (
            partial(
                faults, "/healthz", {}, status=405, method="PUT", headers={"allow": "GET, HEAD"}
            ),
            "PUT /healthz 405: `Allow` says GET, HEAD, the document GET",
        ),
        (
            partial(faults, "/docs/errors", b"<p>", kind="text/html; charset=utf-8"),
            "GET /docs/errors 200: a page (text/html) without a Content-Security-Policy",
        ),
        (
            partial(
                faults,
                "/api/events",
                sse("reset", {**RESET, "position": "3"}),
                kind="text/event-stream",
            ),
            'EVENT /api/events 200: `/data/position` "3" is not of type "integer"',
        ),
        (
            partial(
                faults_of, {"type": "websocket", "path": "/api/sessions/s/ws"}, frame("reset", {})
            ),
            'EVENT /api/sessions/s/ws 200: `/data` "reason" is a required property',
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_fault_names_route_status_place_and_what_is_wrong(
    find: Callable[[], list[str]], expected: str
) -> None:
    assert expected in find()


def test_so_many_answers_of_a_route_and_status_are_checked_for_each_file() -> None:
    log = AnswerLog()
    scope = {"type": "websocket", "path": "/api/sessions/s/ws"}
    found = [bool(faults_of(scope, frame("reset", {}), log=log)) for _ in range(MAX_ANSWERS + 1)]
    log.begin_file("another")
    assert found == [True] * MAX_ANSWERS + [False]
    assert faults_of(scope, frame("reset", {}), log=log)


def test_processes_leave_what_they_answer_to_the_test_that_asks(tmp_path: Path) -> None:
    with PagefaultProcess(with_a_database(tmp_path / "data")):
        pass
    found = [item for item in answers().take() if item.path == "/healthz"]
    assert [(item.method, item.status, item.body) for item in found] == [
        ("GET", 200, b'{"status":"ok"}')
    ]
