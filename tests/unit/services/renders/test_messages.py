"""Messages of every dialect as turns: as the providers' own types write them, media moved out."""

from pathlib import Path
from typing import Any

import pytest
from anthropic.types import ImageBlockParam, UserMessageParam
from anthropic.types import Message as AnthropicMessage
from google.genai import types as genai
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.messages.content import (
    create_file_block,
    create_image_block,
    create_plaintext_block,
)
from openai.types.chat import (
    ChatCompletionMessage,
    ChatCompletionToolMessageParam,
    ChatCompletionUserMessageParam,
)

from pagefault_dialects.model.conversation import Address, ComposedTurn, DataItem, Medium, TurnCall
from tests.kit.media import b64
from tests.unit.services.renders.stored_messages import (
    DOT,
    PDF,
    PICTURE_URL,
    PNG,
    WAV,
    answered,
    homeless,
    read_stored,
    said,
    small,
    stored,
    text,
    thought,
    uri,
)

pytestmark = pytest.mark.anyio

Case = tuple[dict[str, Any], list[ComposedTurn]]


def addressed(pointer: str, mime_type: str = "image/png", filename: str | None = None) -> Medium:
    return Medium(pointer, Address(PICTURE_URL), "image", mime_type, filename, None)


def openai_cases() -> dict[str, Case]:
    parts: ChatCompletionUserMessageParam = {
        "role": "user",
        "content": [
            {"type": "text", "text": "Look."},
            {"type": "image_url", "image_url": {"url": uri(PNG, "image/png"), "detail": "high"}},
            {"type": "image_url", "image_url": {"url": PICTURE_URL}},
            {"type": "input_audio", "input_audio": {"data": b64(WAV), "format": "wav"}},
            {
                "type": "file",
                "file": {"file_data": uri(PDF, "application/pdf"), "filename": "a.pdf"},
            },
            {"type": "file", "file": {"file_id": "file-123"}},
        ],
    }
    answer: ChatCompletionToolMessageParam = {
        "role": "tool",
        "tool_call_id": "c1",
        "content": [{"type": "text", "text": "a"}, {"type": "text", "text": '{"b":1}'}],
    }
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
        {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "as it is"}},
        {"id": "c3", "type": "function", "function": {"name": "f", "arguments": '{"a":'}},
        {"id": "c4", "type": "function", "function": {"name": "f", "arguments": ""}},
        {"id": "c5", "type": "function", "function": {"name": "f", "arguments": "[1]"}},
    ]
    return {
        "string": ({"role": "user", "content": "Hi."}, [said("user", text("/content", "Hi."))]),
        "parts": (
            {**parts},
            [
                said(
                    "user",
                    text("/content/0", "Look."),
                    stored("/content/1", PNG, "image/png", detail="high"),
                    addressed("/content/2"),
                    stored("/content/3", WAV, "audio/wav"),
                    stored("/content/4", PDF, "application/pdf", "a.pdf"),
                    text("/content/5", '{"type":"file","file":{"file_id":"file-123"}}'),
                )
            ],
        ),
        "calls": (
            ChatCompletionMessage.model_validate(
                {"role": "assistant", "content": None, "tool_calls": calls}
            ).model_dump(mode="json"),
            [
                said(
                    "assistant",
                    calls=(
                        TurnCall("c1", "f", {"a": 1}),
                        TurnCall("c2", "g", {"input": "as it is"}),
                        TurnCall("c3", "f", {"input": '{"a":'}),
                        TurnCall("c4", "f", {}),
                        TurnCall("c5", "f", {"input": [1]}),
                    ),
                )
            ],
        ),
        "answer": (
            {**answer},
            [answered("c1", text("/content/0", "a"), text("/content/1", '{"b":1}'))],
        ),
        "image as an answer": (
            {"role": "tool", "tool_call_id": "c1", "content": uri(PNG, "image/png")},
            [answered("c1", stored("/content", PNG, "image/png"))],
        ),
        "refusal": (
            ChatCompletionMessage(role="assistant", refusal="No.").model_dump(mode="json"),
            [said("assistant", text("/refusal", "No."))],
        ),
        "refusal in a part": (
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
            [said("assistant", text("/content/0", "No."))],
        ),
        "function call of old": (
            {"role": "assistant", "function_call": {"name": "f", "arguments": '{"a":1}'}},
            [said("assistant", calls=(TurnCall("call_5_1", "f", {"a": 1}),))],
        ),
        "function of old": (
            {"role": "function", "name": "f", "content": "5"},
            [answered("", text("/content", "5"), name="f")],
        ),
        "developer": (
            {"role": "developer", "content": "Be brief."},
            [said("system", text("/content", "Be brief."))],
        ),
        "who speaks": (
            {"role": "user", "name": "Bob", "content": "Hi."},
            [said("user", text("/content", "Hi."), homeless("/name", "name"))],
        ),
        "earlier voice": (
            {"role": "assistant", "audio": {"id": "audio_1"}},
            [said("assistant", homeless("/audio", "audio"))],
        ),
        "thoughts beside the content": (
            {"role": "assistant", "content": "4", "reasoning_content": "2+2"},
            [said("assistant", text("/content", "4"), thought("/reasoning_content"))],
        ),
    }


