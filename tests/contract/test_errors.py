"""Every refusal is a problem document that repeats nothing, and no request makes a 5xx."""

import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from app.wire.problem import Problem
from tests.kit.media import png
from tests.kit.servers import LiveService

pytestmark = pytest.mark.engines("embedded")

JSON = {"Content-Type": "application/json"}
MARKER = "zz-marker-zz"
ABSENT = "0" * 32
RESULTS = "/api/tool-results"
CALL = {"toolName": "t", "toolCallId": "c"}


@dataclass(frozen=True)
class Asked:
    """A request; `{uri}` in its path is a resource that exists."""

    method: str
    path: str
    content: bytes | None = None
    headers: dict[str, Any] = field(default_factory=dict)

    def send(self, client: httpx.Client, uri: str = ABSENT) -> httpx.Response:
        path = self.path.replace("{uri}", uri)
        return client.request(self.method, path, content=self.content, headers=self.headers)


def posted(path: str, body: bytes, headers: dict[str, Any] | None = None) -> Asked:
    return Asked("POST", path, body, {**JSON, **(headers or {})})


def result_body(**members: object) -> bytes:
    return json.dumps({**CALL, "result": 1, **members}).encode()


LINK = "/api/resources/{uri}/signed-url"
EVENTS = "/api/events"
OF_SESSION = "/api/sessions/s/events"
RENDER = "/api/render"
HOSTILE: dict[str, Asked] = {
    "lone surrogate in a bad value": posted(RESULTS, result_body(toolName="\ud800" * 600)),
    "lone surrogate in a bad enum": posted(LINK, rb'{"disposition":"\ud800"}'),
    "lone surrogate as unknown key": posted(RESULTS, result_body(**{"\ud800": 1})),
    "lone surrogate as unknown key of a link": posted(LINK, rb'{"\ud800":1}'),
    "NaN for an integer": posted(LINK, b'{"expiresInSeconds":NaN}'),
    "Infinity for an integer": posted(LINK, b'{"expiresInSeconds":-Infinity}'),
    "1e999 for an integer": posted(LINK, b'{"expiresInSeconds":1e999}'),
    "5,000 digits for an integer": posted(LINK, b'{"expiresInSeconds":' + b"9" * 5_000 + b"}"),
    "NaN in a result": posted(RESULTS, b'{"toolName":"t","toolCallId":"c","result":NaN}'),
    "no UTF-8": posted(RESULTS, b"\xff\xfe{}"),
    "no UTF-8 for a link": posted(LINK, b'{"filename":"\xff"}'),
    "UTF-16": posted(RESULTS, '{"toolName":"t"}'.encode("utf-16")),
    "byte order mark": posted(RESULTS, b"\xef\xbb\xbf{}"),
    "deep JSON for a link": posted(LINK, b"[" * 100_000),
    "deep object for a link": posted(LINK, b'{"filename":' * 2_000 + b"1" + b"}" * 2_000),
    "lone surrogate as a target": posted(RENDER, rb'{"target":"\ud800","sessionId":"s"}'),
    "lone surrogate as unknown key of a rendering": posted(RENDER, rb'{"\ud800":1}'),
    "NaN as a bound of a rendering": posted(
        RENDER, b'{"target":"text","sessionId":"s","maxBytes":NaN}'
    ),
    "5,000 digits as a bound of a rendering": posted(
        RENDER, b'{"target":"text","sessionId":"s","since":' + b"9" * 5_000 + b"}"
    ),
    "deep JSON for a rendering": posted(RENDER, b'{"accept":' + b"[" * 900 + b"]" * 900 + b"}"),
    "surrogate as a target": Asked("GET", "/api/sessions/s/render?target=%ed%a0%80"),
    "NUL among what is accepted": Asked("GET", "/api/sessions/s/render?target=text&accept=a/%00"),
    "2^63 as a start": Asked("GET", "/api/sessions/s/render?target=text&since=9223372036854775808"),
    "deep JSON as a result": posted(RESULTS, b"[" * 100_000),
    "deep object as a tool's name": posted(
        RESULTS, b'{"toolName":' + b"[" * 900 + b"]" * 900 + b"}"
    ),
    "2^63 as a place": Asked("GET", f"{EVENTS}?after=9223372036854775808"),
    "2^63 - 1 as a place": Asked("GET", f"{OF_SESSION}?after=9223372036854775807"),
    "NaN as a place": Asked("GET", f"{OF_SESSION}?after=NaN"),
    "no number as a last event": Asked("GET", OF_SESSION, None, {"Last-Event-ID": b"\xff"}),
    "surrogate as a ticket": Asked("GET", f"{EVENTS}?ticket=%ed%a0%80"),
    "NUL in a ticket": Asked("GET", f"{OF_SESSION}?ticket=%00.%00"),
    "ticket too long": Asked("GET", f"{EVENTS}?ticket={'x' * 2_049}"),
    "NUL in a session's name": Asked("GET", "/api/sessions/%00/events"),
    "NUL in an id": Asked("GET", f"{RESULTS}/%00"),
    "NUL in a URI": Asked("GET", "/api/resources/%00/content"),
    "NUL in a session id": Asked("GET", "/api/sessions/%00/messages"),
    "id of 300 characters": Asked("GET", f"{RESULTS}/{'x' * 300}"),
    "URI of 300 characters": Asked("GET", f"/api/resources/{'0' * 300}/content"),
    "session id of 300 characters": Asked("GET", f"/api/sessions/{'x' * 300}/messages"),
    "id that is no UTF-8": Asked("GET", f"{RESULTS}/%ff%fe"),
    "id with a surrogate": Asked("GET", f"{RESULTS}/%ed%a0%80"),
    "path out of the root": Asked("GET", "/api/resources/..%2f..%2fetc%2fpasswd/content"),
    "2^63 as limit": Asked("GET", f"{RESULTS}?limit=9223372036854775808"),
    "2^63 in a cursor": Asked(
        "GET", f"{RESULTS}?cursor=WyJtZXNzYWdlcyIsOTIyMzM3MjAzNjg1NDc3NTgwOF0"
    ),
    "surrogate in a cursor": Asked("GET", f"{RESULTS}?cursor=WyJ0b29sLXJlc3VsdHMiLCJcdWQ4MDAiXQ"),
    "NUL in a cursor": Asked("GET", f"{RESULTS}?cursor=WyJ0b29sLXJlc3VsdHMiLCJcdTAwMDAiXQ"),
    "2^63 for a link": posted(LINK, b'{"expiresInSeconds":9223372036854775808}'),
    "query that is no UTF-8": Asked("GET", f"{RESULTS}?limit=%ff&cursor=%ed%a0%80"),
    "no latin-1 in a digest": Asked(
        "POST", "/api/resources", b"x", {"Repr-Digest": "sha-256=\u20ac".encode()}
    ),
    "form without an end": Asked(
        "POST", "/api/resources", b"--b", {"Content-Type": "multipart/form-data; boundary=b"}
    ),
    "form with a long boundary": Asked(
        "POST",
        "/api/resources",
        b"",
        {"Content-Type": f"multipart/form-data; boundary={'b' * 999}"},
    ),
    "idempotency key too long": posted(RESULTS, result_body(), {"Idempotency-Key": "k" * 256}),
    "no idempotency key": posted(RESULTS, result_body(), {"Idempotency-Key": ""}),
    "unknown content coding": posted(RESULTS, result_body(), {"Content-Encoding": "br"}),
}

