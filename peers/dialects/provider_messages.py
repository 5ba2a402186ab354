"""Messages and histories as the classes of model providers have them.

Each package is imported by its own function: one that is broken ends its own dialect alone.
"""

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
    URL,
    WORDS,
    Case,
    columns,
    dumps,
    given,
    history,
    message,
)


def openai_responses() -> Iterator[Case]:
    from openai.types import responses as r
    from openai.types.responses import response_input_item as i

    block = {"type": "input_text", "text": ASKED}
    picture = {"type": "input_image", "image_url": PNG_URI, "detail": "auto"}
    for role, said_by in (("user", "user"), ("system", "system"), ("developer", "system")):
        easy = r.EasyInputMessage(role=role, content=ASKED)
        yield from (message(dump, said_by, ASKED) for dump in dumps(easy))
    for more in given({"type": "message", "status": "completed"}):
        built = i.Message.model_validate({"role": "user", "content": [block, picture], **more})
        yield from (message(dump, "user", ASKED, images=1) for dump in dumps(built))
    item = {"id": "msg_1", "type": "message", "role": "user", "content": [block]}
    yield from (
        message(dump, "user", ASKED)
        for dump in dumps(r.ResponseInputMessageItem.model_validate(item))
    )
    cited = {"type": "url_citation", "start_index": 0, "end_index": 1, "title": "t", "url": URL}
    for annotations in ([], [cited]):
        text = {"type": "output_text", "text": SAID, "annotations": annotations}
        for more in given({"phase": "commentary"}):
            said = {"id": "msg_2", "type": "message", "role": "assistant", "status": "completed"}
            built = r.ResponseOutputMessage.model_validate({**said, "content": [text], **more})
            yield from (message(dump, "assistant", SAID) for dump in dumps(built))
    refusal = {**said, "content": [{"type": "refusal", "refusal": BOOM}]}
    built = r.ResponseOutputMessage.model_validate(refusal)
    yield from (message(dump, "assistant", BOOM) for dump in dumps(built))
    call = {"type": "function_call", "call_id": CALL, "name": TOOL, "arguments": ARGUMENTS_TEXT}
    extras = {
        "id": "fc_1",
        "status": "completed",
        "caller": {"type": "program", "caller_id": "p"},
        "namespace": "n",
    }
    for more in given(extras):
        built = r.ResponseFunctionToolCall.model_validate({**call, **more})
        yield from (message(dump, "assistant", calls=1) for dump in dumps(built))
    thought = {"id": "rs_1", "type": "reasoning", "encrypted_content": SECRET}
    thought["summary"] = [{"type": "summary_text", "text": SECRET}]
    built = r.ResponseReasoningItem.model_validate(thought)
    yield from (message(dump, "assistant") for dump in dumps(built))
    for output in (WORDS, [{"type": "input_text", "text": WORDS}]):
        answer = {"type": "function_call_output", "call_id": CALL, "output": output}
        for more in given({"id": "fco_1", "status": "completed"}):
            built = i.FunctionCallOutput.model_validate({**answer, **more})
            yield from (message(dump, "tool", answers=(WORDS,)) for dump in dumps(built))
    answer = {"type": "custom_tool_call_output", "call_id": CALL, "output": WORDS}
    built = r.ResponseCustomToolCallOutput.model_validate(answer)
    yield from (message(dump, "tool", answers=(WORDS,)) for dump in dumps(built))
    local = {"type": "local_shell_call_output", "id": CALL, "output": WORDS}
    built = i.LocalShellCallOutput.model_validate(local)
    yield from (message(dump, "tool", answers=(WORDS,)) for dump in dumps(built))


def openai_responses_histories() -> Iterator[Case]:
    from openai.types import responses as r
    from openai.types.responses import response_input_item as i

    parts = [{"type": "input_text", "text": ASKED}, {"type": "input_image", "image_url": PNG_URI}]
    parts[1]["detail"] = "auto"
    text = {"type": "output_text", "text": SAID, "annotations": []}
    block = {"id": "msg_2", "type": "message", "role": "assistant", "status": "completed"}
    call = {"type": "function_call", "call_id": CALL, "name": TOOL, "arguments": ARGUMENTS_TEXT}
    thought = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": SECRET}
    answer = {"type": "function_call_output", "call_id": CALL, "output": WORDS}
    done = {**block, "content": [{**text, "text": DONE}]}
    items = (
        i.Message.model_validate({"role": "user", "type": "message", "content": parts}),
        r.ResponseReasoningItem.model_validate(thought),
        r.ResponseOutputMessage.model_validate({**block, "content": [text]}),
        r.ResponseFunctionToolCall.model_validate({**call, "id": "fc_1"}),
        i.FunctionCallOutput.model_validate(answer),
        r.ResponseOutputMessage.model_validate(done),
    )
    for column in columns(*items):
        yield history(column)
        yield history({"model": "m", "input": column, "tools": []})
    yield history({"model": "m", "input": column, "instructions": SECRET})
    around = {"id": "resp_1", "object": "response", "created_at": 1.0, "model": "m", "tools": []}
    around |= {"parallel_tool_calls": True, "tool_choice": "auto", "status": "completed"}
    output = [thought, {**block, "content": [text]}, call]
    for more in given({"metadata": {"k": SECRET}, "temperature": 1.0}):
        built = r.Response.model_validate({**around, "output": output, **more})
        yield from (history(dump, SAID, answers=(), images=0) for dump in dumps(built))


