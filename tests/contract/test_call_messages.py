"""`callMessage` of `POST /api/tool-results`: the call and its result in one request."""

import json
from typing import Any

import httpx
import pytest

from tests.kit.media import b64, noise_bytes, png

pytestmark = pytest.mark.engines("embedded")

ROUTE = "/api/tool-results"
TURNS = "/api/sessions/demo/turns"
MESSAGES = "/api/sessions/demo/messages"
TIMES = ("createdAt", "created_at")

Json = dict[str, Any]


def message(**members: object) -> Json:
    """The message of an assistant that calls a tool."""
    function = {"name": "clock", "arguments": '{"zone":"UTC"}'}
    calls = [{"id": "call-1", "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls, **members}


def result(**members: object) -> Json:
    """Return the answer of the tool."""
    told = {"sessionId": "demo", "toolName": "clock", "toolCallId": "call-1", "result": "Ten."}
    return {**told, "callMessage": message(), **members}


def history(client: httpx.Client) -> list[Json]:
    """The entries of the session, without what is another in each run."""
    entries: list[Json] = client.get(MESSAGES).json()["items"]
    ours = {"id", *TIMES}
    return [{name: value for name, value in entry.items() if name not in ours} for entry in entries]


def test_call_stands_before_its_result(client: httpx.Client) -> None:
    answer = client.post(ROUTE, json=result())
    assert answer.status_code == 201
    call, answered = history(client)
    assert call == {"seq": 1, "entry": "message", **message()}
    assert (answered["seq"], answered["role"], answered["toolCallId"]) == (2, "tool", "call-1")
    assert answered["sanitized"] == answer.json()["sanitized"]
    at = [next(filter(None, map(item.get, TIMES))) for item in client.get(MESSAGES).json()["items"]]
    assert at == sorted(at)


def test_same_request_again_appends_nothing(client: httpx.Client) -> None:
    first, again = (client.post(ROUTE, json=result()) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert len(history(client)) == 2


def test_result_without_its_message_is_compared_with_the_one_that_is_there(
    client: httpx.Client,
) -> None:
    client.post(ROUTE, json=result())
    problem = client.post(ROUTE, json=result(callMessage=None))
    assert (problem.status_code, problem.json()["code"]) == (409, "tool-call-answered")
    assert "`callMessage`" in problem.json()["detail"]
    assert len(history(client)) == 2


def test_message_that_only_repeats_an_open_call_is_not_appended(client: httpx.Client) -> None:
    client.post(MESSAGES, json=message(content="Let me see."))
    assert client.post(ROUTE, json=result()).status_code == 201
    assert [entry["role"] for entry in history(client)] == ["assistant", "tool"]
    assert client.post(ROUTE, json=result()).status_code == 200
    # Behind the result it is another call.
    assert client.post(ROUTE, json=result(result="Eleven.")).status_code == 201
    roles = ["assistant", "tool", "assistant", "tool"]
    assert [entry["role"] for entry in history(client)] == roles


def other_call(name: str, arguments: str) -> Json:
    """Return a message with another call of the same id."""
    function = {"name": name, "arguments": arguments}
    return message(tool_calls=[{"id": "call-1", "type": "function", "function": function}])


@pytest.mark.parametrize(
    "sent",
    [
        message(content="Let me see."),
        other_call("clock", "{}"),
        other_call("watch", '{"zone":"UTC"}'),
    ],
)
def test_message_that_says_more_than_an_open_call_is_appended(
    client: httpx.Client, sent: Json
) -> None:
    client.post(MESSAGES, json=message())
    assert client.post(ROUTE, json=result(callMessage=sent)).status_code == 201
    assert [entry["role"] for entry in history(client)] == ["assistant", "assistant", "tool"]


def test_another_message_makes_another_call(client: httpx.Client) -> None:
    client.post(ROUTE, json=result())
    again = client.post(ROUTE, json=result(callMessage=message(content="Once more.")))
    assert again.status_code == 201
    assert len(history(client)) == 4


@pytest.mark.parametrize(
    ("members", "pointers"),
    [
        ({"callMessage": "call"}, ["/callMessage"]),
        ({"callMessage": {}}, ["/callMessage/role"]),
        ({"callMessage": message(role="user")}, ["/callMessage/role"]),
        ({"sessionId": None}, ["/sessionId"]),
        ({"callMessage": {"id": "x", **message(role="user")}}, ["/callMessage"]),
        ({"callMessage": {"type": "invoice", "id": "x"}}, ["/callMessage"]),
        ({"callMessage": message(tool_calls="clock")}, ["/callMessage/tool_calls"]),
    ],
    ids=str,
)
def test_wrong_message_is_refused_and_nothing_is_stored(
    client: httpx.Client, members: Json, pointers: list[str]
) -> None:
    image = {"type": "image", "mimeType": "image/png", "data": b64(png(40, 30))}
    problem = client.post(ROUTE, json=result(result={"content": [image]}, **members))
    assert problem.status_code == 422
    assert [error["pointer"] for error in problem.json()["errors"]] == pointers
    assert client.get(MESSAGES).status_code == 404
    assert client.get("/api/resources").json()["items"] == []


def test_media_of_the_message_are_stored_and_read_back(client: httpx.Client) -> None:
    block = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64(png(40, 30))}"}}
    long_text = "A line of what was thought. " * 4_000
    spoken = message(content=[{"type": "text", "text": long_text}, block])
    assert client.post(ROUTE, json=result(callMessage=spoken)).status_code == 201
    call, _ = client.get(MESSAGES, params={"media": "inline"}).json()["items"]
    assert call["content"] == spoken["content"]


def test_long_base64_in_the_arguments_stays_as_it_was(client: httpx.Client) -> None:
    arguments = json.dumps({"file": b64(bytes(range(256)) * 1_000)})
    function = {"name": "clock", "arguments": arguments}
    calls = [{"id": "call-1", "type": "function", "function": function}]
    answer = client.post(ROUTE, json=result(callMessage=message(tool_calls=calls)))
    assert answer.status_code == 201
    assert (
        client.get(MESSAGES, params={"media": "inline"}).json()["items"][0]["tool_calls"] == calls
    )


@pytest.mark.parametrize("padding", [0, 2_000_000], ids=["at once", "streamed"])
@pytest.mark.parametrize("place", ["block", "data URI", "text", "arguments"])
def test_medium_of_the_result_that_is_in_the_message_too_stays_as_it_was(
    client: httpx.Client, place: str, padding: int
) -> None:
    data = b64(png(40, 30) + noise_bytes(100_001))
    source = {"type": "base64", "media_type": "image/png", "data": data}
    response = {
        "block": {"type": "image", "source": source},
        "data URI": {
            "type": "image_url",
            "image_url": {"url": f"data:image/png;base64,{data}"},
        },
    }.get(place, {"type": "text", "text": data})
    spoken = message(content=[response])
    if place == "arguments":
        spoken = message()
        spoken["tool_calls"][0]["function"]["arguments"] = data
    image = {"type": "image", "mimeType": "image/png", "data": data}
    told = result(callMessage=spoken, result={"content": [image, {"type": "text", "text": "Ten."}]})
    body = json.dumps(told) + " " * padding
    answer = client.post(ROUTE, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 201
    assert [part["type"] for part in answer.json()["sanitized"]["parts"]] == ["image", "text"]
    call, _ = client.get(MESSAGES, params={"media": "inline"}).json()["items"]
    assert {name: call.get(name) for name in spoken} == spoken


def test_numbers_of_the_message_keep_their_spelling(client: httpx.Client) -> None:
    spoken = '"role":"assistant","content":"Well.","numbers":[1.10,1e2,-0,12345678901234567890]'
    body = f'{json.dumps(result(callMessage=None, result=1.0))[:-1]},"callMessage":{{{spoken}}}}}'
    answer = client.post(ROUTE, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 201
    assert spoken in client.get(MESSAGES).text


def test_message_may_be_of_any_dialect(client: httpx.Client) -> None:
    spoken: list[Json] = [
        {"role": "model", "parts": [{"functionCall": {"id": "call-1", "name": "clock"}}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "call-1", "name": "clock", "input": {}}],
        },
        message(refusal=None, annotations=None, audio=None, function_call=None),
    ]
    for number, item in enumerate(spoken):
        told = result(sessionId=f"s{number}", callMessage=item)
        assert client.post(ROUTE, json=told).status_code == 201
        path = f"/api/sessions/s{number}/render"
        rendered = client.get(path, params={"target": "openai-chat"}).json()
        assert [value["role"] for value in rendered["messages"]] == ["assistant", "tool"]


def test_turn_takes_it_with_a_result(client: httpx.Client) -> None:
    told = result()
    del told["sessionId"]
    receipt = client.post(TURNS, json={"entries": [{"toolResult": told}]})
    assert receipt.json()["seqs"] == [2]
    assert [item["role"] for item in history(client)] == ["assistant", "tool"]


def test_rendering_has_the_call_and_its_answer(client: httpx.Client) -> None:
    client.post(ROUTE, json=result())
    rendered = client.get("/api/sessions/demo/render", params={"target": "openai-chat"}).json()
    assert rendered["loss"] == []
    assert rendered["messages"] == [
        message(),
        {"role": "tool", "tool_call_id": "call-1", "content": "Ten."},
    ]
