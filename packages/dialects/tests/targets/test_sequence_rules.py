"""The rules of order and completeness of each target, and histories that break them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packages.dialects.tests.context.long_histories import long_histories
from packages.dialects.tests.targets.histories import histories, options, render
from packages.dialects.tests.targets.home_histories import HOMES, home_histories
from packages.dialects.tests.targets.test_renderings import EVERY, EXAMPLES, close_calls
from pagefault_dialects.model.conversation import ComposedTurn
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.targets.sequence_rules import SEQUENCE_RULES, find_sequence_faults
from pagefault_dialects.targets.table import TARGETS

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Spelling:
    """The spelling of texts, calls and answers for a target."""

    text_messages: Callable[[str, str], list[Json]]
    calls: Callable[..., list[Json]]
    answers: Callable[..., list[Json]]


def _chat_call(call_id: str) -> Json:
    return {"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}


_CHAT = Spelling(
    text_messages=lambda side, text: [{"role": side, "content": text}],
    calls=lambda *ids: [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [_chat_call(call_id) for call_id in ids],
        }
    ],
    answers=lambda *ids: [
        {"role": "tool", "tool_call_id": call_id, "name": "f", "content": "r"} for call_id in ids
    ],
)
_RESPONSES = Spelling(
    text_messages=_CHAT.text_messages,
    calls=lambda *ids: [
        {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}"}
        for call_id in ids
    ],
    answers=lambda *ids: [
        {"type": "function_call_output", "call_id": call_id, "output": "r"} for call_id in ids
    ],
)
_ANTHROPIC = Spelling(
    text_messages=_CHAT.text_messages,
    calls=lambda *ids: [
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": call_id, "name": "f", "input": {}} for call_id in ids
            ],
        }
    ],
    answers=lambda *ids: [
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": call_id} for call_id in ids],
        }
    ],
)
_GEMINI = Spelling(
    text_messages=lambda side, text: [
        {"role": {"assistant": "model"}.get(side, side), "parts": [{"text": text}]}
    ],
    calls=lambda *ids: [
        {
            "role": "model",
            "parts": [
                {"functionCall": {"id": call_id, "name": "f", "args": {}}, "thoughtSignature": "s"}
                for call_id in ids
            ],
        }
    ],
    answers=lambda *ids: [
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": identifier, "name": "f", "response": {}}}
                for identifier in ids
            ],
        }
    ],
)
_BEDROCK = Spelling(
    text_messages=lambda side, text: [{"role": side, "content": [{"text": text}]}],
    calls=lambda *ids: [
        {
            "role": "assistant",
            "content": [
                {"toolUse": {"toolUseId": call_id, "name": "f", "input": {}}} for call_id in ids
            ],
        }
    ],
    answers=lambda *ids: [
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": call_id, "content": []}} for call_id in ids],
        }
    ],
)
_OLLAMA = Spelling(
    text_messages=_CHAT.text_messages,
    calls=lambda *ids: [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"function": {"name": identifier, "arguments": {}}} for identifier in ids
            ],
        }
    ],
    answers=lambda *ids: [
        {"role": "tool", "tool_name": call_id, "content": "r"} for call_id in ids
    ],
)
_MCP = Spelling(
    text_messages=lambda side, text: [{"role": side, "content": {"type": "text", "text": text}}],
    calls=_ANTHROPIC.calls,
    answers=lambda *ids: [
        {
            "resultType": "complete",
            "content": [],
            "_meta": {"pagefault/toolCallId": call_id, "pagefault/toolName": "f"},
        }
        for call_id in ids
    ],
)
_LANGCHAIN = Spelling(
    text_messages=lambda side, text: [
        {"type": {"user": "human", "assistant": "ai"}.get(side, side), "content": text}
    ],
    calls=lambda *ids: [
        {
            "type": "ai",
            "content": "",
            "tool_calls": [
                {"name": "f", "args": {}, "id": call_id, "type": "tool_call"} for call_id in ids
            ],
        }
    ],
    answers=lambda *ids: [
        {"type": "tool", "tool_call_id": call_id, "name": "f", "content": "r"} for call_id in ids
    ],
)
_VERCEL = Spelling(
    text_messages=_CHAT.text_messages,
    calls=lambda *ids: [
        {
            "role": "assistant",
            "content": [
                {"type": "tool-call", "toolCallId": call_id, "toolName": "f", "input": {}}
                for call_id in ids
            ],
        }
    ],
    answers=lambda *ids: [
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": call_id,
                    "toolName": "f",
                    "output": {"type": "text", "value": "r"},
                }
                for call_id in ids
            ],
        }
    ],
)
_PYDANTIC_AI = Spelling(
    text_messages=lambda side, text: [
        {"kind": "response", "parts": [{"part_kind": "text", "content": text}]}
        if side == "assistant"
        else {"kind": "request", "parts": [{"part_kind": f"{side}-prompt", "content": text}]}
    ],
    calls=lambda *ids: [
        {
            "kind": "response",
            "parts": [
                {"part_kind": "tool-call", "tool_name": "f", "args": {}, "tool_call_id": call_id}
                for call_id in ids
            ],
        }
    ],
    answers=lambda *ids: [
        {
            "kind": "request",
            "parts": [
                {
                    "part_kind": "tool-return",
                    "tool_name": "f",
                    "content": "",
                    "tool_call_id": call_id,
                }
                for call_id in ids
            ],
        }
    ],
)
_OTEL = Spelling(
    text_messages=lambda side, text: [{"role": side, "parts": [{"type": "text", "content": text}]}],
    calls=lambda *ids: [
        {
            "role": "assistant",
            "parts": [
                {"type": "tool_call", "id": call_id, "name": "f", "arguments": {}}
                for call_id in ids
            ],
        }
    ],
    answers=lambda *ids: [
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": ""}]}
        for call_id in ids
    ],
)
SPELLINGS: Mapping[str, Spelling] = {
    "openai-compat": _CHAT,
    "openai-chat": _CHAT,
    "openai-responses": _RESPONSES,
    "anthropic": _ANTHROPIC,
    "gemini": _GEMINI,
    "bedrock": _BEDROCK,
    "mistral": _CHAT,
    "ollama": _OLLAMA,
    "mcp": _MCP,
    "langchain": _LANGCHAIN,
    "vercel": _VERCEL,
    "vercel-6": _VERCEL,
    "pydantic-ai": _PYDANTIC_AI,
    "otel-genai": _OTEL,
}
_EACH = pytest.mark.parametrize("target", SPELLINGS)

# Nine letters, as Mistral requires.
A, B = "aaaaaaaaa", "bbbbbbbbb"


def _history(target: str, *acts: str) -> list[Json]:
    """Write a history: `user`, `assistant`, `call a b`, `answer a`."""
    spelling, messages = SPELLINGS[target], list[Json]()
    for act in acts:
        does, *names = act.split()
        ids = [{"a": A, "b": B}[name] for name in names]
        if does == "call":
            messages += spelling.calls(*ids)
        elif does == "answer":
            messages += spelling.answers(*ids)
        else:
            messages += spelling.text_messages(does, "Hello.")
    return messages


def _broken(messages: Sequence[Any], target: str) -> list[tuple[str, str]]:
    found = find_sequence_faults(messages, target)
    return [(finding.rule, finding.pointer) for finding in found]


def _rules(target: str, *acts: str) -> list[str]:
    return [
        sequence_fault.rule
        for sequence_fault in find_sequence_faults(_history(target, *acts), target)
    ]


def test_every_target_has_rules() -> None:
    assert SEQUENCE_RULES.keys() == TARGETS.keys()


@_EACH
def test_history_with_calls_of_their_answers_is_taken(target: str) -> None:
    acts = ("user", "call a b", "answer a b", "assistant", "user", "assistant")
    assert _rules(target, *acts) == []


@_EACH
def test_calls_that_are_open_need_no_answer_at_the_end(target: str) -> None:
    messages = _history(target, "user", "call a b", "answer a")
    assert find_sequence_faults(messages, target, open_calls=[B]) == []
    assert [sequence_fault.rule for sequence_fault in find_sequence_faults(messages, target)] == [
        "no-answer"
    ]


@_EACH
def test_call_is_answered_before_the_next_message(target: str) -> None:
    assert _rules(target, "user", "call a", "user", "assistant") == ["no-answer"]


@_EACH
def test_answer_has_a_call(target: str) -> None:
    # Mistral requires a message of the assistant in between.
    assert _rules(target, "user", "assistant", "answer a", "assistant") == ["no-call"]


@_EACH
def test_answer_stands_directly_behind_its_call(target: str) -> None:
    acts = ("user", "call a", "assistant", "user", "assistant", "answer a", "assistant")
    if SEQUENCE_RULES[target].has_ids:
        expected = ["no-answer", "late-answer"]
    else:
        expected = ["no-answer", "no-call"]
    assert [rule for rule in _rules(target, *acts) if rule != "same-side-twice"] == expected


@_EACH
def test_call_is_answered_once(target: str) -> None:
    expected = "duplicate-answer" if SEQUENCE_RULES[target].has_ids else "no-call"
    assert _rules(target, "user", "call a", "answer a a", "assistant") == [expected]


@_EACH
def test_answer_does_not_stand_before_its_call(target: str) -> None:
    acts = ("user", "assistant", "answer a", "call a", "user")
    first = "wrong-order" if SEQUENCE_RULES[target].has_ids else "no-call"
    assert _rules(target, *acts) == [first, "no-answer"]


@_EACH
def test_no_two_calls_have_the_same_id(target: str) -> None:
    acts = ("user", "call a", "answer a", "call a", "answer a", "assistant")
    expected = ["duplicate-id"] if SEQUENCE_RULES[target].has_ids else []
    assert _rules(target, *acts) == expected


@_EACH
def test_message_is_not_empty(target: str) -> None:
    blank_messages = SPELLINGS[target].text_messages("user", "")
    assert _broken(blank_messages, target)[0][0] == "empty-content"


@pytest.mark.parametrize("target", ["anthropic", "gemini", "bedrock"])
def test_text_is_not_blank(target: str) -> None:
    blank_messages = SPELLINGS[target].text_messages("user", " \n")
    assert [rule for rule, _ in _broken(blank_messages, target)] == ["empty-content"]


@_EACH
def test_user_speaks_first_if_the_provider_requires_it(target: str) -> None:
    wants_it = target in ("anthropic", "gemini", "bedrock")
    assert _rules(target, "assistant", "user") == (["no-beginning"] if wants_it else [])


@_EACH
def test_system_messages_are_accepted_where_the_provider_allows_them(target: str) -> None:
    early, late = [], []
    if target in ("anthropic", "bedrock", "gemini", "mcp"):
        early = late = ["system-among-messages"]
    if target == "mistral":
        late = ["late-system"]
    if target == "bedrock":
        # The types have no such role.
        late = ["system-among-messages"]
    assert _rules(target, "system", "user", "assistant", "user") == early
    assert _rules(target, "user", "assistant", "system", "user") == late


@_EACH
def test_roles_alternate_if_the_provider_requires_it(target: str) -> None:
    expected = ["same-side-twice"] * 2 if target == "bedrock" else []
    assert _rules(target, "user", "user", "assistant", "assistant", "user") == expected


@_EACH
def test_assistant_speaks_between_results_and_the_user_if_the_provider_requires_it(
    target: str,
) -> None:
    expected = {"mistral": ["no-reply"], "bedrock": ["same-side-twice"]}
    assert _rules(target, "user", "call a", "answer a", "user") == expected.get(target, [])


@_EACH
def test_call_follows_the_user_if_the_provider_requires_it(target: str) -> None:
    expected = {"gemini": ["late-call"], "bedrock": ["same-side-twice"]}
    acts = ("user", "assistant", "call a", "answer a", "assistant")
    assert _rules(target, *acts) == expected.get(target, [])


@pytest.mark.parametrize("target", ["anthropic", "gemini", "bedrock"])
def test_results_stand_first(target: str) -> None:
    messages = _history(target, "user", "call a", "answer a")
    content = messages[2]["parts" if target == "gemini" else "content"]
    text = {"type": "text", "text": "See."} if target == "anthropic" else {"text": "See."}
    content.append(text)
    assert _broken(messages, target) == []
    content.reverse()
    name = "parts" if target == "gemini" else "content"
    assert _broken(messages, target) == [("results-not-first", f"/messages/2/{name}/1")]


_BAD_IDS = {
    "openai-chat": "x" * 41,
    "openai-responses": "x" * 65,
    "anthropic": "call.1",
    "bedrock": "call 1",
    "mistral": "call_1",
    "langchain": "",
}


@pytest.mark.parametrize("target", _BAD_IDS)
def test_ids_have_the_form_of_the_provider(target: str) -> None:
    spelling, call_id = SPELLINGS[target], _BAD_IDS[target]
    messages = [*_history(target, "user"), *spelling.calls(call_id), *spelling.answers(call_id)]
    found = find_sequence_faults(messages, target)
    assert [(finding.rule, finding.actual) for finding in found] == [("bad-id", call_id)] * 2


_USER: Json = {"role": "user", "content": "q"}
_THOUGHT: Json = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
_REASONING: Json = {"type": "reasoning", "id": "rs_1", "summary": []}
_UNSIGNED: Json = {"functionCall": {"name": "f", "args": {}}}
_CALLED: Json = {"functionResponse": {"name": "f", "response": {}}}


def _assistant(*blocks: Json) -> Json:
    return {"role": "assistant", "content": [*blocks]}


_EXAMPLES: Sequence[tuple[str, Sequence[Json], Sequence[tuple[str, str]]]] = (
    ("anthropic", [_USER, _assistant(_THOUGHT, {"type": "text", "text": "a"})], []),
    ("anthropic", [_USER, _assistant(_THOUGHT), _assistant({"type": "text", "text": "a"})], []),
    (
        "anthropic",
        [_USER, _assistant(_THOUGHT), _USER],
        [("misplaced-thought", "/messages/1/content/0")],
    ),
    ("anthropic", [_USER, _assistant(_THOUGHT)], []),
    (
        "anthropic",
        [{"role": "user", "content": [_THOUGHT]}],
        [("misplaced-thought", "/messages/0/content/0")],
    ),
    (
        "anthropic",
        [_USER, _assistant({**_THOUGHT, "signature": ""}, {"type": "text", "text": "a"})],
        [("unsigned-thought", "/messages/1/content/0")],
    ),
    (
        "anthropic",
        [_USER, {"role": "assistant", "content": "a "}],
        [("trailing-space", "/messages/1/content")],
    ),
    (
        "anthropic",
        [
            *(_USER, *_ANTHROPIC.calls(A)),
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": A,
                        "is_error": True,
                        "content": [{"type": "image", "source": {}}],
                    }
                ],
            },
        ],
        [("media-in-error", "/messages/2/content/0")],
    ),
    (
        "anthropic",
        [
            *(_USER, *_ANTHROPIC.calls(A)),
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": A, "is_error": True}],
            },
        ],
        [("empty-content", "/messages/2/content/0")],
    ),
    (
        "openai-chat",
        [
            *(_USER, *_CHAT.calls(A)),
            {"role": "tool", "tool_call_id": A, "content": [{"type": "image_url"}]},
        ],
        [("media-in-result", "/messages/2")],
    ),
    (
        "openai-chat",
        [
            _USER,
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": A, "type": "function", "function": {"name": "a b", "arguments": "["}}
                ],
            },
            *_CHAT.answers(A),
        ],
        [("bad-name", "/messages/1/tool_calls/0"), ("bad-arguments", "/messages/1/tool_calls/0")],
    ),
    ("openai-responses", [_USER, _REASONING, *_RESPONSES.calls(A), *_RESPONSES.answers(A)], []),
    ("openai-responses", [_USER, _REASONING], []),
    ("openai-responses", [_USER, _REASONING, _USER], [("misplaced-thought", "/messages/1")]),
    (
        "openai-responses",
        [_USER, *_RESPONSES.calls(A), _REASONING, *_RESPONSES.answers(A)],
        [("misplaced-thought", "/messages/2")],
    ),
    (
        "gemini",
        [
            {"role": "user", "parts": [{"text": "q"}]},
            {"role": "model", "parts": [_UNSIGNED]},
            {"role": "user", "parts": [_CALLED]},
        ],
        [("unsigned-call", "/messages/1/parts/0")],
    ),
    (
        "gemini",
        [
            {"role": "user", "parts": [{"text": "q"}]},
            {"role": "model", "parts": [_UNSIGNED]},
            {"role": "user", "parts": [_CALLED]},
            {"role": "model", "parts": [{"text": "a"}]},
            {"role": "user", "parts": [{"text": "Go on."}]},
        ],
        [],
    ),
    (
        "gemini",
        [
            {"role": "user", "parts": [{"text": "q"}]},
            {"role": "model", "parts": [{**_UNSIGNED, "thoughtSignature": "s"}, _UNSIGNED]},
            {"role": "user", "parts": [_CALLED]},
        ],
        [("no-answer", "/messages/1/parts/1")],
    ),
)


@pytest.mark.parametrize(("target", "messages", "broken"), _EXAMPLES)
def test_rules_of_single_providers(
    target: str, messages: Sequence[Json], broken: Sequence[tuple[str, str]]
) -> None:
    assert _broken(messages, target) == [*broken]


@pytest.mark.slow
@EVERY
@settings(max_examples=EXAMPLES)
@given(turns=histories() | long_histories(), query=options)
def test_renderings_keep_the_rules(
    target: str, turns: tuple[ComposedTurn, ...], query: RenderOptions
) -> None:
    assert _broken(render(close_calls(turns), target, query).messages, target) == []


@pytest.mark.parametrize("target", HOMES)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_requests_of_every_dialect_keep_the_rules(target: str, data: st.DataObject) -> None:
    assert _broken(data.draw(home_histories(HOMES[target])), target) == []