def openai_chat() -> Iterator[Case]:
    from openai.types import chat as c

    asked = c.ChatCompletionContentPartTextParam(type="text", text=ASKED)
    picture = c.ChatCompletionContentPartImageParam(
        type="image_url", image_url={"url": PNG_URI, "detail": "high"}
    )
    for more in given({"name": "n"}):
        yield message(
            c.ChatCompletionSystemMessageParam(role="system", content=ASKED), "system", ASKED
        )
        for content, images in ((ASKED, 0), ([asked], 0), ([asked, picture], 1)):
            built = c.ChatCompletionUserMessageParam(role="user", content=content, **more)
            yield message(built, "user", ASKED, images=images)
    developer = c.ChatCompletionDeveloperMessageParam(role="developer", content=[asked])
    yield message(developer, "system", ASKED)
    function = {"name": TOOL, "arguments": ARGUMENTS_TEXT}
    call = {"id": CALL, "type": "function", "function": function}
    for content, texts in ((None, ()), ("", ()), (SAID, (SAID,))):
        built = c.ChatCompletionMessage.model_validate(
            {"role": "assistant", "content": content, "tool_calls": [call]}
        )
        yield from (message(dump, "assistant", *texts, calls=1) for dump in dumps(built))
    cited = {"start_index": 0, "end_index": 1, "title": "t", "url": URL}
    beside = {"annotations": [{"type": "url_citation", "url_citation": cited}]}
    for more in given({**beside, "reasoning_content": SECRET, "reasoning": SECRET}):
        built = c.ChatCompletionMessage.model_validate(
            {"role": "assistant", "content": SAID, **more}
        )
        yield from (message(dump, "assistant", SAID) for dump in dumps(built))
    refused = {"role": "assistant", "refusal": BOOM}
    built = c.ChatCompletionMessage.model_validate(refused)
    yield from (message(dump, "assistant", BOOM) for dump in dumps(built))
    answer = {"role": "tool", "tool_call_id": CALL}
    for content in (WORDS, [{"type": "text", "text": WORDS}]):
        built = c.ChatCompletionToolMessageParam(content=content, **answer)
        yield message(built, "tool", answers=(WORDS,))


def openai_chat_histories() -> Iterator[Case]:
    from openai.types import chat as c

    parts = [{"type": "text", "text": ASKED}, {"type": "image_url", "image_url": {"url": PNG_URI}}]
    function = {"name": TOOL, "arguments": ARGUMENTS_TEXT}
    call = {"id": CALL, "type": "function", "function": function}
    block = {"role": "assistant", "content": SAID, "tool_calls": [call]}
    built = c.ChatCompletionMessage.model_validate(block)
    done = c.ChatCompletionMessage.model_validate({"role": "assistant", "content": DONE})
    answer = {"role": "tool", "tool_call_id": CALL, "content": WORDS}
    for say, last in columns(built, done):
        listed = [{"role": "user", "content": parts}, say, answer, last]
        yield history(listed)
        tools = [{"type": "function", "function": {"name": TOOL, "parameters": {}}}]
        yield history({"model": "m", "messages": listed, "tools": tools})
    choice = {"index": 0, "finish_reason": "tool_calls", "message": block}
    around = {"id": "c_1", "object": "chat.completion", "created": 1, "model": "m"}
    built = c.ChatCompletion.model_validate({**around, "choices": [choice]})
    yield from (history(dump, SAID, answers=(), images=0) for dump in dumps(built))