REFUSED: dict[str, tuple[Asked, int, str]] = {
    "not JSON": (posted(RESULTS, b"{"), 400, "invalid-json"),
    "bad cursor": (Asked("GET", f"{RESULTS}?cursor=x"), 400, "invalid-cursor"),
    "wrong digest": (
        Asked("POST", "/api/resources", b"x", {"Repr-Digest": f"sha-256=:{'A' * 43}=:"}),
        400,
        "digest-mismatch",
    ),
    "no key": (Asked("GET", RESULTS, None, {"Authorization": ""}), 401, "unauthorized"),
    "bad link": (Asked("GET", "/api/resources/{uri}/content?token=x"), 403, "invalid-link"),
    "absent": (Asked("GET", f"{RESULTS}/{MARKER}"), 404, "not-found"),
    "no route": (Asked("GET", f"/api/nothing/{MARKER}"), 404, "no-such-route"),
    "trailing slash": (Asked("GET", f"{RESULTS}/"), 404, "no-such-route"),
    "no method": (Asked("PUT", RESULTS, b"{}"), 405, "method-not-allowed"),
    "foreign method": (Asked("PROPFIND", RESULTS), 405, "method-not-allowed"),
    "condition": (
        Asked("GET", "/api/resources/{uri}", None, {"If-Match": '"x"'}),
        412,
        "precondition-failed",
    ),
    "too deep": (posted(RESULTS, b"[" * 2_000), 413, "json-too-deep"),
    "wrong type": (Asked("POST", RESULTS, b"{}"), 415, "unsupported-media-type"),
    "range": (
        Asked("GET", "/api/resources/{uri}/content", None, {"Range": "bytes=999999-"}),
        416,
        "range-not-satisfiable",
    ),
    "invalid body": (posted(RESULTS, b"{}"), 422, "invalid-payload"),
    "invalid query": (Asked("GET", f"{RESULTS}?limit=0"), 422, "invalid-payload"),
    "invalid target": (Asked("GET", f"{RESULTS}/x/render?target=x"), 422, "invalid-payload"),
    "absent record of a rendering": (
        posted(RENDER, b'{"target":"text","toolResultId":"x"}'),
        404,
        "not-found",
    ),
    "invalid path": (Asked("GET", "/api/sessions/-/messages"), 422, "invalid-payload"),
    "invalid place": (Asked("GET", f"{EVENTS}?after=x"), 422, "invalid-payload"),
    "bad ticket": (Asked("GET", f"{OF_SESSION}?ticket=x"), 401, "unauthorized"),
    "socket that is none": (Asked("GET", "/api/sessions/s/ws"), 404, "no-such-route"),
}

