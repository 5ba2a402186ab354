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


def _describe(messages: Sequence[Any], target: str, **more: Any) -> list[tuple[object, ...]]:  # noqa: ANN401 - options
    """Return the rule, the pointer, the id of the call and the found value of each fault."""
    found = find_sequence_faults(messages, target, **more)
    return [(item.rule, item.pointer, item.call_id, item.actual) for item in found]


def test_faults_name_their_part_their_call_and_what_was_found() -> None:
    long, short, messages = "x" * 81, f"{'x' * 79}…", "/messages/"
    assert _describe(
        [
            {"role": "assistant", "content": " "},
            {"role": "system", "content": "a"},
            *(*_ANTHROPIC.calls(A, A, "a b"), *_ANTHROPIC.answers(A, B, A)),
            _assistant(
                {"type": "tool_use", "id": long, "name": "a b", "input": [1]},
                {"type": "tool_use", "name": long, "input": {}},
            ),
            {"role": "user", "content": [{"type": "text", "text": "x"}, *_answer_blocks("q")]},
            {"role": "user", "content": []},
        ],
        "anthropic",
    ) == [
        ("no-beginning", f"{messages}0", None, "assistant"),
        ("empty-content", f"{messages}0/content", None, " "),
        ("system-among-messages", f"{messages}1", None, None),
        ("no-answer", f"{messages}2/content/2", "a b", "a b"),
        ("duplicate-id", f"{messages}2/content/1", A, A),
        ("bad-id", f"{messages}2/content/2", "a b", "a b"),
        ("no-call", f"{messages}3/content/1", B, B),
        ("no-answer", f"{messages}4/content/0", short, short),
        ("bad-id", f"{messages}4/content/0", short, short),
        ("bad-name", f"{messages}4/content/0", short, "a b"),
        ("bad-arguments", f"{messages}4/content/0", short, "[1]"),
        ("no-id", f"{messages}4/content/1", None, None),
        ("results-not-first", f"{messages}5/content/1", "q", "q"),
        ("empty-content", f"{messages}6", None, None),
    ]
    assert _describe(
        [
            *(*_CHAT.text_messages("user", "q"), *_CHAT.calls(A, B)),
            *(*_CHAT.answers(B), *_CHAT.text_messages("system", "s"), *_CHAT.answers(A, B)),
        ],
        "mistral",
    ) == [
        ("no-answer", f"{messages}1/tool_calls/0", A, A),
        ("late-system", f"{messages}3", None, None),
        ("no-reply", f"{messages}3", None, "system"),
        ("late-answer", f"{messages}4", A, A),
        ("duplicate-answer", f"{messages}5", B, B),
    ]
    spaces = _assistant({"type": "text", "text": "a"}, {"type": "text", "text": " b\n"})
    middle = {"role": "assistant", "content": "a "}
    assert _describe([_USER, middle, _USER, spaces], "anthropic") == [
        ("trailing-space", f"{messages}3/content/1", None, None)
    ]
    user = _BEDROCK.text_messages("user", "q")
    assert _describe([*user, *user], "bedrock") == [
        ("same-side-twice", f"{messages}1", None, "user")
    ]
    assert _describe(_history("gemini", "user", "assistant", "call a", "answer a"), "gemini") == [
        ("late-call", f"{messages}2/parts/0", A, A)
    ]


def _answer_blocks(*call_ids: str) -> list[Json]:
    [message] = _ANTHROPIC.answers(*call_ids)
    return list(message["content"])


def test_pointers_of_messages_are_those_of_the_caller() -> None:
    messages = [*_CHAT.text_messages("user", ""), 7, *_CHAT.calls(A)]
    pointers = ["/input/0", "/input/1", "/output/0"]
    assert _describe(messages, "openai-chat", pointers=pointers) == [
        ("empty-content", "/input/0", None, None),
        ("no-answer", "/output/0/tool_calls/0", A, A),
    ]
    assert _broken(messages, "openai-chat") == [
        ("empty-content", "/messages/0"),
        ("no-answer", "/messages/2/tool_calls/0"),
    ]


def test_call_without_an_id_is_open_if_any_call_is_open() -> None:
    messages = _history("ollama", "user", "call a")
    assert _describe(messages, "ollama", open_calls=["other"]) == []
    assert _describe(messages, "ollama") == [("no-answer", "/messages/1/tool_calls/0", None, None)]


def _gemini_call(**members: Any) -> Json:  # noqa: ANN401 - JSON
    call = {"name": "f", "args": {}, **members}
    return {"role": "model", "parts": [{"functionCall": call, "thoughtSignature": "s"}]}