def mistral() -> Iterator[Case]:
    from mistralai.client import models as m

    call = m.ToolCall(id=CALL, function=m.FunctionCall(name=TOOL, arguments=ARGUMENTS))
    text_call = m.ToolCall(id=CALL, function=m.FunctionCall(name=TOOL, arguments=ARGUMENTS_TEXT))
    for calls in ([call], [text_call]):
        for content, texts in (("", ()), (SAID, (SAID,))):
            built = m.AssistantMessage(content=content, tool_calls=calls)
            yield from (
                message(dump, "assistant", *texts, calls=1)
                for dump in dumps(built)
                if dump.get("role")
            )
    thought = m.ThinkChunk(thinking=[m.TextChunk(text=SECRET)])
    chunks = [thought, m.TextChunk(text=SAID)]
    built = m.AssistantMessage(content=chunks)
    yield from (message(dump, "assistant", SAID) for dump in dumps(built) if dump.get("role"))
    for picture in (PNG_URI, m.ImageURL(url=PNG_URI, detail="low")):
        built = m.UserMessage(content=[m.TextChunk(text=ASKED), m.ImageURLChunk(image_url=picture)])
        yield from (
            message(dump, "user", ASKED, images=1) for dump in dumps(built) if dump.get("role")
        )
    for more in given({"name": TOOL}):
        built = m.ToolMessage(content=WORDS, tool_call_id=CALL, **more)
        yield from (
            message(dump, "tool", answers=(WORDS,)) for dump in dumps(built) if dump.get("role")
        )


def mistral_histories() -> Iterator[Case]:
    from mistralai.client import models as m

    picture = m.ImageURLChunk(image_url=PNG_URI)
    call = m.ToolCall(id=CALL, function=m.FunctionCall(name=TOOL, arguments=ARGUMENTS_TEXT))
    models = (
        m.UserMessage(content=[m.TextChunk(text=ASKED), picture]),
        m.AssistantMessage(content=SAID, tool_calls=[call]),
        m.ToolMessage(content=WORDS, tool_call_id=CALL, name=TOOL),
        m.AssistantMessage(content=DONE),
    )
    for column in columns(*models):
        if all(one.get("role") for one in column):
            yield history(column)
    choice = {"index": 0, "finish_reason": "tool_calls", "message": models[1].model_dump()}
    built = m.ChatCompletionResponse.model_validate(
        {
            "id": "c_1",
            "object": "chat.completion",
            "model": "m",
            "created": 1,
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            "choices": [choice],
        }
    )
    yield from (history(dump, SAID, answers=(), images=0) for dump in dumps(built))


def ollama() -> Iterator[Case]:
    from ollama import Image, Message

    call = Message.ToolCall(function=Message.ToolCall.Function(name=TOOL, arguments=ARGUMENTS))
    for content, texts in ((None, ()), ("", ()), (SAID, (SAID,))):
        for more in given({"thinking": SECRET}):
            built = Message(role="assistant", content=content, tool_calls=[call], **more)
            yield from (message(dump, "assistant", *texts, calls=1) for dump in dumps(built))
    built = Message(role="user", content=ASKED, images=[Image(value=PNG64)])
    yield from (message(dump, "user", ASKED, images=1) for dump in dumps(built))
    built = Message(role="system", content=ASKED)
    yield from (message(dump, "system", ASKED) for dump in dumps(built))
    built = Message(role="tool", content=WORDS, tool_name=TOOL)
    yield from (message(dump, "tool", answers=(WORDS,), call=None) for dump in dumps(built))


def ollama_histories() -> Iterator[Case]:
    from ollama import ChatResponse, Image, Message

    call = Message.ToolCall(function=Message.ToolCall.Function(name=TOOL, arguments=ARGUMENTS))
    models = (
        Message(role="user", content=ASKED, images=[Image(value=PNG64)]),
        Message(role="assistant", content=SAID, thinking=SECRET, tool_calls=[call]),
        Message(role="tool", content=WORDS, tool_name=TOOL),
        Message(role="assistant", content=DONE),
    )
    for column in columns(*models):
        yield history(column, call=None)
        yield history({"model": "m", "messages": column, "stream": False}, call=None)
    whole = ChatResponse(model="m", done=True, message=models[1])
    yield from (history(dump, SAID, answers=(), images=0) for dump in dumps(whole))


