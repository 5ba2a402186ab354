"""Items of runs of OpenAI's Agents SDK; messages of Agno, smolagents, AutoGen and Mastra."""

from typing import Any

import pytest

from packages.dialects.tests.dialects.corpus import Expectation, observe
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.messages.conversation_reading import read_conversation
from pagefault_dialects.messages.entry_reading import read_entry
from pagefault_dialects.messages.healing import heal

Json = dict[str, Any]

CALL = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c", "output": "a cat"}
SAID = {
    "type": "message",
    "role": "assistant",
    "id": "m",
    "status": "completed",
    "content": [{"type": "output_text", "text": "A cat.", "annotations": []}],
}
AGENT = {"name": "A"}
RUN: list[Json] = [
    {"type": "tool_call_item", "agent": AGENT, "raw_item": CALL, "tool_origin": None},
    {"type": "tool_call_output_item", "agent": AGENT, "raw_item": OUTPUT, "output": "a cat"},
    {"type": "message_output_item", "agent": AGENT, "raw_item": SAID},
]
APPROVAL = {"type": "tool_approval_item", "agent": AGENT, "raw_item": CALL, "tool_name": "look"}
SCRIPT_CALL = {"type": "function_call", "callId": "c", "name": "look", "arguments": "{}"}
SCRIPT_RUN: list[Json] = [
    {"type": "tool_call_item", "agent": AGENT, "rawItem": SCRIPT_CALL},
    {
        "type": "tool_call_output_item",
        "agent": AGENT,
        "rawItem": {
            "type": "function_call_result",
            "callId": "c",
            "name": "look",
            "status": "completed",
            "output": {"type": "text", "text": "a cat"},
        },
        "output": "a cat",
        "executionStatus": "executed",
    },
]


def wrap(item: Json) -> Json:
    """Return the event of an item."""
    return {"type": "run_item_stream_event", "name": "x", "item": item}


def read_common(item: Json) -> list[Json | None]:
    """Return the messages of a value in common form."""
    return [message.message for message in read_entry(item).messages]


@pytest.mark.parametrize("item", RUN)
def test_item_of_a_run_is_read_as_the_item_in_it(item: Json) -> None:
    assert read_common(item) == read_common(item["raw_item"])
    assert read_entry(wrap(item)).dialect == read_entry(item).dialect == "openai-responses"


@pytest.mark.parametrize("run", [RUN, SCRIPT_RUN])
def test_events_and_approvals_of_a_run_are_counted(run: list[Json]) -> None:
    others = [{"type": "raw_response_event", "data": {}}, wrap(APPROVAL)]
    updated = {"type": "agent_updated_stream_event", "new_agent": AGENT}
    read = read_conversation([updated, *others, *map(wrap, run)])
    assert [entry.message for entry in read.entries] == [wrap(item) for item in run]
    assert read.skipped_count == 3
    assert read_conversation([*run, APPROVAL]).skipped_count == 1


# The members of `RunState.to_json()` of openai-agents 0.24.0 and of `RunState.toJSON()` of
# @openai/agents 0.20.0 with messages, and some of the others. Each has the last answer twice more.
STATE: Json = {
    "$schemaVersion": "1.21",
    "current_agent": AGENT,
    "original_input": "What do you see?",
    "model_responses": [{"output": [CALL], "response_id": None}],
    "previous_response_id": None,
    "generated_items": [*RUN, APPROVAL],
    "session_items": [*RUN, APPROVAL],
    "last_processed_response": {"new_items": RUN[2:]},
}
SCRIPT_STATE: Json = {
    "$schemaVersion": "1.22",
    "currentAgent": AGENT,
    "originalInput": [{"type": "message", "role": "user", "content": "What do you see?"}],
    "modelResponses": [{"output": [SCRIPT_CALL]}],
    "generatedItems": SCRIPT_RUN,
    "lastProcessedResponse": {"newItems": SCRIPT_RUN},
}


def test_state_of_a_run_is_its_input_and_its_items() -> None:
    question: Json = {"role": "user", "content": "What do you see?"}
    run_items = [(f"/generated_items/{index}", item) for index, item in enumerate(RUN)]
    script_items = [(f"/generatedItems/{index}", item) for index, item in enumerate(SCRIPT_RUN)]
    rows: list[tuple[Json, list[tuple[str, Json]]]] = [
        (STATE, [("/original_input", question), *run_items]),
        (SCRIPT_STATE, [("/originalInput/0", {"type": "message", **question}), *script_items]),
    ]
    for state, messages in rows:
        read = read_conversation(state)
        assert [(entry.pointer, entry.message) for entry in read.entries] == messages
        assert (read.dialect, read.prompt, read.continues) == ("openai-agents", {}, False)
    assert read_conversation({**STATE, "previous_response_id": "r"}).continues
    started = read_conversation({**STATE, "generated_items": []})
    assert [entry.message for entry in started.entries] == [question]
    with pytest.raises(InvalidPayloadError):
        read_conversation({**STATE, "generated_items": None})


