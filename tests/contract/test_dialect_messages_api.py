"""Messages of any dialect in a session, over HTTP: whatever reads entries reads both kinds."""

from typing import Any

import httpx
import pytest

from pagefault_dialects.json.values import JsonValue
from tests.contract.bundled_sessions import export, take_in
from tests.contract.page_requests import data_uri, outcome
from tests.contract.render_requests import rendering
from tests.contract.session_requests import MESSAGES, SESSION, entries, upload
from tests.kit.event_streams import log_of
from tests.kit.media import b64, png
from tests.kit.servers import LiveService

pytestmark = pytest.mark.engines("embedded")
Json = dict[str, Any]

LARGE = png(noise=True)
ASKED: Json = {
    "type": "message",
    "id": "msg_1",
    "role": "user",
    "content": [{"type": "input_text", "text": "Which clocks are slow?"}],
}
REASONING: Json = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
SAID: Json = {
    "type": "message",
    "id": "msg_2",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "I will look.", "annotations": []}],
}
CALLS: list[Json] = [
    {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": "clock",
        "arguments": f'{{"zone": {number}}}',
        "status": "completed",
    }
    for number in (1, 2)
]
ANSWERS: list[Json] = [
    {"type": "function_call_output", "call_id": f"call_{number}", "output": f"Zone {number} lags."}
    for number in (1, 2)
]
ITEMS = [ASKED, REASONING, SAID, *CALLS, *ANSWERS]
USER: Json = {"role": "user", "content": [{"type": "text", "text": "Which clocks are slow?"}]}
ANTHROPIC: Json = {
    "id": "msg_01",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5",
    "content": [
        {"type": "text", "text": "I will measure."},
        {"type": "tool_use", "id": "toolu_1", "name": "measure", "input": {"what": "pendulum"}},
    ],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 1234},
}


def post(client: httpx.Client, *messages: Json) -> list[Json]:
    """Append messages; return their entries."""
    answers = [client.post(MESSAGES, json=message) for message in messages]
    assert [answer.status_code for answer in answers] == [201] * len(messages), answers[-1].text
    return [answer.json() for answer in answers]


def test_message_of_nothing_but_results_has_the_role_of_a_tool(client: httpx.Client) -> None:
    results: list[Json] = [
        {"toolResult": {"toolUseId": letter, "content": [{"text": "It lags."}]}} for letter in "ab"
    ]
    calls: list[Json] = [
        {"toolUse": {"toolUseId": letter, "name": "f", "input": {}}} for letter in "ab"
    ]
    turns: list[Json] = [
        {"role": "assistant", "content": calls, "id": "m1"},
        {"role": "user", "content": [*results, {"cachePoint": {"type": "default"}}], "id": "m2"},
        {"role": "user", "content": [{"text": "Go on."}], "id": "m3"},
    ]
    stored = post(client, *turns)
    assert [message["role"] for message in stored] == ["assistant", "tool", "user"]
    assert [entry["message"] for entry in stored] == turns


def test_items_of_one_turn_are_one_message_of_a_rendering(client: httpx.Client) -> None:
    post(client, *ITEMS)
    assert rendering(client, f"{SESSION}/render", "anthropic")["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Which clocks are slow?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I will look."},
                *(
                    {"type": "tool_use", "id": f"call_{name}", "name": "clock", "input": zone}
                    for name, zone in ((1, {"zone": 1}), (2, {"zone": 2}))
                ),
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": f"call_{name}",
                    "content": [{"type": "text", "text": f"Zone {name} lags."}],
                }
                for name in (1, 2)
            ],
        },
    ]


def test_loss_of_an_item_names_the_entry_it_stands_in(client: httpx.Client) -> None:
    post(client, ASKED, SAID, REASONING, *CALLS)
    loss = client.get(f"{SESSION}/render", params={"target": "anthropic"}).json()["loss"]
    (thought,) = [item for item in loss if item["code"] == "reasoning"]
    assert (thought["seq"], thought["pointer"], thought["restore"]) == (
        3,
        "/message",
        f"GET {MESSAGES}/3",
    )


