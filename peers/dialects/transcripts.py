"""Transcripts as coding agents write them, by their published types; they are no classes."""

from collections.abc import Iterator

from cases import (
    ARGUMENTS,
    ARGUMENTS_TEXT,
    ASKED,
    BOOM,
    CALL,
    DONE,
    PNG64,
    PNG_URI,
    SAID,
    SECRET,
    TOOL,
    WHEN,
    WORDS,
    Case,
    given,
    history,
)

_SOURCE = {"type": "base64", "media_type": "image/png", "data": PNG64}
_PICTURE = {"type": "image", "source": _SOURCE}
_ASKED = [{"type": "text", "text": ASKED}, _PICTURE]
_CALL = {"type": "tool_use", "id": CALL, "name": TOOL, "input": ARGUMENTS}
_ANSWER = {"type": "tool_result", "tool_use_id": CALL, "content": WORDS}


def claude_code() -> Iterator[Case]:
    thought = {"type": "thinking", "thinking": SECRET, "signature": "s"}
    plain = [
        _user("1", None, _ASKED),
        _assistant("2", "1", "msg_1", [{"type": "text", "text": SAID}]),
        _assistant("3", "2", "msg_1", [_CALL]),
        {**_user("4", "3", [_ANSWER]), "toolUseResult": {"stdout": WORDS}},
        _assistant("5", "4", "msg_2", [{"type": "text", "text": DONE}]),
    ]
    yield history(plain)
    beside: list[Case] = [
        {"type": "summary", "summary": SECRET, "leafUuid": "5"},
        {"type": "file-history-snapshot", "messageId": "1", "snapshot": {"k": SECRET}},
        {"type": "queue-operation", "operation": "enqueue", "content": SECRET},
        {"type": "last-prompt", "lastPrompt": SECRET, "sessionId": "s"},
        {**_line("9", "5"), "type": "system", "subtype": "turn_duration", "durationMs": 1},
    ]
    for line in beside:
        yield history([line, *plain] if line["type"] == "summary" else [*plain, line])
    yield history([*beside, *plain])
    told = _assistant("2", "1", "msg_1", [thought])
    spoken = _assistant("2b", "2", "msg_1", [{"type": "text", "text": SAID}])
    yield history([plain[0], told, spoken, {**plain[2], "parentUuid": "2b"}, *plain[3:]])
    # Of two calls at once, one answer is beside the chain of the newest line.
    other = {**_CALL, "id": "call_2"}
    answers = [_ANSWER, {**_ANSWER, "tool_use_id": "call_2", "content": BOOM}]
    both = [
        *plain[:3],
        _assistant("3b", "3", "msg_1", [other]),
        _user("4", "3", [answers[0]]),
        _user("4b", "3b", [answers[1]]),
        {**plain[4], "parentUuid": "4b"},
    ]
    made = history(both, calls=2, answers=(WORDS, BOOM))
    made["expect"]["answers"][1][0] = "call_2"
    yield made
    # The first request was edited, and sent again.
    again = _user("1c", None, [{"type": "text", "text": SECRET}])
    yield history(
        [again, _assistant("2c", "1c", "msg_0", [{"type": "text", "text": SECRET}]), *plain]
    )
    side = [_user("s1", None, SECRET), _assistant("s2", "s1", "msg_9", [thought])]
    yield history([*plain, *({**item, "isSidechain": True} for item in side)])
    boundary = {**_line("b", None), "type": "system", "subtype": "compact_boundary"}
    boundary |= {"content": "Conversation compacted", "logicalParentUuid": "0"}
    boundary["compactMetadata"] = {"trigger": "auto", "preTokens": 9}
    summary = {**_user("c", "b", BOOM), "isCompactSummary": True}
    early = [
        _user("00", None, SECRET),
        _assistant("0", "00", "msg_0", [{"type": "text", "text": SECRET}]),
    ]
    rest = [{**plain[0], "parentUuid": "c"}, *plain[1:]]
    yield history([*early, boundary, summary, *rest], BOOM, ASKED, SAID, DONE)
    yield from _stream_json()


