"""Blocks that only one provider has, and what of them other dialects may have."""

from collections.abc import Sequence
from typing import Any

from pagefault_dialects.messages.provider_blocks import (
    find_anthropic_form,
    find_call_signature,
    find_model,
    has_anthropic_signature,
    is_provider_block,
    make_cache_mark,
    make_provider_block,
    make_thought_block,
    make_thought_member,
)
from pagefault_dialects.model.conversation import ProviderBlock

Json = Any
THOUGHT = "Only the model that thought it takes it back."


def test_provider_block_has_its_form_under_no_dialect_and_the_fields_of_its_loss() -> None:
    block = {"type": "x"}
    forms = {"": block}
    reason = "Other dialects have no place for `x`."
    compacted = "Other dialects have no place for `compaction`. What was said before it is gone."
    made = [
        make_thought_block(block, "/a"),
        make_cache_mark(block, "/a"),
        make_provider_block(block, "/a", "x", "Words."),
        make_provider_block(block, "/a", "compaction", ""),
    ]
    assert made == [
        ProviderBlock("/a", forms, "reasoning", "reasoning", THOUGHT),
        ProviderBlock("/a", forms, "cachePoint", "cache-mark", "It marks what is to be cached."),
        ProviderBlock("/a", forms, "x", "no-place", reason, "Words."),
        ProviderBlock("/a", forms, "compaction", "no-place", compacted),
    ]


def test_thought_in_a_member_has_the_member_as_its_form() -> None:
    rows: Sequence[tuple[str, list[str]]] = [
        ("reasoning", ["openai-compat"]),
        ("reasoning_content", ["openai-compat"]),
        ("reasoning_details", ["openai-compat"]),
        ("thinking", ["openai-compat", "ollama"]),
    ]
    assert [make_thought_member(name, "Hm.", "/a") for name, _ in rows] == [
        ProviderBlock(
            "/a",
            {dialect: {name: "Hm."} for dialect in dialects},
            "reasoning",
            "reasoning",
            THOUGHT,
        )
        for name, dialects in rows
    ]
    assert make_thought_member("signature", "Hm.", "/a") is None


def test_unread_block_is_a_providers_if_it_has_a_type_of_its_own_or_names_a_file_there() -> None:
    providers: Sequence[tuple[str, Json]] = [
        ("web_search", {"type": "web_search"}),
        ("cachePoint", {"cachePoint": {"type": "default"}}),
        ("resource_link", {"type": "resource_link", "uri": "a:b", "name": "n"}),
        ("resource_link", {"uri": "a:b", "name": "n"}),
        ("resource", {"type": "resource", "resource": {"uri": "a:b", "text": "A."}}),
        ("resource", {"type": "resource", "resource": {"uri": "a:b", "blob": ""}}),
        *(
            ("image", {"type": "image", name: "f"})
            for name in ("file_id", "fileId", "s3Location", "fileUri", "file_uri", "content")
        ),
        ("image", {"type": "image", "source": {"file_id": "f"}}),
        ("video", {"video": {"source": {"s3Location": {"uri": "s3://b/k"}}}}),
        ("file", {"type": "file", "file": {"file_id": "f"}}),
    ]
    damaged: Sequence[tuple[str, Json]] = [
        ("web_search", {"web_search": "x"}),
        ("a", {"type": "a"}),
        ("1a", {"type": "1a"}),
        ("web search", {"type": "web search"}),
        ("", {"type": ""}),
        ("resource_link", {"type": "resource_link", "uri": "a:b"}),
        ("resource", {"type": "resource", "resource": {"uri": "a:b"}}),
        ("resource", {"type": "resource", "resource": {"text": "A."}}),
        ("resource", {"type": "resource", "resource": "a:b"}),
        ("image", {"type": "image", "source": "f"}),
        ("image", {"type": "image", "source": {"data": ""}}),
        ("file", {"type": "file", "file": "f"}),
        *(
            (kind, {"type": kind})
            for kind in (
                *("text", "image", "audio", "video", "document", "file", "media", "object"),
                *("image_url", "input_audio", "input_text", "output_text", "input_image"),
                *("input_file", "tool_use", "tool_result", "tool-call", "tool-result"),
                *("tool_call", "function_call", "function_call_output", "toolUse", "toolResult"),
                *("functionCall", "functionResponse", "function_response", "inlineData"),
                *("inline_data", "thinking", "reasoning", "refusal", "json", "role", "content"),
                *("name", "args", "id", "thought", "thoughtSignature", "thought_signature"),
            )
        ),
    ]
    for blocks, expected in ((providers, True), (damaged, False)):
        assert [is_provider_block(kind, block) for kind, block in blocks] == [expected] * len(
            blocks
        )


