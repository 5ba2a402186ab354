"""Generated histories of the targets whose messages are always written from turns."""

from typing import Any

from hypothesis import strategies as st

from packages.dialects.tests.targets.home_histories import HOMES, MARK, HomeDialect, Json, words
from packages.dialects.tests.targets.resolved_turns import PDF, PNG, base64, data_uri

_URL = "https://files.example/a.png"
_ARGUMENTS: st.SearchStrategy[Json] = st.sampled_from([{}, {"n": 1}, {"n": [1, "ä"], "o": None}])


def _maybe(draw: st.DrawFn, members: Json) -> Json:
    return members if draw(st.booleans()) else {}


# Servers with OpenAI's dialect
def _image(draw: st.DrawFn) -> Json:
    url = draw(st.sampled_from([_URL, data_uri(PNG, "image/png")]))
    detail = draw(st.sampled_from(["low", "high", "auto"]))
    return {"type": "image_url", "image_url": {"url": url, "detail": detail}}


def _content(draw: st.DrawFn) -> str | list[Json]:
    if draw(st.booleans()):
        return draw(words)
    return [{"type": "text", "text": draw(words)}, _image(draw)]


def _compat_user(draw: st.DrawFn) -> Json:
    return {"role": "user", "content": _content(draw)}


def _compat_assistant(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    message: Json = {"role": "assistant", "content": draw(words)}
    message |= _maybe(draw, {"reasoning_content": draw(words)})
    message |= _maybe(draw, {"reasoning_details": [{"type": "reasoning.encrypted", "data": MARK}]})
    if ids:
        message["content"] = draw(st.sampled_from(["", message["content"]]))
        message["tool_calls"] = [_compat_call(draw, call_id) for call_id in ids]
    return [message]


def _compat_call(draw: st.DrawFn, call_id: str) -> Json:
    arguments = draw(st.sampled_from(["{}", '{"n":1}', '{"n":[1,"ä"]}']))
    signed = {"extra_content": {"google": {"thought_signature": MARK}}}
    function = {"name": "f", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function, **_maybe(draw, signed)}


def _compat_answers(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    return [{"role": "tool", "tool_call_id": call_id, "content": _content(draw)} for call_id in ids]


# Mistral
def _mistral_user(draw: st.DrawFn) -> Json:
    content: Any = draw(words)
    if draw(st.booleans()):
        image = {
            "type": "image_url",
            "image_url": draw(st.sampled_from([_URL, data_uri(PNG, "image/png")])),
        }
        document = {
            "type": "document_url",
            "document_url": data_uri(PDF, "application/pdf"),
            "document_name": "a.pdf",
        }
        content = [{"type": "text", "text": content}, draw(st.sampled_from([image, document]))]
    return {"role": "user", "content": content}


def _mistral_id(call_id: str) -> str:
    return f"{call_id.replace('_', ''):0<9}"


def _mistral_assistant(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    message: Json = {"role": "assistant", "content": draw(words)}
    if draw(st.booleans()):
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
        message["content"] = [thought, {"type": "text", "text": message["content"]}]
    if ids:
        message["tool_calls"] = [
            {
                "id": _mistral_id(identifier),
                "type": "function",
                "function": {"name": "f", "arguments": '{"n":1}'},
            }
            for identifier in ids
        ]
    return [message]


def _mistral_answers(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    return [
        {"role": "tool", "tool_call_id": _mistral_id(call_id), "name": "f", "content": draw(words)}
        for call_id in ids
    ]


# Ollama
def _ollama_user(draw: st.DrawFn) -> Json:
    return {"role": "user", "content": draw(words), **_maybe(draw, {"images": [base64(PNG)]})}


def _ollama_assistant(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    message: Json = {"role": "assistant", "content": draw(words)}
    message |= _maybe(draw, {"thinking": draw(words)})
    if ids:
        message["tool_calls"] = [
            {"function": {"name": f"f{identifier[-1]}", "arguments": draw(_ARGUMENTS)}}
            for identifier in ids
        ]
    return [message]


def _ollama_answers(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    return [
        {"role": "tool", "content": draw(words), "tool_name": f"f{call_id[-1]}"} for call_id in ids
    ]


# Pydantic AI
def _pydantic_user(draw: st.DrawFn) -> Json:
    content: Any = draw(words)
    if draw(st.booleans()):
        image = {"data": base64(PNG), "kind": "binary", "media_type": "image/png"}
        content = [content, image]
    return {"parts": [{"content": content, "part_kind": "user-prompt"}], "kind": "request"}


def _pydantic_assistant(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    thought = {"content": "Hm.", "part_kind": "thinking"}
    signed = thought | {"signature": MARK, "provider_name": "openai"}
    parts: list[Json] = draw(st.sampled_from([[], [thought], [signed]]))
    calls = [
        {
            "tool_name": "f",
            "args": draw(_ARGUMENTS),
            "tool_call_id": call_id,
            "part_kind": "tool-call",
        }
        for call_id in ids
    ]
    text_part = {"content": draw(words), "part_kind": "text"}
    return [{"parts": [*parts, text_part, *calls], "kind": "response"}]


def _pydantic_answers(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    parts = [
        {
            "tool_name": "f",
            "content": draw(words),
            "tool_call_id": call_id,
            "outcome": draw(st.sampled_from(["success", "failed"])),
            "part_kind": "tool-return",
        }
        for call_id in ids
    ]
    return [{"parts": parts, "kind": "request"}]


# OpenTelemetry
def _otel_user(draw: st.DrawFn) -> Json:
    image = {"type": "blob", "mime_type": "image/png", "modality": "image", "content": base64(PNG)}
    parts = [{"type": "text", "content": draw(words)}, *([image] if draw(st.booleans()) else [])]
    return {"role": "user", "parts": parts}


def _otel_assistant(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    thought = {"type": "reasoning", "content": "Hm."}
    calls = [
        {"type": "tool_call", "id": call_id, "name": "f", "arguments": draw(_ARGUMENTS)}
        for call_id in ids
    ]
    thoughts = [thought] if draw(st.booleans()) else []
    text_part = {"type": "text", "content": draw(words)}
    return [{"role": "assistant", "parts": [*thoughts, text_part, *calls]}]


def _otel_answers(draw: st.DrawFn, ids: list[str]) -> list[Json]:
    return [
        {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": call_id, "response": draw(words)}],
        }
        for call_id in ids
    ]


EVERY_HOME: dict[str, HomeDialect] = {
    **HOMES,
    "vercel-6": HOMES["vercel"],
    "openai-compat": HomeDialect(_compat_user, _compat_assistant, _compat_answers),
    "mistral": HomeDialect(_mistral_user, _mistral_assistant, _mistral_answers),
    "ollama": HomeDialect(_ollama_user, _ollama_assistant, _ollama_answers),
    "pydantic-ai": HomeDialect(_pydantic_user, _pydantic_assistant, _pydantic_answers),
    "otel-genai": HomeDialect(_otel_user, _otel_assistant, _otel_answers),
}
"""The dialects of all targets except `text`, which has no messages."""
