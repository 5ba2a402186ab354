"""`POST …/turns`: all that one step of an agent appends, in one transaction, and the rendering."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.contract.render_requests import Json, read_rendering, rendering, shows, unchecked
from tests.contract.session_requests import JSON, append, call_tool, listed
from tests.kit import media
from tests.kit.media import b64

TURNS = "/api/sessions/s/turns"
PICTURE = media.png(noise=True)
SHOWN = [{"type": "image", "data": b64(PICTURE), "mimeType": "image/png"}]
QUESTION = {"message": {"role": "user", "content": "What is the time?"}}


def calling(*calls: tuple[str, str]) -> Json:
    """An assistant's message that calls tools, each by id and name."""
    made = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}
        for call_id, name in calls
    ]
    return {"message": {"role": "assistant", "content": None, "tool_calls": made}}


def result(call_id: str, returned: object = "ten") -> Json:
    return {"toolResult": {"toolName": "clock", "toolCallId": call_id, "result": returned}}


def tool_call(call_id: str, name: str = "list_media", arguments: object = None) -> Json:
    return {"toolCall": {"id": call_id, "name": name, "arguments": arguments}}


def take(client: httpx.Client, *entries: Json, key: str | None = None, **more: Any) -> Json:  # noqa: ANN401
    """Append a turn, which has to succeed; returns the receipt."""
    answer = turn(client, *entries, key=key, **more)
    assert answer.status_code == 200, answer.text[:500]
    assert answer.headers["content-length"] == str(len(answer.content))
    receipt: Json = answer.json()
    return receipt


def turn(
    client: httpx.Client,
    *entries: Json,
    key: str | None = None,
    **more: object,
) -> httpx.Response:
    headers = {} if key is None else {"Idempotency-Key": key}
    return client.post(TURNS, json={"entries": entries, **more}, headers=headers)


def history(client: httpx.Client) -> list[Json]:
    return listed(client, "/api/sessions/s/messages")


def test_step_of_an_agent_is_one_request(client: httpx.Client) -> None:
    receipt = take(
        client,
        QUESTION,
        calling(("c1", "clock"), ("c2", "list_media")),
        result("c1", SHOWN),
        tool_call("c2"),
        render={"target": "openai-chat"},
    )
    assert receipt["seqs"] == [1, 2, 3, 4]
    assert [entry["seq"] for entry in history(client)] == [1, 2, 3, 4]
    rendered = rendering(client, "/api/sessions/s/render", "openai-chat", handles=1)
    assert receipt == {"seqs": [1, 2, 3, 4], "rendering": rendered}
    assert shows(rendered, PICTURE)
    assert [message["role"] for message in rendered["messages"]] == [
        *("user", "assistant", "tool", "tool", "user")
    ]


def test_turn_without_a_rendering_is_numbers_alone(client: httpx.Client) -> None:
    assert take(client, QUESTION) == {"seqs": [1], "rendering": None}


def test_rendering_begins_where_the_caller_wants(client: httpx.Client) -> None:
    append(client, content="Good morning.")
    receipt = take(client, QUESTION, render={"target": "anthropic", "since": 1, "handles": False})
    assert receipt["rendering"] == rendering(client, "/api/sessions/s/render", "anthropic", since=1)
    assert len(receipt["rendering"]["messages"]) == 1


def test_call_that_no_message_has_is_appended_before_its_answer(client: httpx.Client) -> None:
    receipt = take(client, QUESTION, tool_call("c1", "page_fault", {"page_id": "absent"}))
    assert receipt["seqs"] == [1, 3]
    assert [message.get("role") for message in history(client)[:2]] == ["user", "assistant"]
    assert history(client)[2]["sanitized"]["meta"]["success"] is False


def test_entries_are_kept_as_the_routes_of_their_own_keep_them(client: httpx.Client) -> None:
    spelled = '{"role":"user","content":[{"type":"text","text":"ü\\ud83d\\ude00"}],"x":1.50}'
    returned = '{"b":1.10,"a":[1e3,10000000000000000000001]}'
    tool = f'"toolName":"t","toolCallId":"c","result":{returned}}}'
    body = f'{{"entries":[{{"message":{spelled}}},{{"toolResult":{{{tool}}}]}}'
    answer = client.post(TURNS, content=body, headers=JSON)
    assert answer.json() == {"seqs": [1, 2], "rendering": None}
    client.post("/api/sessions/o/messages", content=spelled, headers=JSON)
    client.post("/api/tool-results", content=f'{{"sessionId":"o",{tool}', headers=JSON)
    here, there = (
        json.loads(client.get(f"/api/sessions/{letter}/messages").text, parse_float=str)["items"]
        for letter in "so"
    )
    own = {"id", "created_at", "createdAt"}
    assert [{k: v for k, v in item.items() if k not in own} for item in here] == [
        {k: v for k, v in item.items() if k not in own} for item in there
    ]


