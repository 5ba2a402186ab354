"""Results as agent frameworks have them.

Each package is imported by its own function: one that is broken ends its own dialect alone.
"""

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Any

from cases import (
    BOOM,
    CALL,
    PNG,
    PNG64,
    PNG_URI,
    SECRET,
    TOOL,
    WHEN,
    WORDS,
    Case,
    case,
    dumps,
    given,
)


def adk() -> Iterator[Case]:
    from google.adk.events import Event
    from google.genai import types

    for response, text, failed in (
        ({"result": WORDS}, WORDS, False),
        ({"error": BOOM}, BOOM, True),
    ):
        built = types.FunctionResponse(id=CALL, name=TOOL, response=response)
        content = types.Content(role="user", parts=[types.Part(function_response=built)])
        for more in given(
            {"branch": SECRET, "partial": False, "long_running_tool_ids": {"x"}, "error_code": "E"}
        ):
            event = Event(
                author="root",
                invocation_id="i",
                id="e-1",
                timestamp=1.5,
                content=content,
                **more,
            )
            few = [*dumps(event)]
            for item in few if not more else [few[4]]:
                yield case(item, text, failed=failed)


def strands() -> Iterator[Case]:
    from strands.tools.mcp.mcp_types import MCPToolResult

    structured = {"degrees": 4}
    for more in given({"metadata": {"k": SECRET}, "isError": False}):
        built = MCPToolResult(toolUseId=CALL, status="success", content=[{"text": WORDS}], **more)
        yield case(built, WORDS, tool=None)
    built = MCPToolResult(
        toolUseId=CALL,
        status="success",
        content=[{"text": WORDS}],
        structuredContent=structured,
    )
    yield case(built, WORDS, tool=None)


def langchain() -> Iterator[Case]:
    from langchain_core.load import dumpd
    from langchain_core.messages import ToolMessage, messages_to_dict
    from langchain_core.messages.content import create_image_block, create_text_block

    made = "lc_00000000-0000-4000-8000-000000000000"
    text = create_text_block(WORDS, id=made)
    image = create_image_block(base64=PNG64, mime_type="image/png", id=made)
    options = {
        "name": TOOL,
        "id": "m1",
        "artifact": {"k": SECRET},
        "additional_kwargs": {"k": SECRET},
        "response_metadata": {"k": SECRET},
    }
    contents: list[tuple[Any, list[str], int]] = [
        (WORDS, [WORDS], 0),
        ("", [], 0),
        ([WORDS], [WORDS], 0),
        ([{"type": "text", "text": WORDS}], [WORDS], 0),
        ([{"type": "image_url", "image_url": {"url": PNG_URI}}], [], 1),
        ([text, image], [WORDS], 1),
    ]
    for content, texts, images in contents:
        for status in ("success", "error"):
            for more in given(options) if content == WORDS else [{}, options]:
                message = ToolMessage(content=content, tool_call_id=CALL, status=status, **more)
                expected = {"images": images, "failed": status == "error", "tool": more.get("name")}
                for dump in (*dumps(message), dumpd(message), *messages_to_dict([message])):
                    yield case(dump, *texts, **expected)


def vercel() -> Iterator[Case]:
    """As its types say; they are no classes."""
    media = {"type": "media", "data": PNG64, "mediaType": "image/png"}
    outputs: list[tuple[dict[str, Any], list[str], int, bool]] = [
        ({"type": "text", "value": WORDS}, [WORDS], 0, False),
        ({"type": "json", "value": {"rows": 3}}, ['{"rows":3}'], 0, False),
        ({"type": "json", "value": None}, ["null"], 0, False),
        ({"type": "error-text", "value": BOOM}, [BOOM], 0, True),
        ({"type": "error-json", "value": {"code": 3}}, ['{"code":3}'], 0, True),
        ({"type": "execution-denied", "reason": BOOM}, [BOOM], 0, True),
        ({"type": "content", "value": [{"type": "text", "text": WORDS}, media]}, [WORDS], 1, False),
    ]
    part = {"type": "tool-result", "toolCallId": CALL, "toolName": TOOL}
    options = {"providerOptions": {"p": {"k": SECRET}}}
    for output, texts, images, failed in outputs:
        expected = {"images": images, "failed": failed}
        for more in given(options):
            yield case({**output, **more}, *texts, **expected, call=None, tool=None)
            yield case({**part, "output": output, **more}, *texts, **expected)
            yield case({**part, "output": {**output, **more}}, *texts, **expected)
        message = {"role": "tool", "content": [{**part, "output": output}]}
        yield case(message, *texts, **expected)
    executed = {"input": {"a": SECRET}, "providerExecuted": True, "dynamic": True}
    for more in given({**executed, "providerMetadata": {"k": SECRET}, "title": SECRET}):
        yield case({**part, "output": WORDS, **more}, WORDS)
        error = {**part, "type": "tool-error", "error": BOOM, **more}
        yield case(error, BOOM, failed=True)
    block = {"type": f"tool-{TOOL}", "toolCallId": CALL, "input": {"a": SECRET}}
    yield case({**block, "state": "output-available", "output": WORDS}, WORDS, tool=None)
    yield case({**block, "state": "output-error", "errorText": BOOM}, BOOM, tool=None, failed=True)
    denied = {"state": "output-denied", "approval": {"id": "a", "approved": False, "reason": BOOM}}
    yield case({**block, **denied}, BOOM, tool=None, failed=True)


