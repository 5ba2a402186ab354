"""Sessions by the tools that they called, and these tools, over HTTP on both engines."""

from typing import Any

import httpx
import pytest

from tests.contract.bundled_sessions import export, take_in
from tests.contract.session_requests import append, call_tool, listed

SESSIONS = "/api/sessions"
TOOLS = "/api/called-tools"


def index(client: httpx.Client) -> None:
    """Search until all entries are indexed; another process may have begun to index some."""
    while client.get("/api/search", params={"q": "camera"}).json()["pending"]:
        pass


def sessions(client: httpx.Client, **query: str) -> list[str]:
    index(client)
    answered = client.get(SESSIONS, params=query)
    assert answered.status_code == 200, answered.text
    return [item["id"] for item in answered.json()["items"]]


def tools(client: httpx.Client) -> list[dict[str, Any]]:
    index(client)
    return listed(client, f"{TOOLS}?limit=2")


def say(client: httpx.Client, session_id: str, **message: object) -> None:
    assert append(client, session_id, **message).status_code == 201


def write_sessions(client: httpx.Client) -> None:
    """Write sessions that call tools in several dialects, and one that only names one."""
    call_tool(client, "c", session_id="result")
    function = {"name": "camera", "arguments": "{}"}
    call = {"id": "c", "type": "function", "function": function}
    say(client, "openai", role="assistant", content=None, tool_calls=[call])
    use = {"type": "tool_use", "id": "u", "name": "camera", "input": {}}
    other = {"type": "tool_use", "id": "v", "name": "microphone", "input": {}}
    say(client, "anthropic", role="assistant", content=[use, other])
    gemini = {"functionCall": {"name": "microphone", "args": {}}}
    say(client, "gemini", role="model", parts=[gemini])
    say(client, "words", content="The camera is broken.")


def test_sessions_are_listed_by_a_tool_that_they_called(client: httpx.Client) -> None:
    write_sessions(client)
    assert sessions(client, tool="camera") == ["anthropic", "openai", "result"]
    assert sessions(client, tool="microphone") == ["gemini", "anthropic"]
    assert sessions(client, tool="camera", q="open") == ["openai"]
    assert sessions(client, tool="Camera") == sessions(client, tool="%") == []
    # PostgreSQL takes no NUL.
    assert sessions(client, tool="camera\0") == []
    assert tools(client) == [
        {"name": "camera", "sessions": 3},
        {"name": "microphone", "sessions": 2},
    ]


@pytest.mark.engines("embedded")
def test_list_of_a_tool_goes_on_where_it_ended(client: httpx.Client) -> None:
    for number in range(5):
        call_tool(client, "c", session_id=f"s{number}")
        say(client, f"t{number}", content="Nothing.")
    # The list indexes what was just written.
    found = [item["id"] for item in listed(client, f"{SESSIONS}?tool=camera&limit=2")]
    assert found == ["s4", "s3", "s2", "s1", "s0"]
    cursor = client.get(SESSIONS, params={"tool": "camera", "limit": 2}).json()["nextCursor"]
    for other in ({"tool": "other"}, {"tool": "camera", "writtenWithin": "9"}, {}):
        refused = client.get(SESSIONS, params={**other, "cursor": cursor})
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid-cursor")


def test_tools_are_listed_by_name_over_several_lists(client: httpx.Client) -> None:
    names = ["a", "b.c", "mcp__files__read", "ñandú", "\U0001f3a5" * 128, "x" * 128]
    for number, name in enumerate([*names, "x" * 129, "bell\x07"]):
        body = {"toolName": name, "toolCallId": f"c{number}", "sessionId": "s", "result": "."}
        assert client.post("/api/tool-results", json=body).status_code == 201
    found = tools(client)
    assert sorted(item["name"] for item in found) == sorted(names)
    assert {item["sessions"] for item in found} == {1}
    assert sessions(client, tool="\U0001f3a5" * 128) == ["s"]


def test_first_hundred_tools_of_a_message_are_listed(client: httpx.Client) -> None:
    uses = [
        {"type": "tool_use", "id": f"u{number}", "name": f"tool{number:03}", "input": {}}
        for number in range(120)
    ]
    say(client, "s", role="assistant", content=uses)
    assert [item["name"] for item in tools(client)] == [use["name"] for use in uses[:100]]


def test_tools_of_no_session_are_none(client: httpx.Client) -> None:
    call_tool(client, "c", session_id=None)
    assert tools(client) == []


def test_deleted_session_takes_its_tools_along(client: httpx.Client) -> None:
    write_sessions(client)
    assert len(tools(client)) == 2
    for name in ("gemini", "anthropic"):
        assert client.delete(f"{SESSIONS}/{name}").status_code == 200
    assert tools(client) == [{"name": "camera", "sessions": 2}]
    # Another session of that name has called nothing.
    say(client, "anthropic", content="Hello.")
    assert sessions(client, tool="camera") == ["openai", "result"]


def test_fork_and_imported_session_have_the_tools_of_their_entries(client: httpx.Client) -> None:
    say(client, "s", content="Hello.")
    call_tool(client, "c", session_id="s")
    for up_to in (1, 2):
        body = {"upTo": up_to, "as": f"fork{up_to}"}
        assert client.post(f"{SESSIONS}/s/fork", json=body).is_success
    assert sorted(sessions(client, tool="camera")) == ["fork2", "s"]
    bundle = export(client, "s")
    assert client.delete(f"{SESSIONS}/s").status_code == 200
    assert sessions(client, tool="camera") == ["fork2"]
    assert take_in(client, bundle).is_success
    assert sorted(sessions(client, tool="camera")) == ["fork2", "s"]


def test_sessions_are_listed_by_the_age_of_their_last_write(client: httpx.Client) -> None:
    say(client, "s", content="Hello.")
    assert sessions(client, writtenWithin="600") == ["s"]


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        (SESSIONS, {"tool": ""}, 422),
        (SESSIONS, {"tool": "x" * 129}, 422),
        (SESSIONS, {"writtenWithin": "0"}, 422),
        (SESSIONS, {"writtenWithin": "1.5"}, 422),
        (TOOLS, {"tool": "camera"}, 422),
        (TOOLS, {"cursor": "WyJzZXNzaW9ucyJd"}, 400),
        (TOOLS, {"cursor": "WyJjYWxsZWQtdG9vbHMiLCJ6eiJd"}, 400),
        (TOOLS, {"cursor": "WyJjYWxsZWQtdG9vbHMiLCJmZiJd"}, 400),
        (TOOLS, {"cursor": "WyJjYWxsZWQtdG9vbHMiLCIwMCJd"}, 400),
    ],
)
def test_list_that_is_asked_for_wrongly_is_refused(
    client: httpx.Client, path: str, query: dict[str, str], status: int
) -> None:
    assert client.get(path, params=query).status_code == status