def responses_cases() -> dict[str, Case]:
    citation = {"type": "url_citation", "url": "https://x.example", "title": "X"}
    shown = [
        {"type": "input_text", "text": "a"},
        {"type": "input_image", "image_url": uri(PNG, "image/png"), "detail": "auto"},
        {"type": "input_file", "file_data": uri(PDF, "application/pdf"), "filename": "a.pdf"},
    ]
    return {
        "input": (
            {"type": "message", "role": "user", "content": shown},
            [
                said(
                    "user",
                    text("/content/0", "a"),
                    stored("/content/1", PNG, "image/png", detail="auto"),
                    stored("/content/2", PDF, "application/pdf", "a.pdf"),
                )
            ],
        ),
        "output": (
            {
                "type": "message",
                "id": "msg_1",
                "status": "completed",
                "role": "assistant",
                "content": [
                    {"type": "output_text", "text": "a", "annotations": [], "logprobs": []},
                    {"type": "output_text", "text": "b", "annotations": [citation]},
                ],
            },
            [
                said(
                    "assistant",
                    text("/content/0", "a"),
                    text("/content/1", "b"),
                    homeless("/content/1/annotations", "annotations"),
                )
            ],
        ),
        "calls": (
            {
                "role": "assistant",
                "content": [
                    {"type": "reasoning", "id": "rs_1", "summary": []},
                    {
                        "type": "function_call",
                        "id": "fc_1",
                        "call_id": "c1",
                        "name": "f",
                        "arguments": "{}",
                        "status": "completed",
                    },
                    {"type": "custom_tool_call", "call_id": "c2", "name": "g", "input": "x"},
                ],
            },
            [
                said(
                    "assistant",
                    thought("/content/0"),
                    calls=(TurnCall("c1", "f", {}), TurnCall("c2", "g", {"input": "x"})),
                )
            ],
        ),
        "answers": (
            {
                "role": "tool",
                "content": [
                    {"type": "function_call_output", "call_id": "c1", "output": "x"},
                    {"type": "function_call_output", "call_id": "c2", "output": shown[:2]},
                    {"type": "custom_tool_call_output", "call_id": "c3", "output": "y"},
                ],
            },
            [
                answered("c1", text("/content/0", "x")),
                answered(
                    "c2",
                    text("/content/1", "a"),
                    stored("/content/1", PNG, "image/png", detail="auto"),
                ),
                answered("c3", text("/content/2", "y")),
            ],
        ),
    }


