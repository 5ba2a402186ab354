"""Histories in what clients and servers exchange: streams of events, JSON-RPC, lists of parts.

Each package is imported by its own function: one that is broken ends its own dialect alone.
"""

from collections.abc import Iterator
from typing import Any

from cases import (
    ARGUMENTS,
    ARGUMENTS_TEXT,
    ASKED,
    CALL,
    DONE,
    PNG,
    PNG64,
    SAID,
    SECRET,
    TOOL,
    WORDS,
    Case,
    bare_and_full,
    columns,
    dumps,
    history,
)

_RPC = {"jsonrpc": "2.0", "id": 1}
_ONE = {"calls": 0, "answers": (), "images": 1}
"""Return the case of one message with a picture."""


def ag_ui() -> Iterator[Case]:
    """Streams: in pieces, in chunks, behind the input of the run, and with a snapshot."""
    from ag_ui import core as g

    source = g.DataSource(value=PNG64, mime_type="image/png")
    user = g.UserMessage(id="m1", content=[g.TextPart(text=ASKED), g.ImagePart(source=source)])
    first = g.RunAgentInput(
        **{"thread_id": "t", "run_id": "r", "state": None, "messages": [user]},
        **{"tools": [], "context": [], "forwarded_props": None},
    )
    for more in bare_and_full({"metadata": {"k": SECRET}, "raw_event": SECRET, "timestamp": 1}):
        run = {"thread_id": "t", "run_id": "r", **more}
        started = g.RunStartedEvent(**run, input=first)
        answer = g.ToolCallResultEvent(message_id="m4", tool_call_id=CALL, content=WORDS, **more)
        ended = g.RunFinishedEvent(**run)
        for said in (_ag_ui_pieces(more), _ag_ui_chunks(more)):
            events = (started, *said[:-1], answer, said[-1], ended)
            yield from (history(column) for column in columns(*events) if "type" in column[0])
        snapshot = g.MessagesSnapshotEvent(messages=[user], **more)
        events = (*said[:-1], snapshot, ended)
        for column in columns(*events):
            if "type" in column[0] and "role" in column[-2]["messages"][0]:
                yield history(column, ASKED, **_ONE)


def _ag_ui_pieces(more: Case) -> list[Any]:
    from ag_ui import core as g

    text, call, thought = {"message_id": "m3"}, {"tool_call_id": CALL}, {"message_id": "m2"}
    return [
        g.StepStartedEvent(step_name=SECRET, **more),
        g.ReasoningStartEvent(**thought, **more),
        g.ReasoningMessageStartEvent(**thought, role="reasoning", **more),
        g.ReasoningMessageContentEvent(**thought, delta=SECRET, **more),
        g.ReasoningMessageEndEvent(**thought, **more),
        g.ReasoningEncryptedValueEvent(
            subtype="message", entity_id="m2", encrypted_value=SECRET, **more
        ),
        g.ReasoningEndEvent(**thought, **more),
        g.TextMessageStartEvent(**text, role="assistant", **more),
        g.TextMessageContentEvent(**text, delta=SAID[:3], **more),
        g.TextMessageContentEvent(**text, delta=SAID[3:], **more),
        g.TextMessageEndEvent(**text, **more),
        g.ToolCallStartEvent(**call, tool_call_name=TOOL, parent_message_id="m3", **more),
        g.ToolCallArgsEvent(**call, delta=ARGUMENTS_TEXT[:4], **more),
        g.ToolCallArgsEvent(**call, delta=ARGUMENTS_TEXT[4:], **more),
        g.ToolCallEndEvent(**call, **more),
        g.StateSnapshotEvent(snapshot={"k": SECRET}, **more),
        g.SubagentStartedEvent(name=SECRET, **_SUBAGENT, **more),
        g.SubagentFinishedEvent(**_SUBAGENT, **more),
        g.CustomEvent(name="n", value=SECRET, **more),
        g.TextMessageChunkEvent(message_id="m5", role="assistant", delta=DONE, **more),
    ]


_SUBAGENT = {"subagent_run_id": "s"}


def _ag_ui_chunks(more: Case) -> list[Any]:
    from ag_ui import core as g

    name = {"tool_call_name": TOOL}
    return [
        g.ReasoningMessageChunkEvent(message_id="m2", delta=SECRET, **more),
        g.TextMessageChunkEvent(message_id="m3", delta=SAID[:3], **more),
        g.TextMessageChunkEvent(delta=SAID[3:], **more),
        g.ToolCallChunkEvent(tool_call_id=CALL, **name, delta=ARGUMENTS_TEXT[:4], **more),
        g.ToolCallChunkEvent(delta=ARGUMENTS_TEXT[4:], **more),
        g.TextMessageChunkEvent(message_id="m5", delta=DONE, **more),
    ]