def anthropic() -> Iterator[Case]:
    from anthropic import types as a

    usage = a.Usage(input_tokens=1, output_tokens=1)
    text = a.TextBlock(type="text", text=SAID)
    call = a.ToolUseBlock(type="tool_use", id=CALL, name=TOOL, input=ARGUMENTS)
    thought = a.ThinkingBlock(type="thinking", thinking=SECRET, signature="s")
    hidden = a.RedactedThinkingBlock(type="redacted_thinking", data=SECRET)
    for content, texts, calls in (
        ([text], (SAID,), 0),
        ([call], (), 1),
        ([thought, text, call], (SAID,), 1),
        ([hidden, text], (SAID,), 0),
    ):
        around = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m"}
        for reason in ("end_turn", None):
            built = a.Message(content=content, usage=usage, stop_reason=reason, **around)
            yield from (message(dump, "assistant", *texts, calls=calls) for dump in dumps(built))
            bare = {"role": "assistant", "content": [item.model_dump() for item in content]}
            yield message(bare, "assistant", *texts, calls=calls)
    asked = a.TextBlockParam(type="text", text=ASKED)
    cached = {**asked, "cache_control": {"type": "ephemeral"}}
    source = {"type": "base64", "media_type": "image/png", "data": PNG64}
    picture = a.ImageBlockParam(type="image", source=source)
    for content, images in ((ASKED, 0), ([asked], 0), ([cached], 0), ([asked, picture], 1)):
        yield message({"role": "user", "content": content}, "user", ASKED, images=images)
    for content, images in ((WORDS, 0), ([{"type": "text", "text": WORDS}, picture], 1)):
        for more in given({"is_error": True, "cache_control": {"type": "ephemeral"}}):
            block = a.ToolResultBlockParam(
                type="tool_result", tool_use_id=CALL, content=content, **more
            )
            answer = {"role": "user", "content": [block]}
            yield message(answer, "tool", answers=(WORDS,), images=images)
            both = {"role": "user", "content": [block, asked]}
            yield message(both, "user", ASKED, answers=(WORDS,), images=images)


def anthropic_histories() -> Iterator[Case]:
    from anthropic import types as a

    usage = a.Usage(input_tokens=1, output_tokens=1)
    call = a.ToolUseBlock(type="tool_use", id=CALL, name=TOOL, input=ARGUMENTS)
    thought = a.ThinkingBlock(type="thinking", thinking=SECRET, signature="s")
    around = {"type": "message", "role": "assistant", "model": "m", "usage": usage}
    text = a.TextBlock(type="text", text=SAID)
    source = {"type": "base64", "media_type": "image/png", "data": PNG64}
    parts = [{"type": "text", "text": ASKED}, {"type": "image", "source": source}]
    models = (
        a.Message(id="m_1", content=[thought, text, call], stop_reason="tool_use", **around),
        a.Message(id="m_2", content=[a.TextBlock(type="text", text=DONE)], **around),
    )
    block = {"type": "tool_result", "tool_use_id": CALL, "content": WORDS}
    answer = {"role": "user", "content": [block]}
    for say, last in columns(*models):
        listed = [{"role": "user", "content": parts}, say, answer, last]
        yield history(listed)
        yield history({"model": "m", "max_tokens": 9, "messages": listed})
    for system in (SECRET, [{"type": "text", "text": SECRET}]):
        body = {"model": "m", "max_tokens": 9, "system": system, "messages": listed}
        yield history(body)
    yield from (history(dump, SAID, answers=(), images=0) for dump in dumps(models[0]))


def gemini() -> Iterator[Case]:
    from google.genai import types as g

    blob = g.Part(inline_data=g.Blob(mime_type="image/png", data=PNG))
    call = g.FunctionCall(id=CALL, name=TOOL, args=ARGUMENTS)
    answer = g.FunctionResponse(id=CALL, name=TOOL, response={"output": WORDS})
    signed = g.Part(function_call=call, thought_signature=b"kept")
    thought = g.Part(text=SECRET, thought=True)
    contents: list[tuple[str, str, list[Any], Case]] = [
        ("user", "user", [g.Part(text=ASKED)], {"texts": (ASKED,)}),
        ("user", "user", [g.Part(text=ASKED), blob], {"texts": (ASKED,), "images": 1}),
        ("model", "assistant", [g.Part(text=SAID), g.Part(function_call=call)], {"calls": 1}),
        ("model", "assistant", [thought, g.Part(text=SAID), signed], {"calls": 1}),
        ("user", "tool", [g.Part(function_response=answer)], {"answers": (WORDS,)}),
        ("function", "tool", [g.Part(function_response=answer)], {"answers": (WORDS,)}),
    ]
    for role, said_by, parts, expect in contents:
        texts = expect.pop("texts", (SAID,) if said_by == "assistant" else ())
        built = g.Content(role=role, parts=parts)
        for dump in (*dumps(built), built.to_json_dict()):
            yield message(dump, said_by, *texts, **expect)


