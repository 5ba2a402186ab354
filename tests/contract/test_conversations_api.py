"""`PUT /api/sessions/{id}/history`: a conversation as a client has it, compared and appended."""

import json
from base64 import b64encode, encodebytes
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.contract.session_requests import append, call_tool, listed, upload
from tests.kit.media import b64, png
from tests.kit.servers import LiveService

pytestmark = pytest.mark.engines("embedded")

Json = dict[str, Any]
HISTORY = "/api/sessions/s/history"
PICTURE = png(100, 100, noise=True)
CALL = {"id": "c1", "type": "function", "function": {"name": "camera", "arguments": '{"zoom": 2}'}}
USER: Json = {"role": "user", "content": "What do you see?"}
CALLING: Json = {"role": "assistant", "content": None, "tool_calls": [CALL]}
ANSWER: Json = {"role": "tool", "tool_call_id": "c1", "content": "A ship."}
SAID: Json = {"role": "assistant", "content": "I see a ship."}
LIST = [USER, CALLING, ANSWER, SAID]


def put(client: httpx.Client, body: object, session: str = "s", **query: Any) -> httpx.Response:  # noqa: ANN401
    """The answer to a conversation that is put; it may be refused."""
    path = f"/api/sessions/{session}/history"
    headers = {"Content-Type": "application/json"}
    return client.put(path, content=json.dumps(body), params=query, headers=headers)


def receipt(client: httpx.Client, body: object, session: str = "s", **query: Any) -> Json:  # noqa: ANN401
    """The receipt of a conversation that is put."""
    answer = put(client, body, session, **query)
    assert answer.status_code == 200, answer.text[:800]
    record: Json = answer.json()
    return record


def contents(client: httpx.Client, session: str = "s") -> list[Json]:
    """The messages of a history, as they were sent."""
    path = f"/api/sessions/{session}/messages?limit=200&media=inline"
    ours = {"seq", "id", "created_at", "entry"}
    entries = listed(client, path)
    return [
        entry["message"]
        if "message" in entry
        else {key: entry[key] for key in entry if key not in ours}
        for entry in entries
    ]


@pytest.mark.engines("embedded", "server")
def test_list_is_appended_and_only_its_new_end_the_next_time(client: httpx.Client) -> None:
    assert receipt(client, LIST[:2]) == {"appended": 2, "lastSeq": 2}
    assert receipt(client, LIST) == {"appended": 2, "lastSeq": 4}
    assert contents(client) == LIST


THOUGHT: Json = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
THOUGHTFUL: list[Json] = [
    USER,
    {
        "role": "assistant",
        "model": "one-5-20261001",
        "content": [THOUGHT, {"type": "text", "text": "A ship."}],
    },
    {"role": "user", "content": "Which?"},
]


def thoughts(rendering: Json) -> tuple[bool, list[str]]:
    """Return whether the thought is in a rendering, and the loss."""
    return THOUGHT in rendering["messages"][1]["content"], [
        item["code"] for item in rendering["loss"]
    ]


KEPT: tuple[bool, list[str]] = (True, [])
LOST = (False, ["reasoning"])


def test_thoughts_of_another_model_are_left_out_where_a_model_is_named(
    client: httpx.Client,
) -> None:
    receipt(client, THOUGHTFUL)
    body = {"target": "anthropic", "sessionId": "s"}
    expected = {}
    for model in ("one-5", "two-5"):
        query = {"target": "anthropic", "model": model}
        in_body = body | {"model": model}
        answers = [
            client.get("/api/sessions/s/render", params=query),
            client.post("/api/sessions/s/render", json={"target": "anthropic", "model": model}),
            client.post("/api/render", json=in_body),
        ]
        expected[model] = [thoughts(answer.json()) for answer in answers]
    assert expected == {"one-5": [KEPT] * 3, "two-5": [LOST] * 3}
    assert thoughts(client.post("/api/render", json=body).json()) == KEPT


