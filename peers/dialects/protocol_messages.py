"""Messages and histories as protocols between agents, hosts and observers have them.

Each package is imported by its own function: one that is broken ends its own dialect alone.
"""

import json
from collections.abc import Iterator
from typing import Any

from cases import (
    ARGUMENTS,
    ARGUMENTS_TEXT,
    ASKED,
    BOOM,
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
    given,
    history,
    message,
)


def a2a() -> Iterator[Case]:
    from a2a import types as t
    from a2a.compat.v0_3 import types as old
    from google.protobuf.json_format import MessageToDict

    raw = t.Part(raw=PNG, filename="a.png", media_type="image/png")
    options = {
        "context_id": "c",
        "task_id": "t",
        "metadata": {"k": SECRET},
        "extensions": ["x"],
        "reference_task_ids": ["t0"],
    }
    spellings = (
        {},
        {"preserving_proto_field_name": True},
        {"always_print_fields_with_no_presence": True},
    )
    user, agent = t.Role.ROLE_USER, t.Role.ROLE_AGENT
    for role, said_by, text, beside in (
        (user, "user", ASKED, [raw]),
        (user, "user", ASKED, []),
        (agent, "assistant", SAID, []),
    ):
        for more in given(options):
            parts = [t.Part(text=text, metadata={"k": SECRET} if more else None), *beside]
            built = t.Message(message_id="m", role=role, parts=parts, **more)
            for how in spellings:
                yield message(MessageToDict(built, **how), said_by, text, images=len(beside))
    file = old.FileWithBytes(bytes=PNG64, mime_type="image/png", name="a.png")
    picture = old.Part(root=old.FilePart(file=file))
    for name, said_by, text, beside in (
        ("user", "user", ASKED, [picture]),
        ("user", "user", ASKED, []),
        ("agent", "assistant", SAID, []),
    ):
        for more in given(options):
            words = old.Part(root=old.TextPart(text=text))
            built = old.Message(message_id="m", role=name, parts=[words, *beside], **more)
            for dump in dumps(built):
                if "kind" in dump:
                    yield message(dump, said_by, text, images=len(beside))


def a2a_histories() -> Iterator[Case]:
    from a2a import types as t
    from a2a.compat.v0_3 import types as old
    from google.protobuf.json_format import MessageToDict

    told = {"calls": 0, "answers": (), "images": 1}
    raw = t.Part(raw=PNG, media_type="image/png")
    answer = t.Message(
        message_id="m1", role=t.Role.ROLE_USER, parts=[t.Part(text=ASKED), raw], context_id="c"
    )
    said = t.Message(message_id="m2", role=t.Role.ROLE_AGENT, parts=[t.Part(text=SAID)])
    status = t.TaskStatus(state=t.TaskState.TASK_STATE_COMPLETED)
    for how in ({}, {"preserving_proto_field_name": True}):
        listed = [MessageToDict(item, **how) for item in (answer, said)]
        yield history(listed, ASKED, SAID, **told)
        task = t.Task(id="t", context_id="c", status=status, history=[answer, said])
        yield history(MessageToDict(task, **how), ASKED, SAID, **told)
    file = old.FileWithBytes(bytes=PNG64, mime_type="image/png")
    words = [old.Part(root=old.TextPart(text=text)) for text in (ASKED, SAID)]
    picture = old.Part(root=old.FilePart(file=file))
    models = (
        old.Message(message_id="m1", role="user", parts=[words[0], picture], kind="message"),
        old.Message(message_id="m2", role="agent", parts=[words[1]], kind="message"),
    )
    for column in columns(*models):
        yield history(column, ASKED, SAID, **told)
    task = old.Task(
        id="t",
        context_id="c",
        status=old.TaskStatus(state="completed"),
        history=list(models),
        kind="task",
    )
    yield from (history(dump, ASKED, SAID, **told) for dump in dumps(task))