ECHOES: dict[str, Asked] = {
    "value": posted(RESULTS, json.dumps({**CALL, "success": MARKER, "result": 1}).encode()),
    "whole body": posted(RESULTS, json.dumps(MARKER).encode()),
    "broken body": posted(RESULTS, MARKER.encode()),
    "query": Asked("GET", f"{RESULTS}?limit={MARKER}&{MARKER}=1"),
    "cursor": Asked("GET", f"{RESULTS}?cursor={MARKER}"),
    "session": Asked("GET", f"{RESULTS}?sessionId=-{MARKER}"),
    "enum": posted(LINK, json.dumps({"disposition": MARKER}).encode()),
    "target": Asked("GET", f"{RESULTS}/x/render?target={MARKER}"),
    "ranges": Asked("GET", f"{RESULTS}/x/render?target=text&accept={MARKER}"),
    "rendering": posted(RENDER, json.dumps({"target": MARKER, "sessionId": MARKER}).encode()),
    "broken link": posted(LINK, MARKER.encode()),
    "token": Asked("GET", f"/api/resources/{{uri}}/content?token={MARKER}"),
    "key": Asked("GET", RESULTS, None, {"Authorization": f"Bearer {MARKER}"}),
    "digest": Asked("POST", "/api/resources", b"x", {"Repr-Digest": f"sha-256={MARKER}"}),
    "type": Asked("POST", RESULTS, b"{}", {"Content-Type": f"text/{MARKER}"}),
    "place": Asked("GET", f"{EVENTS}?after={MARKER}"),
    "last event": Asked("GET", OF_SESSION, None, {"Last-Event-ID": MARKER}),
    "ticket": Asked("GET", f"{EVENTS}?ticket={MARKER}.{MARKER}"),
    "method": Asked("PROPFIND", f"{RESULTS}?x={MARKER}"),
}