def test_media_of_a_turn_are_stored_once_and_read_back(client: httpx.Client) -> None:
    uri = f"data:image/png;base64,{b64(PICTURE)}"
    content = [{"type": "image_url", "image_url": {"url": uri}}]
    take(client, {"message": {"role": "user", "content": content}}, result("c", SHOWN))
    (resource,) = listed(client, "/api/resources")
    assert client.get(f"/api/resources/{resource['uri']}/content").content == PICTURE
    inline = client.get("/api/sessions/s/messages/1?media=inline").json()
    assert inline["content"] == content


@pytest.mark.parametrize(
    ("entry", "pointer"),
    [
        ({"message": {"role": "nobody", "content": "x"}}, "/entries/1/message/role"),
        ({"message": {"role": "user", "content": 1}}, "/entries/1/message/content"),
        ({"toolResult": {"toolName": "t", "result": 1}}, "/entries/1/toolResult/toolCallId"),
        ({"toolResult": {"toolCallId": "c"}}, "/entries/1/toolResult/toolName"),
        (
            {
                "toolResult": {
                    "toolName": "t",
                    "toolCallId": "c",
                    "result": 1,
                    "sessionId": "other",
                }
            },
            "/entries/1/toolResult/sessionId",
        ),
        ({"toolCall": {"id": "c"}}, "/entries/1/toolCall/name"),
        ({"message": {"role": "user"}, "toolResult": {}}, "/entries/1"),
        ({"message": None}, "/entries/1"),
        ({}, "/entries/1"),
        ({"note": 1}, "/entries/1/note"),
    ],
)
@pytest.mark.engines("embedded")
def test_one_bad_entry_refuses_the_turn(client: httpx.Client, entry: Json, pointer: str) -> None:
    answer = turn(client, QUESTION, entry)
    assert answer.status_code == 422, answer.text
    assert pointer in [fault["pointer"] for fault in answer.json()["errors"]]
    assert client.get("/api/sessions/s").status_code == 404


@pytest.mark.engines("embedded")
@pytest.mark.parametrize("render", [{"target": "x"}, {}, {"target": "mcp", "media": "signed-url"}])
def test_rendering_that_cannot_be_is_refused_before_anything_is_appended(
    client: httpx.Client, render: Json
) -> None:
    answer = turn(client, QUESTION, render=render)
    if render.get("media") == "signed-url" and answer.status_code == 200:
        pytest.fail("the service has no public URL, and yet it signed links")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-payload")
    assert client.get("/api/sessions/s").status_code == 404


@pytest.mark.engines("embedded")
def test_bodies_that_are_no_turn_are_refused(client: httpx.Client) -> None:
    for content in (b"{}", b"[]", b'{"entries":[]}', b'{"entries":{}}', b'{"entries":[1]}'):
        assert client.post(TURNS, content=content, headers=JSON).status_code == 422
    assert client.post(TURNS, content=b'{"entries":[', headers=JSON).status_code == 400
    for entries, pointer, detail in [
        ({}, "/entries", "Input should be a list"),
        ([], "/entries", "Input should have 1 or more items"),
        ([1], "/entries/0", "Input should be an object"),
        ([{"message": QUESTION}] * 101, "/entries", "Input should have 100 or fewer items"),
    ]:
        answer = client.post(TURNS, json={"entries": entries})
        assert answer.json()["errors"] == [{"pointer": pointer, "detail": detail}]
    assert turn(client, *[QUESTION] * 101).status_code == 422
    assert take(client, *[QUESTION] * 100)["seqs"] == [*range(1, 101)]


def test_lone_surrogate_is_repaired_as_in_a_message(client: httpx.Client) -> None:
    body = b'{"entries":[{"message":{"role":"user","content":"a\\ud800b"}}]}'
    assert client.post(TURNS, content=body, headers=JSON).status_code == 200
    assert history(client)[0]["content"] == "a\N{REPLACEMENT CHARACTER}b"


def test_turn_that_others_have_overtaken_is_refused(client: httpx.Client) -> None:
    assert take(client, QUESTION, expectedSeq=0)["seqs"] == [1]
    append(client, content="Meanwhile.")
    answer = turn(client, QUESTION, expectedSeq=1)
    assert (answer.status_code, answer.json()["code"]) == (409, "session-moved-on")
    assert "seq 2" in answer.json()["detail"]
    assert take(client, QUESTION, expectedSeq=2)["seqs"] == [3]


