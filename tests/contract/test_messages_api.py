"""Messages of model dialects over HTTP, on both engines: kept as they are, in one history."""

import base64
import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from app.config.settings import Settings
from tests.contract.page_requests import data_uri, outcome, pointers, put
from tests.contract.session_requests import (
    JSON,
    MESSAGES,
    answer,
    append,
    ask,
    call_tool,
    entries,
    rich,
    upload,
)
from tests.kit.media import png, wav
from tests.kit.servers import LiveService, serving

ROUTE = MESSAGES
SAID_OF_ALL = {"seq", "id", "created_at", "entry"}
URI = data_uri(png(noise=True), "image/png")
TOOL = {"role": "tool", "tool_call_id": "call_1", "content": "Sunny."}


def fault(client: httpx.Client, call_id: str | None = "call_1") -> httpx.Response:
    query = {"session_id": "s", "tool_call_id": call_id, "target_level": 0}
    return client.post("/api/pages/p/fault", json=query)


def result(call_id: str = "call_1") -> dict[str, object]:
    return {"toolName": "t", "toolCallId": call_id, "sessionId": "s", "result": 1}


def item_texts(page: httpx.Response) -> bytes:
    """The entries of a page, as they were sent."""
    return page.content.removeprefix(b'{"items":[').rpartition(b'],"nextCursor":')[0]


@pytest.mark.requirement("000-history-message-content")
@pytest.mark.requirement("000-list-content-as-is")
@pytest.mark.parametrize(
    "text",
    [
        '{"role":"user","content":"Hello."}',
        '{"role":"user","content":""}',
        '{"role":"user","content":[]}',
        '{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",'
        '"function":{"name":"f","arguments":"{\\"a\\": 1}"}}]}',
        '{"role":"assistant","tool_calls":[]}',
        '{"role":"system"}',
        '{"role":"developer","content":"x","name":"ops"}',
        '{"role":"function","name":"f","content":"1"}',
        '{"role":"tool","tool_call_id":"call_1","content":[{"type":"text","text":"Page img_001 '
        '(image, FULL):"},{"type":"image_url","image_url":{"url":"https://e.com/a.png",'
        '"detail":"low"}}]}',
        '{"content":"keys in another order","role":"user"}',
        '{"role":"user","content":[{"type":"b"},{"x":[1,2.5,-0.0,1180591620717411303424,null]}]}',
        '{"role":"user","content":"\\u0000 \u202e e\u0301 \U0001f469\u200d\U0001f4bb"}',
    ],
)
def test_message_is_kept_as_it_is(client: httpx.Client, text: str) -> None:
    assert_kept(client, text, text[1:])


def assert_kept(client: httpx.Client, text: str, members: str) -> None:
    """Append a message; its entry has these members behind its own, whoever reads it."""
    created = client.post(ROUTE, content=text.encode(), headers=JSON)
    assert created.status_code == 201, created.text[:500]
    record = created.json()
    assert created.headers["location"] == f"{ROUTE}/1"
    assert created.text == (
        f'{{"seq":1,"id":"{record["id"]}","created_at":"{record["created_at"]}",'
        f'"entry":"message",{members}'
    )
    assert item_texts(client.get(ROUTE)) == created.content
    assert client.get(f"{ROUTE}/1").content == created.content
    assert client.get(f"{ROUTE}/1", params={"media": "inline"}).content == created.content


@pytest.mark.parametrize(
    ("dialect", "role", "text"),
    [
        (
            "openai-chat",
            "user",
            '{"content":"keys in another order","x":{"y":[1,2.5,-0.0,1180591620717411303424,null]},'
            '"role":"user"}',
        ),
        ("openai-chat", "user", '{"role":"user","content":[{"type":"b"}],"~":{"a/b":"","":[]}}'),
        ("openai-chat", "user", '{"role":"user","content":"\\u0000 \u202e","\\u0000":0}'),
        (
            "openai-chat",
            "assistant",
            '{"role":"assistant","content":null,"refusal":null,"audio":{"id":"audio_1"}}',
        ),
        (
            "bedrock",
            "user",
            '{"role":"user","content":[{"toolUse":{"toolUseId":"x","input":{}}}],"created":1}',
        ),
        (
            "anthropic",
            "assistant",
            '{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5",'
            '"content":[{"type":"tool_use","id":"toolu_1","name":"clock","input":{}}],'
            '"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1}}',
        ),
        (
            "openai-responses",
            "tool",
            '{"type":"function_call_output","id":"fc_1","call_id":"call_1","output":"It is ten."}',
        ),
        ("gemini", "assistant", '{"parts":[{"text":"Hello."}],"role":"model"}'),
        ("langchain", "system", '{"content":"Be brief.","type":"system","id":null}'),
        ("mcp", "user", '{"role":"user","content":{"type":"text","text":"Hello."}}'),
        (
            "openai-chat",
            "user",
            '{"role":"user","content":"x","seq":7,"id":"x","created_at":null,"sanitized":{},'
            '"interaction":1,"interaction_id":"x","entry":"message","dialect":"x","message":{}}',
        ),
    ],
    ids=lambda value: value[:40],
)
def test_message_with_other_members_stands_in_its_entry_as_it_was_sent(
    client: httpx.Client, dialect: str, role: str, text: str
) -> None:
    assert_kept(client, text, f'"dialect":"{dialect}","role":"{role}","message":{text}}}')