@pytest.fixture(scope="module")
def uri(client_of_module: httpx.Client) -> str:
    created = client_of_module.post("/api/resources", content=png())
    return created.headers["location"].rpartition("/")[2]


@pytest.fixture(scope="module")
def client_of_module(service: LiveService) -> Iterator[httpx.Client]:
    with service.client() as client:
        yield client


def assert_is_problem(answer: httpx.Response, asked: Asked, uri: str) -> Problem:
    problem = Problem.model_validate_json(answer.content)
    path = asked.path.replace("{uri}", uri).partition("?")[0]
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"
    assert problem.status == answer.status_code
    assert problem.request_id == answer.headers["x-request-id"]
    assert problem.instance[:100].lower() == path[:100].lower()
    assert min(len(problem.title), len(problem.detail), len(problem.code)) > 0
    assert len(answer.content) <= 8 * 1024
    return problem


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "No malformed request causes an internal error (500)",
    kept_by="app/http/problems.py",
    tried="54 requests",
)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_request_is_refused_with_a_problem(
    client_of_module: httpx.Client, uri: str, name: str
) -> None:
    answer = HOSTILE[name].send(client_of_module, uri)
    assert 400 <= answer.status_code < 500
    Problem.model_validate_json(answer.content)
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.promise(
    "security.md#headers-and-the-disk",
    "A path with a trailing slash is not redirected",
    kept_by="app/main.py",
    tried="404, no redirect",
)
@pytest.mark.parametrize("name", REFUSED)
def test_refusal_has_every_member_of_a_problem(
    client_of_module: httpx.Client, uri: str, name: str
) -> None:
    asked, status, code = REFUSED[name]
    answer = asked.send(client_of_module, uri)
    problem = assert_is_problem(answer, asked, uri)
    assert (answer.status_code, problem.code) == (status, code)
    page, _, anchor = problem.type.partition("#")
    assert f'id="{anchor}"' in client_of_module.get(page).text


@pytest.mark.promise(
    "security.md#logs",
    "An error answer repeats nothing of its request",
    kept_by="app/http/problems.py",
    tried="19 requests",
)
@pytest.mark.parametrize("name", ECHOES)
def test_input_is_not_repeated(client_of_module: httpx.Client, uri: str, name: str) -> None:
    answer = ECHOES[name].send(client_of_module, uri)
    assert 400 <= answer.status_code < 500
    assert MARKER not in answer.text
    assert not any(MARKER in value for value in answer.headers.values())


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        (RESULTS, {"GET", "POST"}),
        (f"{RESULTS}/x", {"GET"}),
        ("/api/resources", {"GET", "POST"}),
        ("/api/resources/{uri}", {"GET", "HEAD", "DELETE"}),
        ("/api/resources/{uri}/content", {"GET", "HEAD"}),
        ("/api/resources/{uri}/signed-url", {"POST"}),
        ("/api/resources/{uri}/text", {"GET"}),
        ("/api/resolve", {"POST"}),
        ("/api/render", {"POST"}),
        (f"{RESULTS}/x/render", {"GET"}),
        ("/api/pages/p/render", {"GET"}),
        ("/api/sessions/s/render", {"GET", "POST"}),
        ("/api/sessions/s/messages", {"GET", "POST"}),
        (EVENTS, {"GET"}),
        (OF_SESSION, {"GET"}),
        ("/api/events/ticket", {"POST"}),
        ("/healthz", {"GET"}),
    ],
)
def test_method_not_allowed_names_those_that_are(
    client_of_module: httpx.Client, uri: str, path: str, methods: set[str]
) -> None:
    answer = Asked("PATCH", path).send(client_of_module, uri)
    allowed = {name.strip() for name in answer.headers["allow"].split(",")}
    assert (answer.status_code, allowed) == (405, methods)


