"""Generated histories that are valid requests of a dialect, with all blocks of its types."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from hypothesis import assume
from hypothesis import strategies as st

from packages.dialects.tests.targets.resolved_turns import PDF, PNG, WAV, base64, data_uri

Json: TypeAlias = dict[str, Any]

MARK = "c2VjcmV0LW9mLXRoZS1wcm92aWRlcg=="
"""The value of every encrypted or signed member."""
MAX_MARKS = 4
"""Requests of Anthropic have at most this many cache marks."""
_URL = "https://files.example/a"

words = st.text("abc äß.\n", min_size=1, max_size=12).map(lambda text: f"~{text}~")


def _some(blocks: Sequence[Json], *, least: int = 0) -> st.SearchStrategy[list[Json]]:
    return st.lists(st.sampled_from(blocks), min_size=least, max_size=3)


@dataclass(frozen=True, slots=True)
class HomeDialect:
    """Strategies for the messages of each role in a dialect."""

    user: Callable[[st.DrawFn], Json]
    assistant: Callable[[st.DrawFn, list[str]], list[Json]]
    answers: Callable[[st.DrawFn, list[str]], list[Json]]
    begins: Callable[[st.DrawFn], list[Json]] = lambda _: []


@st.composite
def home_histories(draw: st.DrawFn, dialect: HomeDialect) -> list[Json]:
    """Return a history in which each call is answered at once."""
    messages = dialect.begins(draw)
    for round_ in range(draw(st.integers(1, 3))):
        messages.append(dialect.user(draw))
        ids = [f"use_{round_}_{number}" for number in range(draw(st.integers(0, 2)))]
        messages += dialect.assistant(draw, ids)
        if ids:
            messages += dialect.answers(draw, ids)
            messages += dialect.assistant(draw, [])
    assume(str(messages).count("cache_control") <= MAX_MARKS)
    return messages


_CACHED = {"cache_control": {"type": "ephemeral"}}
_ARGUMENTS = st.sampled_from(["{}", '{"n":1}', '{ "n": [1, "ä"] }', '{"s":"\\u00e4"}'])
_OBJECTS: st.SearchStrategy[Json] = st.sampled_from([{}, {"n": 1}, {"n": [1, "ä"], "o": None}])


# OpenAI Chat Completions
_CHAT_USER: Sequence[Json] = [
    {"type": "image_url", "image_url": {"url": _URL}},
    {"type": "image_url", "image_url": {"url": data_uri(PNG, "image/png"), "detail": "high"}},
    {"type": "input_audio", "input_audio": {"data": base64(WAV), "format": "wav"}},
    {"type": "file", "file": {"file_id": "file-abc"}},
    {"type": "file", "file": {"filename": "a.pdf", "file_data": data_uri(PDF, "application/pdf")}},
]


def _text(draw: st.DrawFn) -> Json:
    return {"type": "text", "text": draw(words)}


def _chat_user(draw: st.DrawFn) -> Json:
    content: Any = draw(words)
    if draw(st.booleans()):
        content = [_text(draw), *draw(_some(_CHAT_USER))]
    named = {"name": "ann"} if draw(st.booleans()) else {}
    return {"role": "user", "content": content, **named}


def _chat_assistant(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    form = draw(st.sampled_from(["text", "blocks", "refusal"]))
    message: Json = {"role": "assistant", "content": draw(words)}
    if form == "blocks":
        message["content"] = [_text(draw), _text(draw)]
    elif form == "refusal" and not ids:
        message |= {"content": None, "refusal": draw(words)}
    if ids:
        message["content"] = draw(st.sampled_from([None, "", message["content"]]))
        message["tool_calls"] = [_chat_call(draw, call_id) for call_id in ids]
    return [message]


def _chat_call(draw: st.DrawFn, call_id: str) -> Json:
    if draw(st.booleans()):
        return {"id": call_id, "type": "custom", "custom": {"name": "sql", "input": draw(words)}}
    function = {"name": "f", "arguments": draw(_ARGUMENTS)}
    return {"id": call_id, "type": "function", "function": function}


def _chat_answers(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    return [
        {
            "role": "tool",
            "tool_call_id": call_id,
            "content": [_text(draw)] if draw(st.booleans()) else draw(words),
        }
        for call_id in ids
    ]


def _chat_begins(draw: st.DrawFn) -> list[Json]:
    role = draw(st.sampled_from(["system", "developer", ""]))
    return [{"role": role, "content": draw(words)}] if role else []


# OpenAI Responses
_INPUT: Sequence[Json] = [
    {"type": "input_image", "image_url": _URL, "detail": "original"},
    {"type": "input_image", "image_url": data_uri(PNG, "image/png"), "detail": "low"},
    {"type": "input_image", "file_id": "file-abc", "detail": "auto"},
    {"type": "input_file", "file_id": "file-abc"},
    {"type": "input_file", "file_url": _URL},
    {"type": "input_file", "filename": "a.pdf", "file_data": data_uri(PDF, "application/pdf")},
]
_ITEMS: Sequence[Json] = [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": MARK},
    {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "weather"},
    },
    {
        "type": "file_search_call",
        "id": "fs_1",
        "status": "completed",
        "queries": ["q"],
        "results": None,
    },
    {
        "type": "image_generation_call",
        "id": "ig_1",
        "status": "completed",
        "result": base64(PNG),
    },
    {
        "type": "code_interpreter_call",
        "id": "ci_1",
        "status": "completed",
        "code": "1+1",
        "container_id": "cntr_1",
        "outputs": None,
    },
]


def _input_text(draw: st.DrawFn) -> Json:
    return {"type": "input_text", "text": draw(words)}


def _responses_user(draw: st.DrawFn) -> Json:
    typed: Json = {"type": "message"} if draw(st.booleans()) else {}
    if draw(st.booleans()):
        return {**typed, "role": "user", "content": draw(words)}
    return {**typed, "role": "user", "content": [_input_text(draw), *draw(_some(_INPUT))]}


def _responses_assistant(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    items = [*draw(_some(_ITEMS))]
    part = {"type": "output_text", "text": draw(words), "annotations": []}
    output = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    items.append({**output, "content": [part]})
    items += (
        {"type": "custom_tool_call", "call_id": call_id, "name": "sql", "input": draw(words)}
        if call_id.endswith("1")
        else {
            "type": "function_call",
            "id": "fc_1",
            "call_id": call_id,
            "name": "f",
            "arguments": draw(_ARGUMENTS),
            "status": "completed",
        }
        for call_id in ids
    )
    return items


def _responses_answers(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    return [
        {
            "type": f"{'custom_tool' if call_id.endswith('1') else 'function'}_call_output",
            "call_id": call_id,
            "output": [_input_text(draw), *draw(_some(_INPUT))]
            if draw(st.booleans())
            else draw(words),
        }
        for call_id in ids
    ]


def _responses_begins(draw: st.DrawFn) -> list[Json]:
    if draw(st.booleans()):
        return [{"type": "compaction", "id": "cmp_1", "encrypted_content": MARK}]
    return [{"role": "developer", "content": draw(words)}] if draw(st.booleans()) else []


# Anthropic
_PDF_SOURCE = {"type": "base64", "media_type": "application/pdf", "data": base64(PDF)}
_PNG_SOURCE = {"type": "base64", "media_type": "image/png", "data": base64(PNG)}
_BIG = {"type": "url", "url": _URL}
_SHOWN: Sequence[Json] = [
    {"type": "image", "source": _BIG},
    {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
    {"type": "document", "source": _PDF_SOURCE, "title": "T", "context": "ctx"},
    {"type": "document", "source": _PDF_SOURCE, "citations": {"enabled": True}},
    {"type": "document", "source": {"type": "file", "file_id": "file_1"}, **_CACHED},
    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Plain."}},
    {
        "type": "document",
        "source": {"type": "content", "content": [{"type": "text", "text": "Inside."}]},
    },
    {
        "type": "search_result",
        "source": "https://a.example",
        "title": "A",
        "content": [{"type": "text", "text": "Found."}],
    },
]
_SERVED: Sequence[list[Json]] = [
    [{"type": "thinking", "thinking": "Hm.", "signature": MARK}],
    [{"type": "redacted_thinking", "data": MARK}],
    [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"q": "w"}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "srvtoolu_1",
            "content": [
                {
                    "type": "web_search_result",
                    "url": "https://a.example/w",
                    "title": "W",
                    "encrypted_content": MARK,
                }
            ],
        },
    ],
    [],
]


def _anthropic_user(draw: st.DrawFn) -> Json:
    if draw(st.booleans()):
        return {"role": "user", "content": draw(words)}
    marked = _CACHED if draw(st.booleans()) else {}
    return {"role": "user", "content": [*draw(_some(_SHOWN)), _text(draw) | marked]}


def _anthropic_assistant(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    if not ids and draw(st.booleans()):
        return [{"role": "assistant", "content": draw(words)}]
    uses = [
        {"type": "tool_use", "id": call_id, "name": "f", "input": draw(_OBJECTS)} for call_id in ids
    ]
    content = [*draw(st.sampled_from(_SERVED)), _text(draw), *uses]
    return [{"role": "assistant", "content": content}]


def _anthropic_answers(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    results: list[Json] = []
    for call_id in ids:
        result: Json = {"type": "tool_result", "tool_use_id": call_id}
        match draw(st.sampled_from(["text", "blocks", "nothing", "error"])):
            case "text":
                result["content"] = draw(words)
            case "blocks":
                result["content"] = [_text(draw), *draw(_some(_SHOWN))]
            case "error":
                result |= {"content": [_text(draw)], "is_error": True}
        results.append(result)
    further = [_text(draw)] if draw(st.booleans()) else []
    return [{"role": "user", "content": [*results, *further]}]


# Gemini
_PARTS: Sequence[Json] = [
    {"inlineData": {"mimeType": "application/pdf", "data": base64(PDF)}},
    {"inlineData": {"mimeType": "image/png", "data": base64(PNG)}},
    {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://bucket/a.mp4"}},
    {
        "fileData": {
            "mimeType": "application/pdf",
            "fileUri": "https://generativelanguage.googleapis.com/v1beta/files/abc",
        }
    },
]
_MADE: Sequence[Json] = [
    {"text": "Hm.", "thought": True},
    {"executableCode": {"language": "PYTHON", "code": "1+1"}},
    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
    {"inlineData": {"mimeType": "image/png", "data": base64(PNG)}},
    {"text": "Signed.", "thoughtSignature": MARK},
]


def _gemini_user(draw: st.DrawFn) -> Json:
    return {"role": "user", "parts": [{"text": draw(words)}, *draw(_some(_PARTS))]}


def _gemini_assistant(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    named = draw(st.booleans())
    calls: list[Json] = [
        {
            "functionCall": {
                **({"id": call_id} if named else {}),
                "name": f"f{call_id[-1]}",
                "args": draw(_OBJECTS),
            }
        }
        for call_id in ids
    ]
    if calls:
        calls[0]["thoughtSignature"] = MARK
    return [{"role": "model", "parts": [{"text": draw(words)}, *draw(_some(_MADE)), *calls]}]


def _gemini_answers(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    parts = [
        {"functionResponse": {"name": f"f{identifier[-1]}", "response": {"output": draw(words)}}}
        for identifier in ids
    ]
    return [{"role": "user", "parts": parts}]


# Bedrock
_POINT = {"cachePoint": {"type": "default"}}
_CONTENT: Sequence[Json] = [
    {"image": {"format": "png", "source": {"bytes": base64(PNG)}}},
    {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://bucket/a.mp4"}}}},
    {"guardContent": {"text": {"text": "Guarded."}}},
]


def _bedrock_user(draw: st.DrawFn) -> Json:
    content: list[Json] = [{"text": draw(words)}, *draw(_some(_CONTENT))]
    if draw(st.booleans()):
        content.append(_POINT)
    return {"role": "user", "content": content}


def _bedrock_assistant(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    thought = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": MARK}}}
    thoughts = [thought] if draw(st.booleans()) else []
    uses = [
        {"toolUse": {"toolUseId": call_id, "name": "f", "input": draw(_OBJECTS)}} for call_id in ids
    ]
    return [{"role": "assistant", "content": [*thoughts, {"text": draw(words)}, *uses]}]


def _bedrock_answers(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    content: list[Json] = [
        {
            "toolResult": {
                "toolUseId": call_id,
                "content": draw(
                    st.sampled_from([[{"text": "Done."}], [{"json": {"n": 1}}], [_CONTENT[0]]])
                ),
                **({"status": "success"} if draw(st.booleans()) else {}),
            }
        }
        for call_id in ids
    ]
    return [{"role": "user", "content": content}]


# Frameworks
_LC_BLOCKS: Sequence[Json] = [
    {"type": "image", "url": _URL, "mime_type": "image/png"},
    {"type": "image", "base64": base64(PNG), "mime_type": "image/png"},
    {"type": "file", "file_id": "file-abc"},
]


def _langchain_user(draw: st.DrawFn) -> Json:
    content: Any = draw(words)
    if draw(st.booleans()):
        content = [_text(draw), *draw(_some(_LC_BLOCKS))]
    return {"type": "human", "content": content}


def _langchain_assistant(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    message: Json = {"type": "ai", "content": draw(words)}
    if draw(st.booleans()):
        thought = {"type": "thinking", "thinking": "Hm.", "signature": MARK}
        message["content"] = [thought, _text(draw)]
        message["response_metadata"] = {"model_provider": "anthropic"}
    if ids:
        message["tool_calls"] = [
            {"name": "f", "args": draw(_OBJECTS), "id": call_id, "type": "tool_call"}
            for call_id in ids
        ]
    return [message]


def _langchain_answers(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    return [
        {"type": "tool", "tool_call_id": call_id, "content": draw(words), "status": "success"}
        for call_id in ids
    ]


_UI_PARTS: Sequence[Json] = [
    {"type": "image", "image": base64(PNG), "mediaType": "image/png"},
    {"type": "file", "data": base64(PDF), "mediaType": "application/pdf", "filename": "a.pdf"},
]


def _vercel_user(draw: st.DrawFn) -> Json:
    if draw(st.booleans()):
        return {"role": "user", "content": draw(words)}
    return {"role": "user", "content": [_text(draw), *draw(_some(_UI_PARTS))]}


def _vercel_assistant(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    if not ids and draw(st.booleans()):
        return [{"role": "assistant", "content": draw(words)}]
    signed = {"providerOptions": {"anthropic": {"signature": MARK}}}
    thoughts = [{"type": "reasoning", "text": "Hm.", **signed}] if draw(st.booleans()) else []
    calls = [
        {"type": "tool-call", "toolCallId": call_id, "toolName": "f", "input": draw(_OBJECTS)}
        for call_id in ids
    ]
    return [{"role": "assistant", "content": [*thoughts, _text(draw), *calls]}]


def _vercel_answers(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    results = [
        {
            "type": "tool-result",
            "toolCallId": call_id,
            "toolName": "f",
            "output": draw(
                st.sampled_from(
                    [
                        {"type": "text", "value": "Done."},
                        {"type": "json", "value": {"n": 1}},
                        {"type": "error-text", "value": "No."},
                    ]
                )
            ),
        }
        for call_id in ids
    ]
    return [{"role": "tool", "content": results}]


_MCP_BLOCKS: Sequence[Json] = [
    {"type": "text", "text": "Hi."},
    {"type": "image", "data": base64(PNG), "mimeType": "image/png"},
    {"type": "resource_link", "uri": "ui://a/b", "name": "app", "_meta": {"x": 1}},
    {"type": "resource", "resource": {"uri": "file:///srv/a.env", "text": "A=1"}},
]


def _mcp_user(draw: st.DrawFn) -> Json:
    return {"role": "user", "content": draw(st.sampled_from(_MCP_BLOCKS))}


def _mcp_assistant(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    assistant_message: Json = {"role": "assistant", "content": draw(st.sampled_from(_MCP_BLOCKS))}
    if not ids:
        return [assistant_message]
    uses = [
        {"type": "tool_use", "id": call_id, "name": "f", "input": draw(_OBJECTS)} for call_id in ids
    ]
    return [{"role": "assistant", "content": uses}]


def _mcp_answers(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    results = [
        {
            "type": "tool_result",
            "toolUseId": call_id,
            "content": [draw(st.sampled_from(_MCP_BLOCKS))],
        }
        for call_id in ids
    ]
    return [{"role": "user", "content": results}]


HOMES: dict[str, HomeDialect] = {
    "openai-chat": HomeDialect(_chat_user, _chat_assistant, _chat_answers, _chat_begins),
    "openai-responses": HomeDialect(
        _responses_user, _responses_assistant, _responses_answers, _responses_begins
    ),
    "anthropic": HomeDialect(_anthropic_user, _anthropic_assistant, _anthropic_answers),
    "gemini": HomeDialect(_gemini_user, _gemini_assistant, _gemini_answers),
    "bedrock": HomeDialect(_bedrock_user, _bedrock_assistant, _bedrock_answers),
    "langchain": HomeDialect(_langchain_user, _langchain_assistant, _langchain_answers),
    "vercel": HomeDialect(_vercel_user, _vercel_assistant, _vercel_answers),
    "mcp": HomeDialect(_mcp_user, _mcp_assistant, _mcp_answers),
}
