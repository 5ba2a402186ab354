"""Findings that need more than a history and its rules: bytes of a body, blocks of providers."""

import json
from collections.abc import Mapping
from typing import Any, cast

import httpx
import pytest

from tests.kit import media
from tests.kit.media import b64

pytestmark = pytest.mark.engines("embedded")

Json = dict[str, Any]

PICTURE = b64(media.png(70, 64, noise=True))
PDF = b64(media.pdf())


def diagnosis(client: httpx.Client, body: object, **query: str) -> Json:
    """Return the answer of the doctor; `body` is JSON text, or a value."""
    content = body if isinstance(body, str) else json.dumps(body)
    headers = {"content-type": "application/json"}
    query = {"apply": "true", **query}
    answer = client.post("/api/doctor", content=content, params=query, headers=headers)
    assert answer.status_code == 200, answer.text[:500]
    return cast("Json", answer.json())


def places(report: Json) -> list[tuple[str, str, Any]]:
    """Return the rule, the place and the value of each finding."""
    return [
        (finding["rule"], finding["pointer"], finding.get("actual"))
        for finding in report["findings"]
    ]


def test_half_a_surrogate_is_named_where_it_stands(client: httpx.Client) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "a \U0001f98a is whole"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "text with \ud83d half"},
    ]
    report = diagnosis(client, {"messages": messages})
    assert places(report) == [("half-surrogate", "/messages/2/content", "text with \ufffd half")]
    assert report["messages"][2]["content"] == "text with \ufffd half"


def test_half_a_surrogate_in_arguments_is_named(client: httpx.Client) -> None:
    function = {"name": "f", "arguments": json.dumps({"text": "\ud83d"})}
    call = {"id": "a", "type": "function", "function": function}
    answer = {"role": "tool", "tool_call_id": "a", "content": "Done."}
    history = [{"role": "assistant", "content": None, "tool_calls": [call]}, answer]
    report = diagnosis(client, history)
    assert [finding["rule"] for finding in report["findings"]] == ["half-surrogate"]
    assert report["findings"][0]["callId"] == "a"


def test_repeated_key_is_named(client: httpx.Client) -> None:
    report = diagnosis(client, '[{"role": "user", "content": "Hi.", "content": "Ho."}]')
    assert places(report) == [("repeated-key", "/0", "content")]
    assert report["messages"] == [{"role": "user", "content": "Ho."}]


def test_pixels_of_an_image_that_is_too_wide_are_counted(client: httpx.Client) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": b64(media.png(9_000, 20))}
    content = [{"type": "image", "source": source}]
    report = diagnosis(client, [{"role": "user", "content": content}])
    assert [(finding["limit"], finding["actual"]) for finding in report["findings"]] == [
        (8_000, 9_000)
    ]


def test_open_call_is_named_by_its_message_and_its_id(client: httpx.Client) -> None:
    calls = [
        {"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for name in ("a", "b")
    ]
    history = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "A"},
    ]
    report = diagnosis(client, history)
    [finding] = report["findings"]
    assert (finding["rule"], finding["pointer"], finding["callId"]) == ("no-answer", "/1", "b")
    assert [message.get("tool_call_id") for message in report["messages"]] == [None, None, "a", "b"]


def test_answer_that_is_given_twice_is_left_out_by_its_id(client: httpx.Client) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    answer = {"role": "tool", "tool_call_id": "a", "content": "r"}
    history = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        *(answer, answer, {"role": "user", "content": "k"}),
    ]
    report = diagnosis(client, history)
    named = [(finding["rule"], finding["callId"]) for finding in report["findings"]]
    assert named == [("duplicate-answer", "a")]
    assert report["messages"] == [*history[:3], history[4]]


_SEARCH: list[Json] = [
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "w"}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "s1",
        "content": [{"type": "web_search_result", "url": "https://example.com", "title": "W"}],
    },
    {"type": "text", "text": "Sunny."},
]
_DOCUMENT = {
    "type": "document",
    "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
    "title": "T",
    "context": "From the archive.",
    "citations": {"enabled": True},
}


def _anthropic(*blocks: Json, role: str = "user") -> Json:
    return {"system": "Be kind.", "max_tokens": 9, "messages": _messages(*blocks, role=role)}


