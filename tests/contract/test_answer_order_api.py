"""The order of answers to parallel calls: the host's in a list, that of the calls otherwise."""

from collections.abc import Callable, Sequence
from itertools import permutations

import httpx
import pytest

from tests.contract.render_requests import Json, rendering
from tests.contract.session_requests import append, call_tool

pytestmark = pytest.mark.engines("embedded")

IDS = ("a", "b", "c")
CALLS: Json = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": identifier, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for identifier in IDS
    ],
}


def answers(client: httpx.Client, session_id: str) -> list[str]:
    """Return which calls a rendering of a session answers, in order."""
    messages = rendering(client, f"/api/sessions/{session_id}/render", "openai-chat")["messages"]
    return [message["tool_call_id"] for message in messages if message["role"] == "tool"]


def result_of(call_id: str) -> Json:
    return {"toolName": "f", "toolCallId": call_id, "result": call_id}


def message_of(call_id: str) -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": call_id}


def take(client: httpx.Client, session_id: str, *entries: Json) -> None:
    answer = client.post(f"/api/sessions/{session_id}/turns", json={"entries": entries})
    assert answer.status_code == 200, answer.text


def put(client: httpx.Client, session_id: str, *messages: Json) -> None:
    answer = client.put(f"/api/sessions/{session_id}/history", json=messages)
    assert answer.status_code == 200, answer.text


def post_results(client: httpx.Client, session_id: str, ids: Sequence[str]) -> None:
    for call_id in ids:
        call_tool(client, call_id, session_id=session_id)


def post_messages(client: httpx.Client, session_id: str, ids: Sequence[str]) -> None:
    for identifier in ids:
        append(client, session_id, **message_of(identifier))


def take_turns(client: httpx.Client, session_id: str, ids: Sequence[str]) -> None:
    for call_id in ids:
        take(client, session_id, {"toolResult": result_of(call_id)})


def call_tools(client: httpx.Client, session_id: str, ids: Sequence[str]) -> None:
    for call_id in ids:
        call = {"target": "openai-chat", "id": call_id, "name": "list_media"}
        answer = client.post(f"/api/sessions/{session_id}/tool-calls", json=call)
        assert answer.status_code == 200, answer.text


def fault_pages(client: httpx.Client, session_id: str, ids: Sequence[str]) -> None:
    client.put("/api/pages/p", json={"modality": "text", "content": "Words."})
    for call_id in ids:
        call = {"session_id": session_id, "tool_call_id": call_id, "target_level": 0}
        answer = client.post("/api/pages/p/fault", json=call)
        assert answer.status_code == 200, answer.text


@pytest.mark.slow
@pytest.mark.engines("embedded", "server")
@pytest.mark.parametrize(
    "store", [post_results, post_messages, take_turns, call_tools, fault_pages]
)
def test_answers_stored_one_by_one_stand_in_the_order_of_their_calls(
    client: httpx.Client, store: Callable[[httpx.Client, str, Sequence[str]], None]
) -> None:
    for number, ids in enumerate(permutations(IDS)):
        session_id = f"s{number}"
        append(client, session_id, **CALLS)
        store(client, session_id, ids)
        assert answers(client, session_id) == ["a", "b", "c"]


def test_results_of_one_turn_keep_the_order_of_their_host(client: httpx.Client) -> None:
    results = [{"toolResult": result_of(letter)} for letter in "ca"]
    call = {"toolCall": {"id": "b", "name": "list_media"}}
    take(client, "mixed", {"message": CALLS}, results[0], call, {"message": message_of("a")})
    assert answers(client, "mixed") == ["c", "b", "a"]
    blocks = [{"type": "tool_result", "tool_use_id": letter, "content": letter} for letter in "cb"]
    both = {"message": {"role": "user", "content": blocks}}
    take(client, "blocks", {"message": CALLS}, both, {"toolResult": result_of("a")})
    assert answers(client, "blocks") == ["c", "b", "a"]
    # What is stored by itself later stands before those of later calls, and moves none of them.
    take(client, "results", {"message": CALLS}, *results)
    post_results(client, "results", "b")
    assert answers(client, "results") == ["b", "c", "a"]


def test_messages_of_one_list_keep_the_order_of_their_host(client: httpx.Client) -> None:
    sent = [CALLS, *map(message_of, "cab")]
    put(client, "whole", *sent)
    assert rendering(client, "/api/sessions/whole/render", "openai-chat")["messages"] == sent
    for end in range(1, 5):
        put(client, "grown", *sent[:end])
    assert rendering(client, "/api/sessions/grown/render", "openai-chat")["messages"] == sent
    append(client, "one", **CALLS)
    blocks = [{"type": "tool_result", "tool_use_id": letter, "content": letter} for letter in "cab"]
    append(client, "one", role="user", content=blocks)
    assert answers(client, "one") == ["c", "a", "b"]


@pytest.mark.engines("embedded", "server")
def test_fork_of_a_session_has_the_order_of_its_answers(client: httpx.Client) -> None:
    take(client, "s", {"message": CALLS}, *({"toolResult": result_of(letter)} for letter in "cab"))
    append(client, "t", **CALLS)
    post_messages(client, "t", "cab")
    for session_id, expected in (("s", ["c", "a", "b"]), ("t", ["a", "b", "c"])):
        fork = {"upTo": 4, "as": f"{session_id}-fork"}
        assert client.post(f"/api/sessions/{session_id}/fork", json=fork).status_code == 201
        assert answers(client, f"{session_id}-fork") == expected