def test_loss_of_media_of_one_turn_names_the_entry_of_each(client: httpx.Client) -> None:
    image = {"type": "image_generation_call", "status": "completed"}
    items = [{**image, "id": f"ig_{side}", "result": b64(png(side, 30))} for side in (20, 40)]
    post(client, ASKED, *items)
    query = {"target": "openai-chat"}
    loss = client.get(f"{SESSION}/render", params=query).json()["loss"]
    places = [(entry["seq"], entry["pointer"]) for entry in loss if entry["from"] == "original"]
    assert places == [(2, "/message"), (3, "/message")]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            "openai-responses",
            {
                "type": "image_generation_call",
                "id": "ig_1",
                "status": "completed",
                "result": b64(png(64, 64)),
            },
        ),
        ("openai-responses", {"type": "compaction", "id": "cmp_1", "encrypted_content": "Z0FB"}),
        (
            "anthropic",
            {
                "role": "user",
                "content": [
                    {
                        "type": "image",
                        "source": {
                            "type": "base64",
                            "media_type": "image/png",
                            "data": b64(png(64, 64)),
                        },
                        "cache_control": {"type": "ephemeral"},
                    },
                    {"type": "text", "text": "What is this?"},
                ],
            },
        ),
        ("gemini", {"role": "user", "parts": [{"text": "Hi."}, {"text": "Hello?"}]}),
    ],
)
def test_what_a_session_stored_at_home_comes_out_as_it_went_in(
    client: httpx.Client, target: str, message: Json
) -> None:
    post(client, message)
    answer = client.get(f"{SESSION}/render", params={"target": target}).json()
    assert (answer["messages"], answer["loss"]) == ([message], [])


@pytest.mark.parametrize("media", ["inline", "reference"])
def test_block_stays_as_it_came_in_a_message_that_is_written_anew(
    client: httpx.Client, media: str
) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": b64(LARGE)}
    marked = {"type": "image", "source": source, "cache_control": {"type": "ephemeral"}}
    (stored,) = post(client, {"role": "user", "content": [marked, {"type": "text", "text": " "}]})
    query = {"target": "anthropic", "media": media}
    answer = client.get(f"{SESSION}/render", params=query).json()
    if media == "reference":
        source["data"] = stored["content"][0]["source"]["data"]
        assert source["data"].startswith("@blob:")
    assert (answer["messages"], answer["loss"]) == ([{"role": "user", "content": [marked]}], [])


@pytest.mark.parametrize(
    ("message", "path"),
    [
        (
            {
                "id": "msg_1",
                "role": "user",
                "content": [{"type": "image", "source": {"type": "url", "url": None}}],
            },
            ("content", 0, "source", "url"),
        ),
        (
            {"parts": [{"inlineData": {"mimeType": "image/png", "data": None}}], "role": "user"},
            ("parts", 0, "inlineData", "data"),
        ),
        (
            {"role": "user", "content": {"type": "image", "mimeType": "image/png", "data": None}},
            ("content", "data"),
        ),
        (
            {"type": "human", "id": None, "content": [{"type": "image", "base64": None}]},
            ("content", 0, "base64"),
        ),
    ],
    ids=["anthropic", "gemini", "mcp", "langchain"],
)
def test_medium_moves_out_of_a_message_and_comes_back(
    client: httpx.Client, message: Json, path: tuple[str | int, ...]
) -> None:
    text = data_uri(LARGE, "image/png") if path[-1] == "url" else b64(LARGE)
    sent = with_value(message, path, text)
    (entry,) = post(client, sent)
    (stored,) = client.get("/api/resources").json()["items"]
    assert entry["message"] == with_value(message, path, f"@{stored['uri']}")
    inline = client.get(f"{MESSAGES}/1", params={"media": "inline"}).json()
    assert inline == {**entry, "message": sent}
    assert client.delete(SESSION).status_code == 200
    assert client.get("/api/resources").json()["items"] == []


def with_value(value: JsonValue, path: tuple[str | int, ...], member: object) -> JsonValue:
    """A copy of a value with another member at a place."""
    if not path:
        return member
    copy = value.copy()
    copy[path[0]] = with_value(value[path[0]], path[1:], member)
    return copy


@pytest.mark.parametrize(
    "body",
    [
        [USER],
        {"model": "m", "messages": [USER]},
        {"object": "chat.completion", "choices": [{"message": {"role": "assistant"}}]},
        {"object": "response", "output": [SAID]},
    ],
    ids=["list", "request", "completion", "response"],
)
def test_whole_history_is_refused_with_the_route_that_takes_it(
    client: httpx.Client, body: object
) -> None:
    refused = client.post(MESSAGES, json=body)
    assert outcome(refused) == (422, "invalid-payload")
    assert "`PUT /api/sessions/{session_id}/history`" in refused.json()["detail"]


@pytest.mark.engines("embedded", "server")
def test_event_has_role_dialect_and_what_was_sent(client: httpx.Client) -> None:
    post(client, ANTHROPIC, {"role": "user", "content": "Flat."})
    wrapped, flat = (item.told for item in log_of(client))
    assert (wrapped["role"], wrapped["dialect"], wrapped["message"]) == (
        "assistant",
        "anthropic",
        ANTHROPIC,
    )
    assert (flat["role"], "dialect" in flat) == ("user", False)


