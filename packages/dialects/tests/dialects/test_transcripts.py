"""Transcripts and streams of updates: pieces are joined, and what is no message is counted."""

from typing import Any

import pytest

from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.messages.conversation_reading import read_conversation

Json = dict[str, Any]

BLOCK = {"type": "text", "text": "a cat"}


def line(uuid: str, parent: str | None, message: Json, **beside: object) -> Json:
    """Return a line of a transcript of Claude Code."""
    kind = message["role"]
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s",
        "message": message,
        **beside,
    }


ASKED = line("1", None, {"role": "user", "content": "look"})
SEEN = line("2", "1", {"role": "assistant", "id": "m", "content": [BLOCK]})
CALL: Json = {"type": "tool_use", "id": "t", "name": "look", "input": {}}


def told(body: object) -> list[tuple[str, Json]]:
    """Return the messages of a body, with their pointers."""
    return [(pointer, message) for pointer, message, _ in read_conversation(body).entries]


def test_lines_of_one_message_are_one_message() -> None:
    rest = line("3", "2", {"role": "assistant", "id": "m", "content": [CALL]})
    assert told([ASKED, SEEN, rest]) == [
        ("/0/message", {"role": "user", "content": "look"}),
        ("/1/message", {"role": "assistant", "id": "m", "content": [BLOCK, CALL]}),
    ]


def test_the_newest_line_says_which_way_the_conversation_went() -> None:
    again = line("1b", None, {"role": "user", "content": "look again"})
    assert told([ASKED, SEEN, again]) == [("/2/message", again["message"])]


def test_lines_of_subagents_are_left_out_and_read_where_there_are_no_others() -> None:
    side = [{**each, "isSidechain": True} for each in (ASKED, SEEN)]
    other = line("9", None, {"role": "user", "content": "wait"})
    assert told([*side, other]) == [("/2/message", other["message"])]
    assert [message for _, message in told(side)] == [ASKED["message"], SEEN["message"]]


def test_a_compaction_stands_for_what_was_before_it() -> None:
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None}
    summary = line("c", "b", {"role": "user", "content": "so far"}, isCompactSummary=True)
    assert told([ASKED, SEEN, {**boundary, "sessionId": "s"}, summary]) == [
        ("/3/message", summary["message"])
    ]


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ([{"type": "summary", "summary": "x", "leafUuid": "2"}, ASKED, SEEN], 1),
        ([{"type": "queue-operation", "sessionId": "s"}, ASKED, {**SEEN, "isSidechain": True}], 2),
        (
            [
                {"type": "session_meta", "payload": {"id": "s"}},
                {"type": "response_item", "payload": {"type": "message", **ASKED["message"]}},
                {"type": "event_msg", "payload": {"type": "user_message", "message": "look"}},
            ],
            2,
        ),
        (
            [
                {"sessionUpdate": "plan", "entries": []},
                {"sessionUpdate": "agent_message_chunk", "content": BLOCK},
            ],
            1,
        ),
        (
            [
                {"invocationId": "i", "author": "user", "content": {"parts": [{"text": "look"}]}},
                {"invocationId": "i", "author": "root", "actions": {}},
            ],
            1,
        ),
    ],
)
def test_what_is_no_message_is_counted(body: list[Json], count: int) -> None:
    read = read_conversation(body)
    assert read.passed_over == count


def test_words_of_a_transcript_are_in_the_dialect_of_its_messages() -> None:
    read = read_conversation([ASKED])
    assert (read.dialect, [entry.dialect for _, _, entry in read.entries]) == (
        "claude-code",
        ["anthropic"],
    )


def test_updates_of_a_call_are_one_message_with_what_is_said_around_it() -> None:
    def chunk(text: str) -> Json:
        content = {"type": "text", "text": text}
        return {"sessionUpdate": "agent_message_chunk", "content": content}

    start = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "look", "status": "pending"}
    end = {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"}
    content = [{"type": "content", "content": BLOCK}]
    updates = [chunk("I "), chunk("look."), start, {**end, "content": content}, chunk("So.")]
    assert told(updates) == [
        ("/0", {**chunk(""), "content": [{"type": "text", "text": "I look."}]}),
        ("/2", {**start, "status": "completed", "content": content}),
        ("/4", chunk("So.")),
    ]


def test_instructions_are_what_stands_around_a_history() -> None:
    request = {"kind": "request", "instructions": "be brief", "parts": []}
    asked = {"part_kind": "user-prompt", "content": "look"}
    read = read_conversation([{**request, "parts": [asked]}, {**request, "parts": [asked]}])
    assert read.prompt == {"instructions": "be brief"}
    system = {"part_kind": "system-prompt", "content": "you look"}
    read = read_conversation([{**request, "parts": [system, asked]}])
    assert read.prompt == {"instructions": "you look\n\nbe brief"}
    message = {"role": "user", "parts": [{"type": "text", "content": "look"}]}
    attributes = {
        "gen_ai.system_instructions": '[{"type": "text", "content": "be brief"}]',
        "gen_ai.input.messages": [message],
        "gen_ai.request.model": "m",
    }
    assert read_conversation(attributes).prompt == {"instructions": "be brief", "model": "m"}


@pytest.mark.parametrize(
    "first",
    [
        ASKED,
        {"type": "response_item", "payload": {"type": "message", **ASKED["message"]}},
        {"invocationId": "i", "author": "user", "content": {"parts": [{"text": "look"}]}},
        {"sessionUpdate": "agent_message_chunk", "content": BLOCK},
        {"type": "TextMessage", "source": "user", "content": "look"},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "look"}]},
    ],
)
@pytest.mark.parametrize("next_one", [ASKED["message"], {"type": "message", **SEEN["message"]}])
def test_a_message_of_another_dialect_among_them_is_read(first: Json, next_one: Json) -> None:
    read = read_conversation([first, next_one])
    assert (len(read.entries), read.passed_over) == (2, 0)
    assert read.entries[1][:2] == ("/1", next_one)


def test_what_no_dialect_knows_among_events_is_refused() -> None:
    event = {"invocationId": "i", "author": "user", "content": {"parts": [{"text": "look"}]}}
    with pytest.raises(InvalidPayloadError) as refused:
        read_conversation([event, {"rows": 3}])
    assert [fault.pointer for fault in refused.value.faults] == ["/1"]
