"""Histories that providers take: a call and its result of a text and an image, in each dialect."""

from typing import Any

from tests.contract.broken_histories import PNG, data_uri
from tests.kit.media import b64

Json = dict[str, Any]

_IMAGE = b64(PNG)
_USER = {"role": "user", "content": "Look."}
_SPELLED = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


def _messages(*messages: Json) -> Json:
    return {"messages": list(messages)}


def _said(role: str, block: Json) -> Json:
    return {"role": role, "content": [block]}


_OPENAI = _messages(
    _USER,
    {"role": "assistant", "content": None, "tool_calls": [_SPELLED]},
    {
        "role": "tool",
        "tool_call_id": "c1",
        "content": [
            {"type": "text", "text": "A cat."},
            {"type": "image_url", "image_url": {"url": data_uri(PNG)}},
        ],
    },
)
_RESPONSES = {
    "input": [
        _USER,
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": [
                {"type": "input_text", "text": "A cat."},
                {"type": "input_image", "image_url": data_uri(PNG)},
            ],
        },
    ]
}
_ANTHROPIC = _messages(
    _USER,
    _said("assistant", {"type": "tool_use", "id": "c1", "name": "look", "input": {}}),
    _said(
        "user",
        {
            "type": "tool_result",
            "tool_use_id": "c1",
            "content": [
                {"type": "text", "text": "A cat."},
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": _IMAGE},
                },
            ],
        },
    ),
)
_GEMINI = {
    "contents": [
        {"role": "user", "parts": [{"text": "Look."}]},
        {
            "role": "model",
            "parts": [
                {
                    "functionCall": {"id": "c1", "name": "look", "args": {}},
                    "thoughtSignature": "c2ln",
                }
            ],
        },
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "id": "c1",
                        "name": "look",
                        "response": {"output": "A cat."},
                        "parts": [{"inlineData": {"mimeType": "image/png", "data": _IMAGE}}],
                    }
                }
            ],
        },
    ]
}
_BEDROCK = _messages(
    _said("user", {"text": "Look."}),
    _said("assistant", {"toolUse": {"toolUseId": "c1", "name": "look", "input": {}}}),
    _said(
        "user",
        {
            "toolResult": {
                "toolUseId": "c1",
                "content": [
                    {"text": "A cat."},
                    {"image": {"format": "png", "source": {"bytes": _IMAGE}}},
                ],
            }
        },
    ),
)
_MCP = _messages(
    {"role": "user", "content": {"type": "text", "text": "Look."}},
    {"role": "assistant", "content": {"type": "tool_use", "id": "c1", "name": "look", "input": {}}},
    {
        "role": "user",
        "content": {
            "type": "tool_result",
            "toolUseId": "c1",
            "content": [
                {"type": "text", "text": "A cat."},
                {"type": "image", "data": _IMAGE, "mimeType": "image/png"},
            ],
        },
    },
)
_LANGCHAIN = _messages(
    {"type": "human", "content": "Look."},
    {"type": "ai", "content": "", "tool_calls": [{"id": "c1", "name": "look", "args": {}}]},
    {
        "type": "tool",
        "tool_call_id": "c1",
        "content": [
            {"type": "text", "text": "A cat."},
            {"type": "image", "base64": _IMAGE, "mime_type": "image/png"},
        ],
    },
)
_VERCEL = _messages(
    _USER,
    _said("assistant", {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": {}}),
    _said(
        "tool",
        {
            "type": "tool-result",
            "toolCallId": "c1",
            "toolName": "look",
            "output": {
                "type": "content",
                "value": [
                    {"type": "text", "text": "A cat."},
                    {"type": "file", "mediaType": "image/png", "data": _IMAGE},
                ],
            },
        },
    ),
)
_PYDANTIC_AI = [
    {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Look."}]},
    {
        "kind": "response",
        "parts": [
            {"part_kind": "tool-call", "tool_call_id": "c1", "tool_name": "look", "args": {}}
        ],
    },
    {
        "kind": "request",
        "parts": [
            {
                "part_kind": "tool-return",
                "tool_call_id": "c1",
                "tool_name": "look",
                "content": [
                    "A cat.",
                    {"kind": "binary", "media_type": "image/png", "data": _IMAGE},
                ],
            }
        ],
    },
]

SOUND: dict[str, object] = {
    "openai-compat": _OPENAI,
    "openai-responses": _RESPONSES,
    "anthropic": _ANTHROPIC,
    "gemini": _GEMINI,
    "bedrock": _BEDROCK,
    "mcp": _MCP,
    "langchain": _LANGCHAIN,
    "vercel": _VERCEL,
    "pydantic-ai": _PYDANTIC_AI,
}
"""By the dialect that they are written in."""