def acp() -> Iterator[Case]:
    from acp import schema as s

    asked, said, thought = (
        s.TextContentBlock(type="text", text=text) for text in (ASKED, SAID, SECRET)
    )
    picture = s.ImageContentBlock(type="image", data=PNG64, mime_type="image/png")
    words = s.ContentToolCallContent(
        type="content", content=s.TextContentBlock(type="text", text=WORDS)
    )
    user, agent = "user_message_chunk", "agent_message_chunk"
    call = {"tool_call_id": CALL, "title": TOOL, "raw_input": ARGUMENTS}
    models: list[tuple[Any, str, tuple[str, ...], Case]] = []
    for more in bare_and_full({"message_id": "m", "field_meta": {"k": SECRET}}):
        models += [
            (s.UserMessageChunk(session_update=user, content=asked, **more), "user", (ASKED,), {}),
            (
                s.UserMessageChunk(session_update=user, content=picture, **more),
                *("user", (), {"images": 1}),
            ),
            (
                s.AgentMessageChunk(session_update=agent, content=said, **more),
                *("assistant", (SAID,), {}),
            ),
            (
                s.AgentThoughtChunk(session_update="agent_thought_chunk", content=thought, **more),
                *("assistant", (), {}),
            ),
        ]
    options = {
        "kind": "read",
        "status": "pending",
        "locations": [s.ToolCallLocation(path=SECRET)],
        "field_meta": {"k": SECRET},
    }
    for more in bare_and_full(options):
        start = s.ToolCallStart(session_update="tool_call", **call, **more)
        models.append((start, "assistant", (), {"calls": 1}))
    start = s.ToolCallStart(session_update="tool_call", status="completed", content=[words], **call)
    models.append((start, "assistant", (), {"calls": 1, "answers": (WORDS,)}))
    for status in ("completed", "failed"):
        for more in bare_and_full(
            {"title": TOOL, "field_meta": {"k": SECRET}, "raw_output": SECRET}
        ):
            built = s.ToolCallProgress(
                session_update="tool_call_update",
                tool_call_id=CALL,
                status=status,
                content=[words],
                **more,
            )
            models.append((built, "tool", (), {"answers": (WORDS,)}))
    for model, role, texts, expect in models:
        for dump in dumps(model):
            if "session_update" in dump or "sessionUpdate" in dump:
                yield message(dump, role, *texts, **expect)
        note = s.SessionNotification(session_id="s", update=model)
        for dump in [*dumps(note)][3:5]:
            yield message(dump, role, *texts, **expect)


def acp_histories() -> Iterator[Case]:
    from acp import schema as s

    def chunk(model: Any, update: str, text: str) -> Any:
        content = s.TextContentBlock(type="text", text=text)
        return model(session_update=update, content=content)

    picture = s.ImageContentBlock(type="image", data=PNG64, mime_type="image/png")
    words = s.ContentToolCallContent(
        type="content", content=s.TextContentBlock(type="text", text=WORDS)
    )
    update = {"session_update": "tool_call_update", "tool_call_id": CALL}
    agent = "agent_message_chunk"
    models = (
        chunk(s.UserMessageChunk, "user_message_chunk", ASKED),
        s.UserMessageChunk(session_update="user_message_chunk", content=picture),
        chunk(s.AgentThoughtChunk, "agent_thought_chunk", SECRET),
        # As it is streamed.
        chunk(s.AgentMessageChunk, agent, SAID[:3]),
        chunk(s.AgentMessageChunk, agent, SAID[3:]),
        s.AgentPlanUpdate(session_update="plan", entries=[]),
        s.ToolCallStart(
            session_update="tool_call",
            tool_call_id=CALL,
            title=TOOL,
            kind="read",
            status="pending",
            raw_input=ARGUMENTS,
        ),
        s.ToolCallProgress(status="in_progress", **update),
        s.ToolCallProgress(status="completed", content=[words], **update),
        chunk(s.AgentMessageChunk, agent, DONE),
        s.CurrentModeUpdate(session_update="current_mode_update", current_mode_id="m"),
    )
    for column in columns(*models):
        if all("session_update" in one or "sessionUpdate" in one for one in column):
            yield history(column)
            yield history([{"sessionId": "s", "update": one} for one in column])
            rpc = {"jsonrpc": "2.0", "method": "session/update"}
            params = [{"sessionId": "s", "update": one} for one in column]
            yield history([{**rpc, "params": param} for param in params])