def anthropic_cases() -> dict[str, Case]:
    image: ImageBlockParam = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": b64(PNG)},
    }
    answers: UserMessageParam = {
        "role": "user",
        "content": [
            {"type": "text", "text": "Go on."},
            {
                "type": "tool_result",
                "tool_use_id": "t1",
                "is_error": True,
                "content": [{"type": "text", "text": "a"}, image],
                "cache_control": {"type": "ephemeral"},
            },
            {"type": "tool_result", "tool_use_id": "t2"},
            {"type": "tool_result", "tool_use_id": "t3", "content": []},
            {"type": "tool_result", "tool_use_id": "t4", "content": "s"},
        ],
    }
    message: UserMessageParam = {
        "role": "user",
        "content": [
            image,
            {"type": "image", "source": {"type": "url", "url": PICTURE_URL}},
            {
                "type": "document",
                "title": "T",
                "context": "C",
                "source": {"type": "base64", "media_type": "application/pdf", "data": b64(PDF)},
            },
            {
                "type": "document",
                "title": "T",
                "source": {"type": "text", "media_type": "text/plain", "data": "Words."},
            },
            {
                "type": "document",
                "source": {
                    "type": "content",
                    "content": [{"type": "text", "text": "inside"}, image],
                },
            },
        ],
    }
    return {
        "response": (
            AnthropicMessage.model_validate(
                {
                    "id": "msg_1",
                    "type": "message",
                    "role": "assistant",
                    "model": "claude",
                    "content": [
                        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                        {"type": "redacted_thinking", "data": "c2VjcmV0"},
                        {"type": "text", "text": "a"},
                        {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
                    ],
                    "stop_reason": "tool_use",
                    "usage": {"input_tokens": 1, "output_tokens": 2},
                }
            ).model_dump(mode="json"),
            [
                said(
                    "assistant",
                    thought("/content/0"),
                    thought("/content/1"),
                    text("/content/2", "a"),
                    calls=(TurnCall("t1", "f", {"a": 1}),),
                )
            ],
        ),
        "answers": (
            {**answers},
            [
                answered(
                    "t1",
                    text("/content/1", "a"),
                    stored("/content/1", PNG, "image/png"),
                    is_error=True,
                ),
                answered("t2"),
                answered("t3"),
                answered("t4", text("/content/4", "s")),
                said("user", text("/content/0", "Go on.")),
            ],
        ),
        "media": (
            {**message},
            [
                said(
                    "user",
                    stored("/content/0", PNG, "image/png"),
                    addressed("/content/1"),
                    stored("/content/2", PDF, "application/pdf", "T"),
                    text("/content/2", '{"context":"C"}'),
                    text("/content/3", "Words."),
                    text("/content/3", '{"name":"T"}'),
                    text("/content/4", "inside"),
                    stored("/content/4", PNG, "image/png"),
                )
            ],
        ),
        "cited": (
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "a", "citations": [{"cited_text": "A."}]}],
            },
            [
                said(
                    "assistant",
                    text("/content/0", "a"),
                    homeless("/content/0/citations", "citations"),
                )
            ],
        ),
    }