def pydantic_ai() -> Iterator[Case]:
    from datetime import UTC, datetime

    import pydantic_ai.messages as m
    from pydantic import TypeAdapter

    when = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
    picture = m.BinaryContent(PNG, media_type="image/png")
    tagged = m.BinaryContent(
        PNG, media_type="image/png", vendor_metadata={"k": SECRET}, identifier="a"
    )
    contents: list[tuple[Any, list[str], int]] = [
        (WORDS, [WORDS], 0),
        ({"rows": 3}, ['{"rows":3}'], 0),
        ([1, 2], ["[1,2]"], 0),
        (picture, [], 1),
        (tagged, [], 1),
        ([WORDS, picture], [WORDS], 1),
        (None, [], 0),
    ]
    options = {"metadata": {"k": SECRET}, "tool_kind": "tool-search"}
    for content, texts, images in contents:
        for more in given(options) if content == WORDS else [{}]:
            part = m.ToolReturnPart(TOOL, content, CALL, timestamp=when, **more)
            yield from _parts(m, part, *texts, images=images)
    for outcome in ("success", "failed", "denied", "interrupted", "retried"):
        part = m.ToolReturnPart(TOOL, WORDS, CALL, timestamp=when, outcome=outcome)
        yield from _parts(m, part, WORDS, failed=outcome != "success")
    part = m.ToolReturnPart(
        TOOL, WORDS, CALL, timestamp=when, outcome="retried", retry=m.RetryInfo(cause="validation")
    )
    yield from _parts(m, part, WORDS, failed=True)
    part = m.RetryPromptPart(content=BOOM, tool_name=TOOL, tool_call_id=CALL, timestamp=when)
    yield from _parts(m, part, BOOM, failed=True)
    details = [{"type": "missing", "loc": ["a"], "msg": BOOM, "input": {}}]
    part = m.RetryPromptPart(content=details, tool_name=TOOL, tool_call_id=CALL, timestamp=when)
    yield from _parts(m, part, json.dumps(details, separators=(",", ":")), failed=True)
    for more in given({"content": BOOM, "metadata": {"k": SECRET}}):
        whole = TypeAdapter(m.ToolReturn).dump_python(m.ToolReturn(WORDS, **more), mode="json")
        shown = [WORDS, BOOM] if "content" in more else [WORDS]
        yield case(whole, *shown, call=None, tool=None)
    native = m.NativeToolReturnPart(
        TOOL, WORDS, CALL, timestamp=when, provider_name="p", provider_details={"k": SECRET}
    )
    whole = TypeAdapter(m.NativeToolReturnPart).dump_python(native, mode="json")
    yield case(whole, WORDS)


def _parts(m: Any, part: Any, *texts: str, **expected: Any) -> Iterator[Case]:
    for more in ({}, {"exclude_none": True}, {"exclude_defaults": True}):
        request = m.ModelMessagesTypeAdapter.dump_python(
            [m.ModelRequest(parts=[part])], mode="json", **more
        )
        if "exclude_defaults" in more:
            # Without its kind it is nothing that could be recognised.
            continue
        yield case(request[0]["parts"][0], *texts, **expected)
        yield case(request[0], *texts, **expected)
        yield case(request, *texts, **expected)


def llama_index() -> Iterator[Case]:
    from llama_index.core.agent.workflow.workflow_events import ToolCallResult
    from llama_index.core.base.llms import types as b
    from llama_index.core.tools import ToolOutput

    text = b.TextBlock(text=WORDS)
    image = b.ImageBlock(image=PNG, image_mimetype="image/png")
    document = b.DocumentBlock(data=PNG, title="a.png", document_mimetype="image/png")
    cited = b.CitableBlock(title="Weather", source=SECRET, content=[text])
    contents: list[tuple[list[Any], list[str], int]] = [
        ([text], [WORDS], 0),
        ([image], [], 1),
        ([text, image], [WORDS], 1),
        ([document], [], 1),
        ([cited], [WORDS], 0),
        ([], [], 0),
    ]
    for blocks, texts, images in contents:
        for raw in (WORDS, {"k": SECRET}, None):
            for more in given({"is_error": True}):
                output = ToolOutput(
                    blocks=blocks, tool_name=TOOL, raw_input={"a": SECRET}, raw_output=raw, **more
                )
                expected = {"images": images, "failed": bool(more)}
                for dump in dumps(output):
                    # By its class alone an output without blocks, or with them unset, is no result.
                    if "blocks" in dump and "raw_output" in dump:
                        yield case(dump, *texts, **expected, call=None)
        event = ToolCallResult(
            tool_name=TOOL,
            tool_kwargs={"a": SECRET},
            tool_id=CALL,
            tool_output=output,
            return_direct=False,
        )
        yield case(event.model_dump(mode="json"), *texts, images=images, failed=True)
        message = b.ChatMessage(
            role="tool", blocks=blocks, additional_kwargs={"tool_call_id": CALL, "name": TOOL}
        )
        yield case(message.model_dump(mode="json"), *texts, images=images)