@pytest.mark.parametrize(
    "accept", ["application/json, text/html;q=0.5", "image/png", "application/xml;q=0", "nonsense"]
)
def test_problem_comes_whatever_is_accepted(client_of_module: httpx.Client, accept: str) -> None:
    answer = Asked("GET", "/api/nothing", None, {"Accept": accept}).send(client_of_module)
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("request_id", ["abc-1.2_3", "x" * 128])
def test_request_id_is_echoed(client_of_module: httpx.Client, request_id: str) -> None:
    headers = {"X-Request-ID": request_id}
    answers = [client_of_module.get(path, headers=headers) for path in (RESULTS, "/api/nothing")]
    assert [answer.headers["x-request-id"] for answer in answers] == [request_id] * 2
    assert answers[1].json()["requestId"] == request_id


@pytest.mark.parametrize("request_id", ["", "a b", "x" * 129, '"', "\u00e9"])
def test_request_id_that_is_no_plain_word_is_replaced(
    client_of_module: httpx.Client, request_id: str
) -> None:
    headers = {b"X-Request-ID": request_id.encode()}
    given = client_of_module.get("/api/nothing", headers=headers).headers["x-request-id"]
    assert given != request_id
    assert len(given) == 36


def test_faults_are_counted_and_bounded(client_of_module: httpx.Client) -> None:
    members = {f"unknown-{'x' * 400}-{number}": 1 for number in range(1_000)}
    answer = posted(RESULTS, result_body(**members)).send(client_of_module)
    assert answer.status_code == 422
    assert 0 < len(answer.json()["errors"]) <= 20
    assert len(answer.content) <= 8 * 1024


def test_deep_result_comes_back_whole(client_of_module: httpx.Client) -> None:
    deep = b'{"k":' * 900 + b"1" + b"}" * 900
    body = b'{"toolName":"t","toolCallId":"c","result":{"content":[],"structuredContent":'
    created = posted(RESULTS, body + deep + b"}}").send(client_of_module)
    assert created.status_code == 201
    assert deep in client_of_module.get(created.headers["location"]).content


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A route for small bodies refuses a large one",
    kept_by="app/http/bodies.py",
    tried="413",
)
def test_large_body_of_a_small_route_is_refused(client_of_module: httpx.Client, uri: str) -> None:
    body = b'{"filename":"' + b"x" * (32 * 1024 * 1024) + b'"}'
    answer = posted(LINK, body).send(client_of_module, uri)
    assert answer.status_code == 413
    assert answer.headers["content-type"] == "application/problem+json"


def raw_answer(service: LiveService, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", service.port), timeout=10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as answer:
            return answer.readline()


@pytest.mark.promise(
    "security.md#the-transport",
    "Bytes that are not HTTP are answered with an error response",
    kept_by="app/server/http_protocol.py",
    tried="6 requests",
)
@pytest.mark.parametrize(
    "head",
    [
        b"GET /api/resources HTTP/1.1\r\nHost: a\r\nX-Request-ID: a\rb\r\n\r\n",
        b"GET /api/resources HTTP/1.1\r\nHost: a\r\nX-Request-ID: a\x00b\r\n\r\n",
        b"GET /api/res\x00ources HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /api/resources HTTP/9.9\r\nHost: a\r\n\r\n",
        b"POST /api/resources HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    ],
    ids=["CR", "NUL", "NUL in the path", "version", "length", "TLS"],
)
def test_request_that_is_no_http_gets_an_answer(service: LiveService, head: bytes) -> None:
    assert raw_answer(service, head).startswith(b"HTTP/1.1 4")


def test_line_break_in_a_name_for_download_is_no_second_header(
    client_of_module: httpx.Client, uri: str
) -> None:
    path = f"/api/resources/{uri}/content?filename=a%0d%0aX-Evil:%201%0d%0a%0d%0a.png"
    answer = client_of_module.get(path)
    assert answer.status_code == 200
    assert "x-evil" not in answer.headers
