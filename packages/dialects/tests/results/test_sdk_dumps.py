"""A CallToolResult as the SDKs dump it: by alias or by name, with or without nulls."""

from typing import Any

import pytest

from packages.dialects.tests.results.samples import (
    PNG,
    PNG64,
    Medium,
    Result,
    json_part,
    medium,
    result_of,
    text,
    without_nulls,
)
from pagefault_dialects.model.normalized import Provenance
from pagefault_dialects.results import normalize

_ANNOTATIONS = {"audience": ["user"], "priority": None}
_SNAKE = {"structured_content": None, "is_error": False, "result_type": "complete", "meta": None}
_CAMEL = {"structuredContent": None, "isError": False, "resultType": "complete", "_meta": None}


def by_alias(block: dict[str, Any]) -> dict[str, Any]:
    """Return the result of one block as `model_dump(by_alias=True)` writes it."""
    return {**_CAMEL, "content": [{**block, "_meta": {"k": None}}]}


def by_name(block: dict[str, Any]) -> dict[str, Any]:
    """Return the result of one block as `model_dump()` of the second version writes it."""
    return {**_SNAKE, "content": [{**block, "meta": {"k": None}}]}


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": "a", "annotations": None},
        {"type": "text", "text": "a", "annotations": {**_ANNOTATIONS, "lastModified": "x"}},
        {"type": "image", "data": PNG64, "mimeType": "image/png", "annotations": None},
        {"type": "audio", "data": PNG64, "mimeType": "audio/wav"},
        {
            "type": "resource",
            "resource": {"uri": "f:///a", "mimeType": "text/csv", "_meta": {"z": 1}, "text": "a"},
            "annotations": {"audience": None, "priority": None, "lastModified": None},
        },
        {"type": "resource", "resource": {"uri": "f:///a", "mimeType": None, "blob": PNG64}},
        {
            "type": "resource_link",
            "uri": "https://x.example/a.png",
            "name": "a",
            "mimeType": "image/png",
            "icons": [{"src": "https://x.example/i", "mimeType": "image/png", "sizes": None}],
        },
        {"type": "resource_link", "uri": "f:///a", "name": "a", "mimeType": "text/plain"},
    ],
)
def test_block_is_the_same_under_either_names(block: dict[str, Any]) -> None:
    respelled = _snake_case(block)
    assert result_of(by_name(respelled)) == result_of(by_alias(block))
    bare = without_nulls(block)
    assert result_of(by_alias(bare)) == result_of(by_alias(block))


def _snake_case(value: object) -> Any:  # noqa: ANN401 - JSON as it came in
    names = {"mimeType": "mime_type", "lastModified": "last_modified", "_meta": "meta"}
    if isinstance(value, dict):
        return {names.get(key, key): _snake_case(item) for key, item in value.items()}
    return [_snake_case(item) for item in value] if isinstance(value, list) else value


def test_members_of_a_block_in_snake_case_are_those_of_the_protocol() -> None:
    block = {
        "type": "image",
        "data": PNG64,
        "mime_type": "image/png",
        "annotations": {"audience": None, "priority": 0.5, "last_modified": "2026-01-01"},
        "meta": {"k": None},
    }
    provenance = Provenance(
        annotations={"priority": 0.5, "lastModified": "2026-01-01"}, meta={"k": None}
    )
    assert result_of([block]) == Result(
        (medium(provenance=provenance),), (Medium(PNG, "image/png", "image"),)
    )


def test_error_in_snake_case_is_an_error_without_another_text() -> None:
    block = {"type": "text", "text": "boom", "annotations": None, "meta": None}
    result = {"content": [block], **_SNAKE, "is_error": True, "structured_content": {"a": None}}
    assert result_of(result) == Result(
        (text("boom"),), is_error=True, structured_content=({"a": None},)
    )


