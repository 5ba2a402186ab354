"""Messages of LlamaIndex are read with all their blocks, those of old versions of Haystack too."""

from typing import Any

import pytest

from pagefault_dialects.dialects.foreign_message import ForeignMessage
from pagefault_dialects.dialects.openai_responses import (
    find_compaction_handle,
    make_compaction_item,
)
from pagefault_dialects.messages.entry_reading import read_entry
from pagefault_dialects.messages.healing import heal
from tests.kit.media import b64, png

Json = dict[str, Any]
TEXT = {"type": "text", "text": "a"}


def read_message(value: Json) -> ForeignMessage:
    (message,) = read_entry(value).messages
    return message


def read_llama_index(role: str, *blocks: Json, kwargs: Json | None = None) -> ForeignMessage:
    return read_message({"role": role, "blocks": [*blocks], "additional_kwargs": kwargs or {}})


@pytest.mark.parametrize(
    ("block", "content"),
    [
        ({"block_type": "text", "text": "a"}, [TEXT]),
        ({"block_type": "text", "text": None}, [{"type": "text", "text": ""}]),
        ({"block_type": "thinking", "content": "t"}, [{"type": "thinking", "thinking": "t"}]),
        ({"block_type": "cache", "cache_control": {}}, []),
        (
            {
                "block_type": "tool_call",
                "tool_call_id": "c",
                "tool_name": "f",
                "tool_kwargs": {"a": 1},
            },
            [{"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}],
        ),
        (
            {"block_type": "image", "image": "AAAA", "image_mimetype": "image/png"},
            [{"type": "image", "data": "AAAA", "mimeType": "image/png"}],
        ),
        (
            {"block_type": "video", "video": None, "url": "https://h/a.mp4"},
            [{"type": "video", "url": "https://h/a.mp4"}],
        ),
        (
            {
                "block_type": "document",
                "data": "AAAA",
                "document_mimetype": "text/csv",
                "title": "t.csv",
            },
            [{"type": "file", "data": "AAAA", "mimeType": "text/csv", "filename": "t.csv"}],
        ),
        (
            {"block_type": "audio", "audio": None},
            [{"block_type": "audio", "audio": None, "type": "audio"}],
        ),
        (
            {
                "block_type": "citable",
                "title": "Book",
                "content": [{"block_type": "text", "text": "a"}, "no block"],
            },
            [{"type": "text", "text": "[Book]"}, TEXT],
        ),
        (
            {
                "block_type": "citation",
                "title": "Book",
                "cited_content": {"block_type": "text", "text": "a"},
            },
            [{"type": "text", "text": "[Book]"}, TEXT],
        ),
    ],
)
def test_block_of_llama_index_is_read(block: Json, content: list[Json]) -> None:
    first = {"block_type": "text", "text": "first"}
    message = read_llama_index("user", first, block)
    assert message.message == {
        "role": "user",
        "content": [{"type": "text", "text": "first"}, *content],
    }
    assert message.original_pointers == {
        "/content/0": "/blocks/0",
        **{f"/content/{index + 1}": "/blocks/1" for index in range(len(content))},
    }


@pytest.mark.parametrize(
    ("call", "name", "arguments"),
    [
        ({"id": "c", "function": {"name": "f", "arguments": "{}"}}, "f", "{}"),
        ({"id": "c", "name": "f", "input": {"a": 1}}, "f", {"a": 1}),
    ],
)
def test_call_beside_the_blocks_of_llama_index_is_read_once(
    call: Json, name: str, arguments: object
) -> None:
    block = {"block_type": "tool_call", "tool_call_id": "d", "tool_name": "g", "tool_kwargs": {}}
    again = {"id": "d", "name": "g", "input": {}}
    message = read_llama_index("chatbot", block, kwargs={"tool_calls": [again, call]})
    assert message.message == {
        "role": "assistant",
        "content": [
            {"type": "tool_use", "id": "d", "name": "g", "input": {}},
            {"type": "tool_use", "id": "c", "name": name, "input": arguments},
        ],
    }
    assert message.original_pointers["/content/1"] == "/additional_kwargs/tool_calls/1"


def test_result_of_llama_index_has_its_call_beside_its_blocks() -> None:
    kwargs = {"tool_call_id": "c", "name": "f"}
    message = read_llama_index("tool", {"block_type": "text", "text": "a"}, kwargs=kwargs)
    assert message.message == {
        "role": "tool",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "c",
                "name": "f",
                "content": [TEXT],
                "is_error": False,
            }
        ],
    }
    assert message.original_pointers == {"/content/0": "/blocks"}


def test_image_of_haystack_is_no_loss() -> None:
    image: Json = {"base64_image": b64(png()), "mime_type": "image/png", "detail": None, "meta": {}}
    content = [{"text": "Look."}, {"image": {**image, "validation": True}}]
    healed = heal([{"role": "user", "meta": {}, "name": None, "content": content}], "anthropic")
    source = {"type": "base64", "media_type": "image/png", "data": b64(png())}
    blocks = [{"type": "text", "text": "Look."}, {"type": "image", "source": source}]
    assert (healed.messages, healed.loss) == ([{"role": "user", "content": blocks}], ())


def test_message_of_haystack_before_2_9_has_underscored_members() -> None:
    message = read_message(
        {"_role": "user", "_content": [{"text": "a"}], "_name": None, "_meta": {}}
    )
    assert message.original_pointers == {
        "/content": "/_content",
        "/content/0": "/_content/0",
    }
    assert message.original_pointer("/content/0/text") == "/_content/0/text"


def test_compaction_item_of_this_service_has_a_handle() -> None:
    item = make_compaction_item("i", "h")
    assert item == {"id": "i", "type": "compaction", "encrypted_content": item["encrypted_content"]}
    assert find_compaction_handle(item) == "h"
    others = (None, [item], {**item, "type": "message"}, {**item, "encrypted_content": None},
              {**item, "encrypted_content": "h"})  # fmt: skip
    assert [find_compaction_handle(other) for other in others] == [None] * len(others)
