"""Transcripts and streams of updates: pieces are joined, and other events are counted."""

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


def read_messages(body: object) -> list[tuple[str, Json]]:
    """Return the messages of a body, with their pointers."""
    return [(pointer, message) for pointer, message, _ in read_conversation(body).entries]


def test_lines_of_one_message_are_one_message() -> None:
    rest = line("3", "2", {"role": "assistant", "id": "m", "content": [CALL]})
    assert read_messages([ASKED, SEEN, rest]) == [
        ("/0/message", {"role": "user", "content": "look"}),
        ("/1/message", {"role": "assistant", "id": "m", "content": [BLOCK, CALL]}),
    ]


def test_newest_line_selects_the_branch_of_the_conversation() -> None:
    again = line("1b", None, {"role": "user", "content": "look again"})
    assert read_messages([ASKED, SEEN, again]) == [("/2/message", again["message"])]


def test_lines_of_subagents_are_read_only_if_there_are_no_others() -> None:
    side = [{**item, "isSidechain": True} for item in (ASKED, SEEN)]
    other = line("9", None, {"role": "user", "content": "wait"})
    assert read_messages([*side, other]) == [("/2/message", other["message"])]
    assert [message for _, message in read_messages(side)] == [ASKED["message"], SEEN["message"]]


def test_compaction_replaces_the_messages_before_it() -> None:
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None}
    summary = line("c", "b", {"role": "user", "content": "so far"}, isCompactSummary=True)
    assert read_messages([ASKED, SEEN, {**boundary, "sessionId": "s"}, summary]) == [
        ("/3/message", summary["message"])
    ]


def test_compaction_of_codex_lists_what_stays_or_keeps_the_messages_of_the_user() -> None:
    def item(role: str, text: str) -> Json:
        return {"type": "message", "role": role, "content": text}

    def wrap(payload: Json, kind: str = "response_item") -> Json:
        return {"type": kind, "timestamp": "t", "payload": payload}

    first, last = wrap(item("user", "a")), wrap(item("user", "c"))
    before = [first, wrap(item("assistant", "b"))]
    summarized = [*before, wrap({"message": "so far"}, "compacted"), last]
    kept = [item("assistant", "kept"), item("user", "too")]
    listed = [*before, wrap({"replacement_history": kept}, "compacted"), last]
    assert read_messages(summarized) == [
        ("/0/payload", first["payload"]),
        ("/2/payload", item("user", "so far")),
        ("/3/payload", last["payload"]),
    ]
    assert read_messages(listed) == [
        ("/2/payload/replacement_history/0", kept[0]),
        ("/2/payload/replacement_history/1", kept[1]),
        ("/3/payload", last["payload"]),
    ]
    empty = [*before, wrap({}, "compacted")]
    assert read_messages(empty)[1:] == [("/2/payload", item("user", ""))]


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
                {"type": "of_a_later_version", "payload": {"type": "message"}},
            ],
            3,
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
def test_other_events_are_counted(body: list[Json], count: int) -> None:
    read = read_conversation(body)
    assert read.skipped_count == count


def test_texts_of_a_transcript_have_the_dialect_of_its_messages() -> None:
    read = read_conversation([ASKED])
    assert (read.dialect, [entry.dialect for _, _, entry in read.entries]) == (
        "claude-code",
        ["anthropic"],
    )


def test_updates_of_a_call_are_joined_to_one_message_between_texts() -> None:
    def chunk(text: str) -> Json:
        content = {"type": "text", "text": text}
        return {"sessionUpdate": "agent_message_chunk", "content": content}

    start = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "look", "status": "pending"}
    end = {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"}
    content = [{"type": "content", "content": BLOCK}]
    updates = [chunk("I "), chunk("look."), start, {**end, "content": content}, chunk("So.")]
    assert read_messages(updates) == [
        ("/0", {**chunk(""), "content": [{"type": "text", "text": "I look."}]}),
        ("/2", {**start, "status": "completed", "content": content}),
        ("/4", chunk("So.")),
    ]


def test_events_of_ag_ui_are_joined_to_messages() -> None:
    events: list[Json] = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "I "},
        {"type": "TEXT_MESSAGE_CHUNK", "delta": "look."},
        {"type": "TOOL_CALL_START", "tool_call_id": "c", "tool_call_name": "look"}
        | {"parent_message_id": "m"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '{"at":'},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "1}"},
        {"type": "TOOL_CALL_RESULT", "messageId": "n", "toolCallId": "c", "content": "a cat"},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
    ]
    function = {"name": "look", "arguments": '{"at":1}'}
    call = {"id": "c", "type": "function", "function": function}
    assert read_messages(events) == [
        ("/1", {"id": "m", "role": "assistant", "content": "I look.", "toolCalls": [call]}),
        ("/7", events[7]),
    ]
    assert read_conversation(events).skipped_count == 2
    question = {"id": "a", "role": "user", "content": "look"}
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": [question]}
    assert read_messages([*events, snapshot]) == [("/9/messages/0", question)]
    # The next run repeats the messages and continues in pieces.
    run = {"type": "RUN_STARTED", "threadId": "t", "runId": "s", "input": {"messages": [question]}}
    piece = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "a", "delta": "So."}
    more = ("/11", {"id": "a", "role": "assistant", "content": "So."})
    assert read_messages([*events, snapshot, run, piece])[1:] == [more]