@pytest.mark.parametrize("flags", [{"isError": False}, {"structured_content": None}])
def test_meta_beside_a_member_of_the_sdk_is_that_of_the_protocol(flags: dict[str, object]) -> None:
    result = {"content": [{"type": "text", "text": "a"}], "meta": {"trace": None}, **flags}
    assert result_of(result).meta == {"trace": None}
    assert result_of(result).parts == (text("a"),)


def test_meta_of_a_tools_own_stays_readable() -> None:
    words = {"type": "text", "text": "a"}
    assert result_of({"content": [words], "meta": {"next": 2}}) == Result(
        (text("a"), json_part('{"meta":{"next":2}}'))
    )
    assert result_of([{**words, "score": 1, "meta": {"next": 2}}]) == Result(
        (text("a"), json_part('{"score":1,"meta":{"next":2}}'))
    )


@pytest.mark.parametrize(
    ("structured", "data"),
    [({"a": [1]}, {"a": [1]}), ({"result": 5}, 5), ({"result": "x"}, "x"), (None, None)],
)
def test_data_of_the_fastmcp_client_is_not_repeated(structured: object, data: object) -> None:
    result = {
        "content": [{"type": "text", "text": "a"}],
        "structured_content": structured,
        "meta": None,
        "data": data,
        "is_error": False,
    }
    kept = None if structured is None else (structured,)
    assert result_of(result) == Result((text("a"),), is_error=False, structured_content=kept)


def test_data_that_differs_from_the_content_is_kept() -> None:
    result = {"content": [], "structured_content": {"result": 5}, "data": 6, "is_error": False}
    assert result_of(result).parts == (json_part('{"result":5}'), json_part('{"data":6}'))


def test_empty_resource_has_its_address() -> None:
    block = {"type": "resource", "resource": {"uri": "file:///a.txt", "text": ""}}
    assert result_of([block]) == Result(
        (text("[file:///a.txt is empty]", provenance=Provenance(uri="file:///a.txt")),)
    )


def test_two_spellings_of_a_member_with_other_values_are_both_kept() -> None:
    block = {"type": "text", "text": "a"}
    tool_result = {
        "content": [{**block, "annotations": {"lastModified": "1", "last_modified": "2"}}]
    }
    (part,) = normalize(tool_result).parts
    kept = {"lastModified": "1", "last_modified": "2"}
    assert part.provenance == Provenance(annotations=kept)
    both = {"structuredContent": 1, "structured_content": True, "isError": False}
    assert "true" in str(normalize({"content": [block], **both}).parts)


def test_other_member_is_kept_in_both_spellings() -> None:
    words = {"type": "text", "text": "a"}
    assert result_of({"content": [words], "is_error": "maybe", "isError": "no"}) == Result(
        (text("a"), json_part('{"is_error":"maybe","isError":"no"}'))
    )


def test_members_that_langchain_adds_to_blocks_are_left_out() -> None:
    made = "lc_1faba2c5-5f8e-4f4c-9a8e-6a1f6a3c7f10"
    blocks = [
        {"type": "text", "id": made, "text": "hi", "index": 0},
        {"type": "image", "id": made, "url": "https://x.example/a.png", "index": "lc_img_1"},
        {
            "type": "file",
            "id": made,
            "base64": PNG64,
            "mime_type": "image/png",
            "extras": {"filename": "a.png", "detail": "high"},
        },
    ]
    bare = [
        {"type": "text", "text": "hi"},
        {"type": "image", "url": "https://x.example/a.png"},
        {
            "type": "file",
            "base64": PNG64,
            "mime_type": "image/png",
            "filename": "a.png",
            "extras": {"detail": "high"},
        },
    ]
    message = {"type": "tool", "tool_call_id": "c", "status": "success"}
    assert result_of({**message, "content": blocks}) == result_of({**message, "content": bare})
    assert result_of(blocks) == result_of(bare)


def test_id_that_a_tool_gives_its_own_block_is_kept() -> None:
    own = {"type": "text", "text": "hi", "id": "row-1", "index": 0}
    assert result_of([own]) == Result((text("hi"), json_part('{"id":"row-1","index":0}')))