def test_blanks_between_members_are_the_only_thing_that_is_not_kept(client: httpx.Client) -> None:
    body = b' { "role" : "user" ,\n "content" : [ { "type" : "text" } ] } '
    created = client.post(ROUTE, content=body, headers=JSON)
    assert created.text.endswith(',"role":"user","content":[{"type":"text"}]}')


@pytest.mark.engines("embedded")
@pytest.mark.parametrize(
    ("body", "places"),
    [
        ({}, ["/role"]),
        ({"role": "User"}, ["/role"]),
        ({"role": None}, ["/role"]),
        ({"role": ["user"]}, ["/role"]),
        ({"role": "user", "name": 5}, ["/name"]),
        ({"role": "user", "tool_calls": "x"}, ["/tool_calls"]),
        ({"role": "user", "tool_calls": ["x"]}, ["/tool_calls/0"]),
        ({"role": "user", "tool_calls": {"0": {}}}, ["/tool_calls"]),
        ({"role": "tool", "tool_call_id": 5}, ["/tool_call_id"]),
        ({"role": "tool", "tool_call_id": "x" * 16_385}, ["/tool_call_id"]),
        ({"role": "user", "seq": 1}, [""]),
        ({"role": "owner", "id": "x", "content": "Hello."}, ["/role"]),
        ({"type": "invoice", "id": "x", "total": 5}, [""]),
    ],
    ids=lambda value: str(value)[:50],
)
def test_message_that_is_none_is_refused_at_its_place(
    client: httpx.Client, body: object, places: list[str]
) -> None:
    refused = client.post(ROUTE, json=body)
    assert (outcome(refused), pointers(refused)) == ((422, "invalid-payload"), places)
    assert client.get("/api/sessions/s").status_code == 404


@pytest.mark.engines("embedded")
@pytest.mark.parametrize(
    ("content", "place"),
    [
        (5, "/content"),
        (True, "/content"),
        ({}, "/content"),
        (["x"], "/content/0"),
        ([{}, None], "/content/1"),
        ([{}, {}, [{}]], "/content/2"),
    ],
    ids=str,
)
def test_content_that_is_none_is_refused_at_its_place(
    client: httpx.Client, content: object, place: str
) -> None:
    refused = append(client, content=content)
    assert outcome(refused) == (422, "invalid-payload")
    assert place in pointers(refused)
    assert [pointer for pointer in pointers(refused) if not place.startswith(pointer)] == []


