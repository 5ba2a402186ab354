"""Messages for Mistral, Ollama, Pydantic AI and OpenTelemetry, and their types."""

from dataclasses import replace
from typing import Any

import pytest

from packages.dialects.tests.targets.resolved_turns import (
    JPEG,
    PDF,
    PNG,
    URL,
    answer,
    base64,
    calling,
    data,
    data_uri,
    media_item,
    text_item,
    turn,
    write_messages,
)
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.messages.reading import read_messages
from pagefault_dialects.model.conversation import (
    Address,
    ComposedTurn,
    ResolvedTurn,
    TextItem,
    Turn,
    TurnRole,
)
from pagefault_dialects.rendering import render
from pagefault_dialects.targets.table import TARGETS
from tests.providers import CHECKS

IMAGE = media_item(PNG, "image/png", "a.png")
FAR = media_item(PNG, "image/*", address=URL)
MISTRAL_ID = TARGETS["mistral"].call_id.fit("call_1")


def write_valid(target: str, *turns: ResolvedTurn) -> list[Any]:
    messages = write_messages(target, *turns)
    CHECKS[target](messages)
    return messages


CONVERSATION = (
    turn("system", text_item("Be brief.")),
    turn("user", text_item("look"), IMAGE),
    calling("call_1", text="So be it."),
    answer(text_item("one"), IMAGE),
    turn("assistant", text_item("Done.")),
)
WRITTEN: dict[str, list[JsonValue]] = {
    "mistral": [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": data_uri(PNG, "image/png")},
            ],
        },
        {
            "role": "assistant",
            "content": "So be it.",
            "tool_calls": [
                {
                    "id": MISTRAL_ID,
                    "type": "function",
                    "function": {"name": "shoot", "arguments": '{"at":"call_1"}'},
                }
            ],
        },
        {
            "role": "tool",
            "tool_call_id": MISTRAL_ID,
            "name": "shoot",
            "content": f"one\n\n[Image: a.png ({len(PNG)} B), attached after the tool messages]",
        },
        {"role": "assistant", "content": "[The media of these results follow.]"},
        {
            "role": "user",
            "content": [
                {
                    "type": "text",
                    "text": f"Image: a.png ({len(PNG)} B), from the tool shoot, call {MISTRAL_ID}:",
                },
                {"type": "image_url", "image_url": data_uri(PNG, "image/png")},
            ],
        },
        {"role": "assistant", "content": "Done."},
    ],
    "ollama": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "look", "images": [base64(PNG)]},
        {
            "role": "assistant",
            "content": "So be it.",
            "tool_calls": [{"function": {"name": "shoot", "arguments": {"at": "call_1"}}}],
        },
        {"role": "tool", "content": "one", "images": [base64(PNG)], "tool_name": "shoot"},
        {"role": "assistant", "content": "Done."},
    ],
    "pydantic-ai": [
        {"parts": [{"content": "Be brief.", "part_kind": "system-prompt"}], "kind": "request"},
        {
            "parts": [
                {
                    "content": [
                        "look",
                        {"data": base64(PNG), "kind": "binary", "media_type": "image/png"},
                    ],
                    "part_kind": "user-prompt",
                }
            ],
            "kind": "request",
        },
        {
            "parts": [
                {"content": "So be it.", "part_kind": "text"},
                {
                    "tool_name": "shoot",
                    "args": {"at": "call_1"},
                    "tool_call_id": "call_1",
                    "part_kind": "tool-call",
                },
            ],
            "kind": "response",
        },
        {
            "parts": [
                {
                    "tool_name": "shoot",
                    "content": [
                        "one",
                        {"data": base64(PNG), "kind": "binary", "media_type": "image/png"},
                    ],
                    "tool_call_id": "call_1",
                    "outcome": "success",
                    "part_kind": "tool-return",
                }
            ],
            "kind": "request",
        },
        {"parts": [{"content": "Done.", "part_kind": "text"}], "kind": "response"},
    ],
    "otel-genai": [
        {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
        {
            "role": "user",
            "parts": [
                {"type": "text", "content": "look"},
                {
                    "type": "blob",
                    "mime_type": "image/png",
                    "modality": "image",
                    "content": base64(PNG),
                },
            ],
        },
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "content": "So be it."},
                {
                    "type": "tool_call",
                    "id": "call_1",
                    "name": "shoot",
                    "arguments": {"at": "call_1"},
                },
            ],
        },
        {
            "role": "tool",
            "parts": [
                {"type": "tool_call_response", "id": "call_1", "response": "one"},
                {
                    "type": "blob",
                    "mime_type": "image/png",
                    "modality": "image",
                    "content": base64(PNG),
                },
            ],
        },
        {"role": "assistant", "parts": [{"type": "text", "content": "Done."}]},
    ],
}


@pytest.mark.parametrize("target", WRITTEN)
def test_conversation_keeps_its_order(target: str) -> None:
    assert write_valid(target, *CONVERSATION) == WRITTEN[target]


@pytest.mark.parametrize("target", WRITTEN)
def test_empty_turn_has_no_message(target: str) -> None:
    assert write_valid(target, turn("user"), turn("assistant", text_item("")), turn("system")) == []


