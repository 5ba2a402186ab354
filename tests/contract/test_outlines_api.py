"""The outline of a session: a line for each entry, the same for every dialect."""

import json
from typing import Any

import httpx
import pytest

from tests.contract.page_requests import data_uri, put
from tests.contract.session_requests import answer, append, ask
from tests.kit import media
from tests.kit.media import b64

pytestmark = pytest.mark.engines("embedded")

OUTLINE = "/api/sessions/s/outline"
Json = dict[str, Any]
NOTHING: Json = {
    "name": None,
    "title": None,
    "calls": [],
    "answers": [],
    "failed": False,
    "images": 0,
    "audios": 0,
    "videos": 0,
    "files": 0,
}


def outline(client: httpx.Client, **query: object) -> Json:
    answered = client.get(OUTLINE, params=query)  # type: ignore[arg-type]
    assert answered.status_code == 200, answered.text
    listed: Json = answered.json()
    return listed


def lines(client: httpx.Client) -> list[Json]:
    """Return the outline without moments, sizes and fingerprints."""
    changing = ("createdAt", "bytes", "tokensEst", "fingerprint")
    return [
        {name: line[name] for name in line if name not in changing}
        for line in outline(client)["items"]
    ]


def store(client: httpx.Client, call_id: str, result: object, **more: object) -> None:
    body = {"toolName": "look", "toolCallId": call_id, "sessionId": "s", "result": result, **more}
    assert client.post("/api/tool-results", json=body).status_code == 201


def test_every_kind_of_entry_has_a_line(client: httpx.Client) -> None:
    append(client, role="user", content="\n  What   is\tit?\nSay.")
    call = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    append(client, role="assistant", content=None, tool_calls=[call])
    picture = {"type": "image", "data": b64(media.png(64, 48)), "mimeType": "image/png"}
    store(client, "a", [{"type": "text", "text": "x" * 200}, picture])
    store(client, "b", "No.", success=False)
    put(client, "p", modality="image", content=data_uri(media.png(), "image/png"), session_id="s")
    fault = {"session_id": "s", "target_level": 0, "tool_call_id": "f"}
    assert client.post("/api/pages/p/fault", json=fault).is_success
    asked: Any = ask(client, "And this?")
    assert answer(client, asked["id"], {"role": "assistant", "content": "A dot."}).is_success
    assert lines(client) == [
        {**NOTHING, "seq": 1, "entry": "message", "role": "user", "title": "What is it?"},
        {
            **NOTHING,
            **{"seq": 2, "entry": "message", "role": "assistant"},
            "calls": [{"id": "a", "name": "look"}],
        },
        {
            **NOTHING,
            **{"seq": 3, "entry": "tool_result", "role": "tool", "name": "look", "images": 1},
            **{"title": "x" * 119 + "…", "answers": ["a"]},
        },
        {
            **NOTHING,
            **{"seq": 4, "entry": "tool_result", "role": "tool", "name": "look"},
            **{"title": "No.", "answers": ["b"], "failed": True},
        },
        {
            **NOTHING,
            **{"seq": 6, "entry": "page_fault", "role": "tool", "name": "p", "images": 1},
            **{"title": "Page p (image, FULL):", "answers": ["f"]},
        },
        {**NOTHING, "seq": 7, "entry": "interaction", "role": "user", "title": "And this?"},
        {**NOTHING, "seq": 8, "entry": "answer", "role": "assistant", "title": "A dot."},
    ]


CALLS: dict[str, Json] = {
    "openai": {
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "t", "arguments": "{}"}}
        ]
    },
    "anthropic": {"content": [{"type": "tool_use", "id": "a", "name": "t", "input": {}}]},
    "bedrock": {"content": [{"toolUse": {"toolUseId": "a", "name": "t", "input": {}}}]},
    "gemini": {"parts": [{"functionCall": {"id": "a", "name": "t", "args": {}}}]},
    "langchain": {"tool_calls": [{"id": "a", "name": "t", "args": {}, "type": "tool_call"}]},
    "vercel": {"content": [{"type": "tool-call", "toolCallId": "a", "toolName": "t", "input": {}}]},
}
ANSWERS: dict[str, Json] = {
    "openai": {"role": "tool", "tool_call_id": "a", "content": "Yes."},
    "anthropic": {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "a", "content": "Yes."}],
    },
    "bedrock": {
        "role": "user",
        "content": [{"toolResult": {"toolUseId": "a", "content": [{"text": "Yes."}]}}],
    },
    "gemini": {
        "role": "user",
        "parts": [{"functionResponse": {"id": "a", "name": "t", "response": {"output": "Yes."}}}],
    },
    "langchain": {"role": "tool", "tool_call_id": "a", "content": "Yes.", "status": "success"},
    "vercel": {
        "role": "tool",
        "content": [
            {
                **{"type": "tool-result", "toolCallId": "a", "toolName": "t"},
                "output": {"type": "text", "value": "Yes."},
            }
        ],
    },
}


