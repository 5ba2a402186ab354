"""`/api/tool-results` over HTTP, on both engines."""

import base64
import hashlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from app.models.limits import Limits
from app.models.tool_result import SanitizedToolResult
from tests.kit.media import png
from tests.kit.servers import LiveService

ROUTE = "/api/tool-results"
JSON = {"Content-Type": "application/json"}
BODY_LIMIT_BYTES = 100_000
MEDIUM_LIMIT_BYTES = 20_000


def call(result: object = "done", **members: object) -> dict[str, object]:
    return {"toolName": "camera", "toolCallId": "call-1", "result": result, **members}


def image_block(content: bytes) -> dict[str, str]:
    return {
        "type": "image",
        "mimeType": "image/png",
        "data": base64.b64encode(content).decode(),
    }


def post(
    client: httpx.Client, content: bytes | Iterator[bytes], headers: dict[str, str] | None = None
) -> httpx.Response:
    return client.post(ROUTE, content=content, headers={**JSON, **(headers or {})})


def text_of(answer: httpx.Response) -> str:
    text: str = answer.json()["sanitized"]["parts"][0]["text"]
    return text


def assert_nothing_stored(client: httpx.Client) -> None:
    for listed in (ROUTE, "/api/resources"):
        assert client.get(listed).json() == {"items": [], "nextCursor": None}


SMALL_LIMITS = Limits(
    body_bytes=BODY_LIMIT_BYTES,
    medium_bytes=MEDIUM_LIMIT_BYTES,
    json_nodes=1_000,
    parts_per_result=500,
)


@pytest.fixture
def small_client(small_service: LiveService) -> Iterator[httpx.Client]:
    with small_service.client() as client:
        yield client


def test_new_result_is_created_and_read_back_byte_for_byte(client: httpx.Client) -> None:
    created = client.post(ROUTE, json=call(sessionId="s"))
    record = created.json()
    assert record == {
        "id": record["id"],
        "sessionId": "s",
        "seq": 1,
        "createdAt": record["createdAt"],
        "toolName": "camera",
        "toolCallId": "call-1",
        "sanitized": {
            "parts": [{"type": "text", "text": "done"}],
            "resources": [],
            "meta": {"toolName": "camera", "toolCallId": "call-1", "success": True},
        },
    }
    SanitizedToolResult.model_validate(record["sanitized"])
    read = client.get(f"{ROUTE}/{record['id']}")
    assert (created.status_code, read.status_code) == (201, 200)
    assert created.headers["location"] == f"{ROUTE}/{record['id']}"
    assert created.headers["etag"] == f'"sha256-{hashlib.sha256(created.content).hexdigest()}"'
    assert read.headers["etag"] == created.headers["etag"]
    assert read.headers["cache-control"] == "no-cache"
    assert read.content == created.content


def test_same_call_with_same_body_is_the_same_record(client: httpx.Client) -> None:
    first, second = (client.post(ROUTE, json=call(sessionId="s")) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 200)
    assert second.content == first.content
    assert second.headers["location"] == first.headers["location"]


def test_same_call_with_another_body_is_a_conflict(client: httpx.Client) -> None:
    client.post(ROUTE, json=call("one", sessionId="s"))
    other = client.post(ROUTE, json=call("two", sessionId="s"))
    assert (other.status_code, other.json()["code"]) == (409, "tool-call-answered")
    assert len(client.get(ROUTE).json()["items"]) == 1


def test_same_call_id_in_another_session_is_another_call(client: httpx.Client) -> None:
    answers = [client.post(ROUTE, json=call(sessionId=name)) for name in ("a", "b")]
    assert [answer.status_code for answer in answers] == [201, 201]


def test_outside_a_session_every_request_is_a_record_of_its_own(client: httpx.Client) -> None:
    answers = [client.post(ROUTE, json=call()) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert [(a.json()["sessionId"], a.json()["seq"]) for a in answers] == [(None, None)] * 2
    assert len({answer.json()["id"] for answer in answers}) == 2


def test_twins_at_the_same_moment_make_one_record(client: httpx.Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda _: client.post(ROUTE, json=call(sessionId="twins")), range(8))
        )
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]
    assert len({answer.content for answer in answers}) == 1
    history = client.get("/api/sessions/twins/messages").json()["items"]
    assert [entry["seq"] for entry in history] == [1]