def haystack() -> Iterator[Case]:
    from haystack.dataclasses import (
        ChatMessage,
        FileContent,
        ImageContent,
        TextContent,
        ToolCall,
        ToolCallResult,
    )

    text, image = TextContent(WORDS), ImageContent(PNG64, "image/png")
    detailed = ImageContent(PNG64, "image/png", detail="high", meta={"k": SECRET})
    file = FileContent(PNG64, "image/png", "a.png", extra={"k": SECRET})
    contents: list[tuple[Any, list[str], int]] = [
        (WORDS, [WORDS], 0),
        ([text], [WORDS], 0),
        ([image], [], 1),
        ([detailed], [], 1),
        ([file], [], 1),
        ([text, image], [WORDS], 1),
    ]
    for content, texts, images in contents:
        for call in (CALL, None):
            origin = ToolCall(TOOL, {"a": SECRET}, id=call, extra={"k": SECRET} if call else None)
            for error in (False, True):
                built = ToolCallResult(content, origin, error)
                expected = {"images": images, "failed": error, "call": call}
                yield case(built.to_dict(), *texts, **expected)
                for meta in ({}, {"k": SECRET}):
                    message = ChatMessage.from_tool(content, origin, error=error, meta=meta)
                    yield case(message.to_dict(), *texts, **expected)
    origin = ToolCall(TOOL, {}, id=CALL)
    yield case(ChatMessage.from_tool([text], origin).to_openai_dict_format(), WORDS, tool=None)


def agent_framework() -> Iterator[Case]:
    from agent_framework import Content, Message

    text, image = Content.from_text(WORDS), Content.from_data(PNG, "image/png")
    contents: list[tuple[Any, list[str], int]] = [
        (WORDS, [WORDS], 0),
        ([text], [WORDS], 0),
        ([image], [], 1),
        ([text, image], [WORDS], 1),
        ({"rows": 3}, ['{"rows": 3}'], 0),
        ("", [], 0),
    ]
    options = {
        "status": "completed",
        "id": "o",
        "additional_properties": {"k": SECRET},
        "exception": SECRET,
    }
    for result, texts, images in contents:
        for more in given(options) if result == WORDS else [{}]:
            built = Content.from_function_result(CALL, result=result, **more)
            expected = {"images": images, "failed": "exception" in more, "tool": None}
            yield case(built.to_dict(), *texts, **expected)
            yield case(built.to_dict(exclude_none=False), *texts, **expected)
            yield case(Message("tool", [built]).to_dict(), *texts, **expected)


def autogen() -> Iterator[Case]:
    import io

    from autogen_agentchat.messages import ToolCallExecutionEvent
    from autogen_core import Image
    from autogen_core.models import FunctionExecutionResult, FunctionExecutionResultMessage
    from autogen_core.tools import ImageResultContent, TextResultContent, ToolResult
    from PIL import Image as Pictures

    for more in given({"is_error": True}):
        built = FunctionExecutionResult(content=WORDS, name=TOOL, call_id=CALL, **more)
        expected = {"failed": bool(more)}
        yield from (case(dump, WORDS, **expected) for dump in dumps(built))
        message = FunctionExecutionResultMessage(content=[built])
        yield from (case(message.model_dump(mode="json"), WORDS, **expected) for _ in range(1))
        event = ToolCallExecutionEvent(source="root", content=[built], metadata={"k": SECRET})
        event.id, event.created_at = "e-1", event.created_at.fromisoformat(WHEN)
        yield case(event.model_dump(mode="json"), WORDS, **expected)
        # It writes pictures anew, so that their bytes are its own.
        picture = Image(Pictures.open(io.BytesIO(PNG)))
        answer = ToolResult(
            name=TOOL,
            result=[TextResultContent(content=WORDS), ImageResultContent(content=picture)],
            **more,
        )
        whole = answer.model_dump(mode="json")
        written = hashlib.sha256(base64.b64decode(whole["result"][1]["content"]["data"]))
        made = case(whole, WORDS, images=1, call=None, **expected)
        made["expect"]["media"] = [written.hexdigest()[:12]]
        yield made