def test_model_of_the_newest_history_is_the_one_that_renderings_are_for(
    client: httpx.Client,
) -> None:
    path = "/api/sessions/s/render"
    request = {"model": "two-5", "max_tokens": 10, "messages": THOUGHTFUL}
    stored = receipt(client, request, render="anthropic")
    assert thoughts(stored["rendering"]) == LOST
    assert thoughts(client.get(path, params={"target": "anthropic"}).json()) == LOST
    named = {"target": "anthropic", "model": "one-5"}
    assert thoughts(client.get(path, params=named).json()) == KEPT
    stored = receipt(client, request | {"model": "one-5"}, render="anthropic")
    assert thoughts(stored["rendering"]) == KEPT
    message = {"role": "assistant", "content": "The left one."}
    turn = {"entries": [{"message": message}], "render": {"target": "anthropic", "model": "two-5"}}
    answer = client.post("/api/sessions/s/turns", json=turn)
    assert thoughts(answer.json()["rendering"]) == LOST


def test_same_list_again_appends_nothing_and_has_the_same_answer(client: httpx.Client) -> None:
    first = receipt(client, LIST)
    assert receipt(client, LIST) == first
    assert receipt(client, [{**USER, "id": "msg_1"}, *LIST[1:]]) == {"appended": 0, "lastSeq": 4}
    assert len(contents(client)) == 4


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            {
                "model": "m",
                "max_tokens": 9,
                "system": "Be brief.",
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "What do you see?"}]},
                    {
                        "role": "assistant",
                        "id": "msg_2",
                        "content": [
                            {
                                "type": "tool_use",
                                "id": "c1",
                                "name": "camera",
                                "input": {"zoom": 2},
                            }
                        ],
                        "usage": {"input_tokens": 1},
                    },
                ],
            },
            "Be brief.",
        ),
        (
            {
                "systemInstruction": {"parts": [{"text": "Be kind."}]},
                "contents": [
                    {"role": "user", "parts": [{"text": "What do you see?"}]},
                    {
                        "role": "model",
                        "parts": [
                            {"functionCall": {"id": "c1", "name": "camera", "args": {"zoom": 2}}}
                        ],
                    },
                ],
            },
            "Be kind.",
        ),
    ],
)
def test_same_conversation_in_another_dialect_is_the_same(
    client: httpx.Client, body: Json, said: str
) -> None:
    receipt(client, LIST[:2])
    assert receipt(client, body) == {"appended": 0, "lastSeq": 2}
    rendered = client.get("/api/sessions/s/render?target=openai-chat").json()
    assert rendered["messages"][0] == {"role": "system", "content": said}


def test_response_and_a_single_message_go_behind_what_is_stored(client: httpx.Client) -> None:
    receipt(client, LIST[:3])
    response = {"object": "chat.completion", "choices": [{"index": 0, "message": SAID}]}
    assert receipt(client, response) == {"appended": 1, "lastSeq": 4}
    assert receipt(client, {**response, "id": "again"}) == {"appended": 0, "lastSeq": 4}
    assert receipt(client, {"role": "user", "content": "And now?"})["lastSeq"] == 5


def test_request_that_refers_to_a_response_goes_on(client: httpx.Client) -> None:
    receipt(client, LIST)
    body = {"previous_response_id": "resp_1", "input": "And now?"}
    assert receipt(client, body) == {"appended": 1, "lastSeq": 5}


def test_stored_result_matches_whatever_the_host_says_of_it(client: httpx.Client) -> None:
    receipt(client, LIST[:2])
    call_tool(client, "c1", "A ship on the sea, seen from the quay.")
    preview = {**ANSWER, "content": "A ship on…"}
    assert receipt(client, [USER, CALLING, preview, SAID]) == {"appended": 1, "lastSeq": 4}
    rendered = client.get("/api/sessions/s/render?target=openai-chat").json()
    assert [message["content"] for message in rendered["messages"]] == [
        "What do you see?",
        None,
        "A ship on the sea, seen from the quay.",
        "I see a ship.",
    ]