def test_call_in_the_history_is_a_conflict_that_says_where(client: httpx.Client) -> None:
    call_tool(client, "c1", "ten")
    answered = [
        {"message": {"role": "tool", "tool_call_id": "c2", "content": "ten"}},
        tool_call("c3", "search_pages", {"query": "sheep"}),
    ]
    take(client, *answered)
    same = {"toolResult": {"toolName": "camera", "toolCallId": "c1", "result": "ten"}}
    for entry, seq in [(same, 1), (answered[0], 2), (answered[1], 4)]:
        answer = turn(client, QUESTION, entry)
        assert (answer.status_code, answer.json()["code"]) == (409, "tool-call-answered")
        assert f"entry {seq} of the session" in answer.json()["detail"]
    message = {"message": {"role": "tool", "tool_call_id": "c1", "content": "eleven"}}
    others = [result("c1", "eleven"), tool_call("c1"), message]
    for number, other in enumerate(others):
        problem = turn(client, *[QUESTION] * number, other).json()
        assert problem.pop("requestId")
        assert problem == {
            "type": "/docs/errors#conflict",
            "title": "The request contradicts what is stored",
            "status": 409,
            "detail": f"The call that entry {number} answers was answered before, by entry 1 of "
            "the session. Nothing was appended. An Idempotency-Key makes it safe to repeat a turn.",
            "instance": TURNS,
            "code": "tool-call-answered",
            "errors": [
                {"pointer": f"/entries/{number}", "detail": "answers what seq 1 has answered"}
            ],
        }
    assert len(history(client)) == 4


ANSWER = {"message": {"role": "tool", "tool_call_id": "c1", "content": "ten"}}


@pytest.mark.engines("embedded")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (result("c1"), result("c1")),
        (result("c1"), result("c1", "eleven")),
        (ANSWER, result("c1")),
        (tool_call("c1"), ANSWER),
        (tool_call("c1"), tool_call("c1", arguments={"kind": "image"})),
    ],
)
def test_turn_that_answers_a_call_twice_says_which_entries_do(
    client: httpx.Client, first: Json, second: Json
) -> None:
    append(client, content="Before.")
    answer = turn(client, first, QUESTION, second)
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (409, "tool-call-answered")
    assert problem["detail"] == (
        "Entries 0 and 2 answer the same call, and a call has one answer. Nothing was appended. "
        "Leave one of them out, or take another id."
    )
    assert problem["errors"] == [{"pointer": "/entries/2", "detail": "has the id of entry 0"}]
    assert len(history(client)) == 1


@pytest.mark.engines("embedded")
def test_rendering_from_ahead_of_the_session_has_the_hash_of_all_of_it(
    client: httpx.Client,
) -> None:
    mine = take(client, QUESTION, render={"target": "mcp"})["rendering"]
    ahead = take(client, QUESTION, render={"target": "mcp", "since": 10**9})["rendering"]
    whole = take(client, QUESTION, render={"target": "mcp"})["rendering"]
    assert (ahead["messages"], ahead["lastSeq"]) == ([], 2)
    assert ahead["sinceHash"] == whole["prefixHash"][1] != mine["prefixHash"][-1]


def test_same_turn_again_is_not_appended_again_and_is_rendered_anew(client: httpx.Client) -> None:
    sent = (QUESTION, calling(("c1", "list_media")), tool_call("c1"))
    first = take(client, *sent, key="k", render={"target": "mcp"})
    append(client, content="Meanwhile.")
    again = take(client, *sent, key="k", render={"target": "mcp"})
    assert again["seqs"] == first["seqs"] == [1, 2, 3]
    assert len(again["rendering"]["messages"]) == len(first["rendering"]["messages"]) + 1
    assert len(history(client)) == 4
    other = turn(client, QUESTION, key="k")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-key-reused")
    offload_location = client.post(
        "/api/sessions/other/turns", json={"entries": [QUESTION]}, headers={"Idempotency-Key": "k"}
    )
    assert offload_location.status_code == 422


def test_key_of_a_turn_in_a_deleted_session_answers_for_no_other_session(
    client: httpx.Client,
) -> None:
    assert take(client, QUESTION, key="k")["seqs"] == [1]
    assert client.delete("/api/sessions/s").status_code == 200
    gone = turn(client, QUESTION, key="k")
    assert (gone.status_code, gone.json()["code"]) == (404, "not-found")
    append(client, content="Anew.")
    again = turn(client, QUESTION, key="k")
    assert (again.status_code, again.json()["code"]) == (404, "not-found")
    assert len(history(client)) == 1