def test_answer_in_an_item_is_stored_once_and_another_one_is_a_conflict(
    client: httpx.Client,
) -> None:
    post(client, *ITEMS)
    again = client.post(MESSAGES, json=ANSWERS[0])
    assert (again.status_code, again.json()["seq"]) == (200, 6)
    other = client.post(MESSAGES, json={**ANSWERS[0], "output": "It runs."})
    assert outcome(other) == (409, "tool-call-answered")
    assert [error["pointer"] for error in other.json()["errors"]] == ["/output"]
    assert len(entries(client)) == len(ITEMS)


def test_outline_and_title_read_items(client: httpx.Client) -> None:
    post(client, *ITEMS)
    outline = client.get(f"{SESSION}/outline").json()["items"]
    assert [(message["role"], message["title"]) for message in outline] == [
        ("user", "Which clocks are slow?"),
        ("assistant", None),
        ("assistant", "I will look."),
        ("assistant", None),
        ("assistant", None),
        ("tool", "Zone 1 lags."),
        ("tool", "Zone 2 lags."),
    ]
    assert [item["calls"] for item in outline[3:5]] == [
        [{"id": "call_1", "name": "clock"}],
        [{"id": "call_2", "name": "clock"}],
    ]
    assert [item["answers"] for item in outline[5:]] == [["call_1"], ["call_2"]]
    assert client.get(SESSION).json()["title"] == "Which clocks are slow?"


@pytest.mark.engines("embedded", "server")
def test_message_is_found_by_its_words_and_by_nothing_around_them(client: httpx.Client) -> None:
    post(client, ANTHROPIC)

    def found(words: str) -> list[tuple[str, str | None]]:
        hits = client.get("/api/search", params={"q": words}).json()["items"]
        return [(hit["handle"], hit["title"]) for hit in hits]

    for words in ("measure", "pendulum"):
        assert found(words) == [("@entry:1", "assistant")]
    for words in ("anthropic", "claude", "1234", "assistant"):
        assert found(words) == []


def test_long_message_is_found_by_the_words_it_begins_with(client: httpx.Client) -> None:
    message = {"type": "output_text", "text": "pendulum " + "of the long clock " * 20_000}
    post(client, {**SAID, "content": [message]})
    for words, handles in (("pendulum", ["@entry:1"]), ("responses", [])):
        hits = client.get("/api/search", params={"q": words}).json()["items"]
        assert [hit["handle"] for hit in hits] == handles


def test_title_of_a_session_is_what_the_user_says_behind_the_system(client: httpx.Client) -> None:
    parts = [
        {"part_kind": "system-prompt", "content": "Be brief."},
        {"part_kind": "user-prompt", "content": "Which clocks are slow?"},
    ]
    post(client, {"kind": "request", "parts": parts})
    assert client.get(SESSION).json()["title"] == "Which clocks are slow?"


@pytest.mark.engines("embedded", "server")
def test_fork_has_messages_of_any_dialect_as_they_were_read(client: httpx.Client) -> None:
    post(client, *ITEMS)
    forked = client.post(f"{SESSION}/fork", json={"upTo": len(ITEMS), "as": "t"})
    assert forked.status_code == 201, forked.text
    of_fork = [client.get(f"/api/sessions/{name}/messages").json()["items"] for name in "st"]
    assert [[item["message"] for item in items] for items in of_fork] == [ITEMS, ITEMS]
    query = {"target": "openai-responses"}
    first, second = (client.get(f"/api/sessions/{letter}/render", params=query) for letter in "st")
    assert first.json()["messages"] == second.json()["messages"]


@pytest.mark.parametrize(
    ("message", "is_reference"),
    [
        ({"id": "m", "role": "user", "content": [{"type": "input_text", "text": "@"}]}, True),
        ({"parts": [{"fileData": {"fileUri": "@"}}], "role": "model"}, True),
        ({"type": "function_call_output", "call_id": "c", "output": "@"}, False),
        ({"type": "function_call", "call_id": "c", "name": "f", "arguments": "@"}, False),
        (
            {
                "kind": "request",
                "parts": [
                    {"part_kind": "user-prompt", "content": "Look."},
                    {
                        "part_kind": "tool-return",
                        "tool_name": "f",
                        "tool_call_id": "c",
                        "content": "@",
                    },
                ],
            },
            False,
        ),
    ],
    ids=["what people say", "medium", "answer", "arguments", "answer beside what people say"],
)
def test_reference_counts_where_a_dialect_has_media_or_people_speak(
    client: httpx.Client, message: Json, is_reference: bool
) -> None:
    uri = upload(client, LARGE)["uri"]
    post(client, _with_handle(message, f"@{uri}"))
    deleted = client.delete(f"/api/resources/{uri}")
    assert deleted.status_code == (409 if is_reference else 204)


