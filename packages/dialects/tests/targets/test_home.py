"""A history that is rendered for its own dialect is unchanged."""

import json
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packages.dialects.tests.targets.further_homes import EVERY_HOME
from packages.dialects.tests.targets.home_histories import MARK, Json, home_histories
from packages.dialects.tests.targets.resolved_turns import PNG, base64
from pagefault_dialects import render
from pagefault_dialects.json.values import JsonValue, iterate_values
from pagefault_dialects.messages.reading import read_messages
from pagefault_dialects.model.conversation import ComposedTurn, ProviderBlock, is_cache_mark
from pagefault_dialects.targets.table import TARGETS
from pagefault_dialects.turns.record_turns import make_tool_result_turn
from tests.faults.lengths import TIMEOUT_SECONDS, times
from tests.providers import TYPES

pytestmark = pytest.mark.timeout(TIMEOUT_SECONDS)

_EXAMPLES = times(90, 2_000)
_EVERY = pytest.mark.parametrize("target", EVERY_HOME)


@pytest.mark.slow
@_EVERY
@given(data=st.data())
@settings(max_examples=_EXAMPLES)
def test_valid_history_is_rendered_unchanged_for_its_own_dialect(
    target: str, data: st.DataObject
) -> None:
    sent = data.draw(home_histories(EVERY_HOME[target]))
    rendered = render(read_messages(sent).turns, target)
    assert (rendered.messages, rendered.loss) == (sent, ())


@_EVERY
@given(data=st.data())
@settings(max_examples=_EXAMPLES // 3)
def test_generated_history_is_valid_for_its_provider(target: str, data: st.DataObject) -> None:
    TYPES[target](data.draw(home_histories(EVERY_HOME[target])))


@pytest.mark.slow
@_EVERY
@given(data=st.data())
@settings(max_examples=_EXAMPLES // 3)
def test_other_targets_have_no_blocks_of_the_dialect(target: str, data: st.DataObject) -> None:
    sent = data.draw(home_histories(EVERY_HOME[target]))
    turns = read_messages(sent).turns
    for other in TARGETS.keys() - {target}:
        rendered = render(turns, other)
        texts = [*_texts(rendered.messages)]
        assert not [text for text in texts if '{"type"' in text or MARK in text]
        assert _left_out(turns, rendered.messages) <= {finding.pointer for finding in rendered.loss}


def _left_out(turns: Iterable[ComposedTurn], messages: list[JsonValue]) -> set[str]:
    """Return the pointers of provider blocks that are in no message in any form."""
    written = [value for value, _ in iterate_values(messages) if isinstance(value, dict)]
    return {
        item.pointer
        for turn in turns
        for item in turn.items
        if isinstance(item, ProviderBlock)
        # Cache marks have no meaning in other dialects.
        and not is_cache_mark(item)
        and not any(
            form.items() <= value.items() for form in item.forms.values() for value in written
        )
    }


def _texts(value: JsonValue, name: str = "") -> list[str]:
    """Return the texts that a model reads, without arguments and signed values."""
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in _texts(item, key)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item, name)]
    return [value] if isinstance(value, str) and name in _WORDS else []


_WORDS = ("text", "content", "output", "value", "parts")


def _render(messages: list[Json], target: str) -> list[JsonValue]:
    return render(read_messages(messages).turns, target).messages


def test_signature_of_a_call_goes_to_gemini_and_to_its_endpoint_for_clients_of_openai() -> None:
    extra = {"extra_content": {"google": {"thought_signature": "UkVB"}}}
    function = {"name": "f", "arguments": "{}"}
    call = {"id": "c1", "type": "function", "function": function, **extra}
    history = [{"role": "user", "content": "q"}, _calling(call), _ANSWER]
    assert _render(history, "openai-compat")[1] == _calling(call) | {"content": ""}
    parts = _render(history, "gemini")[1]["parts"]
    assert parts[0]["thoughtSignature"] == "UkVB"