def test_state_is_read_from_the_members_that_have_its_input_and_its_items() -> None:
    others: list[object] = [None, 1, {"items": []}, "Look.", []]
    for sent in others:
        state = {"original_input": sent, "originalInput": "Look.", "generatedItems": []}
        assert [entry.pointer for entry in read_conversation(state).entries] == ["/originalInput"]
    for sent, items in ((None, []), ({}, []), ("Look.", {}), ("Look.", "")):
        with pytest.raises(InvalidPayloadError):
            read_conversation({"original_input": sent, "generated_items": items})


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (RUN[1], Expectation(("a cat",), call="c")),
        (SCRIPT_RUN[1], Expectation(("a cat",), call="c", tool="look")),
    ],
)
def test_output_item_of_a_run_is_an_envelope(item: Json, expected: Expectation) -> None:
    assert observe(item) == expected


AGNO: Json = {"id": "i", "from_history": False, "stop_after_tool_call": False, "created_at": 1}


def test_media_of_a_message_of_agno_are_blocks_of_their_kinds() -> None:
    files = [
        {"id": "f", "mime_type": "application/pdf", "filename": "r.pdf", "content": "AAAA"},
        {"id": "g", "mime_type": "text/csv", "filename": "a.csv", "content": "a,b"},
        {"id": "h", "url": "https://h/z.pdf", "mime_type": "application/pdf"},
    ]
    media = {
        "images": [{"id": "p", "mime_type": "image/png", "content": "AAAA"}],
        "audio": [{"id": "a", "mime_type": "audio/wav", "format": "wav", "content": "AAAA"}],
        "videos": [{"id": "v", "url": "https://h/a.mp4", "mime_type": "video/mp4"}],
    }
    message = {**AGNO, "role": "user", "content": "look", "files": files, **media}
    (read,) = read_entry(message).messages
    assert read.message is not None
    assert {name: read.message.get(name) for name in ("role", "content", "files", "images")} == {
        "role": "user",
        "content": "look",
        "files": None,
        "images": [
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "file", "data": "AAAA", "mimeType": "application/pdf", "filename": "r.pdf"},
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/csv", "data": "a,b"},
                "title": "a.csv",
            },
            {"type": "file", "url": "https://h/z.pdf", "mimeType": "application/pdf"},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            {"type": "video", "url": "https://h/a.mp4", "mimeType": "video/mp4"},
        ],
    }
    assert [read.original_pointer(f"/images/{index}") for index in range(6)] == [
        *("/images/0", "/files/0", "/files/1", "/files/2", "/audio/0", "/videos/0")
    ]


def test_only_the_files_of_agno_without_content_are_lost() -> None:
    paths = [{"id": "f", "filepath": "/a.pdf"}, {"id": "g", "filepath": "/b.pdf"}]
    readable = {"id": "h", "mime_type": "application/pdf", "url": "https://h/r.pdf"}
    files = [paths[0], readable, paths[1]]
    healed = heal([{**AGNO, "role": "user", "content": "look", "files": files}], "anthropic")
    assert healed.messages == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "document", "source": {"type": "url", "url": "https://h/r.pdf"}},
            ],
        }
    ]
    assert [(entry.pointer, entry.from_, entry.to) for entry in healed.loss] == [
        ("/0/files/0", "files/0", "nothing"),
        ("/0/files/2", "files/2", "nothing"),
    ]


def test_failed_tool_message_of_agno_is_marked_as_failed() -> None:
    result = {"role": "tool", "content": "gone", "tool_call_id": "c", "tool_name": "look"}
    state = {"tool_args": {"a": 1}, "tool_call_error": True}
    (message,) = read_common({**AGNO, **result, **state})
    assert message == {
        **{name: value for name, value in AGNO.items() if name != "id"},
        **{"role": "tool", "content": "gone", "tool_call_id": "c", "name": "look"},
        **{"images": [], "is_error": True},
    }


def test_tool_execution_of_agno_is_an_envelope() -> None:
    execution = {
        "tool_call_id": "c",
        "tool_name": "look",
        "tool_args": {"a": 1},
        "tool_call_error": True,
        "result": "gone",
        "metrics": None,
        "stop_after_tool_call": False,
        "created_at": 1,
    }
    assert observe(execution) == Expectation(("gone",), failed=True, call="c", tool="look")


@pytest.mark.parametrize(
    ("role", "expected"), [("tool-call", "assistant"), ("tool-response", "user")]
)
def test_tool_roles_of_smolagents_are_those_that_it_sends(role: str, expected: str) -> None:
    content = [{"type": "text", "text": "Observation:\na cat"}]
    unset = dict.fromkeys(("tool_calls", "raw", "token_usage"))
    read = read_entry({"role": role, "content": content, **unset})
    assert (read.role, [message.message for message in read.messages]) == (
        expected,
        [{"role": expected, "content": content}],
    )