def test_image_of_mistral_may_have_an_address_and_a_pdf_has_its_name() -> None:
    pdf = media_item(PDF, "application/pdf", "report")
    (message,) = write_valid("mistral", turn("user", FAR, pdf))
    assert message["content"] == [
        {"type": "image_url", "image_url": URL},
        {
            "type": "document_url",
            "document_url": data_uri(PDF, "application/pdf"),
            "document_name": "report.pdf",
        },
    ]


@pytest.mark.parametrize("call_id", ["call_1", "", "abcdefghi1", "ü" * 600, "call_2"])
def test_ids_of_mistral_have_nine_letters_and_digits(call_id: str) -> None:
    calls, answered = write_valid("mistral", calling(call_id), answer(call_id=call_id))
    fitted = calls["tool_calls"][0]["id"]
    assert answered["tool_call_id"] == fitted
    assert fitted.isascii()
    assert fitted.isalnum()
    assert len(fitted) == 9


def test_valid_ids_of_mistral_stay_and_others_stay_different() -> None:
    rule = TARGETS["mistral"].call_id
    assert rule.fit("D681PevKs") == "D681PevKs"
    assert len({rule.fit(f"call_{number}") for number in range(10_000)}) == 10_000


def text_turn(role: TurnRole, text: str, seq: int) -> ComposedTurn:
    return Turn(role, (TextItem("", text),), seq=seq)


def test_mistral_has_a_line_of_the_assistant_between_results_and_the_user() -> None:
    calls = calling("D681PevKs").calls
    answered = replace(text_turn("tool", "one", 2), call_id="D681PevKs", tool_name="shoot")
    turns = [Turn("assistant", (), seq=1, calls=calls), answered, text_turn("user", "And now?", 3)]
    rendered = render(turns, "mistral")
    CHECKS["mistral"](rendered.messages)
    assert rendered.messages[2:] == [
        {"role": "assistant", "content": "[The assistant said nothing to these results.]"},
        {"role": "user", "content": "And now?"},
    ]
    (entry,) = rendered.loss
    assert (entry.seq, entry.from_, entry.to, entry.code) == (3, "nothing", "line", "no-reply")
    assert not render(turns, "openai-chat").loss


def test_late_system_message_is_a_user_message_of_mistral() -> None:
    turns = [
        text_turn("system", "Be brief.", 1),
        text_turn("user", "Hi.", 2),
        text_turn("assistant", "Hi.", 3),
        text_turn("system", "Be kind.", 4),
    ]
    rendered = render(turns, "mistral")
    CHECKS["mistral"](rendered.messages)
    assert (rendered.system, rendered.messages[0]) == (
        "",
        {"role": "system", "content": "Be brief."},
    )
    assert rendered.messages[3] == {
        "role": "user",
        "content": "[Said by the system, not by the user:]\n\nBe kind.",
    }
    assert [entry.code for entry in rendered.loss] == ["late-system"]


def test_two_answers_of_pydantic_ai_are_in_one_request() -> None:
    failed = answer(text_item("no"), call_id="call_2", is_error=True)
    calls, answered = write_valid("pydantic-ai", calling("call_1", "call_2"), answer(), failed)
    assert len(calls["parts"]) == 2
    assert [(part["content"], part["outcome"]) for part in answered["parts"]] == [
        ("", "success"),
        ("no", "failed"),
    ]


def test_picture_of_a_model_is_a_file_of_pydantic_ai_and_an_address_is_a_line() -> None:
    (made,) = write_valid("pydantic-ai", turn("assistant", IMAGE))
    picture = {"data": base64(PNG), "kind": "binary", "media_type": "image/png"}
    assert made["parts"] == [{"content": picture, "part_kind": "file"}]
    (rendered,) = write_valid("pydantic-ai", turn("user", FAR))
    assert rendered["parts"][0]["content"] == [{"url": URL, "kind": "image-url"}]
    far = replace(FAR.medium, source=Address("https://files.example/a.png"), size_bytes=None)
    roles: tuple[TurnRole, ...] = ("user", "assistant")
    turns: list[ComposedTurn] = [Turn(role, (far,), seq=1) for role in roles]
    assert [loss.code for loss in render(turns, "pydantic-ai").loss] == ["address-not-taken"]
    assert not render(turns, "langchain").loss


def test_value_is_the_response_of_otel_and_an_address_is_a_uri() -> None:
    _, answered = write_valid("otel-genai", calling("call_1"), answer(data({"n": 1})))
    response = {"type": "tool_call_response", "id": "call_1", "response": {"n": 1}}
    assert answered == {"role": "tool", "parts": [response]}
    (rendered,) = write_valid("otel-genai", turn("user", FAR))
    uri = {"type": "uri", "mime_type": None, "modality": "image", "uri": URL}
    assert rendered["parts"] == [uri]