def _messages(*blocks: Json, role: str = "user") -> list[Json]:
    first = [{"role": "user", "content": "go"}] if role == "assistant" else []
    last = [{"role": "user", "content": "on"}] if role == "assistant" else []
    return [*first, {"role": role, "content": [*blocks]}, *last]


_GO = {"role": "user", "content": "go"}
OWN: Mapping[str, Json] = {
    "Anthropic's tools": _anthropic(*_SEARCH, role="assistant"),
    "a file of Anthropic's": _anthropic(
        {"type": "document", "source": {"type": "file", "file_id": "file_011A"}}
    ),
    "a document with citations": _anthropic(_DOCUMENT),
    "a search result": _anthropic(
        {
            "type": "search_result",
            "source": "https://example.com",
            "title": "T",
            "content": [{"type": "text", "text": "Words."}],
        }
    ),
    "thinking": _anthropic(
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "Yes."},
        role="assistant",
    ),
    "a file of OpenAI's": {
        "messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "f-1"}}]}]
    },
    "a picture that OpenAI made": {
        "input": [
            _GO,
            {"type": "image_generation_call", "id": "i", "status": "completed", "result": PICTURE},
        ]
    },
    "a compaction of OpenAI's": {
        "input": [{"type": "compaction", "id": "c", "encrypted_content": "gAAA"}, _GO]
    },
    "a file of Google's": {
        "contents": [
            {
                "role": "user",
                "parts": [{"fileData": {"fileUri": "gs://b/v.mp4", "mimeType": "video/mp4"}}],
            }
        ]
    },
    "a video in S3": {
        "messages": [
            {
                "role": "user",
                "content": [
                    {"text": "look"},
                    {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://b/k"}}}},
                ],
            }
        ]
    },
}


@pytest.mark.parametrize("name", OWN)
def test_block_that_only_its_provider_knows_stays(client: httpx.Client, name: str) -> None:
    report = diagnosis(client, OWN[name])
    sent = next(OWN[name][word] for word in ("messages", "input", "contents") if word in OWN[name])
    assert (report["findings"], report["loss"], report["messages"]) == ([], [], sent)


@pytest.mark.parametrize("target", ["openai-compat", "langchain", "vercel", "text"])
@pytest.mark.parametrize("name", OWN)
def test_block_of_one_provider_is_no_json_for_another(
    client: httpx.Client, name: str, target: str
) -> None:
    report = diagnosis(client, OWN[name], target=target)
    assert '{\\"' not in json.dumps(report["messages"])


def test_denial_of_a_call_is_its_result(client: httpx.Client) -> None:
    approval = {"id": "a", "approved": False, "reason": "too expensive"}
    part = {"type": "tool-pay", "toolCallId": "w7", "state": "output-denied", "input": {}}
    parts = [{**part, "approval": approval}]
    history = [_ui("user", "pay"), {"id": "2", "role": "assistant", "parts": parts}]
    report = diagnosis(client, history, target="openai-chat")
    assert report["findings"] == []
    assert report["messages"][-1] == {
        "role": "tool",
        "tool_call_id": "w7",
        "content": "[The tool reported an error.]\n\n[The user denied this call: too expensive]",
    }


def _ui(role: str, text: str) -> Json:
    return {"id": "1", "role": role, "parts": [{"type": "text", "text": text}]}


@pytest.mark.parametrize(
    "medium",
    [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}},
        {"type": "input_image", "image_url": "data:image/png;base64,"},
    ],
    ids=lambda medium: medium["type"],
)
def test_medium_without_bytes_becomes_text(client: httpx.Client, medium: Json) -> None:
    sent = {"role": "user", "content": [{"type": "text", "text": "a"}, medium]}
    report = diagnosis(client, {"messages": [sent]})
    assert places(report) == [("unreadable", "/messages/0/content/1", "no bytes")]
    repaired = report["messages"]
    assert json.dumps(medium) not in json.dumps(repaired)
    again = diagnosis(client, {"messages": repaired}, dialect=report["dialect"])
    assert (again["findings"], again["messages"]) == ([], repaired)