def test_call_of_a_turn_by_itself_gets_the_answer_that_the_turn_has_stored(
    client: httpx.Client,
) -> None:
    take(client, tool_call("c1", arguments="{}"))
    take(client, result("c2", SHOWN))
    body = {"target": "openai-chat", "id": "c1", "name": "list_media", "arguments": {}}
    answer = client.post("/api/sessions/s/tool-calls", json=body)
    assert read_rendering(answer, "openai-chat")["messages"] == [
        {"role": "tool", "tool_call_id": "c1", "content": "There are no stored media."}
    ]
    assert len(history(client)) == 3


@pytest.mark.engines("embedded")
def test_call_is_appended_once_however_many_results_stand_behind_it(client: httpx.Client) -> None:
    clocks = [f"k{number}" for number in range(30)]
    made = calling(*((clock, "clock") for clock in clocks), ("c1", "list_media"))
    sent = [made, *map(result, clocks), tool_call("c1", arguments="{}")]
    receipt = take(client, *sent, render={"target": "openai-chat"})
    assert receipt["seqs"] == [*range(1, 33)]
    assert receipt["rendering"]["loss"] == []
    assert len(receipt["rendering"]["messages"]) == 32


@pytest.mark.engines("embedded")
def test_entries_are_understood_in_snake_case_too(client: httpx.Client) -> None:
    tool_result = result("c1")["toolResult"]
    called = tool_call("c2")["toolCall"]
    assert take(client, {"tool_result": tool_result}, {"tool_call": called})["seqs"] == [1, 3]
    refused = turn(client, {"tool_result": {**tool_result, "toolCallId": "c3", "other": 1}})
    assert (refused.status_code, refused.json()["errors"]) == (
        422,
        [{"pointer": "/entries/0/tool_result/other", "detail": "Extra inputs are not permitted"}],
    )


def test_of_turns_at_once_that_expect_the_same_one_is_appended(client: httpx.Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(
                lambda number: turn(client, QUESTION, result(f"c{number}"), expectedSeq=0),
                range(8),
            )
        )
    assert sorted(answer.status_code for answer in answers) == [200, *[409] * 7]
    assert [entry["seq"] for entry in history(client)] == [1, 2]


def test_tool_of_a_turn_sees_what_was_there_before_it(client: httpx.Client) -> None:
    take(client, result("c1", SHOWN))
    receipt = take(client, tool_call("c2"), render={"target": "openai-chat", "since": 2})
    record = unchecked(httpx.Response(200, json=receipt["rendering"]), "openai-chat")
    assert "[image @blob:" in record["messages"][-1]["content"]


def test_long_turn_is_taken(client: httpx.Client) -> None:
    content = media.noise_bytes(6 * 2**20)
    block = {"type": "resource", "resource": {"uri": "file:///a", "blob": b64(content)}}
    assert take(client, result("c", [block]))["seqs"] == [1]
    (resource,) = listed(client, "/api/resources")
    assert client.get(f"/api/resources/{resource['uri']}/content").content == content


def test_too_much_text_is_refused(client: httpx.Client) -> None:
    answer = turn(client, result("c", "x" * (33 * 2**20)))
    assert answer.status_code == 413
    assert client.get("/api/sessions/s").status_code == 404


@pytest.mark.parametrize("target", ["anthropic", "gemini", "bedrock", "vercel", "text"])
@pytest.mark.engines("embedded")
def test_every_target_takes_the_rendering_of_a_turn(client: httpx.Client, target: str) -> None:
    receipt = take(
        client,
        QUESTION,
        calling(("c1", "clock")),
        result("c1", SHOWN),
        render={"target": target},
    )
    answer = httpx.Response(200, json=receipt["rendering"])
    read_rendering(answer, target)


class TestRecordWithItsRendering:
    def test_record_and_rendering_come_in_one_answer(self, client: httpx.Client) -> None:
        body = {"toolName": "camera", "toolCallId": "c", "sessionId": "s", "result": SHOWN}
        answer = client.post("/api/tool-results?render=anthropic&handles=1", json=body)
        assert answer.status_code == 201
        record = answer.json()
        rendered = record.pop("rendering")
        path = f"/api/tool-results/{record['id']}"
        assert answer.headers["location"] == path
        assert client.get(path).json() == record
        assert rendered == rendering(client, f"{path}/render", "anthropic", handles=1)
        again = client.post("/api/tool-results?render=anthropic&handles=1", json=body)
        assert (again.status_code, again.json()) == (200, answer.json())

    @pytest.mark.engines("embedded")
    def test_target_that_is_none_is_refused_before_anything_is_stored(
        self, client: httpx.Client
    ) -> None:
        body = {"toolName": "camera", "toolCallId": "c", "sessionId": "s", "result": 1}
        refused = client.post("/api/tool-results?render=nobody", json=body)
        assert refused.status_code == 422
        assert client.get("/api/sessions/s").status_code == 404