MISTRAL_TOOL = {"role": "tool", "tool_call_id": "D681PevKs", "name": "shoot", "content": "a"}
OLLAMA_CALL = {"function": {"name": "shoot", "arguments": {}}}
RETURN = {
    "tool_name": "shoot",
    "content": "a",
    "tool_call_id": "c",
    "outcome": "success",
    "part_kind": "tool-return",
}
WRONG: list[tuple[str, list[Any], str]] = [
    ("mistral", [{"role": "user", "content": ""}], "nothing is said"),
    ("mistral", [{"role": "user", "content": "a", "note": 1}], "note"),
    ("mistral", [MISTRAL_TOOL | {"tool_call_id": "call_1234"}], "the id"),
    ("mistral", [MISTRAL_TOOL | {"name": "a b"}], "the name"),
    ("mistral", [MISTRAL_TOOL, {"role": "user", "content": "a"}], "the user behind the tool"),
    (
        "mistral",
        [{"role": "assistant", "content": "a"}, {"role": "system", "content": "a"}],
        "the system behind the assistant",
    ),
    (
        "mistral",
        [MISTRAL_TOOL | {"content": [{"type": "text", "text": "a"}]}],
        "media in an answer",
    ),
    (
        "mistral",
        [{"role": "user", "content": [{"type": "image_url", "image_url": "http://x.example/a"}]}],
        "neither a URL",
    ),
    (
        "mistral",
        [
            {"role": "user", "content": [{"type": "image_url", "image_url": f"{URL}{i}"}]}
            for i in range(9)
        ],
        "9 images",
    ),
    ("ollama", [{"role": "user", "content": ""}], "nothing is said"),
    ("ollama", [{"role": "user", "content": "a", "name": "b"}], "the types know only"),
    ("ollama", [{"role": "user", "content": "a", "images": [URL]}], "base64|padding|haracter"),
    ("ollama", [{"role": "user", "content": "a", "images": [base64(PDF)]}], "application/pdf"),
    ("ollama", [{"role": "user", "content": "a", "tool_name": "b"}], "elsewhere"),
    (
        "ollama",
        [{"role": "assistant", "content": "", "tool_calls": [OLLAMA_CALL]}],
        "calls without",
    ),
    (
        "ollama",
        [
            {"role": "assistant", "content": "", "tool_calls": [OLLAMA_CALL]},
            {"role": "tool", "content": "a", "tool_name": "look"},
        ],
        r"an answer of look to \['shoot'\]",
    ),
    (
        "ollama",
        [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"function": {"name": "shoot", "arguments": "{}"}}],
            }
        ],
        "arguments as a text",
    ),
    ("pydantic-ai", [{"kind": "request", "parts": []}], "nothing is said"),
    ("pydantic-ai", [{"kind": "answer", "parts": [RETURN]}], "kind"),
    ("pydantic-ai", [{"kind": "request", "parts": [RETURN | {"note": 1}]}], "the types know only"),
    ("pydantic-ai", [{"kind": "request", "parts": [RETURN | {"outcome": "broken"}]}], "outcome"),
    (
        "pydantic-ai",
        [{"kind": "request", "parts": [RETURN | {"content": ["a"]}]}],
        "a list where a text would do",
    ),
    (
        "pydantic-ai",
        [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": ""}]}],
        "nothing is said",
    ),
    ("otel-genai", [{"role": "user", "parts": []}], "nothing is said"),
    ("otel-genai", [{"role": "model", "parts": [{"type": "text", "content": "a"}]}], "a role"),
    (
        "otel-genai",
        [{"role": "user", "parts": [{"type": "text", "content": "a", "note": 1}]}],
        "the types know only",
    ),
    (
        "otel-genai",
        [
            {
                "role": "user",
                "parts": [
                    {
                        "type": "blob",
                        "mime_type": "image/png",
                        "modality": "image",
                        "content": base64(JPEG),
                    }
                ],
            }
        ],
        "bytes of image/jpeg as image/png",
    ),
]


@pytest.mark.parametrize(("target", "messages", "why"), WRONG)
def test_invalid_messages_are_refused(target: str, messages: list[Any], why: str) -> None:
    with pytest.raises((AssertionError, ValueError), match=why):
        CHECKS[target](messages)


def test_small_image_is_a_line_for_anthropic_where_no_service_makes_images() -> None:
    rendered = render([Turn("user", (IMAGE.medium,), seq=1)], "anthropic")
    line = f"[Image: a.png ({len(PNG)} B)]"
    assert rendered.messages == [{"role": "user", "content": [{"type": "text", "text": line}]}]
    assert [(entry.to, entry.code) for entry in rendered.loss] == [
        ("placeholder", "too-few-pixels")
    ]


def test_thoughts_of_mistral_go_back_to_mistral_alone() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Look there."}]}
    words = {"type": "text", "text": "I look."}
    history: JsonValue = [
        {"role": "user", "content": "How cold is it?"},
        {"role": "assistant", "content": [thought, words]},
    ]
    turns = read_messages(history).turns
    to_mistral, to_openai = render(turns, "mistral"), render(turns, "openai-chat")
    assert to_mistral.messages[1] == {"role": "assistant", "content": [thought, words]}
    assert to_openai.messages[1] == {"role": "assistant", "content": "I look."}
    assert ([*to_mistral.loss], [item.code for item in to_openai.loss]) == ([], ["reasoning"])