def _with_handle(value: JsonValue, handle: str) -> JsonValue:
    if isinstance(value, dict):
        return {name: _with_handle(item, handle) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_handle(item, handle) for item in value]
    return handle if value == "@" else value


@pytest.mark.engines("embedded", "server")
def test_bundle_has_both_kinds_of_messages_with_their_readings(
    client: httpx.Client, service: LiveService
) -> None:
    picture = {"type": "input_image", "image_url": data_uri(LARGE, "image/png")}
    post(client, {**ASKED, "content": [*ASKED["content"], picture]}, *ITEMS[1:], ANTHROPIC)
    post(client, {"role": "user", "content": "Flat."})
    bundle = export(client, "s")
    rendered = client.get(f"{SESSION}/render", params={"target": "openai-chat"}).json()
    with service.client() as other:
        assert take_in(other, bundle).status_code == 201
        assert export(other, "s") == bundle
        assert entries(other) == entries(client)
        read = other.get(f"{SESSION}/render", params={"target": "openai-chat"}).json()
        assert read == rendered
        known = other.post(MESSAGES, json=ANSWERS[1])
        assert (known.status_code, known.json()["seq"]) == (200, 7)


@pytest.mark.engines("embedded", "server")
def test_bundle_has_what_stands_around_the_messages(
    client: httpx.Client, service: LiveService
) -> None:
    request = {"system": "Be brief.", "max_tokens": 9, "tools": [], "messages": [{**USER}]}
    assert client.put(f"{SESSION}/history", json=request).status_code == 200
    bundle = export(client, "s")
    query = {"target": "anthropic"}
    rendered = client.get(f"{SESSION}/render", params=query).json()
    assert rendered["system"] == "Be brief."
    with service.client() as other:
        assert take_in(other, bundle).status_code == 201
        assert export(other, "s") == bundle
        assert other.get(f"{SESSION}/render", params=query).json() == rendered
        again = other.put(f"{SESSION}/history", json=request).json()
        assert (again["appended"], again["lastSeq"]) == (0, 1)


def test_doctor_of_a_session_reads_items_as_it_reads_them_pasted(client: httpx.Client) -> None:
    post(client, *ITEMS[:-1])
    of_session = client.post("/api/doctor", json={"sessionId": "s"}).json()
    pasted = client.post("/api/doctor", json={"input": ITEMS[:-1]}).json()
    assert of_session["dialect"] == pasted["dialect"] == "openai-responses"
    assert [finding["rule"] for finding in of_session["findings"]] == [
        finding["rule"] for finding in pasted["findings"]
    ]
    assert [(finding["seq"], finding["rule"]) for finding in of_session["findings"]] == [
        (5, "no-answer")
    ]


def test_turn_takes_messages_of_any_dialect(client: httpx.Client) -> None:
    body = {"entries": [{"message": item} for item in ITEMS], "render": {"target": "anthropic"}}
    receipt = client.post(f"{SESSION}/turns", json=body).json()
    assert (receipt["seqs"], len(receipt["rendering"]["messages"])) == ([1, 2, 3, 4, 5, 6, 7], 3)
    assert [entry["message"] for entry in entries(client)] == ITEMS


def test_result_takes_the_message_of_its_call_in_any_dialect(client: httpx.Client) -> None:
    body = {"toolName": "measure", "toolCallId": "toolu_1", "sessionId": "s", "result": "2 s"}
    answer = client.post("/api/tool-results", json={**body, "callMessage": ANTHROPIC})
    assert answer.status_code == 201, answer.text
    call, result = entries(client)
    assert (call["message"], result["entry"]) == (ANTHROPIC, "tool_result")
    assert rendering(client, f"{SESSION}/render", "openai-chat")["loss"] == []


def test_call_of_a_tool_of_ours_is_found_in_an_item(client: httpx.Client) -> None:
    call = {"id": "call_9", "name": "search_pages", "arguments": '{"query": "clock"}'}
    item = {"type": "function_call", "id": "fc", "call_id": "call_9", **call, "status": None}
    post(client, ASKED, {**item, "id": "fc_9"})
    ran = client.post(f"{SESSION}/tool-calls", json={**call, "target": "openai-responses"})
    assert ran.status_code == 200, ran.text
    assert [entry["entry"] for entry in entries(client)] == ["message", "message", "tool_result"]
