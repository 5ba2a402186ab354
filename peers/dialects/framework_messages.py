"""Messages and histories as agent frameworks have them.

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
    PNG_URI,
    SAID,
    SECRET,
    TOOL,
    WHEN,
    WORDS,
    Case,
    bare_and_full,
    columns,
    dumps,
    given,
    history,
    message,
)


def adk() -> Iterator[Case]:
    from google.adk.events import Event, EventActions
    from google.genai import types as g

    blob = g.Part(inline_data=g.Blob(mime_type="image/png", data=PNG))
    call = g.Part(function_call=g.FunctionCall(id=CALL, name=TOOL, args=ARGUMENTS))
    answer = g.FunctionResponse(id=CALL, name=TOOL, response={"result": WORDS})
    thought = g.Part(text=SECRET, thought=True)
    contents: list[tuple[str, str, str, list[Any], tuple[str, ...], Case]] = [
        ("user", "user", "user", [g.Part(text=ASKED)], (ASKED,), {}),
        ("user", "user", "user", [g.Part(text=ASKED), blob], (ASKED,), {"images": 1}),
        ("root", "model", "assistant", [thought, g.Part(text=SAID), call], (SAID,), {"calls": 1}),
        ("root", "user", "tool", [g.Part(function_response=answer)], (), {"answers": (WORDS,)}),
    ]
    options = {
        "branch": "a.b",
        "partial": False,
        "turn_complete": True,
        "long_running_tool_ids": {"x"},
        "custom_metadata": {"k": SECRET},
        "actions": EventActions(state_delta={"k": SECRET}),
        "finish_reason": "STOP",
        "model_version": "m",
    }
    for author, role, said_by, parts, texts, expect in contents:
        content = g.Content(role=role, parts=parts)
        for more in given(options):
            event = Event(
                author=author,
                invocation_id="i",
                id="e-1",
                timestamp=1.5,
                content=content,
                **more,
            )
            few = [*dumps(event)]
            for item in few if more in ({}, options) else [few[4]]:
                yield message(item, said_by, *texts, **expect)


def adk_histories() -> Iterator[Case]:
    from google.adk.events import Event, EventActions
    from google.adk.sessions import Session
    from google.genai import types as g

    blob = g.Part(inline_data=g.Blob(mime_type="image/png", data=PNG))
    call = g.Part(function_call=g.FunctionCall(id=CALL, name=TOOL, args=ARGUMENTS))
    answer = g.FunctionResponse(id=CALL, name=TOOL, response={"result": WORDS})
    told: list[tuple[str, str, list[Any] | None]] = [
        ("user", "user", [g.Part(text=ASKED), blob]),
        ("root", "model", [g.Part(text=SAID), call]),
        ("root", "user", [g.Part(function_response=answer)]),
        # What only changes the state says nothing.
        ("root", "model", None),
        ("root", "model", [g.Part(text=DONE)]),
    ]
    events = [
        Event(
            author=author,
            invocation_id="i",
            id=f"e-{number}",
            timestamp=1.5,
            content=None if parts is None else g.Content(role=role, parts=parts),
            actions=EventActions(state_delta={"k": SECRET}),
        )
        for number, (author, role, parts) in enumerate(told)
    ]
    for column in columns(*events):
        yield history(column)
    session = Session(
        id="s", app_name="a", user_id="u", state={"k": SECRET}, events=events, last_update_time=1.5
    )
    yield from (history(dump) for dump in dumps(session))


def strands() -> Iterator[Case]:
    from strands.types.content import Message
    from strands.types.session import SessionMessage, encode_bytes_values

    for message_, said_by, texts, expect in _strands_messages():
        built = Message(**message_)
        yield message(built, said_by, *texts, **expect)
        kept = SessionMessage.from_message(encode_bytes_values(built), 1).to_dict()
        kept |= dict.fromkeys(("created_at", "updated_at"), "2026-05-04T03:02:01+00:00")
        yield message(kept, said_by, *texts, **expect)


def _strands_messages() -> Iterator[tuple[Case, str, tuple[str, ...], Case]]:
    use = {"toolUse": {"toolUseId": CALL, "name": TOOL, "input": ARGUMENTS}}
    thought = {"reasoningContent": {"reasoningText": {"text": SECRET, "signature": "s"}}}
    picture = {"image": {"format": "png", "source": {"bytes": PNG64}}}
    result = {"toolUseId": CALL, "status": "success", "content": [{"text": WORDS}]}
    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    for more in given({"tracking_id": "t", "metadata": {"usage": usage, "metrics": {}}}):
        asked, said = [{"text": ASKED}, picture], [thought, {"text": SAID}, use]
        yield {"role": "user", "content": asked, **more}, "user", (ASKED,), {"images": 1}
        yield {"role": "assistant", "content": said, **more}, "assistant", (SAID,), {"calls": 1}
        answer = {"role": "user", "content": [{"toolResult": result}], **more}
        yield answer, "tool", (), {"answers": (WORDS,)}


def strands_histories() -> Iterator[Case]:
    from strands.types.session import SessionMessage

    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    told = [strands_message for strands_message, *_ in _strands_messages()][:3]
    told.append({"role": "assistant", "content": [{"text": DONE}], "metadata": {"usage": usage}})
    yield history(told)
    yield history({"messages": told})
    when = dict.fromkeys(("created_at", "updated_at"), "2026-05-04T03:02:01+00:00")
    kept = enumerate(told)
    yield history([SessionMessage.from_message(e, n).to_dict() | when for n, e in kept])


_MADE = "lc_00000000-0000-4000-8000-000000000000"
_OPTIONS = {
    "id": "m1",
    "name": "n",
    "additional_kwargs": {"k": SECRET},
    "response_metadata": {"model_provider": "openai", "k": SECRET},
}
_CALLED: tuple[str, tuple[str, ...], Case] = ("assistant", (SAID,), {"calls": 1})
Model = tuple[Any, str, tuple[str, ...], Case]


def langchain_models() -> Iterator[Model]:
    yield from _langchain_users()
    yield from _langchain_assistants()
    yield from _langchain_tools()


def _langchain_users() -> Iterator[Model]:
    import langchain_core.messages as m

    text = m.content.create_text_block(ASKED, id=_MADE)
    picture = m.content.create_image_block(base64=PNG64, mime_type="image/png", id=_MADE)
    part = {"type": "text", "text": ASKED}
    url = {"type": "image_url", "image_url": {"url": PNG_URI}}
    for content, images in ((ASKED, 0), ([ASKED], 0), ([part, url], 1), ([text, picture], 1)):
        for more in bare_and_full(_OPTIONS) if content == ASKED else [{}, _OPTIONS]:
            yield m.HumanMessage(content=content, **more), "user", (ASKED,), {"images": images}
    yield m.SystemMessage(content=ASKED), "system", (ASKED,), {}
    yield m.ChatMessage(content=ASKED, role="user"), "user", (ASKED,), {}


def _langchain_assistants() -> Iterator[Model]:
    import langchain_core.messages as m
    from langchain_core.messages.tool import tool_call_chunk

    call = m.ToolCall(name=TOOL, args=ARGUMENTS, id=CALL)
    invalid = m.InvalidToolCall(name="n", args="{", id="x", error="e")
    usage = m.UsageMetadata(input_tokens=1, output_tokens=1, total_tokens=2)
    more = {"usage_metadata": usage, **_OPTIONS}
    for extra in bare_and_full(more):
        yield m.AIMessage(content=SAID, tool_calls=[call], **extra), *_CALLED
    yield m.AIMessage(content="", tool_calls=[call]), "assistant", (), {"calls": 1}
    yield m.AIMessage(content=SAID, invalid_tool_calls=[invalid]), "assistant", (SAID,), {}
    # As LangChain has the blocks of Anthropic, of Responses, and its own.
    block = {"type": "text", "text": SAID}
    use = {"type": "tool_use", "id": CALL, "name": TOOL, "input": ARGUMENTS}
    thought = {"type": "thinking", "thinking": SECRET, "signature": "s"}
    yield m.AIMessage(content=[thought, block, use], tool_calls=[call]), *_CALLED
    item = {"type": "function_call", "call_id": CALL, "name": TOOL, "arguments": ARGUMENTS_TEXT}
    summary = {"type": "reasoning", "summary": [{"type": "summary_text", "text": SECRET}]}
    yield m.AIMessage(content=[summary, block, item], tool_calls=[call]), *_CALLED
    own = {"type": "tool_call", "id": CALL, "name": TOOL, "args": ARGUMENTS}
    reasoning = {"type": "reasoning", "reasoning": SECRET}
    yield m.AIMessage(content=[reasoning, block, own], tool_calls=[call]), *_CALLED
    chunk = tool_call_chunk(name=TOOL, args=ARGUMENTS_TEXT, id=CALL, index=0)
    yield m.AIMessageChunk(content=SAID, tool_call_chunks=[chunk]), *_CALLED


def _langchain_tools() -> Iterator[Model]:
    import langchain_core.messages as m

    for status in ("success", "error"):
        answered = {"answers": (WORDS,)}
        for extra in bare_and_full({"name": TOOL, "id": "m1", "artifact": {"k": SECRET}}):
            built = m.ToolMessage(content=WORDS, tool_call_id=CALL, status=status, **extra)
            yield built, "tool", (), answered
    picture = m.content.create_image_block(base64=PNG64, mime_type="image/png", id=_MADE)
    words = m.content.create_text_block(WORDS, id=_MADE)
    built = m.ToolMessage(content=[words, picture], tool_call_id=CALL)
    yield built, "tool", (), {**answered, "images": 1}
    yield m.FunctionMessage(name=TOOL, content=WORDS), "tool", (), {**answered, "call": None}


def langchain() -> Iterator[Case]:
    from langchain_core.load import dumpd
    from langchain_core.messages import messages_to_dict

    for model, role, texts, expect in langchain_models():
        for dump in (*dumps(model), dumpd(model), *messages_to_dict([model])):
            yield message(dump, role, *texts, **expect)


def langchain_histories() -> Iterator[Case]:
    import langchain_core.messages as m
    from langchain_core.load import dumpd

    picture = {"type": "image_url", "image_url": {"url": PNG_URI}}
    call = m.ToolCall(name=TOOL, args=ARGUMENTS, id=CALL)
    models = [
        m.HumanMessage(content=[{"type": "text", "text": ASKED}, picture], id="m1"),
        m.AIMessage(content=SAID, tool_calls=[call], id="m2"),
        m.ToolMessage(content=WORDS, tool_call_id=CALL, name=TOOL),
        m.AIMessage(content=DONE),
    ]
    for column in (*columns(*models), m.messages_to_dict(models), dumpd(models)):
        yield history(column)
        yield history({"messages": column})


def _ui(state: str, **more: Any) -> Case:
    part = {"type": f"tool-{TOOL}", "toolCallId": CALL, "state": state, "input": ARGUMENTS}
    return {**part, **more}


def vercel() -> Iterator[Case]:
    """As its types say; they are no classes."""
    said, asked = {"type": "text", "text": SAID}, {"type": "text", "text": ASKED}
    thought = {"type": "reasoning", "text": SECRET}
    call = {"type": "tool-call", "toolCallId": CALL, "toolName": TOOL, "input": ARGUMENTS}
    result = {"type": "tool-result", "toolCallId": CALL, "toolName": TOOL}
    result["output"] = {"type": "text", "value": WORDS}
    yield message({"role": "system", "content": ASKED}, "system", ASKED)
    options = {"providerOptions": {"anthropic": {"cacheControl": {"type": "ephemeral"}}}}
    pictures = (
        {"type": "image", "image": PNG64, "mediaType": "image/png"},
        {"type": "image", "image": PNG_URI},
        {"type": "file", "data": PNG64, "mediaType": "image/png", "filename": "a.png"},
    )
    for more in given(options):
        yield message({"role": "user", "content": ASKED, **more}, "user", ASKED)
        for picture in pictures:
            content = [{**asked, **more}, {**picture, **more}]
            yield message({"role": "user", "content": content}, "user", ASKED, images=1)
        for parts, calls in (([said], 0), ([thought, said, call], 1)):
            built = [{**part, **more} for part in parts]
            yield message({"role": "assistant", "content": built}, "assistant", SAID, calls=calls)
        executed = [{**call, "providerExecuted": True, **more}, {**result, **more}, said]
        built = {"role": "assistant", "content": executed}
        yield message(built, "assistant", SAID, calls=1, answers=(WORDS,))
        built = {"role": "tool", "content": [{**result, **more}]}
        yield message(built, "tool", answers=(WORDS,))
    ask = {"type": "tool-approval-request", "approvalId": "a", "toolCallId": CALL}
    built = {"role": "assistant", "content": [call, ask]}
    yield message(built, "assistant", calls=1)
    denial = {"type": "execution-denied", "reason": BOOM}
    built = {"role": "tool", "content": [{**result, "output": denial}]}
    yield message(built, "tool", answers=(BOOM,))
    yield from _ui_messages()


def _ui_messages() -> Iterator[Case]:
    said, asked = {"type": "text", "text": SAID}, {"type": "text", "text": ASKED}
    whole = {"id": "m1", "role": "assistant"}
    picture = {"type": "file", "mediaType": "image/png", "url": PNG_URI}
    for more in given({"metadata": {"k": SECRET}, "createdAt": WHEN}):
        parts = [asked, {**picture, "filename": "a.png"}]
        built = {"id": "m0", "role": "user", "parts": parts, **more}
        yield message(built, "user", ASKED, images=1)
        yield message({**whole, "parts": [said], **more}, "assistant", SAID)
    approval = {"id": "a"}
    denied = {**approval, "approved": False, "reason": BOOM}
    parts: list[tuple[Case, int, tuple[str, ...]]] = [
        (_ui("input-streaming"), 1, ()),
        (_ui("input-available"), 1, ()),
        (_ui("approval-requested", approval=approval), 1, ()),
        (_ui("approval-responded", approval={**approval, "approved": True}), 1, ()),
        (_ui("approval-responded", approval=denied), 1, (BOOM,)),
        (_ui("output-available", output=WORDS), 1, (WORDS,)),
        (_ui("output-available", output=WORDS, preliminary=True), 1, (WORDS,)),
        (_ui("output-available", output=WORDS, title=SECRET), 1, (WORDS,)),
        (_ui("output-error", errorText=BOOM), 1, (BOOM,)),
        (_ui("output-error", errorText=BOOM, rawInput="{"), 1, (BOOM,)),
        (_ui("output-denied", approval=denied), 1, (BOOM,)),
    ]
    dynamic = {"type": "dynamic-tool", "toolName": TOOL, "toolCallId": CALL, "input": ARGUMENTS}
    parts.append(({**dynamic, "state": "output-available", "output": WORDS}, 1, (WORDS,)))
    parts.append(({**dynamic, "state": "output-error", "errorText": BOOM}, 1, (BOOM,)))
    beside = {"callProviderMetadata": {"p": {"k": SECRET}}, "providerExecuted": True}
    for part, calls, answers in parts:
        for more in given(beside) if part.get("output") else [{}]:
            built = {**whole, "parts": [{"type": "step-start"}, said, {**part, **more}]}
            yield message(built, "assistant", SAID, calls=calls, answers=answers)
    for extra in (
        {"type": "reasoning", "text": SECRET, "state": "done", "providerMetadata": {"p": {}}},
        {"type": "data-weather", "id": "d", "data": {"k": SECRET}},
    ):
        built = {**whole, "parts": [extra, {**said, "state": "done"}]}
        yield message(built, "assistant", SAID)
    steering = {"type": "steering-message", "id": "s", "parts": [asked, picture]}
    built = {**whole, "parts": [{"type": "step-start"}, steering, said]}
    yield message(built, "assistant", ASKED, SAID, images=1)
    # Of its fourth version.
    invocation = {"state": "result", "toolCallId": CALL, "toolName": TOOL, "args": ARGUMENTS}
    invocation["result"] = WORDS
    old = {"type": "tool-invocation", "toolInvocation": invocation}
    built = {**whole, "content": SAID, "parts": [{"type": "step-start"}, old, said]}
    yield message(built, "assistant", SAID, calls=1, answers=(WORDS,))
    built = {**whole, "content": SAID, "toolInvocations": [invocation]}
    yield message(built, "assistant", SAID, calls=1, answers=(WORDS,))


def vercel_histories() -> Iterator[Case]:
    asked, picture = {"type": "text", "text": ASKED}, {"type": "image", "image": PNG64}
    call = {"type": "tool-call", "toolCallId": CALL, "toolName": TOOL, "input": ARGUMENTS}
    result = {"type": "tool-result", "toolCallId": CALL, "toolName": TOOL}
    result["output"] = {"type": "text", "value": WORDS}
    listed: list[Case] = [
        {"role": "user", "content": [asked, {**picture, "mediaType": "image/png"}]},
        {"role": "assistant", "content": [{"type": "text", "text": SAID}, call]},
        {"role": "tool", "content": [result]},
        {"role": "assistant", "content": DONE},
    ]
    yield history(listed)
    yield history({"messages": listed})
    file = {"type": "file", "mediaType": "image/png", "url": PNG_URI}
    step, said = {"type": "step-start"}, {"type": "text", "text": SAID, "state": "done"}
    done = {"type": "text", "text": DONE}
    part = _ui("output-available", output=WORDS)
    ui = [
        {"id": "m1", "role": "user", "parts": [asked, file]},
        {"id": "m2", "role": "assistant", "parts": [step, said, part, step, done]},
    ]
    yield history(ui)
    yield history({"id": "chat", "messages": ui, "trigger": "submit-message"})
    denied = {"id": "a", "approved": False, "reason": BOOM}
    ui[1] = {**ui[1], "parts": [step, said, _ui("output-denied", approval=denied), step, done]}
    yield history(ui, answers=(BOOM,))


def pydantic_ai() -> Iterator[Case]:
    for model, role, texts, expect in _pydantic_ai_messages():
        for pydantic_ai_dump in _pydantic_ai_dumps([model]):
            yield message(pydantic_ai_dump[0], role, *texts, **expect)


def _pydantic_ai_dumps(models: list[Any]) -> Iterator[list[Case]]:
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    for how in ({}, {"exclude_none": True}):
        yield ModelMessagesTypeAdapter.dump_python(models, mode="json", **how)
    yield json.loads(ModelMessagesTypeAdapter.dump_json(models))


_RUN = {"run_id": "r", "conversation_id": "c", "metadata": {"k": SECRET}}


def _pydantic_ai_messages() -> Iterator[Model]:
    yield from _pydantic_ai_requests()
    yield from _pydantic_ai_responses()


def _pydantic_ai_requests() -> Iterator[Model]:
    from datetime import UTC, datetime

    import pydantic_ai.messages as m

    when = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
    picture = m.BinaryContent(PNG, media_type="image/png", identifier="a")
    asked = [ASKED, picture]
    requests: list[tuple[list[Any], str, tuple[str, ...], Case]] = [
        ([m.UserPromptPart(content=ASKED, timestamp=when)], "user", (ASKED,), {}),
        ([m.UserPromptPart(content=asked, timestamp=when)], "user", (ASKED,), {"images": 1}),
        (
            [m.UserPromptPart(content=[m.TextContent(ASKED), m.CachePoint()], timestamp=when)],
            *("user", (ASKED,), {}),
        ),
        ([m.SystemPromptPart(content=ASKED, timestamp=when)], "system", (ASKED,), {}),
        (
            [m.ToolReturnPart(TOOL, WORDS, CALL, timestamp=when)],
            *("tool", (), {"answers": (WORDS,)}),
        ),
        (
            [m.ToolReturnPart(TOOL, [WORDS, picture], CALL, timestamp=when)],
            *("tool", (), {"answers": (WORDS,), "images": 1}),
        ),
        (
            [m.ToolReturnPart(TOOL, BOOM, CALL, timestamp=when, outcome="denied")],
            *("tool", (), {"answers": (BOOM,)}),
        ),
        (
            [m.RetryPromptPart(BOOM, tool_name=TOOL, tool_call_id=CALL, timestamp=when)],
            *("tool", (), {"answers": (BOOM,)}),
        ),
        ([m.RetryPromptPart(BOOM, tool_call_id="p", timestamp=when)], "user", (BOOM,), {}),
        (
            [
                m.SystemPromptPart(content=BOOM, timestamp=when),
                m.UserPromptPart(content=ASKED, timestamp=when),
            ],
            *("user", (BOOM, ASKED), {}),
        ),
        (
            [
                m.ToolReturnPart(TOOL, WORDS, CALL, timestamp=when),
                m.UserPromptPart(content=ASKED, timestamp=when),
            ],
            *("user", (ASKED,), {"answers": (WORDS,)}),
        ),
    ]
    for parts, role, texts, expect in requests:
        for more in bare_and_full(_RUN):
            built = m.ModelRequest(parts=parts, **more)
            yield built, role, texts, expect


def _pydantic_ai_responses() -> Iterator[Model]:
    from datetime import UTC, datetime

    import pydantic_ai.messages as m

    when = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
    picture = m.BinaryContent(PNG, media_type="image/png", identifier="a")
    call = m.ToolCallPart(TOOL, ARGUMENTS, CALL)
    text_call = m.ToolCallPart(TOOL, ARGUMENTS_TEXT, CALL, id="fc", provider_name="p")
    said = m.TextPart(SAID)
    thought = m.ThinkingPart(SECRET, signature="s", provider_name="anthropic", id="t")
    native = m.NativeToolCallPart(TOOL, ARGUMENTS, CALL, provider_name="p")
    returned = m.NativeToolReturnPart(TOOL, WORDS, CALL, timestamp=when, provider_name="p")
    responses: list[tuple[list[Any], tuple[str, ...], Case]] = [
        ([said], (SAID,), {}),
        ([said, call], (SAID,), {"calls": 1}),
        ([text_call], (), {"calls": 1}),
        ([thought, said, call], (SAID,), {"calls": 1}),
        ([native, returned, said], (SAID,), {"calls": 1, "answers": (WORDS,)}),
        # No target accepts media of the assistant, so its picture becomes a line.
        ([said, m.FilePart(content=picture)], (SAID,), {}),
    ]
    options = {**_RUN, "model_name": "m", "provider_name": "openai", "finish_reason": "stop"}
    options |= {"provider_details": {"k": SECRET}, "provider_response_id": "x"}
    for parts, texts, expect in responses:
        for more in bare_and_full(options):
            built = m.ModelResponse(parts=parts, timestamp=when, **more)
            yield built, "assistant", texts, expect


def pydantic_ai_histories() -> Iterator[Case]:
    from datetime import UTC, datetime

    import pydantic_ai.messages as m

    when = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
    picture = m.BinaryContent(PNG, media_type="image/png", identifier="a")
    call = m.ToolCallPart(TOOL, ARGUMENTS, CALL)
    asked = m.UserPromptPart(content=[ASKED, picture], timestamp=when)
    models = [
        m.ModelRequest(parts=[asked]),
        m.ModelResponse(parts=[m.TextPart(SAID), call], timestamp=when, model_name="m"),
        m.ModelRequest(parts=[m.ToolReturnPart(TOOL, WORDS, CALL, timestamp=when)]),
        m.ModelResponse(parts=[m.TextPart(DONE)], timestamp=when),
    ]
    for pydantic_ai_dump in _pydantic_ai_dumps(models):
        yield history(pydantic_ai_dump)
        yield history({"messages": pydantic_ai_dump})
    models[0] = m.ModelRequest(
        parts=[m.SystemPromptPart(content=BOOM, timestamp=when), asked], instructions=SECRET
    )
    for pydantic_ai_dump in _pydantic_ai_dumps(models):
        yield history(pydantic_ai_dump, BOOM, ASKED, SAID, DONE)