def test_thoughts_before_a_call_whose_result_is_stored_are_appended(client: httpx.Client) -> None:
    call_tool(client, "c1", "A ship.")
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"}
    call = {"type": "function_call", "call_id": "c1", "name": "camera", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c1", "output": "A ship."}
    items = {"conversation": "conv_1", "input": [thought, call, output]}
    assert receipt(client, items) == {"appended": 2, "lastSeq": 3}
    assert contents(client)[1:] == [thought, call]


def test_words_that_were_said_before_a_call_are_appended_when_they_are_said_again(
    client: httpx.Client,
) -> None:
    receipt(client, [USER, CALLING, ANSWER])
    for _ in range(2):
        assert receipt(client, {"conversation": "conv_1", "messages": [USER]})["lastSeq"] == 4
    for _ in range(2):
        further = {"conversation": "conv_1", "messages": [CALLING, ANSWER]}
        assert receipt(client, further)["lastSeq"] == 6


def test_answer_of_a_new_call_is_appended_if_an_older_call_has_its_id(client: httpx.Client) -> None:
    receipt(client, [USER, CALLING])
    call_tool(client, "c1", "A ship.")
    again = {"conversation": "conv_1", "messages": [{**CALLING, "content": "Again."}, ANSWER]}
    assert receipt(client, again) == {"appended": 2, "lastSeq": 5}
    rendered = client.get("/api/sessions/s/render?target=openai-chat").json()["messages"]
    assert [message.get("tool_call_id") for message in rendered] == [None, None, "c1", None, "c1-2"]


def test_result_without_its_call_page_faults_and_interactions_are_no_difference(
    client: httpx.Client,
) -> None:
    receipt(client, LIST[:1])
    call_tool(client, "c1", "A ship.")
    client.post("/api/sessions/s/interactions", json={"input": "Beside it."})
    assert receipt(client, LIST[:1])["lastSeq"] == 3
    assert receipt(client, LIST) == {"appended": 2, "lastSeq": 5}


def test_divergence_is_refused_with_pointer_and_seq(client: httpx.Client) -> None:
    receipt(client, LIST)
    other = [USER, CALLING, ANSWER, {**SAID, "content": "I see a whale."}]
    refused = put(client, {"messages": other})
    problem = refused.json()
    assert (refused.status_code, problem["code"], problem["seq"]) == (409, "history-diverged", 4)
    assert [error["pointer"] for error in problem["errors"]] == ["/messages/3/content"]
    assert len(contents(client)) == 4


def test_shorter_list_diverges_at_what_it_lacks_unless_that_is_a_result(
    client: httpx.Client,
) -> None:
    receipt(client, LIST[:3])
    assert receipt(client, LIST[:2]) == {"appended": 0, "lastSeq": 3}
    receipt(client, LIST)
    problem = put(client, LIST[:3]).json()
    assert (problem["seq"], problem["errors"][0]["pointer"]) == (4, "/3")


@pytest.mark.engines("embedded", "server")
def test_divergence_may_fork_with_the_common_beginning(client: httpx.Client) -> None:
    receipt(client, LIST)
    other = [USER, {"role": "assistant", "content": "Nothing yet."}]
    fork = {"onDivergence": "fork", "as": "s-2"}
    made = receipt(client, other, **fork)
    assert made == {"appended": 1, "lastSeq": 2, "sessionId": "s-2"}
    assert receipt(client, other, **fork) == made
    assert (contents(client), contents(client, "s-2")) == (LIST, other)
    longer = [*other, {"role": "user", "content": "Look again."}]
    assert receipt(client, longer, **fork) == {"appended": 1, "lastSeq": 3, "sessionId": "s-2"}
    assert client.get("/api/sessions/s-2").json()["forkedFrom"] == {"sessionId": "s", "upTo": 1}
    append(client, "t", content="Other.")
    assert put(client, other, onDivergence="fork", **{"as": "t"}).json()["code"] == "session-exists"
    assert receipt(client, LIST, **fork) == {"appended": 4, "lastSeq": 4}


def test_fork_without_an_id_is_refused(client: httpx.Client) -> None:
    assert put(client, LIST, onDivergence="fork").status_code == 422
    assert put(client, LIST, **{"as": "s-2"}).status_code == 422


def test_newest_system_and_tools_are_used_and_never_compared(client: httpx.Client) -> None:
    tools = [{"type": "function", "function": {"name": "camera", "parameters": {}}}]
    system = {"role": "system", "content": "Today is Monday."}
    first = {"model": "m", "tools": tools, "messages": [system, *LIST[:2]]}
    assert receipt(client, first) == {"appended": 2, "lastSeq": 2}
    second = {**first, "messages": [{**system, "content": "Today is Tuesday."}, *LIST]}
    assert receipt(client, second) == {"appended": 2, "lastSeq": 4, "systemChanged": True}
    rendered = client.get("/api/sessions/s/render?target=anthropic").json()
    assert rendered["system"] == "Today is Tuesday."
    assert receipt(client, LIST) == {"appended": 0, "lastSeq": 4}
    copied = client.post("/api/sessions/s/fork", json={"upTo": 4, "as": "copy"})
    assert copied.status_code == 201
    again = client.get("/api/sessions/copy/render?target=anthropic").json()
    assert again["system"] == "Today is Tuesday."


def test_system_messages_of_a_message_list_of_mastra_are_its_prompt(client: httpx.Client) -> None:
    # `MessageList.serialize()` of @mastra/core 0.24.9, whose messages were added by `addSystem`.
    ids = {"id": "7b2e7b23-59ff-429f-a973-727afcaf6f7b", "threadId": "t", "resourceId": "r"}
    content = {"format": 2, "parts": [{"type": "text", "text": "hi"}], "content": "hi"}
    prompt = {
        "systemMessages": [
            {"role": "system", "content": "Be brief."},
            {
                "role": "system",
                "content": "Use tools.",
                "providerOptions": {"anthropic": {"cacheControl": {"type": "ephemeral"}}},
            },
        ],
        "taggedSystemMessages": {"memory": [{"role": "system", "content": "The user likes tea."}]},
    }
    state = {
        "messages": [
            {
                **ids,
                "role": "user",
                "createdAt": "Sun, 29 Nov 2026 18:42:54 GMT",
                "content": content,
            }
        ],
        **prompt,
        "memoryInfo": {"threadId": "t", "resourceId": "r"},
        "_agentNetworkAppend": False,
        "memoryMessages": [],
        "newUserMessages": [ids["id"]],
        "newResponseMessages": [],
        "userContextMessages": [],
    }
    assert receipt(client, state) == {"appended": 1, "lastSeq": 1}
    rendered = client.get("/api/sessions/s/render?target=anthropic").json()
    assert rendered["system"] == "Be brief.\n\nUse tools.\n\nThe user likes tea."
    assert rendered["loss"] == []
    changed = {**state, "taggedSystemMessages": {}}
    assert receipt(client, changed) == {"appended": 0, "lastSeq": 1, "systemChanged": True}
    examined = client.post("/api/doctor?target=openai-chat&apply=true", json=state).json()
    assert examined["messages"] == [
        *({"role": "system", "content": text} for text in rendered["system"].split("\n\n")),
        {"role": "user", "content": "hi"},
    ]


def test_last_message_may_grow(client: httpx.Client) -> None:
    part = {"type": "tool-camera", "toolCallId": "c1", "input": {"zoom": 2}}
    text = {"type": "text", "text": "Let me look."}
    user = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "What do you see?"}]}
    begun = {"id": "a", "role": "assistant", "parts": [text, {**part, "state": "input-available"}]}
    done = {**part, "state": "output-available", "output": "A ship."}
    grown = {**begun, "parts": [text, done, {"type": "text", "text": "I see a ship."}]}
    assert receipt(client, [user, begun]) == {"appended": 2, "lastSeq": 2}
    assert receipt(client, [user, grown]) == {"appended": 1, "lastSeq": 3}
    assert receipt(client, [user, grown])["lastSeq"] == 3
    messages = client.get("/api/sessions/s/render?target=openai-chat").json()["messages"]
    assert [message["content"] for message in messages] == [
        "What do you see?",
        "Let me look.",
        "A ship.",
        "I see a ship.",
    ]