@pytest.mark.parametrize(
    ("result", "claimed", "success"),
    [
        ({"content": [], "isError": True}, True, False),
        ({"content": [], "isError": False}, True, True),
        ({"content": []}, True, True),
        ({"content": []}, False, False),
        ({"content": [], "isError": False}, False, False),
    ],
)
def test_error_in_the_result_makes_success_false(
    client: httpx.Client, result: object, claimed: bool, success: bool
) -> None:
    answer = client.post(ROUTE, json=call(result, success=claimed))
    assert answer.json()["sanitized"]["meta"]["success"] is success


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({}, {"/toolName", "/toolCallId", "/result"}),
        (call(toolName=""), {"/toolName"}),
        (call(toolName=7, toolCallId=None), {"/toolName", "/toolCallId"}),
        (call(toolCallId="x" * 16_385), {"/toolCallId"}),
        (call(success="yes"), {"/success"}),
        (call(sessionId="-starts-badly"), {"/sessionId"}),
        (call(sessionId="x" * 129), {"/sessionId"}),
        (call(sessionId="line\n"), {"/sessionId"}),
        (call(sessionID="s"), {"/sessionID"}),
        (call(**{"a/b~c": 1}), {"/a~1b~0c"}),
        ([], {""}),
        (None, {""}),
    ],
    ids=lambda value: json.dumps(value)[:40] if not isinstance(value, set) else None,
)
def test_invalid_request_names_every_place(
    client: httpx.Client, body: object, pointers: set[str]
) -> None:
    answer = post(client, json.dumps(body).encode())
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, "invalid-payload")
    assert {fault["pointer"] for fault in problem["errors"]} == pointers
    assert_nothing_stored(client)