def gemini_cases() -> dict[str, Case]:
    model = genai.Content(
        role="model",
        parts=[
            genai.Part(text="Hm.", thought=True),
            genai.Part(text="a", thought_signature=b"\xff\xfe"),
            genai.Part(
                function_call=genai.FunctionCall(name="f", args={"a": 1}),
                thought_signature=b"\xff\xfe",
            ),
            genai.Part(function_call=genai.FunctionCall(id="g2", name="f", args={})),
            genai.Part(inline_data=genai.Blob(mime_type="image/png", data=PNG)),
        ],
    )

    def expected(signature: str) -> list[ComposedTurn]:
        return [
            said(
                "assistant",
                thought("/parts/0"),
                text("/parts/1", "a"),
                thought(f"/parts/1/{signature}"),
                thought(f"/parts/2/{signature}"),
                stored("/parts/4", PNG, "image/png"),
                calls=(TurnCall("call_5_1", "f", {"a": 1}), TurnCall("g2", "f", {})),
            )
        ]

    response = genai.FunctionResponse
    blob = genai.FunctionResponseBlob(mime_type="image/png", data=PNG, display_name="d.png")
    answers = genai.Content(
        role="user",
        parts=[
            genai.Part(function_response=response(name="f", response={"output": "x"})),
            genai.Part(
                function_response=response(id="g2", name="f", response={"result": {"k": 1}})
            ),
            genai.Part(function_response=response(id="g3", name="f", response={"error": "bad"})),
            genai.Part(
                function_response=response(
                    id="g4",
                    name="f",
                    response={"value": 5, "unit": "C"},
                    parts=[genai.FunctionResponsePart(inline_data=blob)],
                )
            ),
        ],
    )
    message = genai.Content(
        role="user",
        parts=[
            genai.Part(text="Look."),
            genai.Part(
                inline_data=genai.Blob(mime_type="image/png", data=DOT),
                video_metadata=genai.VideoMetadata(fps=1),
            ),
            genai.Part(file_data=genai.FileData(file_uri=PICTURE_URL, mime_type="image/png")),
            genai.Part(inline_data=genai.Blob(mime_type="application/pdf", data=PDF)),
        ],
    )
    return {
        "model": (
            model.model_dump(mode="json", by_alias=True, exclude_none=True),
            expected("thoughtSignature"),
        ),
        "model with every member": (
            model.model_dump(mode="json"),
            expected("thought_signature"),
        ),
        "answers": (
            answers.model_dump(mode="json", by_alias=True),
            [
                answered("", text("/parts/0", "x"), name="f"),
                answered("g2", text("/parts/1", '{"k":1}'), name="f"),
                answered("g3", text("/parts/2", "bad"), name="f", is_error=True),
                answered(
                    "g4",
                    text("/parts/3", '{"value":5,"unit":"C"}'),
                    stored("/parts/3", PNG, "image/png", "d.png"),
                    name="f",
                ),
            ],
        ),
        "media": (
            message.model_dump(mode="json", by_alias=True, exclude_none=True),
            [
                said(
                    "user",
                    text("/parts/0", "Look."),
                    small("/parts/1"),
                    homeless("/parts/1/videoMetadata", "videoMetadata"),
                    addressed("/parts/2"),
                    stored("/parts/3", PDF, "application/pdf"),
                )
            ],
        ),
        "executed code": (
            {"role": "model", "parts": [{"executableCode": {"code": "1+1"}}]},
            [said("assistant", text("/parts/0", '{"executableCode":{"code":"1+1"}}'))],
        ),
    }


def bedrock_cases() -> dict[str, Case]:
    image = {"image": {"format": "png", "source": {"bytes": b64(PNG)}}}
    document = {"document": {"format": "pdf", "name": "doc", "source": {"bytes": b64(PDF)}}}
    reasoning = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}}
    call = {"toolUse": {"toolUseId": "b1", "name": "f", "input": {"a": 1}}}
    content = [{"text": "a"}, {"json": {"k": [1]}}, image, document]
    return {
        "assistant": (
            {
                "role": "assistant",
                "content": [reasoning, {"text": "a"}, call, {"cachePoint": {"type": "default"}}],
            },
            [
                said(
                    "assistant",
                    thought("/content/0"),
                    text("/content/1", "a"),
                    calls=(TurnCall("b1", "f", {"a": 1}),),
                )
            ],
        ),
        "user": (
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": "b1", "content": content, "status": "error"}},
                    {"toolResult": {"toolUseId": "b2", "content": [{"json": {"k": 1}}]}},
                    image,
                    document,
                    {"audio": {"format": "wav", "source": {"bytes": b64(WAV)}}},
                ],
            },
            [
                answered(
                    "b1",
                    text("/content/0", "a"),
                    text("/content/0", '{"k":[1]}'),
                    stored("/content/0", PNG, "image/png"),
                    stored("/content/0", PDF, "application/pdf", "doc"),
                    is_error=True,
                ),
                answered("b2", text("/content/1", '{"k":1}')),
                said(
                    "user",
                    stored("/content/2", PNG, "image/png"),
                    stored("/content/3", PDF, "application/pdf", "doc"),
                    stored("/content/4", WAV, "audio/wav"),
                ),
            ],
        ),
    }