@pytest.mark.engines("embedded")
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", (400, "invalid-json")),
        (b"\xff\xfe", (400, "invalid-json")),
        (b'{"role":"user","content":"\x00"}', (400, "invalid-json")),
        (b'{"role":"user","x":NaN}', (400, "invalid-json")),
        (b'{"role":"user","x":-Infinity}', (400, "invalid-json")),
        (b'{"role":"user","x":1e999}', (400, "invalid-json")),
        (b"[]", (422, "invalid-payload")),
        (b'"user"', (422, "invalid-payload")),
        (b'{"role":"\\ud800"}', (422, "invalid-payload")),
        (b'{"role":"user","content":%s%s}' % (b"[" * 900, b"]" * 900), (422, "invalid-payload")),
        (b'{"role":"user","x":%s%s}' % (b"[" * 2_000, b"]" * 2_000), (413, "json-too-deep")),
        (b'{"role":"user","x":[%s0]}' % (b"0," * 250_000), (413, "json-too-large")),
    ],
    ids=lambda value: str(value)[:40],
)
def test_hostile_message_is_refused_and_makes_no_session(
    client: httpx.Client, body: bytes, expected: tuple[int, str]
) -> None:
    assert outcome(client.post(ROUTE, content=body, headers=JSON)) == expected
    assert client.get("/api/sessions/s").status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        b'{"role":"user","content":[{"x":%s1%s}]}' % (b'{"a":[' * 490, b"]}" * 490),
        b'{"role":"user","content":[{"x":1%s}]}' % (b"0" * 5_000),
        b'{"role":"tool","tool_call_id":"\\u0000\\u0001%s","content":null}' % (b"'" * 300),
        b'{"role":"user","content":"\'; DROP TABLE messages; -- %s {x} \\\\u0000"}',
    ],
    ids=["deep", "large number", "odd call", "injection"],
)
def test_odd_message_comes_back_as_it_is(client: httpx.Client, body: bytes) -> None:
    created = client.post(ROUTE, content=body, headers=JSON)
    assert created.status_code == 201, created.text[:500]
    assert created.content.endswith(body[1:])
    assert client.get(f"{ROUTE}/1").content == created.content
    again = client.post(ROUTE, content=body, headers=JSON)
    assert again.status_code == (200 if b"tool_call_id" in body else 201)


def test_lone_surrogates_are_replaced_and_pairs_are_kept(client: httpx.Client) -> None:
    body = rb'{"role":"user","content":"a\ud800b \ud83d\ude00","\udc00":1}'
    created = client.post(ROUTE, content=body, headers=JSON).json()["message"]
    assert (created["content"], created["\ufffd"]) == ("a\ufffdb \U0001f600", 1)


def test_same_answer_of_a_tool_call_is_appended_once(client: httpx.Client) -> None:
    first, again = (client.post(ROUTE, json=TOOL) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.content == first.content
    assert [entry["seq"] for entry in entries(client)] == [1]


def test_same_answer_at_once_is_appended_once(client: httpx.Client) -> None:
    body = {**TOOL, "content": [{"type": "image_url", "image_url": {"url": URI}}]}
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.post(ROUTE, json=body), range(8)))
    assert Counter(item.status_code for item in answers) == {201: 1, 200: 7}
    assert len({message.content for message in answers}) == 1
    assert [entry["seq"] for entry in entries(client)] == [1]


def test_another_answer_of_a_tool_call_is_a_conflict(client: httpx.Client) -> None:
    created = client.post(ROUTE, json=TOOL)
    other = client.post(ROUTE, json={**TOOL, "content": "Rain."})
    assert outcome(other) == (409, "tool-call-answered")
    assert [fault["pointer"] for fault in other.json()["errors"]] == ["/content"]
    spelled = json.dumps(dict(reversed(TOOL.items())), indent=1).replace("c", "\\u0063")
    headers = {"Content-Type": "application/json"}
    assert client.post(ROUTE, content=spelled, headers=headers).content == created.content
    assert item_texts(client.get(ROUTE)) == created.content
    offload_location = client.post("/api/sessions/t/messages", json={**TOOL, "content": "Rain."})
    assert offload_location.status_code == 201


def test_call_that_a_tool_result_answered_is_a_conflict_both_ways(client: httpx.Client) -> None:
    call_tool(client, "call_1")
    assert outcome(client.post(ROUTE, json=TOOL)) == (409, "tool-call-answered")
    assert client.post(ROUTE, json={**TOOL, "tool_call_id": "call_2"}).status_code == 201
    late = client.post("/api/tool-results", json=result("call_2"))
    assert outcome(late) == (409, "tool-call-answered")
    assert [entry["seq"] for entry in entries(client)] == [1, 2]


def test_call_that_a_page_fault_answered_is_a_conflict_both_ways(client: httpx.Client) -> None:
    put(client, content="Hello.")
    assert fault(client).status_code == 200
    assert outcome(client.post(ROUTE, json=TOOL)) == (409, "tool-call-answered")
    assert client.post(ROUTE, json={**TOOL, "tool_call_id": "call_2"}).status_code == 201
    assert outcome(fault(client, "call_2")) == (409, "tool-call-answered")
    assert [entry["seq"] for entry in entries(client)] == [1, 2]