def test_thoughts_stay_in_messages_of_compatible_servers_and_nothing_is_null_beside_calls() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    calling = _calling(call) | {"reasoning_content": "I should call f"}
    history = [{"role": "user", "content": "q"}, calling, _ANSWER]
    assert _render(history, "openai-compat")[1] == calling | {"content": ""}


def test_request_has_no_more_than_four_marks_for_the_cache() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    history = [
        {"role": role, "content": [{"type": "text", "text": "Hi.", **mark}]}
        for role in ("user", "assistant") * 3
    ]
    marked = ["cache_control" in message["content"][0] for message in _render(history, "anthropic")]
    assert marked == [False, False, True, True, True, True]


def test_marks_in_results_count_as_well() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    text = {"type": "text", "text": "Hi.", **mark}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [text, text, text], **mark}
    call = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    history: list[Json] = [
        {"role": "user", "content": [text]},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    bare = {"type": "text", "text": "Hi."}
    assert _render(history, "anthropic") == [{"role": "user", "content": [bare]}, *history[1:]]
    history[0]["content"] = [text, text]
    rendered = _render(history, "anthropic")
    assert rendered[0]["content"] == [bare, bare]
    assert rendered[2] == history[2]
    again = [*history, {"role": "assistant", "content": [text]}]
    assert _render(again, "anthropic")[2]["content"][0]["content"] == [bare, text, text]


def test_items_of_one_turn_keep_the_blocks_of_their_provider() -> None:
    history: list[Json] = [
        {"role": "user", "content": "q"},
        {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": _PICTURE},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": MARK},
    ]
    assert _render(history, "openai-responses") == history


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (
            {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://b/k.mp4"}},
            "[fileData: gs://b/k.mp4]",
        ),
        ({"type": "document", "source": {"type": "file", "file_id": "f"}}, "[block: document]"),
        (
            {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://b/k.mp4"}}}},
            "[video: s3://b/k.mp4]",
        ),
    ],
)
def test_file_of_one_provider_is_described_for_others_with_an_entry_of_loss(
    block: Json, words: str
) -> None:
    member = "parts" if "fileData" in block else "content"
    look = {"type": "text", "text": "look"} if "type" in block else {"text": "look"}
    turns = read_messages([{"role": "user", member: [look, block]}]).turns
    rendered = render(turns, "openai-chat")
    assert rendered.messages == [{"role": "user", "content": f"look\n\n{words}"}]
    assert [item.code for item in rendered.loss] == ["no-place"]


@pytest.mark.parametrize(
    ("target", "content", "codes"),
    [
        ("anthropic", [{"type": "document", "source": {"type": "file", "file_id": "f"}}], []),
        ("bedrock", [{"text": "[block: document]"}], ["no-place"]),
    ],
)
def test_file_in_a_result_goes_back_to_its_provider(
    target: str, content: Json, codes: list[str]
) -> None:
    file = {"type": "document", "source": {"type": "file", "file_id": "f"}}
    part = {"type": "text", "text": "[block: document]", "_meta": {"block": file}}
    meta = {"toolName": "look", "toolCallId": "c", "success": True}
    stored = json.dumps({"parts": [part], "resources": [], "meta": meta}).encode()
    result = make_tool_result_turn(stored, origin="/r", audience="assistant")
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    calling = {"role": "assistant", "content": "So.", "tool_calls": [call]}
    call_turns = read_messages([{"role": "user", "content": "Hi."}, calling]).turns
    rendered = render([*call_turns, result], target)
    [answer] = rendered.messages[-1]["content"]
    assert (answer.get("toolResult") or answer)["content"] == content
    assert [item.code for item in rendered.loss] == codes


_LANGCHAIN: Json = {
    "type": "ai",
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": MARK},
        {"type": "text", "text": "I see."},
    ],
    "response_metadata": {"model_provider": "anthropic"},
}
_PYDANTIC_AI: Json = {
    "kind": "response",
    "parts": [
        {
            "part_kind": "thinking",
            "content": "Hm.",
            "signature": MARK,
            "provider_name": "anthropic",
        },
        {"part_kind": "text", "content": "I see."},
    ],
}
_VERCEL: Json = {
    "id": "m1",
    "role": "assistant",
    "parts": [
        {
            "type": "reasoning",
            "text": "Hm.",
            "providerMetadata": {"anthropic": {"signature": MARK}},
        },
        {"type": "text", "text": "I see."},
    ],
}