def test_parts_of_gemini_in_a_list_are_joined_by_role() -> None:
    call = {"function_call": {"name": "look", "args": {}}}
    answer = {"function_response": {"name": "look", "response": {"output": "a cat"}}}
    answer_message = {"role": "model", "parts": [{"text": "So."}]}
    parts = [{"text": "look"}, {"inline_data": {"mime_type": "image/png", "data": "iVBO"}}]
    body = {"contents": [*parts, call, answer, answer_message, "Thanks."]}
    assert read_messages(body) == [
        ("/contents/0", {"role": "user", "parts": parts}),
        ("/contents/2", {"role": "model", "parts": [call]}),
        ("/contents/3", {"role": "user", "parts": [answer]}),
        ("/contents/4", answer_message),
        ("/contents/5", {"role": "user", "parts": [{"text": "Thanks."}]}),
    ]
    assert read_messages(parts) == [("/0", {"role": "user", "parts": parts})]


def test_automatic_calls_of_the_gemini_sdk_precede_its_answer() -> None:
    question = {"role": "user", "parts": [{"text": "look"}]}
    reply = {"role": "model", "parts": [{"text": "a cat"}]}
    body = {
        "automatic_function_calling_history": [question],
        "candidates": [{"content": reply, "finish_reason": "STOP"}],
    }
    read = read_conversation(body)
    assert [entry[:2] for entry in read.entries] == [
        ("/automatic_function_calling_history/0", question),
        ("/candidates/0/content", reply),
    ]
    assert not read.continues
    assert read_conversation({**body, "automatic_function_calling_history": []}).continues


@pytest.mark.parametrize("envelope", ["params", "result"])
def test_message_in_json_rpc_is_read_without_its_envelope(envelope: str) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "message/send"}
    parts = [{"kind": "text", "text": "look"}]
    message = {"kind": "message", "messageId": "m", "role": "user", "parts": parts}
    request_params = {"message": message} if envelope == "params" else message
    entry = read_conversation({**request, envelope: request_params}).entries[0][2]
    assert (entry.dialect, entry.role) == ("a2a", "user")
    update = {"sessionUpdate": "agent_message_chunk", "content": BLOCK}
    params = {"sessionId": "s", "update": update}
    body = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    entry = read_conversation(body).entries[0][2]
    assert (entry.dialect, entry.role) == ("acp", "assistant")
    task = {"id": "t", "contextId": "c", "status": {"state": "completed"}, "history": [message]}
    assert read_messages({"jsonrpc": "2.0", "id": 1, "result": task}) == [
        ("/result/history/0", message)
    ]


@pytest.mark.parametrize(
    "record",
    [
        {"role": "admin", "rows": []},
        {"role": "user", "rows": []},
        {"type": "message", "text": "x"},
        {"type": "message", "role": "admin", "content": "x"},
        {"type": "phone_call", "id": "p"},
        {"type": "order_call", "id": 7, "status": "open"},
        {"type": "web_search_call", "action": {}},
        {"type": "sheet_output", "call_id": 7},
        {"type": "user", "name": "Ada"},
        {"type": "RUN_STARTED", "runId": "r"},
        {"type": "TOOL_CALL_RESULT", "content": "x"},
        {"kind": "request", "id": 1},
        {"parts": [{"sku": "a"}]},
        {"update": {"sku": "a"}},
        {"message": {"role": "admin", "rows": []}},
        {"jsonrpc": "2.0", "id": 1, "result": {"rows": []}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1}},
        {"name": "look", "response": {"a": 1}},
    ],
)
def test_near_misses_of_messages_are_not_messages(record: Json) -> None:
    with pytest.raises(InvalidPayloadError):
        read_conversation(record)


def test_system_members_of_a_request_are_the_instructions() -> None:
    request = {"kind": "request", "instructions": "be brief", "parts": []}
    question = {"part_kind": "user-prompt", "content": "look"}
    read = read_conversation([{**request, "parts": [question]}, {**request, "parts": [question]}])
    assert read.prompt == {"instructions": "be brief"}
    system = {"part_kind": "system-prompt", "content": "you look"}
    read = read_conversation([{**request, "parts": [system, question]}])
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
def test_message_of_another_dialect_in_a_history_is_read(first: Json, next_one: Json) -> None:
    read = read_conversation([first, next_one])
    assert (len(read.entries), read.skipped_count) == (2, 0)
    assert read.entries[1][:2] == ("/1", next_one)


def test_unknown_object_among_events_is_refused() -> None:
    event = {"invocationId": "i", "author": "user", "content": {"parts": [{"text": "look"}]}}
    with pytest.raises(InvalidPayloadError) as refused:
        read_conversation([event, {"rows": 3}])
    assert [fault.pointer for fault in refused.value.faults] == ["/1"]