@pytest.mark.parametrize("dialect", CALLS)
def test_calls_and_answers_are_known_in_every_dialect(client: httpx.Client, dialect: str) -> None:
    role = "model" if dialect == "gemini" else "assistant"
    for message in ({"role": role, **CALLS[dialect]}, ANSWERS[dialect]):
        assert append(client, "s", **message).status_code == 201
    calling, answering = lines(client)
    assert calling == {
        **NOTHING,
        **{"seq": 1, "entry": "message", "role": "assistant"},
        "calls": [{"id": "a", "name": "t"}],
    }
    assert (answering["answers"], answering["title"]) == (["a"], "Yes.")


def fingerprints(client: httpx.Client) -> list[str]:
    return [line["fingerprint"] for line in outline(client)["items"]]


def test_entries_that_say_the_same_have_one_fingerprint(client: httpx.Client) -> None:
    picture = {"type": "image", "data": b64(media.png(64, 48)), "mimeType": "image/png"}
    for call_id in ("a", "another"):
        store(client, call_id, [{"type": "text", "text": "Done.\nAll of it."}, picture])
    assert len(set(fingerprints(client))) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"result": "Done.\nNone of it."},
        {"result": "Done.\nAll of it.", "success": False},
        {"result": "Done.\nAll of it.", "toolName": "listen"},
        {"result": ["Done.\n", "All of it."]},
        {"result": {"content": [{"type": "text", "text": "Done."}], "structuredContent": {"n": 1}}},
    ],
)
def test_entries_that_differ_behind_their_first_line_have_two(
    client: httpx.Client, other: Json
) -> None:
    store(client, "a", "Done.\nAll of it.")
    store(client, "b", **other)
    assert len(set(fingerprints(client))) == 2


def test_fingerprint_knows_media_apart_by_their_bytes(client: httpx.Client) -> None:
    for call_id, noise in (("a", False), ("b", True)):
        data = b64(media.png(64, 48, noise=noise))
        store(client, call_id, [{"type": "image", "data": data, "mimeType": "image/png"}])
    one, other = outline(client)["items"]
    assert (one["images"], one["title"]) == (other["images"], other["title"])
    assert one["fingerprint"] != other["fingerprint"]


def test_fingerprint_of_a_call_is_the_same_in_every_dialect(client: httpx.Client) -> None:
    for dialect, call in CALLS.items():
        append(client, "s", role="model" if dialect == "gemini" else "assistant", **call)
    assert len(set(fingerprints(client))) == 1


def test_outline_goes_on_behind_a_number_and_where_its_cursor_says(client: httpx.Client) -> None:
    for number in range(7):
        append(client, role="user", content=str(number))
    whole = outline(client)
    assert whole["nextCursor"] is None
    first = outline(client, after=2, limit=3)
    second = outline(client, cursor=first["nextCursor"], limit=3)
    assert first["items"] + second["items"] == whole["items"][2:]
    assert second["nextCursor"] is None
    assert outline(client, after=7) == {"items": [], "nextCursor": None}
    refused = client.get(OUTLINE, params={"after": 1, "cursor": first["nextCursor"]})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/query/after")


@pytest.mark.slow
def test_large_entries_end_a_page_early(client: httpx.Client) -> None:
    for _ in range(4):
        append(client, role="user", content="A long text. " * 250_000)
    seqs, cursor = [], None
    while True:
        page = outline(client, **({"cursor": cursor} if cursor else {}))
        seqs.append([line["seq"] for line in page["items"]])
        cursor = page["nextCursor"]
        if cursor is None:
            break
    assert seqs == [[1, 2], [3, 4]]


def test_outline_that_is_known_is_not_sent_again(client: httpx.Client) -> None:
    append(client, role="user", content="Hello.")
    etag = client.get(OUTLINE).headers["etag"]
    assert client.get(OUTLINE, headers={"If-None-Match": etag}).status_code == 304
    append(client, role="user", content="Hello again.")
    assert client.get(OUTLINE, headers={"If-None-Match": etag}).status_code == 200