def _stream_json() -> Iterator[Case]:
    """Yield the lines that `claude --output-format stream-json` and the Agent SDK write."""
    messages = [
        _output("user", {"role": "user", "content": _ASKED}),
        _output("assistant", _reply("msg_1", [{"type": "text", "text": SAID}])),
        _output("assistant", _reply("msg_1", [_CALL])),
        {**_output("user", {"role": "user", "content": [_ANSWER]}), "tool_use_result": WORDS},
        _output("assistant", _reply("msg_2", [{"type": "text", "text": DONE}])),
    ]
    ids = [{**line, "uuid": str(index)} for index, line in enumerate(messages)]
    around = {"session_id": "s", "uuid": "9"}
    start = {**around, "type": "system", "subtype": "init", "cwd": SECRET, "tools": [SECRET]}
    delta = {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": SAID},
    }
    event = {**around, "type": "stream_event", "event": delta, "parent_tool_use_id": None}
    end = {**around, "type": "result", "subtype": "success", "result": DONE, "is_error": False}
    limit = {**around, "type": "rate_limit_event", "rate_limit_info": {"status": SECRET}}
    yield history(messages)
    yield history([start, *ids, end])
    yield history([limit, start, ids[0], event, *ids[1:], end])
    side = [{**ids[0], "message": {"role": "user", "content": SECRET}, "parent_tool_use_id": "x"}]
    yield history([start, *ids[:3], *side, *ids[3:], end])


def _output(kind: str, message: Case) -> Case:
    return {"type": kind, "message": message, "parent_tool_use_id": None, "session_id": "s"}


def codex() -> Iterator[Case]:
    message = {"type": "message", "role": "user"}
    parts = [{"type": "input_text", "text": ASKED}, {"type": "input_image", "image_url": PNG_URI}]
    block = {"type": "message", "role": "assistant"}
    reasoning = {"type": "reasoning", "summary": [{"type": "summary_text", "text": SECRET}]}
    call = {"type": "function_call", "name": TOOL, "arguments": ARGUMENTS_TEXT, "call_id": CALL}
    items: list[Case] = [
        {**message, "content": parts},
        {**reasoning, "content": None, "encrypted_content": SECRET},
        {**block, "content": [{"type": "output_text", "text": SAID}]},
        call,
        {"type": "function_call_output", "call_id": CALL, "output": WORDS},
        {**block, "content": [{"type": "output_text", "text": DONE}]},
    ]
    lines = [_rollout("response_item", item) for item in items]
    meta = _rollout("session_meta", {"id": "s", "cwd": SECRET, "instructions": SECRET})
    context = _rollout("turn_context", {"cwd": SECRET, "model": "m"})
    event = _rollout("event_msg", {"type": "user_message", "message": ASKED})
    yield history(lines)
    yield history([meta, lines[0], event, context, *lines[1:]])
    ghost = _rollout("response_item", {"type": "ghost_snapshot", "ghost_commit": {"id": SECRET}})
    yield history([meta, ghost, *lines])
    for more in given({"git": {"branch": SECRET}, "instructions": SECRET}):
        yield history([{"id": "s", "timestamp": WHEN, **more}, *items, {"record_type": "state"}])
    early = _rollout(
        "response_item",
        {**block, "content": [{"type": "output_text", "text": SECRET}]},
    )
    kept = {**message, "content": [{"type": "input_text", "text": BOOM}]}
    compacted = _rollout("compacted", {"message": SECRET, "replacement_history": [kept]})
    yield history([meta, early, compacted, *lines], BOOM, ASKED, SAID, DONE)
    compacted = _rollout("compacted", {"message": BOOM})
    yield history([meta, early, compacted, *lines], BOOM, ASKED, SAID, DONE)


def _rollout(kind: str, payload: Case) -> Case:
    return {"timestamp": WHEN, "type": kind, "payload": payload}


def _line(uuid: str, parent: str | None) -> Case:
    around = {"userType": "external", "cwd": SECRET, "version": "2.0.0", "gitBranch": "main"}
    about = {"uuid": uuid, "parentUuid": parent, "isSidechain": False, "sessionId": "s"}
    return {**about, **around, "timestamp": WHEN}


def _user(uuid: str, parent: str | None, content: object) -> Case:
    message = {"role": "user", "content": content}
    return {**_line(uuid, parent), "type": "user", "message": message}


def _assistant(uuid: str, parent: str, name: str, content: list[Case]) -> Case:
    request = {"requestId": "r"}
    reply = _reply(name, content)
    return {**_line(uuid, parent), **request, "type": "assistant", "message": reply}


def _reply(name: str, content: list[Case]) -> Case:
    message: Case = {"id": name, "type": "message", "role": "assistant", "model": "m"}
    message |= {"content": content, "stop_reason": None, "stop_sequence": None}
    message["usage"] = {"input_tokens": 1, "output_tokens": 1}
    return message
