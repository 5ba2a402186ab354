"""Results as the classes of model providers have them.

Each package is imported by its own function: one that is broken ends its own dialect alone.
"""

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
    URL,
    WORDS,
    Case,
    case,
    dumps,
    given,
)


def openai_responses() -> Iterator[Case]:
    """Outputs of functions and of custom tools."""
    from openai.types.responses import (
        ResponseCustomToolCallOutput,
        ResponseFunctionToolCallOutputItem,
        response_input_item,
    )

    unknown = "[block: input_image]"
    words = [{"type": "input_text", "text": WORDS}]
    picture = [{"type": "input_image", "image_url": PNG_URI, "detail": "auto"}]
    document = [{"type": "input_file", "file_data": PNG_URI, "filename": "a.png"}]
    extras = {
        "id": "fco_1",
        "caller": {"type": "direct"},
        "namespace": "n",
        "status": "completed",
    }
    call = {"call_id": CALL}
    for kind, model, named in (
        ("function_call_output", response_input_item.FunctionCallOutput, {"name": TOOL}),
        ("custom_tool_call_output", ResponseCustomToolCallOutput, {}),
    ):
        extra = (
            extras if named else {"id": "fco_1", "caller": {"type": "program", "caller_id": "p"}}
        )
        for more in given({**extra, **named}):
            built = model.model_validate({"type": kind, **call, "output": WORDS, **more})
            tool = TOOL if "name" in more else None
            yield from (case(dump, WORDS, tool=tool) for dump in dumps(built))
        for output, texts, images in (
            (words, [WORDS], 0),
            (picture, [], 1),
            ([*words, *picture], [WORDS], 1),
            (document, [], 1),
            ([{"type": "input_image", "file_id": SECRET, "detail": "low"}], [unknown], 0),
        ):
            built = model.model_validate({"type": kind, **call, "output": output})
            yield from (case(dump, *texts, images=images, tool=None) for dump in dumps(built))
    item = ResponseFunctionToolCallOutputItem.model_validate(
        {"type": "function_call_output", **call, **extras, "output": WORDS, "created_by": "u"}
    )
    yield from (case(dump, WORDS, tool=None) for dump in dumps(item))


def openai_responses_screens() -> Iterator[Case]:
    """Outputs of computers, and of patches."""
    from openai.types.responses import (
        ResponseApplyPatchToolCallOutput,
        ResponseComputerToolCallOutputItem,
    )
    from openai.types.responses import response_input_item as items

    call = {"call_id": CALL}
    screen = {"type": "computer_screenshot", "image_url": PNG_URI}
    checks = [{"id": "s", "code": "c", "message": SECRET}]
    for more in given({"id": "c_1", "acknowledged_safety_checks": checks, "status": "completed"}):
        built = items.ComputerCallOutput.model_validate(
            {"type": "computer_call_output", **call, "output": screen, **more}
        )
        yield from (case(dump, images=1, tool=None) for dump in dumps(built))
    for status in ("completed", "failed"):
        built = ResponseComputerToolCallOutputItem.model_validate(
            {
                **{"type": "computer_call_output", "id": "c_1", **call, "output": screen},
                **{"status": status, "acknowledged_safety_checks": checks, "created_by": "u"},
            }
        )
        yield from (
            case(dump, images=1, tool=None, failed=status == "failed") for dump in dumps(built)
        )
        for more in given({"id": "a_1", "output": WORDS}):
            built = items.ApplyPatchCallOutput.model_validate(
                {"type": "apply_patch_call_output", **call, "status": status, **more}
            )
            expected = [WORDS] if "output" in more else []
            yield from (
                case(dump, *expected, tool=None, failed=status == "failed") for dump in dumps(built)
            )
    built = ResponseApplyPatchToolCallOutput.model_validate(
        {
            **{"type": "apply_patch_call_output", "id": "a_1", **call, "status": "completed"},
            **{"output": WORDS, "created_by": "u"},
        }
    )
    yield from (case(dump, WORDS, tool=None) for dump in dumps(built))


