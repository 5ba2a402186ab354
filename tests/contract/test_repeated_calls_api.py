"""Calls with ids that were used before, or that are long: each has its own answer."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import ANY
from uuid import uuid4

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.models.call_ids import LONGEST_CALL_ID
from tests.contract.page_requests import put

pytestmark = pytest.mark.engines("embedded")

Json = dict[str, Any]
ID = "list_dir:0"
# As Gemini 3 behind LiteLLM makes them.
LONG = "call_f5b3__thought__" + "CiQB" * 1_138
RESULTS = "/api/tool-results"


def calling(path: str, *call_ids: str) -> Json:
    function = {"name": "list_dir", "arguments": json.dumps({"path": path})}
    calls = [{"id": item, "type": "function", "function": function} for item in call_ids or (ID,)]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(text: str, call_id: str = ID, **members: object) -> Json:
    return {
        "sessionId": "s",
        "toolName": "list_dir",
        "toolCallId": call_id,
        "result": text,
        **members,
    }


def say(client: httpx.Client, message: Json) -> httpx.Response:
    return client.post("/api/sessions/s/messages", json=message)


def store(client: httpx.Client, body: Json, **query: str) -> tuple[int, str]:
    answer = client.post(RESULTS, json=body, params=query)
    return answer.status_code, answer.json().get("id", answer.json().get("code"))


def rendering(client: httpx.Client, target: str = "openai-chat") -> Json:
    answer = client.get("/api/sessions/s/render", params={"target": target})
    assert answer.status_code == 200, answer.text
    rendered: Json = answer.json()
    return rendered


def told(client: httpx.Client) -> list[str]:
    """The calls and answers of a rendering, in order: `path` of a call, the text of an answer."""
    messages = rendering(client)["messages"]
    return [
        item
        for message in messages
        for item in (
            [
                json.loads(call["function"]["arguments"]).get("path")
                for call in message["tool_calls"]
            ]
            if message.get("tool_calls")
            else [message["content"]]
        )
    ]


@pytest.mark.engines("embedded", "server")
def test_call_of_a_later_turn_with_the_same_id_has_its_own_result(client: httpx.Client) -> None:
    ids = set()
    for path in (".", "/", "/"):
        assert say(client, calling(path)).status_code == 201
        status, made = store(client, result(f"of {path}"))
        assert (status, store(client, result(f"of {path}"))) == (201, (200, made))
        assert store(client, result("else")) == (409, "tool-call-answered")
        ids.add(made)
    assert len(ids) == 3
    assert told(client) == [".", "of .", "/", "of /", "/", "of /"]
    assert rendering(client)["loss"] == []
    named = [client.get(f"{RESULTS}/{word}").json()["toolCallId"] for word in ids]
    assert named == [ID] * 3


@pytest.mark.engines("embedded", "server")
def test_call_is_repeated_until_its_result_is_stored(client: httpx.Client) -> None:
    assert [say(client, calling(".")).status_code for _ in range(2)] == [201, 201]
    assert store(client, result("a"))[0] == 201
    assert store(client, result("b")) == (409, "tool-call-answered")
    assert told(client) == [".", "a"]


def test_result_before_its_message_says_that_its_call_is_new(client: httpx.Client) -> None:
    assert store(client, result("a", callMessage=calling(".")))[0] == 201
    assert store(client, result("a", newCall=True))[0] == 201
    say(client, calling("/"))
    assert store(client, result("c", callMessage=calling("/c")))[0] == 201
    assert store(client, result("c", callMessage=calling("/c")))[0] == 200
    assert store(client, result("a"), newCall="true")[0] == 201
    assert told(client) == [".", "a", "/", "a", "/c", "c", None, "a"]


@pytest.mark.engines("embedded", "server")
def test_new_call_is_repeated_safely_with_a_key(client: httpx.Client) -> None:
    store(client, result("a"))
    key = {"Idempotency-Key": "k"}
    answers = [client.post(RESULTS, json=result("a", newCall=True), headers=key) for _ in range(2)]
    assert [item.status_code for item in answers] == [201, 200]
    assert answers[0].json() == answers[1].json()


def test_message_is_the_answer_to_the_call_behind_the_one_before(client: httpx.Client) -> None:
    answer = {"role": "tool", "tool_call_id": ID, "content": "a"}
    block = {"type": "tool_result", "tool_use_id": ID, "content": "b"}
    user = {"role": "user", "content": [block]}
    for message, path in ((answer, "."), (answer, "/"), (user, "/b")):
        say(client, calling(path))
        assert [say(client, message).status_code for _ in range(2)] == [201, 200]
    assert told(client) == [".", "a", "/", "a", "/b", "b"]


def test_result_in_a_message_that_says_more_is_told_once(client: httpx.Client) -> None:
    say(client, calling("."))
    store(client, result("a"))
    block = {"type": "tool_result", "tool_use_id": ID, "content": "a preview"}
    assert say(client, {"role": "user", "content": [block]}).status_code == 409
    assert say(client, {"role": "tool", "tool_call_id": ID, "content": "a"}).status_code == 409
    more = say(client, {"role": "user", "content": [block, {"type": "text", "text": "Go on."}]})
    assert more.status_code == 201
    assert told(client) == [".", "a", "Go on."]
    (loss,) = rendering(client)["loss"]
    assert (loss["seq"], loss["code"], loss["from"]) == (3, "duplicate-answer", "answer")


def answering(*results: str, ids: str = "ab") -> Json:
    """A message with an answer to each of several calls, as Anthropic has it."""
    blocks = [
        {"type": "tool_result", "tool_use_id": call_id, "content": text}
        for call_id, text in zip(ids, results, strict=True)
    ]
    return {"role": "user", "content": blocks}


def refused(answer: httpx.Response) -> list[str]:
    """Return the pointers of a message at which it answers calls that have other answers."""
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (409, "tool-call-answered"), problem
    return [error["pointer"] for error in problem.get("errors", ())]


SEVERAL: dict[str, Callable[[dict[str, str]], Json]] = {
    "anthropic": lambda texts: answering(*texts.values(), ids="".join(texts)),
    "gemini": lambda texts: {
        "role": "user",
        "parts": [
            {"functionResponse": {"id": key, "name": "list_dir", "response": {"output": text}}}
            for key, text in texts.items()
        ],
    },
    "bedrock": lambda texts: {
        "role": "user",
        "content": [
            {"toolResult": {"toolUseId": key, "content": [{"text": text}], "status": "success"}}
            for key, text in texts.items()
        ],
    },
    "vercel": lambda texts: {
        "role": "tool",
        "content": [
            {
                "type": "tool-result",
                "toolCallId": key,
                "toolName": "list_dir",
                "output": {"type": "text", "value": text},
            }
            for key, text in texts.items()
        ],
    },
}
SINGLE: dict[str, Callable[[str, str], Json]] = {
    **{
        name: partial(lambda write, *answer: write(dict([answer])), SEVERAL[name])
        for name in SEVERAL
    },
    "openai-chat": lambda call_id, text: {
        "role": "tool",
        "tool_call_id": call_id,
        "content": text,
    },
    "openai-responses": lambda call_id, text: {
        "type": "function_call_output",
        "call_id": call_id,
        "output": text,
    },
}


@pytest.mark.slow
@pytest.mark.engines("embedded", "server")
def test_answer_that_is_stored_among_others_is_a_conflict(client: httpx.Client) -> None:
    for one, write in SEVERAL.items():
        say(client, calling(one, "a", "b"))
        both = write({"a": "1", "b": "2"})
        assert say(client, both).status_code == 201
        for name, write_one in SINGLE.items():
            assert refused(say(client, write_one("b", "3"))) == [""], (one, name)
        for name, write_other in SEVERAL.items():
            if name != one:
                refused(say(client, write_other({"b": "3", "a": "1"})))
        assert store(client, result("3", "a")) == (409, "tool-call-answered")
        assert say(client, both).status_code == 200
    assert told(client) == [item for one in SEVERAL for item in (one, one, "1", "2")]
    assert rendering(client)["loss"] == []


@pytest.mark.slow
@pytest.mark.engines("embedded", "server")
def test_answers_that_are_stored_one_by_one_are_a_conflict_together(client: httpx.Client) -> None:
    for name, write_one in SINGLE.items():
        say(client, calling(name, "a", "b"))
        one = write_one("a", "1")
        assert [say(client, one).status_code for _ in range(2)] == [201, 200]
        status, made = store(client, result("2", "b"))
        for write in SEVERAL.values():
            refused(say(client, write({"a": "1", "b": "3"})))
        assert say(client, one).status_code == 200
        assert (status, store(client, result("2", "b"))) == (201, (200, made))
    assert told(client) == [item for name in SINGLE for item in (name, name, "1", "2")]
    assert rendering(client)["loss"] == []


def test_answer_among_others_is_that_of_the_newest_call_of_its_id(client: httpx.Client) -> None:
    for path in "./":
        say(client, calling(path, "a", "b"))
        assert say(client, answering(f"of {path}", "b")).status_code == 201
        assert store(client, result("else", "a")) == (409, "tool-call-answered")
    # Without a message that makes it, and with one.
    new: list[Json] = [{"newCall": True}, {"callMessage": calling("/c", "a")}]
    for number, members in enumerate(new):
        assert store(client, result(f"new {number}", "a", **members))[0] == 201
    assert store(client, result("new 1", "a", **members))[0] == 200
    assert store(client, result("else", "a")) == (409, "tool-call-answered")
    answers = [
        message["content"] for message in rendering(client)["messages"] if message["role"] == "tool"
    ]
    assert answers == ["of .", "b", "of /", "b", "new 0", "new 1"]
    assert rendering(client)["loss"] == [ANY]


def test_answer_beside_words_is_that_of_its_call(client: httpx.Client) -> None:
    say(client, calling(".", "a"))
    both = answering("1", ids="a")
    both["content"].append({"type": "text", "text": "Go on."})
    assert [say(client, both).status_code for _ in range(2)] == [201, 201]
    assert refused(say(client, answering("2", ids="a"))) == [""]
    assert store(client, result("2", "a")) == (409, "tool-call-answered")


def test_turn_names_the_entry_that_answers_what_it_answers(client: httpx.Client) -> None:
    say(client, calling(".", "a", "b"))
    say(client, answering("1", "2"))
    for message in (answering("3", ids="a"), answering("1", "3")):
        answer = client.post("/api/sessions/s/turns", json={"entries": [{"message": message}]})
        assert refused(answer) == ["/entries/0"]
        assert answer.json()["errors"][0]["detail"] == "answers what seq 2 has answered"


def test_message_of_several_answers_is_stored_once_until_their_calls_are_made_again(
    client: httpx.Client,
) -> None:
    def stored(message: Json) -> tuple[int, int]:
        answer = say(client, message)
        return answer.status_code, answer.json()["seq"]

    both = answering("1", "2")
    assert stored(calling("a", "a", "b")) == (201, 1)
    assert stored(both) == (201, 2)
    assert stored({"role": "user", "content": "a and b?"}) == (201, 3)
    assert stored(both) == (200, 2)
    # Answers to other calls are in between.
    assert stored(answering("1", "2", ids="cd")) == (201, 4)
    assert stored(both) == (200, 2)
    assert refused(say(client, answering("1", "3"))) == ["/content/1/content"]
    # One of its calls has no answer yet.
    assert stored(answering("1", "2", "3", ids="abe")) == (201, 5)
    assert stored(both) == (200, 2)
    assert stored(calling("a", "b")) == (201, 6)
    assert stored(both) == (201, 7)
    assert stored(calling("/b", "b")) == (201, 8)
    assert stored(answering("3", ids="b")) == (201, 9)
    assert refused(say(client, answering("1", "3"))) == [""]


def test_new_answers_among_those_that_are_stored_are_stored(client: httpx.Client) -> None:
    say(client, calling("a", "a", "b", "c"))
    assert say(client, answering("1", "2")).status_code == 201
    more = answering("1", "2", "3", ids="abc")
    assert [say(client, more).status_code for _ in range(2)] == [201, 200]
    rendered = rendering(client)
    answers = [message for message in rendered["messages"] if message["role"] == "tool"]
    assert [(message["tool_call_id"], message["content"]) for message in answers] == [
        *(("a", "1"), ("b", "2"), ("c", "3"))
    ]
    assert [item["code"] for item in rendered["loss"]] == ["duplicate-answer"] * 2


def test_answers_without_ids_are_stored_again_behind_any_call(client: httpx.Client) -> None:
    names = ("f", "g")
    calls = {"role": "model", "parts": [{"functionCall": {"name": item}} for item in names]}
    answers = {
        "role": "user",
        "parts": [{"functionResponse": {"name": item, "response": {}}} for item in names],
    }
    answered = [say(client, item) for item in (calls, answers, answers, calls, answers)]
    assert [item.json()["seq"] for item in answered] == [1, 2, 2, 3, 4]


def test_history_with_a_message_of_answers_twice_is_put_whole(client: httpx.Client) -> None:
    both = answering("1", "2")
    history = [calling("a", "a", "b"), both, both, {"role": "user", "content": "and?"}]
    for end in (4, 4, 5, 6):
        more = [{"role": "user", "content": str(number)} for number in range(4, end)]
        answer = client.put("/api/sessions/s/history", json=history + more)
        assert answer.status_code == 200, answer.text
    listed = client.get("/api/sessions/s/messages").json()["items"]
    assert [message["content"] for message in listed][-2:] == ["4", "5"]


@pytest.mark.slow
@pytest.mark.engines("embedded", "server")
def test_call_is_found_behind_messages_that_are_not_read_at_once(client: httpx.Client) -> None:
    say(client, calling("a"))
    assert store(client, result("1"))[0] == 201
    for number in range(3):
        long = {"role": "user", "content": f"{number}" + "x" * 6_000_000}
        assert say(client, long).status_code == 201
    say(client, calling("b"))
    assert store(client, result("2"))[0] == 201


def test_turn_has_several_calls_of_one_id(client: httpx.Client) -> None:
    entries = [
        {name: item}
        for path in (".", "/")
        for name, item in (("message", calling(path)), ("toolResult", result(f"of {path}")))
    ]
    assert client.post("/api/sessions/s/turns", json={"entries": entries}).status_code == 200
    assert told(client) == [".", "of .", "/", "of /"]
    again = client.post("/api/sessions/s/turns", json={"entries": entries[1:2]})
    assert (again.status_code, again.json()["code"]) == (409, "tool-call-answered")


def test_page_fault_and_tool_call_answer_the_newest_call_of_their_id(client: httpx.Client) -> None:
    put(client, modality="text", content="A page.")
    fault = {"session_id": "s", "tool_call_id": ID, "target_level": 0}
    for path in (".", "/"):
        say(client, calling(path))
        answers = [client.post("/api/pages/p/fault", json=fault) for _ in range(2)]
        assert [item.status_code for item in answers] == [200, 200]
    query = {"id": ID, "name": "page_fault", "arguments": {"page_id": "p"}, "target": "openai-chat"}
    say(client, calling("/c"))
    run = [client.post("/api/sessions/s/tool-calls", json=query) for _ in range(2)]
    assert [item.status_code for item in run] == [200, 200], run[0].text
    assert run[0].json() == run[1].json()
    assert len(rendering(client)["messages"]) == 6


def test_page_fault_of_a_session_has_its_call(client: httpx.Client) -> None:
    put(client, modality="text", content="A page.")
    say(client, {"role": "user", "content": "What was on the page?"})
    fault = {"session_id": "s", "tool_call_id": LONG, "target_level": 0}
    assert client.post("/api/pages/p/fault", json=fault).status_code == 200
    rendered = rendering(client)
    (call,) = rendered["messages"][1]["tool_calls"]
    assert call["function"]["name"] == "page_fault"
    assert json.loads(call["function"]["arguments"]) == {"page_id": "p", "target_level": 0}
    assert rendered["loss"] == []
    diagnosis = client.post("/api/doctor", json={"sessionId": "s"}).json()
    assert [finding["rule"] for finding in diagnosis["findings"]] == []


@pytest.mark.engines("embedded", "server")
@pytest.mark.parametrize("call_id", [LONG, "€" * LONGEST_CALL_ID, "sha-256:" + "0" * 64 + "#2"])
def test_id_of_any_length_is_stored_and_shown_whole(client: httpx.Client, call_id: str) -> None:
    say(client, {"role": "user", "content": "Go."})
    say(client, calling(".", call_id))
    status, made = store(client, result("a", call_id))
    assert (status, store(client, result("a", call_id))) == (201, (200, made))
    assert client.get(f"{RESULTS}/{made}").json()["toolCallId"] == call_id
    entry = client.get("/api/sessions/s/messages/3").json()
    assert entry["toolCallId"] == call_id
    say(client, calling("/", call_id))
    answer = {"role": "tool", "tool_call_id": call_id, "content": "b"}
    assert [say(client, answer).status_code for _ in range(2)] == [201, 200]
    assert told(client)[1:] == [".", "a", "/", "b"]
    for target in ("anthropic", "openai-responses", "gemini"):
        assert rendering(client, target)["loss"] == []


def test_calls_without_ids_are_paired_by_order_and_name(client: httpx.Client) -> None:
    calls = [
        {"type": "function", "function": {"name": name, "arguments": json.dumps({"path": path})}}
        for name, path in (("list_dir", "."), ("read", "/a"), ("list_dir", "/"))
    ]
    assert say(client, {"role": "assistant", "content": "", "tool_calls": calls}).status_code == 201
    answers: list[Json] = [
        {"role": "tool", "name": "read", "content": "of /a"},
        {"role": "tool", "name": "list_dir", "tool_call_id": "", "content": "of ."},
        {"role": "tool", "tool_call_id": None, "content": "of /"},
    ]
    for answer in answers:
        assert say(client, answer).status_code == 201
    rendered = rendering(client)
    [calling_message, *rest] = rendered["messages"]
    paths = {
        call["id"]: json.loads(call["function"]["arguments"])["path"]
        for call in calling_message["tool_calls"]
    }
    assert [(f"of {paths[message['tool_call_id']]}", message["content"]) for message in rest] == [
        (content, content) for content in ("of .", "of /a", "of /")
    ]
    assert rendered["loss"] == []


def test_answer_without_a_call_names_its_tool_or_none(client: httpx.Client) -> None:
    store(client, result("a", "x"))
    say(client, {"role": "tool", "tool_call_id": "y", "content": "b"})
    named = [
        call["function"]["name"]
        for message in rendering(client)["messages"]
        for call in message.get("tool_calls", ())
    ]
    assert named == ["list_dir", "unknown_tool"]


@pytest.mark.engines("embedded", "server")
def test_fork_knows_the_answers_that_it_has(client: httpx.Client) -> None:
    for path in (".", "/"):
        say(client, calling(path))
        store(client, result(f"of {path}"))
    forked = client.post("/api/sessions/s/fork", json={"upTo": 4, "as": "f"})
    assert forked.status_code in (200, 201), forked.text
    assert store(client, result("else", sessionId="f")) == (409, "tool-call-answered")
    one, other = (
        client.get(f"/api/sessions/{word}/render", params={"target": "openai-chat"}).json()
        for word in ("s", "f")
    )
    assert one["messages"] == other["messages"]


def test_id_is_too_long_above_its_limit(client: httpx.Client) -> None:
    problem = client.post(RESULTS, json=result("a", "c" * (LONGEST_CALL_ID + 1)))
    assert problem.status_code == 422
    assert [error["pointer"] for error in problem.json()["errors"]] == ["/toolCallId"]


def test_order_in_which_results_came_changes_no_byte(client: httpx.Client) -> None:
    rendered = []
    for number, order in enumerate(("abc", "cab", "bca")):
        session = f"o{number}"
        path = f"/api/sessions/{session}/messages"
        client.post(path, json=calling(".", "a", "b", "c"))
        for call_id in order:
            assert store(client, result(call_id, call_id, sessionId=session))[0] == 201
        answer = client.get(f"/api/sessions/{session}/render", params={"target": "anthropic"})
        rendered.append(answer.json()["messages"])
    assert rendered[0] == rendered[1] == rendered[2]


_PATHS = st.sampled_from([".", "/", "/usr"])


@pytest.mark.slow
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_each_call_has_its_own_answer_in_any_order(
    client: httpx.Client, data: st.DataObject
) -> None:
    """Turns of calls that are numbered anew; a result may come before its message, and twice."""
    session = f"s{uuid4()}"
    path = f"/api/sessions/{session}/messages"
    said: list[str] = []
    for turn in range(data.draw(st.integers(1, 4))):
        ids = [f"f:{number}" for number in range(data.draw(st.integers(1, 3)))]
        message = calling(data.draw(_PATHS), *ids)
        is_early = data.draw(st.booleans())
        if not is_early:
            for _ in range(data.draw(st.integers(1, 2))):
                assert client.post(path, json=message).status_code == 201
        for call_id in data.draw(st.permutations(ids)):
            body = result(f"{turn} {call_id}", call_id, sessionId=session)
            body |= {"newCall": True} if is_early else {}
            assert store(client, body)[0] == 201
            if not is_early:
                assert store(client, body)[0] == 200
        if is_early:
            assert client.post(path, json=message).status_code == 201
        said += [f"{turn} {call_id}" for call_id in ids]
    bytes_of = [
        client.get(f"/api/sessions/{session}/render", params={"target": "openai-chat"}).content
        for _ in range(2)
    ]
    assert bytes_of[0] == bytes_of[1]
    rendered = json.loads(bytes_of[0])
    answers = [item["content"] for item in rendered["messages"] if item["role"] == "tool"]
    assert (answers, rendered["loss"]) == (said, [])
    diagnosis = client.post(
        "/api/doctor",
        params={"target": "openai-chat", "apply": "true"},
        json={"messages": rendered["messages"]},
    ).json()
    assert (diagnosis["findings"], diagnosis["messages"]) == ([], rendered["messages"])