def ag_ui() -> Iterator[Case]:
    from ag_ui import core as g

    source = g.DataSource(value=PNG64, mime_type="image/png")
    asked, picture = g.TextPart(text=ASKED), g.ImagePart(source=source)
    binary = g.BinaryInputContent(type="binary", mime_type="image/png", data=PNG64)
    function = g.FunctionCall(name=TOOL, arguments=ARGUMENTS_TEXT)
    call = g.ToolCall(id=CALL, type="function", function=function)
    options = {"name": "n", "encrypted_value": SECRET, "metadata": {"k": SECRET}}
    models: list[tuple[Any, str, tuple[str, ...], Case]] = []
    for more in bare_and_full(options):
        models += [
            (g.UserMessage(id="m", content=ASKED, **more), "user", (ASKED,), {}),
            (
                g.UserMessage(id="m", content=[asked, picture], **more),
                "user",
                (ASKED,),
                {"images": 1},
            ),
            (g.SystemMessage(id="m", content=ASKED, **more), "system", (ASKED,), {}),
            (g.DeveloperMessage(id="m", content=ASKED, **more), "system", (ASKED,), {}),
            (g.AssistantMessage(id="m", content=SAID, **more), "assistant", (SAID,), {}),
            (
                g.AssistantMessage(id="m", content=SAID, tool_calls=[call], **more),
                *("assistant", (SAID,), {"calls": 1}),
            ),
            (
                g.AssistantMessage(id="m", tool_calls=[call], **more),
                *("assistant", (), {"calls": 1}),
            ),
        ]
    for more in bare_and_full({"encrypted_value": SECRET, "metadata": {"k": SECRET}}):
        answer = g.ToolMessage(id="m", tool_call_id=CALL, content=WORDS, **more)
        models.append((answer, "tool", (), {"answers": (WORDS,)}))
        models.append((g.ReasoningMessage(id="m", content=SECRET, **more), "assistant", (), {}))
    failed = g.ToolMessage(id="m", tool_call_id=CALL, content="", error=BOOM)
    models.append((failed, "tool", (), {"answers": (BOOM,)}))
    parts = [g.TextPart(text=WORDS), picture]
    shown = g.ToolMessage(id="m", tool_call_id=CALL, content=parts)
    models.append((shown, "tool", (), {"answers": (WORDS,), "images": 1}))
    for model, role, texts, expect in models:
        for dump in dumps(model):
            if "role" in dump:
                yield message(dump, role, *texts, **expect)
    for dump in dumps(binary):
        if "type" in dump:
            content = [{"type": "text", "text": ASKED}, dump]
            built = {"id": "m", "role": "user", "content": content}
            yield message(built, "user", ASKED, images=1)


def ag_ui_histories() -> Iterator[Case]:
    from ag_ui import core as g

    source = g.DataSource(value=PNG64, mime_type="image/png")
    function = g.FunctionCall(name=TOOL, arguments=ARGUMENTS_TEXT)
    call = g.ToolCall(id=CALL, type="function", function=function)
    models = [
        g.UserMessage(
            id="m1", role="user", content=[g.TextPart(text=ASKED), g.ImagePart(source=source)]
        ),
        g.ReasoningMessage(id="m2", role="reasoning", content=SECRET),
        g.AssistantMessage(id="m3", role="assistant", content=SAID, tool_calls=[call]),
        g.ToolMessage(id="m4", role="tool", tool_call_id=CALL, content=WORDS),
        g.ActivityMessage(id="m5", role="activity", activity_type="PLAN", content={"k": SECRET}),
        g.AssistantMessage(id="m6", role="assistant", content=DONE),
    ]
    for column in columns(*models):
        if all("role" in one for one in column):
            yield history(column)
    request = g.RunAgentInput(
        thread_id="t",
        run_id="r",
        state={"k": SECRET},
        messages=models,
        tools=[],
        context=[],
        forwarded_props={},
    )
    event = g.MessagesSnapshotEvent(messages=models)
    for whole in (request, event):
        for dump in dumps(whole):
            if all("role" in one for one in dump["messages"]):
                yield history(dump)