@pytest.mark.promise(
    "security.md#calls-from-a-browser",
    "A body of a type that an HTML form can send is refused where JSON is expected",
    kept_by="app/http/bodies.py",
    tried="7 types",
)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Type": ""}, 415),
        ({"Content-Encoding": "gzip"}, 415),
        ({"Content-Type": "Application/JSON; charset=utf-8"}, 201),
        ({"Content-Type": "application/vnd.agent+json"}, 201),
        ({"Content-Encoding": "identity"}, 201),
    ],
)
def test_only_plain_json_is_taken(
    client: httpx.Client, headers: dict[str, str], status: int
) -> None:
    assert post(client, json.dumps(call()).encode(), headers).status_code == status


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "JSON that is too deep or has too many values is refused",
    kept_by="packages/dialects/src/pagefault_dialects/json/values.py",
    tried="3 that are too deep, 1 too large: 413",
)
@pytest.mark.parametrize(
    ("result", "status", "code"),
    [
        (b"NaN", 400, "invalid-json"),
        (b"[Infinity]", 400, "invalid-json"),
        (b"-Infinity", 400, "invalid-json"),
        (b"1e999", 400, "invalid-json"),
        (b"-1e999", 400, "invalid-json"),
        (b'"\xff\xfe"', 400, "invalid-json"),
        (b'"\xed\xa0\x80"', 400, "invalid-json"),
        (b'{"a":', 400, "invalid-json"),
        (b"", 400, "invalid-json"),
        (b'"\n"', 400, "invalid-json"),
        (b"[" * 1_025 + b"]" * 1_025, 413, "json-too-deep"),
        (b"[" * 40_000, 413, "json-too-deep"),
        (b'{"k":' * 40_000, 413, "json-too-deep"),
        (b"[" + b"0," * 500_001 + b"0]", 413, "json-too-large"),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_json_no_two_readers_agree_on_is_refused(
    client: httpx.Client, result: bytes, status: int, code: str
) -> None:
    body = b'{"toolName":"t","toolCallId":"c","sessionId":"s","result":' + result + b"}"
    answer = post(client, body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert_nothing_stored(client)
    assert client.get("/api/sessions/s/messages").status_code == 404


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A body is counted while it arrives",
    kept_by="app/http/bodies.py",
    tried="413",
)
@pytest.mark.parametrize("chunked", [False, True], ids=["declared", "chunked"])
def test_body_above_the_limit_is_refused(small_client: httpx.Client, chunked: bool) -> None:
    body = json.dumps(call("x" * BODY_LIMIT_BYTES)).encode()
    pieces = (body[start : start + 8_192] for start in range(0, len(body), 8_192))
    answer = post(small_client, pieces if chunked else body)
    assert (answer.status_code, answer.json()["code"]) == (413, "payload-too-large")
    assert_nothing_stored(small_client)


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "The values, media and parts of a result are limited",
    kept_by="app/models/limits.py",
    tried="4 limits",
)
@pytest.mark.parametrize(
    "result",
    [
        {"content": [image_block(png(90, 90, noise=True))]},
        {"content": [image_block(png()), image_block(png(90, 90, noise=True))]},
        list(range(1_001)),
        ["a"] * 501,
    ],
    ids=["medium", "medium after a small one", "many values", "many parts"],
)
def test_result_above_a_limit_leaves_nothing(small_client: httpx.Client, result: object) -> None:
    assert small_client.post(ROUTE, json=call(result, sessionId="s")).status_code == 413
    assert_nothing_stored(small_client)
    assert small_client.get("/api/sessions/s/messages").status_code == 404


def test_refusal_of_many_parts_says_where_they_are_and_what_to_send(
    small_client: httpx.Client,
) -> None:
    refused = small_client.post(ROUTE, json=call(["a"] * 501)).json()
    assert (refused["code"], refused["errors"]) == (
        "too-many-parts",
        [{"pointer": "/result", "detail": "has too many parts"}],
    )
    assert refused["detail"] == (
        "The result has 501 parts, one for each text of its lists; at most 500 are taken. Nothing "
        "was stored: send the texts as one, or the list inside an object, which is one part."
    )
    for result in (["a"] * 500, {"list": ["a"] * 501}):
        assert small_client.post(ROUTE, json=call(result)).status_code == 201


def test_lone_surrogates_are_repaired_with_a_warning(client: httpx.Client) -> None:
    body = rb'{"toolName":"t\ud800","toolCallId":"c","result":"a\udc00b \ud83d\ude00 \ud83d"}'
    record = post(client, body).json()
    assert record["toolName"] == "t\ufffd"
    assert record["sanitized"]["parts"] == [{"type": "text", "text": "a\ufffdb \U0001f600 \ufffd"}]
    assert record["sanitized"]["meta"]["warnings"] != []


@pytest.mark.parametrize("digits", [16, 19, 20, 400, 4_400])
def test_integers_of_any_size_survive(client: httpx.Client, digits: int) -> None:
    number = ("9007199254740993" * (digits // 16 + 1))[:digits]
    body = f'{{"toolName":"t","toolCallId":"c","result":{{"id":{number}}}}}'.encode()
    answer = post(client, body)
    assert text_of(answer) == f'{{"id":{number}}}'
    assert client.get(answer.headers["location"]).content == answer.content


def created_ids(client: httpx.Client, names: list[str]) -> list[str]:
    return [client.post(ROUTE, json=call(name, sessionId=name)).json()["id"] for name in names]


def test_list_is_paged_newest_first_by_cursor_and_link(client: httpx.Client) -> None:
    ids = created_ids(client, ["a", "b", "c", "d", "e"])
    pages, path = [], f"{ROUTE}?limit=2"
    while path:
        answer = client.get(path)
        pages.append([entry["id"] for entry in answer.json()["items"]])
        cursor = answer.json()["nextCursor"]
        linked = answer.links.get("next", {}).get("url", "")
        assert linked == (f"{ROUTE}?limit=2&cursor={cursor}" if cursor else "")
        path = linked
    assert pages == [[ids[4], ids[3]], [ids[2], ids[1]], [ids[0]]]


def test_list_of_a_session_holds_only_that_session(client: httpx.Client) -> None:
    ids = created_ids(client, ["a", "b"])
    listed = client.get(ROUTE, params={"sessionId": "a"})
    record = client.get(f"{ROUTE}/{ids[0]}").content
    assert listed.content == b'{"items":[' + record + b'],"nextCursor":null}'
    assert client.get(ROUTE, params={"sessionId": "none"}).json()["items"] == []


@pytest.mark.parametrize(
    "cursor", ["x", "!!!", "W10", "", "bnVsbA", "WyJyZXNvdXJjZXMiLDEsImEiXQ", "\u00e9", "x" * 600]
)
def test_bad_cursor_is_refused(client: httpx.Client, cursor: str) -> None:
    answer = client.get(ROUTE, params={"cursor": cursor})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid-cursor")


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=201", "limit=x", "limit=" + "9" * 5_000, "sessionId=%00"]
)
def test_bad_query_is_refused(client: httpx.Client, query: str) -> None:
    answer = client.get(f"{ROUTE}?{query}")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-payload")


@pytest.mark.parametrize(
    ("header", "status"), [("If-None-Match", 304), ("If-Match", 200)], ids=["304", "200"]
)
def test_known_record_is_not_sent_again(client: httpx.Client, header: str, status: int) -> None:
    created = client.post(ROUTE, json=call())
    path, etag = created.headers["location"], created.headers["etag"]
    answer = client.get(path, headers={header: etag})
    assert (answer.status_code, answer.headers["etag"]) == (status, etag)
    assert answer.content == (b"" if status == 304 else created.content)
    assert client.get(path, headers={"If-Match": '"other"'}).status_code == 412


def stored_image(client: httpx.Client, session_id: str) -> str:
    """A reference to an image that a tool of the session returned."""
    result = {"content": [image_block(png(noise=True))]}
    answer = client.post(ROUTE, json=call(result, sessionId=session_id, toolCallId="first"))
    reference: str = answer.json()["sanitized"]["parts"][0]["image"]
    return reference


def refer(client: httpx.Client, reference: str, session_id: str | None) -> dict[str, Any]:
    block = {"type": "image", "data": reference, "mimeType": "image/png"}
    body = call({"content": [block]}, sessionId=session_id, toolCallId="second")
    record: dict[str, Any] = client.post(ROUTE, json=body).json()["sanitized"]
    return record


def assert_is_literal_text(record: dict[str, Any], reference: str) -> None:
    assert record["resources"] == []
    assert [part["type"] for part in record["parts"]] == ["text"]
    assert reference in record["parts"][0]["text"]
    assert [warning["code"] for warning in record["meta"]["warnings"]] == ["unknown-reference"]


def test_reference_to_a_resource_of_the_session_resolves(client: httpx.Client) -> None:
    reference = stored_image(client, "s")
    record = refer(client, reference, "s")
    assert record["parts"] == [{"type": "image", "image": reference, "mimeType": "image/png"}]
    assert [entry["uri"] for entry in record["resources"]] == [reference.removeprefix("@")]


@pytest.mark.parametrize("session_id", ["another", None])
def test_reference_of_another_session_is_text(client: httpx.Client, session_id: str | None) -> None:
    reference = stored_image(client, "s")
    assert_is_literal_text(refer(client, reference, session_id), reference)


@pytest.mark.promise(
    "security.md#other-projects-data",
    "A reference to another project's file in a tool result stays text",
    kept_by="app/services/agents/references.py",
    tried="1 reference",
)
def test_reference_of_another_project_is_text(client: httpx.Client, service: LiveService) -> None:
    reference = stored_image(client, "s")
    with service.client() as other:
        assert_is_literal_text(refer(other, reference, "s"), reference)


def test_reference_to_an_upload_no_session_has_seen_is_text(client: httpx.Client) -> None:
    reference = "@" + client.post("/api/resources", content=png()).json()["uri"]
    assert_is_literal_text(refer(client, reference, "s"), reference)