def a2a() -> Iterator[Case]:
    """Yield the requests and answers of JSON-RPC and of REST, in 1.0."""
    from a2a import types as t
    from google.protobuf.json_format import MessageToDict

    picture = t.Part(raw=PNG, media_type="image/png")
    message = t.Message(message_id="m1", role=t.Role.ROLE_USER, parts=[t.Part(text=ASKED), picture])
    answer = t.Message(message_id="m2", role=t.Role.ROLE_AGENT, parts=[t.Part(text=SAID)])
    status = t.TaskStatus(state=t.TaskState.TASK_STATE_COMPLETED, message=answer)
    task = t.Task(id="t", context_id="c", status=status, history=[message])
    update = t.TaskStatusUpdateEvent(task_id="t", context_id="c", status=status)
    alone = {**_ONE, "images": 0}
    for how in ({}, {"preserving_proto_field_name": True}):
        for more in bare_and_full({"metadata": {"k": SECRET}, "tenant": SECRET}):
            sent = MessageToDict(t.SendMessageRequest(message=message, **more), **how)
            yield history({**_RPC, "method": "SendMessage", "params": sent}, ASKED, **_ONE)
            yield history(sent, ASKED, **_ONE)
        for model in (t.SendMessageResponse, t.StreamResponse):
            for built, texts, told in (
                (model(task=task), (ASKED, SAID), _ONE),
                (model(message=answer), (SAID,), alone),
            ):
                got = MessageToDict(built, **how)
                yield history({**_RPC, "result": got}, *texts, **told)
                yield history(got, *texts, **told)
        got = MessageToDict(t.StreamResponse(status_update=update), **how)
        yield history({**_RPC, "result": got}, SAID, **alone)
        yield history(got, SAID, **alone)
        yield history(MessageToDict(update, **how), SAID, **alone)


def a2a_before() -> Iterator[Case]:
    """Yield the requests and answers of JSON-RPC, in 0.3."""
    from a2a.compat.v0_3 import types as t

    file = t.FileWithBytes(bytes=PNG64, mime_type="image/png")
    parts = [t.Part(root=t.TextPart(text=ASKED)), t.Part(root=t.FilePart(file=file))]
    message = t.Message(message_id="m1", role="user", parts=parts)
    words = [t.Part(root=t.TextPart(text=SAID))]
    answer = t.Message(message_id="m2", role="agent", parts=words)
    status = t.TaskStatus(state="completed", message=answer)
    task = t.Task(id="t", context_id="c", status=status, history=[message])
    update = t.TaskStatusUpdateEvent(task_id="t", context_id="c", status=status, final=True)
    alone = {**_ONE, "images": 0}
    for more in bare_and_full({"metadata": {"k": SECRET}}):
        params = t.MessageSendParams(message=message, **more)
        for sent in dumps(t.SendMessageRequest(id="1", params=params)):
            yield history({**sent, **_RPC, "method": "message/send"}, ASKED, **_ONE)
    for result, texts, told in (
        (task, (ASKED, SAID), _ONE),
        (answer, (SAID,), alone),
        (update, (SAID,), alone),
    ):
        for got in dumps(t.SendStreamingMessageSuccessResponse(id="1", result=result)):
            if "kind" in got["result"]:
                yield history({**got, **_RPC}, *texts, **told)


def gemini() -> Iterator[Case]:
    """Parts in a list, and the history that the SDK made while it called functions by itself."""
    from google.genai import types as g

    picture = g.Part(inline_data=g.Blob(mime_type="image/png", data=PNG))
    call = g.Part(function_call=g.FunctionCall(id=CALL, name=TOOL, args=ARGUMENTS))
    response = g.FunctionResponse(id=CALL, name=TOOL, response={"output": WORDS})
    answer = g.Part(function_response=response)
    for column in columns(g.Part(text=ASKED), picture):
        yield history({"contents": column}, ASKED, **_ONE)
        yield history(column, ASKED, **_ONE)
        yield history({"contents": [ASKED, column[1]]}, ASKED, **_ONE)
    said = g.Content(role="model", parts=[g.Part(text=SAID), call])
    for column in columns(g.Part(text=ASKED), picture, said, answer):
        yield history({"contents": column}, ASKED, SAID)
    message = g.Content(role="user", parts=[g.Part(text=ASKED), picture])
    told = g.Content(role="user", parts=[answer])
    done = g.Candidate(content=g.Content(role="model", parts=[g.Part(text=DONE)]))
    for more in bare_and_full({"model_version": "m", "response_id": SECRET}):
        built = g.GenerateContentResponse(
            automatic_function_calling_history=[message, said, told], candidates=[done], **more
        )
        yield from (history(dump) for dump in dumps(built))