def otel_genai() -> Iterator[Case]:
    for model, role, texts, expect in _otel_models():
        yield message(_otel_json(model), role, *texts, **expect)


def _otel_json(value: Any) -> Any:
    """Write a message as its package writes attributes."""
    from dataclasses import asdict

    from opentelemetry.util.genai.utils import gen_ai_json_dumps

    listed = [asdict(item) for item in value] if isinstance(value, list) else asdict(value)
    return json.loads(gen_ai_json_dumps(listed))


def _otel_models() -> Iterator[tuple[Any, str, tuple[str, ...], Case]]:
    from opentelemetry.util.genai import types as t

    picture = t.BlobPart(mime_type="image/png", modality="image", content=PNG)
    call = t.ToolCallRequestPart(arguments=ARGUMENTS, name=TOOL, id=CALL)
    text_call = t.ToolCallRequestPart(arguments=ARGUMENTS_TEXT, name=TOOL, id=CALL)
    answer = t.ToolCallResponsePart(response=WORDS, id=CALL)
    thought = t.ReasoningPart(content=SECRET)
    asked, said = t.TextPart(content=ASKED), t.TextPart(content=SAID)
    for name in (None, "n"):
        yield t.InputMessage("system", [asked], name=name), "system", (ASKED,), {}
        yield t.InputMessage("user", [asked], name=name), "user", (ASKED,), {}
        yield t.InputMessage("user", [asked, picture], name=name), "user", (ASKED,), {"images": 1}
        yield t.InputMessage("assistant", [said, call]), "assistant", (SAID,), {"calls": 1}
        yield t.InputMessage("assistant", [text_call]), "assistant", (), {"calls": 1}
        yield t.InputMessage("tool", [answer], name=name), "tool", (), {"answers": (WORDS,)}
    file = t.FilePart(mime_type="application/pdf", modality="document", file_id=SECRET)
    yield t.InputMessage("user", [asked, file]), "user", (ASKED,), {}
    yield t.InputMessage("user", [t.CompactionPart(content=ASKED)]), "user", (ASKED,), {}
    given = {"type": "web_search", **ARGUMENTS}
    server_call = t.ServerToolCallPart(name=TOOL, server_tool_call=given, id=CALL)
    found = {"type": "web_search", "found": WORDS}
    server_answer = t.ServerToolCallResponsePart(server_tool_call_response=found, id=CALL)
    answered = {"calls": 1, "answers": (f'{{"found":"{WORDS}"}}',)}
    yield t.InputMessage("assistant", [server_call]), "assistant", (), {"calls": 1}
    yield t.InputMessage("assistant", [server_call, server_answer]), "assistant", (), answered
    for reason in ("stop", "tool_calls", None):
        parts = [thought, said, call]
        built = t.OutputMessage("assistant", parts, finish_reason=reason)
        yield built, "assistant", (SAID,), {"calls": 1}


