"""One conversation, as clients of every dialect would append it to a session."""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tests.contract.page_requests import data_uri
from tests.kit import media
from tests.kit.media import b64

IMAGE = media.png(70, 50, noise=True)
_DATA = b64(IMAGE)
_URI = data_uri(IMAGE, "image/png")
_ASKED, _SAID, _FOUND, _END = "What is this?", "I will look.", "A fox.", "It is a fox."
_ARGUMENTS = {"zoom": 2, "of": ["left", None]}

_OPENAI_CALL = {"name": "camera", "arguments": json.dumps(_ARGUMENTS)}
_ANTHROPIC_IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": _DATA},
}
_GEMINI_IMAGE = {"inlineData": {"mimeType": "image/png", "data": _DATA}}
_BEDROCK_IMAGE = {"image": {"format": "png", "source": {"bytes": _DATA}}}
_LANGCHAIN_IMAGE = {"type": "image", "base64": _DATA, "mime_type": "image/png"}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _system() -> dict[str, Any]:
    return {"role": "system", "content": "Be brief."}


DIALECTS: Mapping[str, Sequence[dict[str, Any]]] = MappingProxyType(
    {
        "openai": [
            _system(),
            {
                "role": "user",
                "content": [_text(_ASKED), {"type": "image_url", "image_url": {"url": _URI}}],
            },
            {
                "role": "assistant",
                "content": _SAID,
                "tool_calls": [{"id": "call_1", "type": "function", "function": _OPENAI_CALL}],
            },
            {
                "role": "tool",
                "tool_call_id": "call_1",
                "content": [_text(_FOUND), {"type": "image_url", "image_url": {"url": _URI}}],
            },
            {"role": "assistant", "content": _END},
        ],
        "anthropic": [
            _system(),
            {"role": "user", "content": [_text(_ASKED), _ANTHROPIC_IMAGE]},
            {
                "role": "assistant",
                "content": [
                    _text(_SAID),
                    {"type": "tool_use", "id": "call_1", "name": "camera", "input": _ARGUMENTS},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "call_1",
                        "content": [_text(_FOUND), _ANTHROPIC_IMAGE],
                    }
                ],
            },
            {"role": "assistant", "content": [_text(_END)]},
        ],
        "gemini": [
            _system(),
            {"role": "user", "parts": [{"text": _ASKED}, _GEMINI_IMAGE]},
            {
                "role": "model",
                "parts": [
                    {"text": _SAID},
                    {"functionCall": {"id": "call_1", "name": "camera", "args": _ARGUMENTS}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {
                        "functionResponse": {
                            "id": "call_1",
                            "name": "camera",
                            "response": {"output": _FOUND},
                            "parts": [_GEMINI_IMAGE],
                        }
                    }
                ],
            },
            {"role": "model", "parts": [{"text": _END}]},
        ],
        "bedrock": [
            _system(),
            {"role": "user", "content": [{"text": _ASKED}, _BEDROCK_IMAGE]},
            {
                "role": "assistant",
                "content": [
                    {"text": _SAID},
                    {"toolUse": {"toolUseId": "call_1", "name": "camera", "input": _ARGUMENTS}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "toolResult": {
                            "toolUseId": "call_1",
                            "content": [{"text": _FOUND}, _BEDROCK_IMAGE],
                            "status": "success",
                        }
                    }
                ],
            },
            {"role": "assistant", "content": [{"text": _END}]},
        ],
        "langchain": [
            {**_system(), "type": "system"},
            {"role": "user", "type": "human", "content": [_text(_ASKED), _LANGCHAIN_IMAGE]},
            {
                "role": "assistant",
                "type": "ai",
                "content": _SAID,
                "tool_calls": [
                    {"name": "camera", "args": _ARGUMENTS, "id": "call_1", "type": "tool_call"}
                ],
            },
            {
                "role": "tool",
                "type": "tool",
                "tool_call_id": "call_1",
                "status": "success",
                "content": [_text(_FOUND), _LANGCHAIN_IMAGE],
            },
            {"role": "assistant", "type": "ai", "content": _END},
        ],
        "vercel": [
            _system(),
            {
                "role": "user",
                "content": [
                    _text(_ASKED),
                    {"type": "file", "data": _DATA, "mediaType": "image/png"},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    _text(_SAID),
                    {
                        "type": "tool-call",
                        "toolCallId": "call_1",
                        "toolName": "camera",
                        "input": _ARGUMENTS,
                    },
                ],
            },
            {
                "role": "tool",
                "content": [
                    {
                        "type": "tool-result",
                        "toolCallId": "call_1",
                        "toolName": "camera",
                        "output": {
                            "type": "content",
                            "value": [
                                _text(_FOUND),
                                {
                                    "type": "file",
                                    "data": {"type": "data", "data": _DATA},
                                    "mediaType": "image/png",
                                },
                            ],
                        },
                    }
                ],
            },
            {"role": "assistant", "content": [_text(_END)]},
        ],
    }
)
"""By the name of the dialect: the messages, which say the same."""
