"""Single messages, read as they arrive in a session, and again from the store."""

from typing import Any

import pytest

from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.messages.entry_reading import (
    READER_VERSION,
    is_flat,
    join_turns,
    read_entry,
    read_entry_turns,
    read_stored,
)
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    ProviderBlock,
    TextItem,
    Turn,
    TurnCall,
)

Json = dict[str, Any]

CALL: Json = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "look",
    "arguments": "{}",
}
ANSWER: Json = {"type": "function_call_output", "call_id": "call_1", "output": "a cat"}


def turns(message: Json) -> list[ComposedTurn]:
    """Return the turns of a message."""
    return read_entry_turns(
        read_entry(message),
        1,
        "",
        {},
        audience="assistant",
        moved_media_ids=frozenset(),
        finds_media=True,
    )


# A dump of a block with all of its members.
NULLS: Json = dict.fromkeys(
    ("text", "image", "document", "toolUse", "toolResult", "reasoningContent", "cachePoint")
)


@pytest.mark.parametrize(
    ("block", "texts"),
    [
        ({"text": "It snows."}, ["It snows."]),
        (
            {"document": {"name": "log", "source": {"text": None, "content": [{"text": "Snow."}]}}},
            ["[document: log]", "Snow."],
        ),
        ({"cachePoint": {"type": "default"}}, []),
        ({"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "UkVB"}}}, []),
    ],
)
def test_members_of_bedrock_that_are_null_are_absent(block: Json, texts: list[str]) -> None:
    message = {"role": "assistant", "content": [{**NULLS, **block}]}
    (turn,) = turns(message)
    assert [item.text for item in turn.items if isinstance(item, TextItem)] == texts


RESULT: Json = {"toolResult": {"toolUseId": "t", "content": [{"text": "It snows."}]}}
CACHED: Json = {"cachePoint": {"type": "default"}}


@pytest.mark.parametrize(
    ("message", "dialect", "role"),
    [
        ({"role": "user", "content": "hi"}, "openai-chat", "user"),
        ({"role": "developer", "content": "hi"}, "openai-chat", "system"),
        (CALL, "openai-responses", "assistant"),
        (ANSWER, "openai-responses", "tool"),
        (
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": ""}],
            },
            "anthropic",
            "tool",
        ),
        ({"role": "user", "content": [CACHED, {"text": "hi"}]}, "bedrock", "user"),
        ({"role": "user", "content": [RESULT, CACHED]}, "bedrock", "tool"),
        ({"role": "model", "parts": [{"text": "hi"}]}, "gemini", "assistant"),
    ],
)
def test_message_has_a_dialect_and_a_role(message: Json, dialect: str, role: str) -> None:
    read = read_entry(message)
    assert (read.dialect, read.role) == (dialect, role)


def test_stored_message_is_read_as_when_it_arrived() -> None:
    read = read_entry(CALL)
    assert read_stored(CALL, read.dialect, READER_VERSION) == read


@pytest.mark.parametrize(
    ("message", "pointer"),
    [
        ({"rows": 3}, ""),
        ({"role": "narrator", "content": "hi"}, "/role"),
        ({"role": "user", "rows": 3}, ""),
    ],
)
def test_message_of_no_dialect_is_refused(message: Json, pointer: str) -> None:
    with pytest.raises(InvalidPayloadError) as caught:
        read_entry(message)
    assert [fault.pointer for fault in caught.value.faults] == [pointer]


def test_turns_point_into_the_message_as_it_was_sent() -> None:
    assert turns(CALL) == [
        Turn(role="assistant", items=(), seq=1, calls=(TurnCall("call_1", "look", {}),))
    ]
    assert turns(ANSWER) == [
        Turn(role="tool", items=(TextItem("", "a cat"),), seq=1, call_id="call_1")
    ]


def test_items_of_one_turn_are_joined_if_their_dialect_does_so() -> None:
    split = [turns(CALL)[0], turns({**CALL, "call_id": "call_2"})[0]]
    both: ComposedTurn = Turn(
        role="assistant", items=(), seq=1, calls=split[0].calls + split[1].calls
    )
    assert join_turns((turn, True) for turn in split) == [both]
    assert join_turns((turn, False) for turn in split) == split
    assert join_turns(((turn, False) for turn in split), joins_calls=True) == [both]


def test_only_the_members_of_the_specification_are_flat() -> None:
    assert is_flat({"role": "user", "content": "hi", "name": "a"})
    assert not is_flat({"role": "user", "content": "hi", "id": "m1"})


def test_stored_block_of_one_provider_is_described_in_words() -> None:
    found = {"type": "web_search_result", "url": "https://a.example", "encrypted_content": "x"}
    block = {"type": "web_search_tool_result", "tool_use_id": "s_1", "content": [found]}
    message = {"role": "assistant", "content": [block, {"type": "text", "text": "Snow."}]}
    read = read_stored(message, "anthropic", READER_VERSION)
    stored = read_entry_turns(read, 1, "", {}, audience="assistant", moved_media_ids=frozenset())
    assert stored == turns(message)
    [kept, description] = stored[0].items
    assert isinstance(kept, ProviderBlock)
    assert (kept.words, kept.forms) == ("https://a.example", {"anthropic": block})
    assert isinstance(description, TextItem)
    assert description.text == "Snow."


@pytest.mark.parametrize(
    "document",
    [
        {"type": "text", "media_type": "text/plain", "data": "Four degrees."},
        {"type": "content", "content": "Four degrees."},
        {"type": "content", "content": [{"type": "text", "text": "Four degrees."}]},
    ],
)
def test_document_of_text_follows_its_title_and_context(document: Json) -> None:
    block = {"type": "document", "source": document, "title": "Weather", "context": "Of May."}
    document_turns = turns({"role": "user", "content": [block]})
    assert [item.text for item in document_turns[0].items if isinstance(item, TextItem)] == [
        "[document: Weather]",
        "Of May.",
        "Four degrees.",
    ]
    answer = {"type": "tool_result", "tool_use_id": "t_1", "content": [block]}
    assert turns({"role": "user", "content": [answer]})[0].items == tuple(
        TextItem("/content/0", item.text)
        for item in document_turns[0].items
        if isinstance(item, TextItem)
    )


def test_embedded_text_of_a_message_keeps_its_address() -> None:
    resource = {"uri": "file:///srv/prod/app.env", "mimeType": "text/plain", "text": "A=1"}
    message = {"role": "user", "content": {"type": "resource", "resource": resource}}
    (item,) = turns(message)[0].items
    assert isinstance(item, TextItem)
    assert (item.text, item.label and item.label.uri) == ("A=1", resource["uri"])
