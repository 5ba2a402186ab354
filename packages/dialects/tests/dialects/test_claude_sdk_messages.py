"""Messages of the Claude Agent SDK for Python are read as `dataclasses.asdict` writes them."""

from typing import Any

import pytest

from packages.dialects.tests.dialects.corpus import Expectation, observe
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.messages.conversation_reading import read_conversation
from pagefault_dialects.messages.entry_reading import read_entry

Json = dict[str, Any]


def user(content: object, **members: object) -> Json:
    """Return a dump of a `UserMessage`."""
    unset = dict.fromkeys(("uuid", "parent_tool_use_id", "tool_use_result", "origin"))
    return {"content": content, **unset, **members}


def reply(*blocks: Json, **members: object) -> Json:
    """Return a dump of an `AssistantMessage`."""
    names = (
        *("parent_tool_use_id", "error", "usage", "message_id", "stop_reason", "session_id"),
        *("uuid", "user_message_uuid", "user_message_uuids"),
    )
    return {"content": [*blocks], "model": "claude-x", **dict.fromkeys(names), **members}


ASKED = user("look")
CALLED = reply({"id": "c", "name": "Read", "input": {"file_path": "/a"}})
RESULT = {"tool_use_id": "c", "content": [{"type": "text", "text": "a cat"}], "is_error": None}
ANSWERED = user([RESULT], tool_use_result={"stdout": "a cat"})
SAID = reply({"text": "A cat."}, message_id="m", uuid="u")
INIT = {"subtype": "init", "data": {"type": "system", "subtype": "init", "tools": []}}
EVENT = {"uuid": "u", "session_id": "s", "event": {"type": "x"}, "parent_tool_use_id": None}
DONE = {"subtype": "success", "duration_ms": 1, "num_turns": 1, "session_id": "s", "result": "x"}


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (ASKED, {"role": "user", "content": "look"}),
        (user([{"text": "look"}]), {"role": "user", "content": [{"type": "text", "text": "look"}]}),
        (
            ANSWERED,
            {
                "role": "user",
                "content": [{"type": "tool_result", **RESULT, "name": "", "is_error": False}],
            },
        ),
        (
            reply({"thinking": "hm", "signature": "s"}, {"text": "A cat."}),
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "text", "text": "A cat."},
                ],
            },
        ),
        (
            CALLED,
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "c", "name": "Read", "input": {"file_path": "/a"}}
                ],
            },
        ),
        (
            reply(
                {"id": "s", "name": "advisor", "input": {}},
                {"tool_use_id": "s", "content": {"type": "advisor_result", "text": "Go."}},
            ),
            {
                "role": "assistant",
                "content": [
                    {"type": "server_tool_use", "id": "s", "name": "advisor", "input": {}},
                    {
                        "type": "advisor_tool_result",
                        "tool_use_id": "s",
                        "content": {"type": "advisor_result", "text": "Go."},
                    },
                ],
            },
        ),
    ],
)
def test_message_of_the_agent_sdk_has_the_role_and_blocks_that_its_class_had(
    sent: Json, expected: Json
) -> None:
    read = read_entry(sent)
    assert (read.dialect, [message.message for message in read.messages]) == (
        "claude-code",
        [expected],
    )


@pytest.mark.parametrize("first", [INIT, EVENT, ASKED, CALLED])
def test_reports_and_subagents_among_messages_of_the_agent_sdk_are_counted(first: Json) -> None:
    subagent = reply({"text": "of a subagent"}, parent_tool_use_id="c")
    body = [first, ASKED, CALLED, subagent, ANSWERED, SAID, DONE]
    read = read_conversation(body)
    messages = [item for item in body if item not in (INIT, EVENT, subagent, DONE)]
    assert [entry.message for entry in read.entries] == messages
    assert (read.dialect, read.skipped_count) == ("claude-code", len(body) - len(messages))


def test_replies_of_the_agent_sdk_continue_one_turn() -> None:
    assert [read_entry(item).continues_turn for item in (ASKED, CALLED, ANSWERED, SAID)] == [
        *(False, True, False, True)
    ]


@pytest.mark.parametrize(
    "sent",
    [
        INIT,
        {"content": "look"},
        {name: value for name, value in ANSWERED.items() if value is not None},
        user([{"rows": 3}]),
        user(3),
        reply() | {"content": "a text"},
        {**ASKED, "type": "rows"},
    ],
)
def test_near_miss_of_a_message_of_the_agent_sdk_is_refused(sent: Json) -> None:
    with pytest.raises(InvalidPayloadError):
        read_entry(sent)


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (RESULT, Expectation(("a cat",), call="c")),
        (
            {**RESULT, "content": "gone", "is_error": True},
            Expectation(("gone",), failed=True, call="c"),
        ),
        ({**RESULT, "content": None}, Expectation(call="c")),
    ],
)
def test_result_block_of_the_agent_sdk_is_an_envelope(block: Json, expected: Expectation) -> None:
    assert observe(block) == expected


def test_refusal_of_a_message_without_its_null_members_says_to_dump_them() -> None:
    dump = {name: value for name, value in ANSWERED.items() if value is not None}
    with pytest.raises(InvalidPayloadError) as refused:
        read_conversation([CALLED, dump])
    detail = "has content, but no member that shows whose it is: dump it with all its members"
    assert refused.value.faults == (Fault("/1", detail),)