def test_steps_of_smolagents_are_refused_with_what_to_send() -> None:
    # Steps of `agent.memory.get_succinct_steps()` of smolagents 1.26.0. `get_full_steps()` adds
    # `model_input_messages`.
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": {"a": 1}}}
    spoken = {"role": "assistant", "content": "Let me look.", "tool_calls": [call], "raw": None}
    step = {
        **{"step_number": 1, "timing": {"start_time": 1.5, "end_time": 2.5, "duration": 1.0}},
        **{"tool_calls": [call], "error": None, "model_output_message": spoken},
        **{"model_output": "Let me look.", "code_action": None, "observations": "A cat."},
        **{"observations_images": None, "action_output": None, "token_usage": None},
        "is_final_answer": False,
    }
    with pytest.raises(InvalidPayloadError) as caught:
        read_conversation([{"task": "What do you see?", "task_images": None}, step])
    reason = "is a step of smolagents: send `agent.write_memory_to_messages()` instead"
    assert caught.value.faults == (Fault("/0", reason), Fault("/1", reason))


def test_history_of_dspy_is_refused_with_what_to_send() -> None:
    # `dspy.History(…).model_dump()` of dspy 3.4.1: the fields are those of any signature.
    with pytest.raises(
        InvalidPayloadError, match="Send the messages as the model gets them"
    ) as caught:
        read_conversation({"messages": [{"question": "What do you see?", "answer": "A cat."}]})
    assert caught.value.faults == (Fault("/messages/0", "is no message"),)


def test_response_of_a_model_client_of_autogen_is_a_message_of_the_assistant() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 1}
    response = {"usage": usage, "cached": False, "logprobs": None}
    call = {"id": "c", "name": "look", "arguments": "{}"}
    assert read_common(
        {**response, "finish_reason": "stop", "content": "A cat.", "thought": "hm"}
    ) == [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "A cat."},
            ],
        }
    ]
    assert read_common({**response, "finish_reason": "function_calls", "content": [call]}) == [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c", "name": "look", "input": "{}"}],
        }
    ]


PICTURE = "data:image/png;base64,AAAA"
ATTACHMENT = {"url": PICTURE, "contentType": "image/png", "name": "a.png"}
INVOCATION = {
    "toolCallId": "c",
    "toolName": "look",
    "args": {"a": 1},
    "state": "result",
    "result": "a cat",
}


def test_message_in_the_memory_of_mastra_is_read_by_its_parts() -> None:
    content = {
        "format": 2,
        "parts": [
            {"type": "step-start"},
            {"type": "tool-invocation", "toolInvocation": INVOCATION},
            {"type": "text", "text": "A cat."},
        ],
        "toolInvocations": [INVOCATION],
        "content": "A cat.",
    }
    ids = {"id": "i", "createdAt": "t", "threadId": "t", "resourceId": "r"}
    read = read_entry({**ids, "role": "assistant", "content": content})
    call = {"toolCallId": "c", "toolName": "look"}
    (message,) = read.messages
    assert (read.dialect, message.message) == (
        "vercel",
        {
            "role": "assistant",
            "content": [
                {"type": "tool-call", **call, "input": {"a": 1}},
                {"type": "tool-result", **call, "result": "a cat"},
                {"type": "text", "text": "A cat."},
            ],
        },
    )
    assert message.original_pointer("/content/2") == "/content/parts/2"


def test_attachment_that_a_part_repeats_is_read_once() -> None:
    file = {"type": "file", "mimeType": "image/png", "data": PICTURE, "filename": "a.png"}
    parts = [{"type": "text", "text": "look"}, file]
    content = {"format": 2, "parts": parts, "experimental_attachments": [ATTACHMENT]}
    assert read_common({"role": "user", "content": content}) == [{"role": "user", "content": parts}]


@pytest.mark.parametrize("parts", [{}, {"parts": [{"type": "text", "text": "look"}]}])
def test_attachments_of_a_message_for_user_interfaces_are_files(parts: Json) -> None:
    message = {"id": "i", "role": "user", "content": "look", **parts}
    other = {"url": "https://h/a.pdf"}
    attachments = [ATTACHMENT, other, ATTACHMENT]
    assert read_common({**message, "experimental_attachments": attachments}) == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "file", "url": PICTURE, "mediaType": "image/png", "filename": "a.png"},
                {"type": "file", **other},
            ],
        }
    ]


@pytest.mark.parametrize(
    ("kind", "payload", "expected"),
    [
        ("tool-result", {"result": "a cat"}, Expectation(("a cat",), call="c", tool="look")),
        (
            "tool-result",
            {"result": "gone", "isError": True},
            Expectation(("gone",), failed=True, call="c", tool="look"),
        ),
        (
            "tool-error",
            {"error": "gone"},
            Expectation(("gone",), failed=True, call="c", tool="look"),
        ),
    ],
)
def test_chunk_of_mastra_with_a_result_is_an_envelope(
    kind: str, payload: Json, expected: Expectation
) -> None:
    call = {"toolCallId": "c", "toolName": "look", "args": {"a": 1}}
    chunk = {"type": kind, "runId": "r", "from": "AGENT", "payload": {**call, **payload}}
    assert observe(chunk) == expected