def otel_genai_histories() -> Iterator[Case]:
    from opentelemetry.util.genai import types as t

    picture = t.BlobPart(mime_type="image/png", modality="image", content=PNG)
    call = t.ToolCallRequestPart(arguments=ARGUMENTS, name=TOOL, id=CALL)
    answer = t.ToolCallResponsePart(response=WORDS, id=CALL)
    asked, said = t.TextPart(content=ASKED), t.TextPart(content=SAID)
    sent = _otel_json(
        [
            t.InputMessage("user", [asked, picture]),
            t.InputMessage("assistant", [said, call]),
            t.InputMessage("tool", [answer]),
        ]
    )
    done = t.OutputMessage("assistant", [t.TextPart(content=DONE)], finish_reason="stop")
    got = _otel_json([done])
    yield history([*sent, *got])
    names = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions")
    system = _otel_json([t.TextPart(content=SECRET)])
    for write in (lambda value: value, json.dumps):
        attributes = {names[0]: write(sent), names[1]: write(got)}
        yield history(attributes)
        yield history({**attributes, "gen_ai.request.model": "m"})
        yield history({**attributes, names[2]: write(system)})


def mcp() -> Iterator[Case]:
    from mcp import types as t

    asked = t.TextContent(type="text", text=ASKED)
    said = t.TextContent(type="text", text=SAID)
    picture = t.ImageContent(type="image", data=PNG64, mime_type="image/png")
    call = t.ToolUseContent(type="tool_use", id=CALL, name=TOOL, input=ARGUMENTS)
    words = t.TextContent(type="text", text=WORDS)
    answer = t.ToolResultContent(type="tool_result", tool_use_id=CALL, content=[words])
    for model in (t.PromptMessage, t.SamplingMessage):
        for role, text, content in (("user", ASKED, asked), ("assistant", SAID, said)):
            built = model(role=role, content=content)
            yield from (message(dump, role, text) for dump in dumps(built))
        built = model(role="user", content=picture)
        yield from (message(dump, "user", images=1) for dump in dumps(built))
    contents: list[tuple[str, str, list[Any], tuple[str, ...], Case]] = [
        ("user", "user", [asked, picture], (ASKED,), {"images": 1}),
        ("assistant", "assistant", [said, call], (SAID,), {"calls": 1}),
        ("user", "tool", [answer], (), {"answers": (WORDS,)}),
    ]
    for role, said_by, content, texts, expect in contents:
        for more in given({"_meta": {"k": SECRET}}):
            built = t.SamplingMessage(role=role, content=content, **more)
            yield from (message(dump, said_by, *texts, **expect) for dump in dumps(built))
    for reason in ("endTurn", None):
        built = t.CreateMessageResult(role="assistant", content=said, model="m", stop_reason=reason)
        yield from (message(dump, "assistant", SAID) for dump in dumps(built))
    built = t.CreateMessageResultWithTools(
        role="assistant", content=[said, call], model="m", stop_reason="toolUse"
    )
    yield from (message(dump, "assistant", SAID, calls=1) for dump in dumps(built))


def mcp_histories() -> Iterator[Case]:
    from mcp import types as t

    told = {"calls": 0, "answers": (), "images": 1}
    asked = t.TextContent(type="text", text=ASKED)
    said = t.TextContent(type="text", text=SAID)
    picture = t.ImageContent(type="image", data=PNG64, mime_type="image/png")
    listed = [
        t.PromptMessage(role="user", content=asked),
        t.PromptMessage(role="user", content=picture),
        t.PromptMessage(role="assistant", content=said),
    ]
    for more in given({"description": SECRET, "_meta": {"k": SECRET}}):
        built = t.GetPromptResult(messages=listed, **more)
        yield from (history(dump, ASKED, SAID, **told) for dump in dumps(built))
    call = t.ToolUseContent(type="tool_use", id=CALL, name=TOOL, input=ARGUMENTS)
    words = t.TextContent(type="text", text=WORDS)
    answer = t.ToolResultContent(type="tool_result", tool_use_id=CALL, content=[words])
    models = (
        t.SamplingMessage(role="user", content=[asked, picture]),
        t.SamplingMessage(role="assistant", content=[said, call]),
        t.SamplingMessage(role="user", content=[answer]),
        t.SamplingMessage(role="assistant", content=t.TextContent(type="text", text=DONE)),
    )
    for column in columns(*models):
        yield history(column)
    request = t.CreateMessageRequestParams(messages=[*models], max_tokens=9)
    yield from (history(dump) for dump in dumps(request))