def test_stored_results_of_a_message_that_grows_are_not_stored_again(client: httpx.Client) -> None:
    calls = [{"type": "tool_use", "id": f"c{n}", "name": "camera", "input": {}} for n in range(3)]
    failed, second, third = (
        {"type": "tool_result", "tool_use_id": call["id"], "content": "Dark.", "is_error": True}
        for call in calls
    )
    text = {"type": "text", "text": "Go on."}
    begun = [USER, {"role": "assistant", "content": calls}]

    def grow(*blocks: Json) -> Json:
        return receipt(client, [*begun, {"role": "user", "content": blocks}])

    assert grow(failed) == {"appended": 3, "lastSeq": 3}
    assert grow(failed, second) == {"appended": 1, "lastSeq": 4}
    # A result that the service has stored itself is not stored again either.
    record = {"sessionId": "s", "toolCallId": "c2", "toolName": "camera", "result": "Dark."}
    assert client.post("/api/tool-results", json=record).status_code == 201
    assert grow(failed, second, third, text) == {"appended": 1, "lastSeq": 6}
    assert grow(failed, second, third, text, {**text, "text": "Now."})["appended"] == 1
    messages = [*contents(client)[2:4], *contents(client)[5:]]
    assert [message["content"] for message in messages] == [
        [failed],
        [second],
        [text],
        [{**text, "text": "Now."}],
    ]
    assert client.get("/api/sessions/s").json()["counts"]["failures"] == 2