@pytest.mark.parametrize("message", [_LANGCHAIN, _PYDANTIC_AI, _VERCEL])
def test_signed_thoughts_that_a_framework_carries_go_to_their_provider_alone(message: Json) -> None:
    question = {"role": "user", "content": "q"}
    turns = read_messages([question, message, {"role": "user", "content": "Go on."}]).turns
    thought = {"type": "thinking", "thinking": "Hm.", "signature": MARK}
    rendered = render(turns, "anthropic")
    text = {"type": "text", "text": "I see."}
    assert (rendered.messages[1]["content"], rendered.loss) == ([thought, text], ())
    for other in ("openai-chat", "openai-compat", "openai-responses", "gemini", "bedrock", "mcp"):
        rendered = render(turns, other)
        assert MARK not in str(rendered.messages)
        assert [(item.to, item.code) for item in rendered.loss] == [("nothing", "reasoning")]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            "anthropic",
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "Hm.", "signature": MARK}],
            },
        ),
        ("openai-responses", {"type": "reasoning", "id": "rs_1", "summary": []}),
    ],
)
def test_thought_that_nothing_follows_is_left_out_after_a_user_message(
    target: str, message: Json
) -> None:
    question = {"role": "user", "content": "q"}
    newest = render(read_messages([question, message]).turns, target)
    assert (newest.messages, newest.loss) == ([question, message], ())
    followed = render(read_messages([question, message, question]).turns, target)
    assert followed.messages == [question, question]
    assert [(item.to, item.code) for item in followed.loss] == [("nothing", "reasoning")]


_THOUGHTFUL: dict[str, list[Json]] = {
    "ollama": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "Yes.", "thinking": "Hm."},
    ],
    "pydantic-ai": [
        {"parts": [{"content": "q", "part_kind": "user-prompt"}], "kind": "request"},
        {
            "parts": [
                {"content": "Hm.", "part_kind": "thinking", "signature": MARK},
                {"content": "Yes.", "part_kind": "text"},
            ],
            "kind": "response",
        },
    ],
    "otel-genai": [
        {"role": "user", "parts": [{"type": "text", "content": "q"}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "Hm."},
                {"type": "text", "content": "Yes."},
            ],
        },
    ],
}


@pytest.mark.parametrize("target", _THOUGHTFUL)
def test_thoughts_go_back_to_the_dialect_they_came_in(target: str) -> None:
    rendered = render(read_messages(_THOUGHTFUL[target]).turns, target)
    assert (rendered.messages, rendered.loss) == (_THOUGHTFUL[target], ())


def _calling(call: Json) -> Json:
    return {"role": "assistant", "content": None, "tool_calls": [call]}


_PICTURE = base64(PNG)
_ANSWER: Json = {"role": "tool", "tool_call_id": "c1", "content": "r"}


_UNDECODABLE: dict[str, Json] = {
    "anthropic": {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "%%"},
    },
    "openai-chat": {"type": "image_url", "image_url": {"url": "data:image/png;base64,%%"}},
    "gemini": {"inlineData": {"mimeType": "image/png", "data": "%%"}},
    "bedrock": {"image": {"format": "png", "source": {"bytes": "%%"}}},
    "mcp": {"type": "image", "mimeType": "image/png", "data": "%%"},
}


@pytest.mark.parametrize("data", ["%%", "AAAA%", " "])
@pytest.mark.parametrize("target", _UNDECODABLE)
def test_undecodable_medium_is_described_in_its_own_dialect_too(target: str, data: str) -> None:
    block = json.loads(json.dumps(_UNDECODABLE[target]).replace("%%", data))
    content: Json = {"role": "user", "parts" if target == "gemini" else "content": [block]}
    written = json.dumps(_render([content], target))
    assert "data that could not be decoded]" in written