def gemini_histories() -> Iterator[Case]:
    from google.genai import types as g

    blob = g.Part(inline_data=g.Blob(mime_type="image/png", data=PNG))
    call = g.Part(function_call=g.FunctionCall(id=CALL, name=TOOL, args=ARGUMENTS))
    answer = g.FunctionResponse(id=CALL, name=TOOL, response={"output": WORDS})
    said = g.Content(role="model", parts=[g.Part(text=SAID), call])
    models = (
        g.Content(role="user", parts=[g.Part(text=ASKED), blob]),
        said,
        g.Content(role="user", parts=[g.Part(function_response=answer)]),
        g.Content(role="model", parts=[g.Part(text=DONE)]),
    )
    for column in columns(*models):
        yield history(column)
        yield history({"contents": column})
    system = {"parts": [{"text": SECRET}]}
    body = {"contents": column, "systemInstruction": system, "generationConfig": {}}
    yield history(body)
    candidate = g.Candidate(content=said, finish_reason="STOP", index=0)
    for more in given({"response_id": "r", "model_version": "m"}):
        built = g.GenerateContentResponse(candidates=[candidate], **more)
        yield from (history(dump, SAID, answers=(), images=0) for dump in dumps(built))


def bedrock() -> Iterator[Case]:
    from strands.types.session import SessionMessage, encode_bytes_values

    said, use = {"text": SAID}, {"toolUse": {"toolUseId": CALL, "name": TOOL, "input": ARGUMENTS}}
    thought = {"reasoningContent": {"reasoningText": {"text": SECRET, "signature": "s"}}}
    point = {"cachePoint": {"type": "default"}}
    picture = {"image": {"format": "png", "source": {"bytes": PNG64}}}
    encoded = encode_bytes_values({"image": {"format": "png", "source": {"bytes": PNG}}})
    result = {"toolUseId": CALL, "status": "success", "content": [{"text": WORDS}]}
    bare = {"toolUseId": CALL, "content": [{"text": WORDS}]}
    failed = {**result, "status": "error"}
    contents: list[tuple[str, list[Any], tuple[str, ...], Case]] = [
        ("assistant", [said], (SAID,), {}),
        ("assistant", [said, use], (SAID,), {"calls": 1}),
        ("assistant", [thought, said, use], (SAID,), {"calls": 1}),
        ("user", [{"text": ASKED}], (ASKED,), {}),
        ("user", [{"text": ASKED}, point], (ASKED,), {}),
        ("user", [{"text": ASKED}, picture], (ASKED,), {"images": 1}),
        ("user", [{"text": ASKED}, encoded], (ASKED,), {"images": 1}),
    ]
    contents += [
        ("user", [{"toolResult": item}], (), {"answers": (WORDS,)})
        for item in (result, bare, failed)
    ]
    for role, content, texts, expect in contents:
        said_by = "tool" if "answers" in expect else role
        built = {"role": role, "content": content}
        yield message(built, said_by, *texts, **expect)
        yield message({**built, "tracking_id": "t"}, said_by, *texts, **expect)
        yield message({**built, "metadata": {"usage": {}}}, said_by, *texts, **expect)
        kept = SessionMessage.from_message(built, 1).to_dict()
        kept |= dict.fromkeys(("created_at", "updated_at"), "2026-05-04T03:02:01+00:00")
        yield message(kept, said_by, *texts, **expect)


def bedrock_histories() -> Iterator[Case]:
    use = {"toolUse": {"toolUseId": CALL, "name": TOOL, "input": ARGUMENTS}}
    result = {"toolUseId": CALL, "status": "success", "content": [{"text": WORDS}]}
    picture = {"image": {"format": "png", "source": {"bytes": PNG64}}}
    block = {"role": "assistant", "content": [{"text": SAID}, use]}
    listed = [
        {"role": "user", "content": [{"text": ASKED}, picture]},
        block,
        {"role": "user", "content": [{"toolResult": result}]},
        {"role": "assistant", "content": [{"text": DONE}]},
    ]
    yield history(listed)
    for more in given({"modelId": "m", "inferenceConfig": {"maxTokens": 9}, "toolConfig": {}}):
        yield history({"messages": listed, **more})
    system = [{"text": SECRET}]
    yield history({"messages": listed, "system": system})
    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    for more in given({"usage": usage, "metrics": {"latencyMs": 1}, "ResponseMetadata": {}}):
        whole = {"output": {"message": block}, "stopReason": "tool_use", **more}
        yield history(whole, SAID, answers=(), images=0)