def picture_of(data: bytes) -> Json:
    url = f"data:image/png;base64,{b64(data)}"
    return {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}


@pytest.mark.engines("embedded", "server")
def test_media_are_moved_once_and_compared_by_their_bytes(client: httpx.Client) -> None:
    shown = picture_of(PICTURE)
    assert receipt(client, [shown]) == {"appended": 1, "lastSeq": 1}
    assert receipt(client, [shown, SAID]) == {"appended": 1, "lastSeq": 2}
    assert contents(client) == [shown, SAID]
    assert client.get("/api/sessions/s").json()["counts"]["images"] == 1
    other = picture_of(png(101, 100, noise=True))
    assert put(client, [other, SAID]).json()["seq"] == 1
    assert len(client.get("/api/resources").json()["items"]) == 1


SHOWN = f"data:image/png;base64,{b64(PICTURE)}"
SMALL = f"data:image/png;base64,{b64(png(2, 2))}"


@pytest.mark.parametrize(
    "output",
    [
        f"Before {SHOWN} and {SMALL} after it.",
        json.dumps({"small": SMALL, "large": SHOWN}, indent=2),
        {"images": [SHOWN, SMALL, b64(PICTURE)], "count": 3},
        [{"type": "text", "text": "Two."}, {"image": SHOWN}],
        [[{"type": "image", "data": b64(PICTURE), "mimeType": "image/png"}], {"x": [SHOWN]}],
    ],
    ids=["sentence", "JSON", "object", "blocks", "nested"],
)
def test_media_in_the_data_of_a_result_are_compared_as_they_were_sent(
    client: httpx.Client, output: object
) -> None:
    block = {"type": "tool-result", "toolCallId": "c1", "toolName": "camera"}
    answers = [
        {**ANSWER, "content": output},
        {"role": "tool", "content": [{**block, "output": {"type": "json", "value": output}}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": output}],
        },
        {"type": "function_call_output", "call_id": "c1", "output": output},
    ]
    for index, answer in enumerate(answers):
        sent = [USER, CALLING, answer]
        assert receipt(client, sent, f"s{index}") == {"appended": 3, "lastSeq": 3}
        assert receipt(client, [*sent, SAID], f"s{index}") == {"appended": 1, "lastSeq": 4}
        other = json.loads(json.dumps(sent).replace(b64(PICTURE), b64(png(101, 100, noise=True))))
        assert put(client, [*other, SAID], f"s{index}").json()["seq"] == 3


@pytest.mark.parametrize(
    "text",
    [repr(PICTURE), repr(b64encode(PICTURE)), repr(encodebytes(PICTURE)), f"b'{SHOWN}'"],
    ids=["bytes", "base64", "lines", "URI"],
)
def test_media_that_python_wrote_as_bytes_are_stored_and_compared_as_media(
    client: httpx.Client, text: str
) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": text}
    block = {"type": "tool_result", "tool_use_id": "c1"}
    results = [
        [{"type": "image", "source": source}],
        json.dumps({"image": text, "mime_type": "image/png"}),
    ]
    for index, content in enumerate(results):
        sent = [USER, CALLING, {"role": "user", "content": [{**block, "content": content}]}]
        assert receipt(client, sent, f"s{index}") == {"appended": 3, "lastSeq": 3}
        assert receipt(client, [*sent, SAID], f"s{index}") == {"appended": 1, "lastSeq": 4}
        assert contents(client, f"s{index}")[:3] == sent
    rendered = client.get("/api/sessions/s0/render?target=anthropic").json()
    assert rendered["messages"][2]["content"][0]["content"] == [
        {"type": "image", "source": {**source, "data": b64(PICTURE)}}
    ]


@pytest.mark.parametrize("medium", [SHOWN, b64(PICTURE), f"Crop {SHOWN} here."])
def test_media_in_arguments_and_structured_contents_are_compared_by_their_bytes(
    client: httpx.Client, medium: str
) -> None:
    arguments = {"image": medium, "small": SMALL}
    text = {**CALL, "function": {"name": "camera", "arguments": json.dumps(arguments, indent=1)}}
    call = {"type": "tool_use", "id": "c1", "name": "camera", "input": arguments}
    output = {"content": [{"type": "text", "text": "Done."}], "structuredContent": arguments}
    answer = {"type": "tool_result", "tool_use_id": "c1", "content": output}
    sent_lists = [
        [USER, {**CALLING, "tool_calls": [text]}, ANSWER],
        [USER, {"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}],
    ]
    for index, sent in enumerate(sent_lists):
        assert receipt(client, sent, f"s{index}") == {"appended": 3, "lastSeq": 3}
        assert receipt(client, [*sent, SAID], f"s{index}") == {"appended": 1, "lastSeq": 4}
        other = json.loads(json.dumps(sent).replace(b64(PICTURE), b64(png(101, 100, noise=True))))
        assert put(client, [*other, SAID], f"s{index}").json()["seq"] == 2


def test_system_prompt_in_the_first_message_is_never_compared(client: httpx.Client) -> None:
    prompt = {"part_kind": "system-prompt", "content": "Be brief."}
    asked = {"part_kind": "user-prompt", "content": "What do you see?"}
    answer = {"kind": "response", "parts": [{"part_kind": "text", "content": "A ship."}]}
    first = {"kind": "request", "parts": [prompt, asked]}
    assert receipt(client, [first]) == {"appended": 1, "lastSeq": 1}
    assert receipt(client, [first, answer]) == {"appended": 1, "lastSeq": 2}
    changed = {"kind": "request", "parts": [{**prompt, "content": "Be kind."}, asked]}
    more = {"kind": "request", "parts": [{**asked, "content": "Where?"}]}
    assert receipt(client, [changed, answer, more]) == {"appended": 1, "lastSeq": 3}


def test_reference_that_a_model_wrote_stays_text(client: httpx.Client) -> None:
    picture = upload(client, PICTURE)["uri"]
    receipt(client, [USER, {"role": "assistant", "content": f"@{picture}"}])
    assert client.get("/api/sessions/s").json()["counts"]["resources"] == 0


def test_lines_are_taken_as_a_list(client: httpx.Client) -> None:
    lines = "\n\n".join(json.dumps(item) for item in LIST) + "\n"
    headers = {"Content-Type": "application/x-ndjson"}
    answer = client.put(HISTORY, content=lines, headers=headers)
    assert (answer.status_code, answer.json()) == (200, {"appended": 4, "lastSeq": 4})


def test_lines_of_a_transcript_that_are_no_messages_are_counted(client: httpx.Client) -> None:
    summary = {"type": "summary", "summary": "Weather", "leafUuid": "1"}
    line = {"type": "user", "uuid": "1", "parentUuid": None, "sessionId": "s", "message": USER}
    assert receipt(client, [summary, line]) == {"appended": 1, "lastSeq": 1, "passedOver": 1}
    assert contents(client) == [USER]


def test_calls_without_ids_are_the_same_in_each_step(client: httpx.Client) -> None:
    call = {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]}
    response = {"name": "look", "response": {"result": "A ship."}}
    step = [call, {"role": "user", "parts": [{"functionResponse": response}]}]
    message = {"role": "user", "parts": [{"text": "look"}]}
    block = {"role": "model", "parts": [{"text": "A ship."}]}
    assert receipt(client, [message, call]) == {"appended": 2, "lastSeq": 2}
    assert receipt(client, [message, *step]) == {"appended": 1, "lastSeq": 3}
    assert receipt(client, [message, *step, *step]) == {"appended": 2, "lastSeq": 5}
    assert receipt(client, [message, *step, *step, block]) == {"appended": 1, "lastSeq": 6}
    assert contents(client) == [message, *step, *step, block]


def test_line_that_is_no_json_is_named(client: httpx.Client) -> None:
    lines = f'{json.dumps(USER)}\n\n{{"role": nobody}}\n{json.dumps(SAID)}\n'
    headers = {"Content-Type": "application/x-ndjson"}
    refused = client.put(HISTORY, content=lines, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid-json")
    assert "(line 3," in refused.json()["detail"]


@pytest.mark.parametrize("body", [{}, {"rows": 3}, [], [{"rows": 3}], 7, "text"])
def test_what_is_no_conversation_is_refused(client: httpx.Client, body: object) -> None:
    assert put(client, body).status_code == 422
    assert client.get("/api/sessions/s").status_code == 404


@pytest.mark.engines("embedded", "server")
def test_overtaken_client_is_refused(client: httpx.Client) -> None:
    receipt(client, LIST[:2], expectedSeq=0)
    append(client, content="Meanwhile.")
    refused = put(client, LIST, expectedSeq=2)
    assert (refused.status_code, refused.json()["code"]) == (409, "session-moved-on")


def test_rendering_is_that_of_the_session(client: httpx.Client) -> None:
    made = receipt(client, LIST, render="anthropic", maxTokens=4_000)
    rendered = client.get("/api/sessions/s/render?target=anthropic&maxTokens=4000").json()
    assert made == {"appended": 4, "lastSeq": 4, "rendering": rendered}


@pytest.mark.engines("embedded", "server")
def test_of_two_at_once_each_message_is_appended_once(client: httpx.Client) -> None:
    conversation = [{"role": "user", "content": f"Line {number}."} for number in range(12)]

    def send(count: int) -> int:
        return put(client, conversation[: 4 + count]).status_code

    with ThreadPoolExecutor(8) as pool:
        statuses = set(pool.map(send, range(8)))
    assert statuses <= {200, 409}
    receipt(client, conversation)
    assert contents(client) == conversation


@pytest.mark.engines("embedded", "server")
def test_session_of_another_project_is_another_one(
    client: httpx.Client, service: LiveService
) -> None:
    receipt(client, LIST)
    with service.client() as other:
        assert receipt(other, LIST[:1]) == {"appended": 1, "lastSeq": 1}


def test_stored_messages_of_any_form_are_compared(client: httpx.Client) -> None:
    append(client, role="system", content="Be brief.")
    append(client, **USER)
    append(client, **CALLING)
    call_tool(client, "c1", "A ship.")
    assert receipt(client, LIST) == {"appended": 1, "lastSeq": 5}


@pytest.mark.slow
def test_more_new_messages_than_are_appended_at_once_are_refused(client: httpx.Client) -> None:
    said = [{"role": "user", "content": str(number)} for number in range(10_001)]
    refused = put(client, said)
    assert (refused.status_code, refused.json()["code"]) == (413, "payload-too-large")
    assert client.get("/api/sessions/s").status_code == 404


def test_host_may_number_its_calls_anew_in_each_turn(client: httpx.Client) -> None:
    again = [*LIST, {"role": "user", "content": "And now?"}, CALLING, {**ANSWER, "content": "Two."}]
    assert receipt(client, LIST) == {"appended": 4, "lastSeq": 4}
    assert receipt(client, again) == {"appended": 3, "lastSeq": 7}
    assert receipt(client, [*again, SAID]) == {"appended": 1, "lastSeq": 8}
    assert contents(client) == [*again, SAID]