def langchain_cases() -> dict[str, Case]:
    shown = HumanMessage(
        content_blocks=[
            create_image_block(base64=b64(PNG), mime_type="image/png"),
            create_image_block(url=PICTURE_URL),
            create_file_block(
                base64=b64(PDF), mime_type="application/pdf", filename="a.pdf", index=3
            ),
            create_plaintext_block("Words.", title="T"),
        ]
    )
    repeated = AIMessage(
        content=[
            {"type": "text", "text": "a", "index": 0},
            {"type": "tool_use", "id": "t1", "name": "f", "input": {}, "partial_json": '{"a":1}'},
        ],
        tool_calls=[{"name": "f", "args": {"a": 1}, "id": "t1"}],
        invalid_tool_calls=[
            {"name": "g", "args": "{", "id": "t2", "error": "e", "type": "invalid_tool_call"}
        ],
    )
    failed = ToolMessage("x", tool_call_id="t1", name="f", status="error", artifact={"a": "b"})
    return {
        "blocks": (
            {"role": "user", **shown.model_dump(mode="json")},
            [
                said(
                    "user",
                    stored("/content/0", PNG, "image/png"),
                    addressed("/content/1"),
                    stored("/content/2", PDF, "application/pdf", "a.pdf"),
                    text("/content/3", "Words."),
                    text("/content/3", '{"name":"T"}'),
                )
            ],
        ),
        "calls that are listed again": (
            {"role": "assistant", **repeated.model_dump(mode="json")},
            [
                said(
                    "assistant",
                    text("/content/0", "a"),
                    homeless("/invalid_tool_calls", "invalid_tool_calls"),
                    calls=(TurnCall("t1", "f", {"a": 1}),),
                )
            ],
        ),
        "answer": (
            {"role": "tool", **failed.model_dump(mode="json")},
            [
                answered(
                    "t1",
                    text("/content", "x"),
                    homeless("/artifact", "artifact"),
                    name="f",
                    is_error=True,
                )
            ],
        ),
        "standard content": (
            {
                "role": "assistant",
                "content": [
                    {"type": "reasoning", "reasoning": "Hm."},
                    {"type": "tool_call", "id": "t1", "name": "f", "args": {"a": 1}},
                ],
            },
            [said("assistant", thought("/content/0"), calls=(TurnCall("t1", "f", {"a": 1}),))],
        ),
    }