def _gemini_answer(**members: Any) -> Json:  # noqa: ANN401 - JSON
    answer = {"name": "f", "response": {}, **members}
    return {"role": "user", "parts": [{"functionResponse": answer}]}


def test_answer_without_an_id_belongs_to_the_next_call_of_its_tool() -> None:
    user = {"role": "user", "parts": [{"text": "q"}]}
    cases = [
        [_gemini_call(), _gemini_answer()],
        [_gemini_call(id=A), _gemini_answer()],
        [_gemini_call(), _gemini_answer(id=A)],
        [_gemini_call(), _gemini_answer(name="g")],
        [_gemini_call(id=A), _gemini_answer(id=B)],
    ]
    unpaired = ["no-answer", "no-call"]
    assert [_rules_of([user, *case], "gemini") for case in cases] == [
        *([], [], []),
        *(unpaired, unpaired),
    ]


def _chat_function(call_id: str | None, name: object, arguments: object) -> Json:
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def test_names_and_arguments_of_calls_are_checked() -> None:
    def with_call(name: object = "f", arguments: object = "{}") -> list[str]:
        return _rules_of([_USER, _chat_function(A, name, arguments), *_CHAT.answers(A)], "mistral")

    bad_name, bad_arguments = ["bad-name"], ["bad-arguments"]
    texts: tuple[object, ...] = ("{}", '{"a":1}', {}, "[]", "1", "{", "", {"a": 1}, None)
    assert [with_call(arguments=value) for value in texts] == [[]] * 3 + [bad_arguments] * 6
    names = ("f", "f-_9", "x" * 64, "x" * 65, "a.b", "", None)
    assert [with_call(name) for name in names] == [[]] * 3 + [bad_name] * 4
    objects: tuple[object, ...] = ({}, {"a": 1}, [], "{}", None)
    assert [
        _rules_of([_USER, _assistant({"type": "tool_use", "id": A, "name": "f", "input": value})])
        for value in objects
    ] == [["no-answer"]] * 2 + [["no-answer", *bad_arguments]] * 3
    assert _describe([_USER, _chat_function(None, "f", "{}")], "openai-chat") == [
        ("no-answer", "/messages/1/tool_calls/0", None, None),
        ("no-id", "/messages/1/tool_calls/0", None, None),
    ]


def _rules_of(messages: Sequence[Json], target: str = "anthropic") -> list[str]:
    return [rule for rule, _ in _broken(messages, target)]


def test_limits_of_ids_and_names_are_those_of_the_provider() -> None:
    longest = {
        "openai-chat": (40, 64), "openai-responses": (64, 64), "anthropic": (64, 128),
        "bedrock": (64, 64), "gemini": (512, 64), "openai-compat": (512, 64),
        "langchain": (512, 512), "vercel": (512, 512), "mcp": (512, 512),
    }  # fmt: skip
    rules = {target: SEQUENCE_RULES[target] for target in longest}
    assert {
        target: tuple(
            max(length for length in (40, 64, 128, 512) if pattern.fullmatch("x" * length))
            for pattern in (rule.call_id, rule.tool_name)
            if not pattern.fullmatch("x" * 513)
        )
        for target, rule in rules.items()
    } == longest


def test_answers_of_failed_calls_are_text_where_the_provider_requires_it() -> None:
    image, text = {"type": "image", "source": {}}, {"type": "text", "text": "x"}

    def answer(*blocks: Json, is_error: bool) -> list[tuple[object, ...]]:
        result = {"type": "tool_result", "tool_use_id": A, "content": [*blocks]}
        content = [{**result, "is_error": is_error}]
        messages = [_USER, *_ANTHROPIC.calls(A), {"role": "user", "content": content}]
        return _describe(messages, "anthropic")

    pointer = "/messages/2/content/0"
    assert [
        answer(image, text, is_error=True),
        answer(image, text, is_error=False),
        answer(is_error=True),
        answer(text, is_error=True),
    ] == [
        [("media-in-error", pointer, A, "other, text")],
        [],
        [("empty-content", pointer, A, "")],
        [],
    ]


def test_blank_text_is_allowed_beside_a_signature() -> None:
    def parts(*parts: Json) -> list[tuple[str, str]]:
        return _broken([{"role": "user", "parts": [*parts]}], "gemini")

    assert [
        parts({"text": "", "thoughtSignature": "s"}),
        parts({"text": ""}),
        parts({"text": "a"}, {"text": " "}),
        parts(),
    ] == [
        [],
        [("empty-content", "/messages/0/parts/0")],
        [("empty-content", "/messages/0/parts/1")],
        [("empty-content", "/messages/0")],
    ]
