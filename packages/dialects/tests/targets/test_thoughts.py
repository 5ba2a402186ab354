"""Thoughts are rendered for the model that wrote them, and for no other known model."""

from typing import Any

import pytest

from pagefault_dialects import RenderedMessages, render
from pagefault_dialects.messages.reading import read_messages
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.targets.thoughts import is_same_model

Json = dict[str, Any]
_THOUGHT: Json = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
_REASONING: Json = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2ln"}
_SIGNED_CALL: Json = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2ln"}
_HISTORIES: dict[str, list[Json]] = {
    "anthropic": [
        {"role": "user", "content": "Look."},
        {
            "role": "assistant",
            "model": "one-5",
            "content": [_THOUGHT, {"type": "text", "text": "x"}],
        },
        {"role": "user", "content": "Go on."},
    ],
    "openai-compat": [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "model": "one-5", "content": "x", "reasoning_content": "c2ln"},
        {"role": "user", "content": "Go on."},
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "Look."}]},
        {"role": "model", "model": "one-5", "parts": [_SIGNED_CALL]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"n": 1}}}]},
    ],
}


@pytest.mark.parametrize("target", _HISTORIES)
@pytest.mark.parametrize("model", ["one-5", "one-5-20261001", "provider/one-5", None])
def test_thought_is_kept_for_its_model_and_for_one_that_is_unknown(
    target: str, model: str | None
) -> None:
    rendered = _render_for(target, model)
    assert "c2ln" in str(rendered.messages)
    assert rendered.loss == ()


@pytest.mark.parametrize("target", _HISTORIES)
def test_thought_is_left_out_for_another_model_with_an_entry_of_loss(target: str) -> None:
    rendered = _render_for(target, "two-5")
    assert "c2ln" not in str(rendered.messages)
    assert [(item.code, item.to) for item in rendered.loss] == [("reasoning", "nothing")]


def test_message_without_thoughts_is_unchanged_for_another_model_too() -> None:
    answer = {"role": "assistant", "model": "one-5", "content": [{"type": "text", "text": "x"}]}
    history = [{"role": "user", "content": "Look."}, answer, {"role": "user", "content": "Go on."}]
    rendered = render(read_messages(history).turns, "anthropic", RenderOptions(model="two-5"))
    del answer["model"]
    assert (rendered.messages, rendered.loss) == (history, ())


def test_thought_of_an_unknown_model_is_kept() -> None:
    history = [{"role": "user", "content": "Look."}, _REASONING]
    options = RenderOptions(model="two-5")
    rendered = render(read_messages(history).turns, "openai-responses", options)
    assert (rendered.messages, rendered.loss) == (history, ())


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
        ("claude-sonnet-4-5@20250929", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("claude-3-5-sonnet-latest", "anthropic/claude-3-5-sonnet-20241022"),
        ("gpt-5", "gpt-5-2025-08-07"),
        ("models/gemini-2.0-flash", "gemini-2.0-flash-001"),
    ],
)
def test_snapshot_is_the_model_it_is_of(name: str, other: str) -> None:
    assert is_same_model(name, other)
    assert is_same_model(other, name)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("claude-sonnet-4-5", "claude-sonnet-4-1"),
        ("gpt-5", "gpt-5-mini"),
        ("gpt-4.1", "gpt-4"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06"),
        ("", "gpt-5"),
    ],
)
def test_other_versions_are_other_models(name: str, other: str) -> None:
    assert not is_same_model(name, other)
    assert not is_same_model(other, name)


def _render_for(target: str, model: str | None) -> RenderedMessages:
    turns = read_messages(_HISTORIES[target]).turns
    return render(turns, target, RenderOptions(model=model))