def openai_responses_shells() -> Iterator[Case]:
    """Outputs of shells, of programs, and of MCP servers."""
    from openai.types.responses import (
        ResponseFunctionShellToolCallOutput,
        response_output_item,
    )
    from openai.types.responses import response_input_item as items

    call = {"call_id": CALL}
    shell = [{"stdout": WORDS, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
    broken = [{"stdout": WORDS, "stderr": BOOM, "outcome": {"type": "timeout"}}]
    broken[0]["created_by"] = "u"
    for more in given({"id": "s_1", "max_output_length": 100, "status": "completed"}):
        built = items.ShellCallOutput.model_validate(
            {"type": "shell_call_output", **call, "output": shell, **more}
        )
        yield from (case(dump, WORDS, tool=None) for dump in dumps(built))
    built = ResponseFunctionShellToolCallOutput.model_validate(
        {
            **{"type": "shell_call_output", "id": "s_1", **call, "output": broken},
            **{"status": "completed", "created_by": "u"},
        }
    )
    yield from (case(dump, WORDS, BOOM, tool=None) for dump in dumps(built))
    for more in given({"status": "completed"}):
        built = items.LocalShellCallOutput.model_validate(
            {"type": "local_shell_call_output", "id": CALL, "output": WORDS, **more}
        )
        yield from (case(dump, WORDS, tool=None) for dump in dumps(built))
    program = {"type": "program_output", "id": "p_1", **call, "result": WORDS}
    built = items.ProgramOutput.model_validate({**program, "status": "completed"})
    yield from (case(dump, WORDS, tool=None) for dump in dumps(built))
    mcp = {"type": "mcp_call", "id": CALL, "arguments": "{}", "name": TOOL, "server_label": SECRET}
    for more in given({"approval_request_id": "r", "status": "completed"}):
        for model in (items.McpCall, response_output_item.McpCall):
            built = model.model_validate({**mcp, "output": WORDS, **more})
            yield from (case(dump, WORDS) for dump in dumps(built))
    for error in (
        {"type": "mcp_protocol_error", "code": 1, "message": BOOM},
        {"type": "http_error", "code": 500, "message": BOOM},
        {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": BOOM}]},
    ):
        built = items.McpCall.model_validate({**mcp, "error": error, "status": "failed"})
        yield from (case(dump, BOOM, failed=True) for dump in dumps(built))


def openai_chat() -> Iterator[Case]:
    from openai.types.chat import (
        ChatCompletionContentPartTextParam as Text,
    )
    from openai.types.chat import (
        ChatCompletionFunctionMessageParam,
    )
    from openai.types.chat import (
        ChatCompletionToolMessageParam as Tool,
    )

    part = Text(type="text", text=WORDS)
    for content in (WORDS, [part]):
        yield case(Tool(role="tool", tool_call_id=CALL, content=content), WORDS, tool=None)
    yield case(Tool(role="tool", tool_call_id=CALL, content=""), tool=None)
    yield case(
        Tool(role="tool", tool_call_id=CALL, content=[part, Text(type="text", text=BOOM)]),
        *(WORDS, BOOM),
        tool=None,
    )
    legacy = ChatCompletionFunctionMessageParam(role="function", name=TOOL, content=WORDS)
    yield case(legacy, WORDS, call=None)


def mistral() -> Iterator[Case]:
    from mistralai.client.models import ImageURLChunk, TextChunk, ToolMessage

    for content, images in ((WORDS, 0), ([TextChunk(text=WORDS)], 0)):
        for more in given({"name": TOOL}):
            built = ToolMessage(content=content, tool_call_id=CALL, **more)
            tool = more.get("name")
            yield from (
                case(dump, WORDS, images=images, tool=tool)
                for dump in dumps(built)
                # It does not write a default that was not set.
                if dump["role"]
            )
    built = ToolMessage(content=[ImageURLChunk(image_url=PNG_URI)], tool_call_id=CALL, name=TOOL)
    yield from (case(dump, images=1) for dump in dumps(built) if dump["role"])


def ollama() -> Iterator[Case]:
    from ollama import Image, Message

    built = Message(role="tool", content=WORDS, tool_name=TOOL)
    yield from (case(dump, WORDS, call=None) for dump in dumps(built))
    built = Message(role="tool", content=WORDS, tool_name=TOOL, images=[Image(value=PNG64)])
    yield from (case(dump, WORDS, images=1, call=None) for dump in dumps(built))


def anthropic() -> Iterator[Case]:
    from anthropic.types import (
        DocumentBlockParam,
        ImageBlockParam,
        SearchResultBlockParam,
        TextBlockParam,
        ToolReferenceBlockParam,
    )
    from anthropic.types import (
        ToolResultBlockParam as Result,
    )
    from anthropic.types.beta import BetaMCPToolResultBlock

    text = TextBlockParam(type="text", text=WORDS)
    source = {"type": "base64", "media_type": "image/png", "data": PNG64}
    image = ImageBlockParam(type="image", source=source)
    search = SearchResultBlockParam(
        type="search_result", source=URL, title="Weather", content=[text]
    )
    plain = {"type": "text", "media_type": "text/plain", "data": WORDS}
    document = DocumentBlockParam(
        type="document",
        source=plain,
        title="Weather",
        context=SECRET,
        citations={"enabled": True},
    )
    picture = DocumentBlockParam(type="document", source=source, title="a.png")
    reference = ToolReferenceBlockParam(type="tool_reference", tool_name="radar")
    contents: list[tuple[dict[str, Any], list[str], int]] = [
        ({}, [], 0),
        ({"content": WORDS}, [WORDS], 0),
        ({"content": []}, [], 0),
        ({"content": [text]}, [WORDS], 0),
        ({"content": [image]}, [], 1),
        ({"content": [text, image]}, [WORDS], 1),
        ({"content": [search]}, [WORDS], 0),
        ({"content": [{**search, "citations": {"enabled": True}}]}, [WORDS], 0),
        ({"content": [reference]}, ["radar"], 0),
        ({"content": [document]}, [WORDS], 0),
        ({"content": [picture]}, [], 1),
    ]
    cached = {"cache_control": {"type": "ephemeral"}, "toolset_name": SECRET}
    for content, texts, images in contents:
        for more in given({"is_error": False, **cached}):
            built = Result(type="tool_result", tool_use_id=CALL, **content, **more)
            yield case(built, *texts, images=images, tool=None)
    failed = Result(type="tool_result", tool_use_id=CALL, content=BOOM, is_error=True)
    yield case(failed, BOOM, failed=True, tool=None)
    message = {"role": "user", "content": [failed]}
    yield case(message, BOOM, failed=True, tool=None)
    place = {"document_index": 0, "start_char_index": 0, "end_char_index": 4}
    cited = {"type": "char_location", "cited_text": SECRET, "document_title": SECRET, **place}
    for more in given({"citations": [cited]}):
        block = BetaMCPToolResultBlock(
            type="mcp_tool_result",
            tool_use_id=CALL,
            is_error=True,
            content=[{"type": "text", "text": BOOM, **more}],
        )
        yield from (case(dump, BOOM, failed=True, tool=None) for dump in dumps(block))


def gemini() -> Iterator[Case]:
    from google.genai import types

    blob = types.FunctionResponseBlob(mime_type="image/png", data=PNG, display_name="a.png")
    picture = types.FunctionResponsePart(inline_data=blob)
    record = {"rows": 3, "status": "error"}
    answers: list[tuple[dict[str, Any], list[str], bool]] = [
        ({"output": WORDS}, [WORDS], False),
        ({"result": WORDS}, [WORDS], False),
        ({"error": BOOM}, [BOOM], True),
        (record, [json.dumps(record, separators=(",", ":"))], False),
        ({"content": [{"type": "text", "text": BOOM}], "isError": True}, [BOOM], True),
        ({}, [], False),
    ]
    more = {"id": CALL, "will_continue": True, "scheduling": "WHEN_IDLE", "parts": [picture]}
    for response, texts, failed in answers:
        for extras in given(more):
            built = types.FunctionResponse(name=TOOL, response=response, **extras)
            call = extras.get("id")
            images = int("parts" in extras)
            expected = {"images": images, "failed": failed, "call": call}
            part = types.Part(function_response=built)
            full = extras in ({}, more)
            for dump in dumps(part) if full else [*dumps(part)][3:4]:
                yield case(dump, *texts, **expected)
            if full:
                content = types.Content(role="user", parts=[part])
                yield from (case(dump, *texts, **expected) for dump in dumps(content))
                yield case(part.to_json_dict(), *texts, **expected)
    built = types.FunctionResponse(id=CALL, name=TOOL, response={"output": WORDS})
    yield from (case(dump, WORDS) for dump in dumps(built))
    for beside in (
        {"media_resolution": types.PartMediaResolution(level="MEDIA_RESOLUTION_LOW")},
        {"media_processing": "STATIC", "speech_metadata": types.SpeechMetadata(speaker=SECRET)},
        {"part_metadata": {"k": SECRET}, "thought_signature": b"s"},
    ):
        part = types.Part(function_response=built, **beside)
        yield from (case(dump, WORDS) for dump in dumps(part))
    shown = types.FunctionResponsePart(inline_data=blob, media_processing="STATIC")
    built = types.FunctionResponse(id=CALL, name=TOOL, response={"output": WORDS}, parts=[shown])
    yield from (case(dump, WORDS, images=1) for dump in dumps(built))


def bedrock() -> Iterator[Case]:
    from strands.types.session import encode_bytes_values
    from strands.types.tools import ToolResult

    picture = {"image": {"format": "png", "source": {"bytes": PNG64}}}
    encoded = encode_bytes_values({"image": {"format": "png", "source": {"bytes": PNG}}})
    document = {"document": {"format": "pdf", "name": "a", "source": {"bytes": PNG}}}
    contents: list[tuple[list[Any], list[str], int]] = [
        ([{"text": WORDS}], [WORDS], 0),
        ([{"json": {"rows": 3}}], ['{"rows":3}'], 0),
        ([picture], [], 1),
        ([encoded], [], 1),
        ([encode_bytes_values(document)], [], 1),
        ([{"text": WORDS}, picture], [WORDS], 1),
        ([], [], 0),
    ]
    for content, texts, images in contents:
        for status in ("success", "error"):
            built = ToolResult(toolUseId=CALL, status=status, content=content)
            expected = {"images": images, "failed": status == "error", "tool": None}
            yield case(built, *texts, **expected)
            yield case({"toolResult": built}, *texts, **expected)
            yield case({"role": "user", "content": [{"toolResult": built}]}, *texts, **expected)
        bare = {"toolUseId": CALL, "content": content}
        yield case({"toolResult": bare}, *texts, images=images, tool=None)
        yield case({"toolResult": {**bare, "status": None}}, *texts, images=images, tool=None)