def test_call_id_of_a_message_that_answers_no_call_is_free(client: httpx.Client) -> None:
    body = {"role": "user", "tool_call_id": "call_1", "content": "x"}
    statuses = [client.post(ROUTE, json=body).status_code for _ in range(2)]
    statuses.append(client.post(ROUTE, json=TOOL).status_code)
    assert statuses == [201, 201, 201]


def test_message_without_a_call_is_appended_again(client: httpx.Client) -> None:
    created = [append(client, content="Hello.") for _ in range(3)]
    assert [item.status_code for item in created] == [201] * 3
    assert [item.json()["seq"] for item in created] == [1, 2, 3]


def test_idempotency_key_makes_a_retry_safe(client: httpx.Client) -> None:
    headers = {"Idempotency-Key": "k"}
    body = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": URI}}]}
    first, again = (client.post(ROUTE, json=body, headers=headers) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.content == first.content
    other = client.post(ROUTE, json={"role": "user"}, headers=headers)
    offload_location = client.post("/api/sessions/t/messages", json=body, headers=headers)
    expected = (422, "idempotency-key-reused")
    assert (outcome(other), outcome(offload_location)) == (expected, expected)
    assert [len(entries(client)), client.get("/api/sessions/t").status_code] == [1, 404]


def test_key_of_a_call_that_was_answered_before_is_answered(client: httpx.Client) -> None:
    keys = [None, "first", "second", "second", "first"]
    answers = [
        client.post(ROUTE, json=TOOL, headers={"Idempotency-Key": key} if key else {})
        for key in keys
    ]
    assert [item.status_code for item in answers] == [201, 200, 200, 200, 200]
    assert len({message.content for message in answers}) == 1


def test_refused_message_frees_its_key(client: httpx.Client) -> None:
    headers = {"Idempotency-Key": "k"}
    client.post(ROUTE, json=TOOL)
    refused = client.post(ROUTE, json={**TOOL, "content": "Rain."}, headers=headers)
    again = client.post(ROUTE, json={"role": "user"}, headers=headers)
    assert (refused.status_code, again.status_code) == (409, 201)


def test_key_of_one_route_is_free_on_the_other(client: httpx.Client) -> None:
    headers = {"Idempotency-Key": "k"}
    message = client.post(ROUTE, json={"role": "user"}, headers=headers)
    response = client.post("/api/sessions/s/interactions", json={"input": "x"}, headers=headers)
    assert (message.status_code, response.status_code) == (201, 201)


def write_everything(client: httpx.Client) -> list[bytes]:
    """One entry of every kind and more; returns each as its own request answered, where it did.

    They have the numbers from 2 on: the first one is that of a page.
    """
    reference = "@" + upload(client, png())["uri"]
    put(client, modality="image", content=URI, session_id="s")
    block = {"type": "audio", "data": base64.b64encode(wav()).decode(), "mimeType": "audio/wav"}
    call_tool(client, "call_1", {"content": [block], "structuredContent": {"n": 2**70}})
    append(client, content=[{"type": "image_url", "image_url": {"url": URI}}])
    asked = ask(client, rich(reference))
    fault(client, "call_2")
    append(client, content="Hello.", more={"": [None]})
    answer(client, asked["id"])
    ask(client, {"legacy": reference}, output={"role": "assistant", "content": "x"})
    append(client, role="tool", tool_call_id="call_3", content=None)
    return [client.get(f"{ROUTE}/{seq}").content for seq in range(2, 10)]


def pages_of(client: httpx.Client, limit: int, media: str) -> Iterator[bytes]:
    path = f"{ROUTE}?limit={limit}&media={media}"
    while path:
        page = client.get(path)
        assert page.status_code == 200, page.text[:500]
        yield item_texts(page)
        path = page.links.get("next", {}).get("url", "")


def test_one_cursor_replays_everything_whatever_the_size_of_a_page(client: httpx.Client) -> None:
    written = write_everything(client)
    assert [json.loads(item)["seq"] for item in written] == list(range(2, 10))
    for absent in (1, 10):
        assert outcome(client.get(f"{ROUTE}/{absent}")) == (404, "not-found")
    for limit in (1, 2, 3, 7, 8, 200):
        assert b",".join(pages_of(client, limit, "reference")) == b",".join(written)
    kinds = [
        [json.loads(item)["entry"], *sorted(json.loads(item).keys() - SAID_OF_ALL)]
        for item in written
    ]
    assert kinds == [
        ["tool_result", "createdAt", "name", "role", "sanitized", "toolCallId"],
        ["message", "content", "role"],
        ["interaction", "input_kind", "interaction"],
        ["page_fault", "content", "role", "tool_call_id"],
        ["message", "dialect", "message", "role"],
        ["answer", "interaction_id", "output"],
        ["interaction", "input_kind", "interaction"],
        ["message", "content", "role", "tool_call_id"],
    ]


def test_every_entry_is_what_its_own_route_showed(client: httpx.Client) -> None:
    record = call_tool(client, "call_1")
    message = append(client, content="Hello.")
    asked = ask(client)
    answered = answer(client, asked["id"]).json()
    records: list[dict[str, Any]] = [client.get(f"{ROUTE}/{seq}").json() for seq in (1, 3, 4)]
    assert (records[0]["sanitized"], records[0]["id"]) == (record["sanitized"], record["id"])
    assert client.get(f"{ROUTE}/2").content == message.content
    assert records[1]["interaction"] == asked["interaction"]
    assert records[2]["output"] == answered["interaction"]["output"]


@pytest.mark.slow
def test_all_reads_back_byte_for_byte_after_a_restart(settings: Settings) -> None:
    paths = [ROUTE, f"{ROUTE}?media=inline", *(f"{ROUTE}/{seq}" for seq in range(2, 10))]
    paths += ["/api/sessions", "/api/sessions/s", "/api/sessions/s/interactions", "/api/resources"]
    with serving(settings) as service:
        key = service.new_key("restarted")
        with service.client(key) as client:
            write_everything(client)
            created = client.post(ROUTE, json={**TOOL, "tool_call_id": "call_4", "content": URI})
            before = [client.get(path).raise_for_status().content for path in paths]
    with serving(settings) as service, service.client(key) as client:
        assert [client.get(path).raise_for_status().content for path in paths] == before
        again = client.post(ROUTE, json={**TOOL, "tool_call_id": "call_4", "content": URI})
        assert (again.status_code, again.content) == (200, created.content)
        assert append(client, content="next").json()["seq"] == 11


@pytest.mark.parametrize("seq", ["0", "-1", "x", "1.5", str(2**63), "1e3", "%00", "9" * 400])
def test_number_no_entry_can_have_is_refused(client: httpx.Client, seq: str) -> None:
    append(client, content="Hello.")
    assert outcome(client.get(f"{ROUTE}/{seq}")) == (422, "invalid-payload")


@pytest.mark.parametrize("seq", [2, 2**63 - 1])
def test_entry_that_is_not_there_is_not_found(
    client: httpx.Client, service: LiveService, seq: int
) -> None:
    append(client, content="Hello.")
    assert outcome(client.get(f"{ROUTE}/{seq}")) == (404, "not-found")
    assert outcome(client.get("/api/sessions/t/messages/1")) == (404, "not-found")
    with service.client() as other:
        assert outcome(other.get(f"{ROUTE}/1")) == (404, "not-found")


def test_entry_the_caller_has_is_not_sent_again(client: httpx.Client) -> None:
    created = append(client, content="Hello.")
    headers = {"If-None-Match": created.headers["etag"]}
    assert client.get(f"{ROUTE}/1", headers=headers).status_code == 304


def test_messages_at_once_take_every_number_once(client: httpx.Client) -> None:
    def write(number: int) -> int:
        kinds = [
            lambda: append(client, content=[{"type": "image_url", "image_url": {"url": URI}}]),
            lambda: client.post("/api/tool-results", json=result(f"call-{number}")),
            lambda: client.post("/api/sessions/s/interactions", json={"input": "x"}),
        ]
        return kinds[number % 3]().status_code

    with ThreadPoolExecutor(8) as pool:
        assert Counter(pool.map(write, range(30))) == {201: 30}
    assert [entry["seq"] for entry in entries(client)] == list(range(1, 31))


def test_body_that_is_not_said_to_be_json_is_refused(client: httpx.Client) -> None:
    refused = client.post(ROUTE, content=b'{"role":"user"}', headers={"Content-Type": "text/plain"})
    assert outcome(refused) == (415, "unsupported-media-type")


@pytest.mark.engines("embedded")
@pytest.mark.parametrize("session", ["a" * 129, "-a", "%00", "a%0A", "a%20b", "%2e%2e", "é"])
def test_name_no_session_can_have_is_refused(client: httpx.Client, session: str) -> None:
    refused = client.post(f"/api/sessions/{session}/messages", json={"role": "user"})
    assert refused.status_code in (404, 405, 422)
