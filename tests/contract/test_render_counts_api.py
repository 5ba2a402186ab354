"""`countTokens`: renderings that do not say what their messages cost."""

import httpx
import pytest

from tests.contract.page_requests import pointers, put
from tests.contract.render_requests import SESSION_RENDER, Json, read_rendering, rendering
from tests.contract.session_requests import append, call_tool

pytestmark = pytest.mark.engines("embedded")

LINES = "\n".join(f"{number} lines of a log" for number in range(1, 301))
CALL: Json = {"target": "openai-chat", "id": "own", "name": "list_media", "arguments": {}}
CALLS = "/api/sessions/s/tool-calls"
TURNS = "/api/sessions/s/turns"
WORKING_SET = "/api/sessions/s/working-set"
ENTRY: Json = {"message": {"role": "user", "content": "Go on."}}


def stored(client: httpx.Client) -> tuple[str, ...]:
    """Store a session with a tool result, and a page; return the paths of their renderings."""
    append(client, content="Read the log.")
    record = call_tool(client, "call_1", LINES)
    assert isinstance(record, dict)
    append(client, content="And now?")
    put(client, "p", content="A page.")
    return f"/api/tool-results/{record['id']}/render", SESSION_RENDER, "/api/pages/p/render"


def uncounted(record: Json) -> Json:
    """A rendering as it is without its tokens; it has them."""
    assert record["tokensEst"] > 0
    return {name: value for name, value in record.items() if name != "tokensEst"}


def test_nothing_but_the_tokens_is_left_out_of_an_answer(client: httpx.Client) -> None:
    for path in stored(client):
        counted = rendering(client, path, "openai-chat")
        assert rendering(client, path, "openai-chat", countTokens="true") == counted
        bare = rendering(client, path, "openai-chat", countTokens="false")
        assert (bare, [*bare]) == (uncounted(counted), [*uncounted(counted)])
    since = {"since": 2}
    new = rendering(client, SESSION_RENDER, "openai-chat", **since)
    assert len(new["messages"]) == 1
    bare = rendering(client, SESSION_RENDER, "openai-chat", countTokens=0, **since)
    assert bare == uncounted(new)


def test_body_says_so_as_an_address_does(client: httpx.Client) -> None:
    tool_result, session, page = stored(client)
    named = {tool_result: "toolResultId", session: "sessionId", page: "pageId"}
    for path, member in named.items():
        bare = client.get(path, params={"target": "mcp", "countTokens": "false"})
        query = {"target": "mcp", member: path.split("/")[3], "countTokens": False}
        by_body = client.post("/api/render", json=query)
        assert (by_body.content, by_body.headers["etag"]) == (bare.content, bare.headers["etag"])
    posted = client.post(session, json={"target": "mcp", "countTokens": False})
    assert read_rendering(posted, "mcp") == rendering(client, session, "mcp", countTokens=0)


def test_calls_turns_and_answers_to_writes_are_not_counted_either(client: httpx.Client) -> None:
    stored(client)
    bare = read_rendering(client.post(CALLS, json={**CALL, "countTokens": False}), "openai-chat")
    # The same call is not run again, and counted this time.
    assert bare == uncounted(read_rendering(client.post(CALLS, json=CALL), "openai-chat"))
    render: Json = {"target": "openai-chat", "countTokens": False, "handles": False}
    turn = client.post(TURNS, json={"entries": [ENTRY], "render": render}).json()["rendering"]
    assert turn == uncounted(rendering(client, SESSION_RENDER, "openai-chat"))
    body = {"toolName": "clock", "toolCallId": "c", "result": "It is ten."}
    asked = {"render": "mcp", "countTokens": "false"}
    written = client.post("/api/tool-results", params=asked, json=body).json()
    again = client.post("/api/tool-results", params={"render": "mcp"}, json=body).json()
    assert written["rendering"] == uncounted(again["rendering"])


def test_limit_on_tokens_holds_all_the_same(client: httpx.Client) -> None:
    stored(client)
    query: Json = {"target": "openai-chat", "maxTokens": 250, "frontier": "main"}
    bare = client.post(SESSION_RENDER, json={**query, "countTokens": False}).json()
    assert "evicted" in {item["code"] for item in bare["loss"]}
    counted = rendering(client, SESSION_RENDER, "openai-chat", maxTokens=250, frontier="main")
    assert counted["tokensEst"] <= 250
    assert {**bare, "stableThrough": len(bare["messages"])} == uncounted(counted)


def test_tags_of_counted_and_uncounted_answers_differ(client: httpx.Client) -> None:
    for path in stored(client):
        counted: Json = {"target": "mcp"}
        bare = {**counted, "countTokens": "false"}
        tags = [client.get(path, params=asked).headers["etag"] for asked in (counted, bare)]
        statuses = [
            client.get(path, params=asked, headers={"If-None-Match": tag}).status_code
            for asked in (counted, bare)
            for tag in tags
        ]
        assert statuses == [304, 200, 200, 304]


def test_working_set_has_its_numbers_in_any_case(client: httpx.Client) -> None:
    stored(client)
    counted = client.get(WORKING_SET, params={"target": "mcp"})
    bare = client.get(WORKING_SET, params={"target": "mcp", "countTokens": "false"})
    assert counted.json()["tokensEst"] > 0
    assert bare.content == counted.content


def test_what_is_neither_yes_nor_no_is_refused(client: httpx.Client) -> None:
    for path in (*stored(client), WORKING_SET):
        answer = client.get(path, params={"target": "mcp", "countTokens": "many"})
        assert pointers(answer) == ["/query/countTokens"]
    bodies: list[tuple[str, str, Json]] = [
        ("/api/render", "/countTokens", {"target": "mcp", "sessionId": "s", "countTokens": 7}),
        (SESSION_RENDER, "/countTokens", {"target": "mcp", "countTokens": 7}),
        (CALLS, "/countTokens", {**CALL, "countTokens": 7}),
        (
            TURNS,
            "/render/countTokens",
            {"entries": [ENTRY], "render": {"target": "mcp", "countTokens": 7}},
        ),
    ]
    for path, pointer, body in bodies:
        assert pointers(client.post(path, json=body)) == [pointer]
    answer = client.post(
        "/api/tool-results",
        params={"render": "mcp", "countTokens": "many"},
        json={"toolName": "clock", "toolCallId": "c", "result": "ten"},
    )
    assert pointers(answer) == ["/query/countTokens"]