def test_model_is_the_first_that_a_message_or_its_metadata_names() -> None:
    rows: Sequence[tuple[Json, str | None]] = [
        *(({name: "m"}, "m") for name in ("model", "model_name", "modelVersion")),
        *(({"response_metadata": {name: "m"}}, "m") for name in ("model", "model_name")),
        ({"model": "", "modelVersion": "m", "response_metadata": {"model": "n"}}, "m"),
        ({"model": 7, "response_metadata": {"model": "n"}}, "n"),
        ({"response_metadata": "m"}, None),
        ({}, None),
    ]
    assert [find_model(message) for message, _ in rows] == [model for _, model in rows]


def test_signature_of_a_call_is_in_it_or_in_the_options_of_google() -> None:
    rows: Sequence[tuple[Json, str | None]] = [
        *(({name: "c2ln"}, "c2ln") for name in ("thoughtSignature", "thought_signature")),
        *(
            ({name: {"google": {"thought_signature": "c2ln"}}}, "c2ln")
            for name in (
                *("extra_content", "providerOptions", "providerMetadata"),
                "callProviderMetadata",
            )
        ),
        ({"thoughtSignature": "", "extra_content": {"google": {"thoughtSignature": "x"}}}, "x"),
        ({"thoughtSignature": 7}, None),
        ({"extra_content": {"openai": {"thought_signature": "c2ln"}}}, None),
        ({"extra_content": {"google": "c2ln"}}, None),
        ({"extra_content": "google"}, None),
        ({}, None),
    ]
    assert [find_call_signature(call) for call, _ in rows] == [found for _, found in rows]


def test_thought_of_a_framework_has_anthropics_form_if_it_is_from_anthropic() -> None:
    def form(text: str = "Hm.", signature: str = "c2ln") -> Json:
        thought = {"type": "thinking", "thinking": text, "signature": signature}
        return {"anthropic": thought}

    thought: Json = {"type": "reasoning", "reasoning": "Hm.", "signature": "c2ln"}
    signed: Json = {"anthropic": {"signature": "c2ln"}}
    by_provider: Json = {"response_metadata": {"model_provider": "anthropic"}}
    named: Json = {**thought, "provider_name": "anthropic"}
    rows: Sequence[tuple[Json, Json, Json]] = [
        (named, {}, form()),
        (thought, by_provider, form()),
        *(
            ({name: "Hm.", "signature": "c2ln"}, by_provider, form())
            for name in ("thinking", "reasoning", "text", "content")
        ),
        ({"thinking": 7, "text": "Hm.", "signature": "c2ln"}, by_provider, form()),
        ({"signature": "c2ln"}, by_provider, form("")),
        *(
            ({"text": "Hm.", name: signed}, {}, form())
            for name in ("providerOptions", "providerMetadata", "callProviderMetadata")
        ),
        # The signature in the options replaces that of the block.
        (
            {**thought, "providerOptions": {"anthropic": {"signature": "b3Ro"}}},
            {},
            form(signature="b3Ro"),
        ),
        ({**thought, "providerOptions": {"anthropic": {}}}, {}, {}),
        ({"text": "Hm.", "extras": {"signature": "c2ln"}}, by_provider, form()),
        ({**thought, "extras": {"signature": "b3Ro"}}, by_provider, form()),
        ({"text": "Hm.", "extras": "c2ln"}, by_provider, {}),
        ({**named, "signature": 7}, {}, {}),
        (thought, {}, {}),
        (thought, {"response_metadata": {"model_provider": "openai"}}, {}),
        (thought, {"response_metadata": "anthropic"}, {}),
        ({**thought, "providerOptions": {"openai": {"signature": "c2ln"}}}, {}, {}),
    ]
    assert [find_anthropic_form(block, message) for block, message, _ in rows] == [
        expected for *_, expected in rows
    ]


def test_thought_of_anthropic_is_signed_or_encrypted() -> None:
    thoughts: Sequence[Json] = [
        *({"signature": "c2ln"}, {"data": "ZGF0YQ"}),
        *({"signature": ""}, {"data": ""}, {"thinking": "Hm."}, {}, None),
    ]
    assert [has_anthropic_signature(thought) for thought in thoughts] == [
        *(True, True, False, False, False, False, False),
    ]