def test_session_that_is_not_there_has_no_outline(client: httpx.Client) -> None:
    assert client.get(OUTLINE).status_code == 404


def test_message_that_names_its_model_has_it_in_its_line(client: httpx.Client) -> None:
    append(client, role="user", content="Hello.")
    append(client, role="assistant", content="Hello.", model="claude-sonnet-4-5")
    assert [line.get("model") for line in lines(client)] == [None, "claude-sonnet-4-5"]


def test_entry_of_a_sub_agent_names_its_call_or_its_author(client: httpx.Client) -> None:
    append(client, role="assistant", content="I ask another.")
    append(client, role="assistant", content="I look.", parent_tool_use_id="toolu_1")
    event = {"invocationId": "i", "author": "helper", "content": {"parts": [{"text": "I look."}]}}
    assert client.post("/api/sessions/s/messages", json=event).is_success
    members = [(line.get("parentCall"), line.get("author")) for line in lines(client)]
    assert members == [(None, None), ("toolu_1", None), (None, "helper")]


def test_entry_of_a_sub_agent_of_ag_ui_names_its_run(client: httpx.Client) -> None:
    append(client, id="1", role="assistant", content="I ask another.", encryptedValue="x")
    append(client, id="2", role="assistant", content="I look.", subagentRunId="run-1")
    append(client, id="3", role="assistant", content="I look.", subagent_run_id="run-2")
    append(client, id="4", role="tool", toolCallId="c", content="Seen.", subagentRunId="run-1")
    append(client, role="assistant", content='"subagentRunId" is a word.')
    assert [line.get("subagentRunId") for line in lines(client)] == [
        None,
        "run-1",
        "run-2",
        "run-1",
        None,
    ]


def test_streamed_messages_keep_the_run_of_their_sub_agent(client: httpx.Client) -> None:
    events = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "ask"},
        {"type": "SUBAGENT_STARTED", "subagentRunId": "s1", "name": "x", "parentToolCallId": "c"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "subagentRunId": "s1"},
        {
            "type": "TEXT_MESSAGE_CONTENT",
            "messageId": "m",
            "delta": "I look.",
            "subagentRunId": "s1",
        },
        {
            **{"type": "TOOL_CALL_CHUNK", "toolCallId": "d", "toolCallName": "look"},
            **{"delta": "{}", "subagentRunId": "s1"},
        },
        {
            **{"type": "TOOL_CALL_RESULT", "messageId": "n", "toolCallId": "d"},
            **{"content": "Seen.", "subagentRunId": "s1"},
        },
        {"type": "TOOL_CALL_RESULT", "messageId": "o", "toolCallId": "c", "content": "Done."},
    ]
    assert client.put("/api/sessions/s/history", json=events).is_success
    runs = [(line["role"], line.get("subagentRunId")) for line in lines(client)]
    assert runs == [
        ("assistant", None),
        ("assistant", "s1"),
        ("assistant", "s1"),
        ("tool", "s1"),
        ("tool", None),
    ]


@pytest.mark.slow
def test_entries_have_the_levels_of_a_rendering_that_is_named(client: httpx.Client) -> None:
    append(client, role="user", content="Begin.")
    for number in range(40):
        function = {"name": "bash", "arguments": json.dumps({"q": "look " * 60})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        append(client, role="assistant", content=None, tool_calls=[call])
        store(client, f"c{number}", "A line. " * 100)
    named: dict[str, str | int] = {"target": "openai-chat", "maxTokens": 2_000}
    found = {line["seq"]: line.get("stepLevel") for line in outline(client, **named)["items"]}
    entries = client.get("/api/sessions/s/working-set", params=named).json()["entries"]
    expected = dict.fromkeys(range(1, 82))
    for entry in entries:
        for seq in range(entry.get("fromSeq", entry["seq"]), entry["seq"] + 1):
            expected[seq] = entry.get("stepLevel")
    assert found == expected
    assert (found[1], found[2], found[81]) == (None, "folded", None)
    assert {*found.values()} == {None, "folded", "line", "arguments"}
    assert not any("stepLevel" in line for line in outline(client)["items"])


def test_levels_of_a_budget_that_is_too_small_are_refused(client: httpx.Client) -> None:
    append(client, role="user", content="Begin.")
    refused = client.get(OUTLINE, params={"target": "openai-chat", "maxTokens": 1})
    assert (refused.status_code, refused.json()["code"]) == (422, "budget-too-small")