def vercel_result(call_id: str, output: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool-result", "toolCallId": call_id, "toolName": "f", "output": output}


def vercel_cases() -> dict[str, Case]:
    content = [
        {"type": "text", "text": "a"},
        {"type": "media", "data": b64(PNG), "mediaType": "image/png"},
        {"type": "image-url", "url": PICTURE_URL},
        {
            "type": "file",
            "data": {"type": "data", "data": b64(PDF)},
            "mediaType": "application/pdf",
            "filename": "a.pdf",
        },
    ]
    mcp = {
        "content": [{"type": "text", "text": "a"}],
        "structuredContent": {"k": 1},
        "isError": True,
    }
    image = {"type": "image", "data": b64(PNG), "mime_type": "image/png", "meta": None}
    in_snake_case = {
        "content": [{"type": "text", "text": "boom", "annotations": None}, image],
        "structured_content": {"result": "boom"},
        "is_error": True,
        "result_type": "complete",
        "meta": None,
    }
    return {
        "user": (
            {
                "role": "user",
                "content": [
                    {
                        "type": "file",
                        "data": b64(PDF),
                        "mediaType": "application/pdf",
                        "filename": "a.pdf",
                    },
                    {"type": "image", "image": PICTURE_URL},
                    {"type": "image", "image": b64(DOT), "mediaType": "image/png"},
                ],
            },
            [
                said(
                    "user",
                    stored("/content/0", PDF, "application/pdf", "a.pdf"),
                    Medium("/content/1", Address(PICTURE_URL), "image", "image/png", None, None),
                    small("/content/2"),
                )
            ],
        ),
        "a provider's own tool": (
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "before"},
                    {
                        "type": "tool-call",
                        "toolCallId": "v1",
                        "toolName": "f",
                        "input": {"a": 1},
                        "providerExecuted": True,
                    },
                    {"type": "tool-call", "toolCallId": "v2", "toolName": "f", "input": {}},
                    vercel_result("v1", {"type": "json", "value": {"k": 1}}),
                    {"type": "text", "text": "after"},
                    vercel_result("v2", {"type": "text", "value": "late"}),
                ],
            },
            [
                said(
                    "assistant",
                    text("/content/0", "before"),
                    calls=(TurnCall("v1", "f", {"a": 1}), TurnCall("v2", "f", {})),
                ),
                answered("v1", text("/content/3", '{"k":1}'), name="f"),
                answered("v2", text("/content/5", "late"), name="f"),
                said("assistant", text("/content/4", "after")),
            ],
        ),
        "answers": (
            {
                "role": "tool",
                "content": [
                    vercel_result("v1", {"type": "text", "value": "a"}),
                    vercel_result("v2", {"type": "error-json", "value": {"k": 1}}),
                    vercel_result("v3", {"type": "content", "value": content}),
                    vercel_result("v4", {"type": "execution-denied", "reason": "No."}),
                    vercel_result("v5", {"type": "json", "value": mcp}),
                    {"type": "tool-approval-response", "approvalId": "a", "approved": True},
                ],
            },
            [
                answered("v1", text("/content/0", "a"), name="f"),
                answered("v2", text("/content/1", '{"k":1}'), name="f", is_error=True),
                answered(
                    "v3",
                    text("/content/2", "a"),
                    stored("/content/2", PNG, "image/png"),
                    addressed("/content/2"),
                    stored("/content/2", PDF, "application/pdf", "a.pdf"),
                    name="f",
                ),
                answered("v4", text("/content/3", "No."), name="f", is_error=True),
                answered(
                    "v5",
                    text("/content/4", "a"),
                    DataItem("/content/4", {"k": 1}),
                    homeless("/content/5", "tool-approval-response"),
                    name="f",
                    is_error=True,
                ),
            ],
        ),
        "an MCP result in the other spelling": (
            {
                "role": "tool",
                "content": [vercel_result("v1", {"type": "json", "value": in_snake_case})],
            },
            [
                answered(
                    "v1",
                    text("/content/0", "boom"),
                    stored("/content/0", PNG, "image/png"),
                    name="f",
                    is_error=True,
                ),
            ],
        ),
    }


CASES = {
    f"{dialect}: {name}": case
    for dialect, cases in (
        ("openai", openai_cases()),
        ("responses", responses_cases()),
        ("anthropic", anthropic_cases()),
        ("gemini", gemini_cases()),
        ("bedrock", bedrock_cases()),
        ("langchain", langchain_cases()),
        ("vercel", vercel_cases()),
    )
    for name, case in cases.items()
}


@pytest.mark.parametrize(("message", "turns"), CASES.values(), ids=CASES.keys())
async def test_a_message_becomes_turns(
    message: dict[str, Any], turns: list[ComposedTurn], tmp_path: Path
) -> None:
    assert await read_stored(message, tmp_path) == turns
