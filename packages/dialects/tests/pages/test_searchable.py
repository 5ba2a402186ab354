from typing import Any

import pytest
from hypothesis import given

from packages.dialects.tests.pages.page_factory import JSON_VALUES
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.page import BodyKind, PageFields
from pagefault_dialects.pages.page_text import iterate_texts, list_page_texts

READ = {
    "keys, texts and numbers in order": (
        {"city": "Oslo", "hourly": [1, 2.5, {"x": "y"}], "last": 10**40},
        ["city", "Oslo", "hourly", "1", "2.5", "x", "y", "last", f"1{'0' * 40}"],
    ),
    "no words in true, false and null": ([True, False, None, "yes"], ["yes"]),
    "line breaks as they are": (["one\nzebra"], ["one\nzebra"]),
    "JSON text of an object": ('{"a": "one\\nzebra"}', ["a", "one\nzebra"]),
    "JSON text of a text": ('"one\\nzebra"', ["one\nzebra"]),
    "JSON text of a number": ("1.50", ["1.50"]),
    "JSON text of null": ("null", ["null"]),
    "text that is no JSON": ("{one\nzebra", ["{one\nzebra"]),
    "a text inside is a text": (["[1]"], ["[1]"]),
    "a number with very many digits": (f"[{'7' * 5_000}]", ["7" * 5_000]),
    "nothing": ({}, []),
}


@pytest.mark.parametrize(("value", "texts"), READ.values(), ids=READ)
def test_data_is_searched_by_its_words(value: JsonValue, texts: list[str]) -> None:
    assert list(iterate_texts(value)) == texts


def test_deep_data_is_searched_to_its_end() -> None:
    deep: Any = "zebra"
    for _ in range(5_000):
        deep = {"a": [deep]}
    assert list(iterate_texts(deep)) == ["a"] * 5_000 + ["zebra"]


@pytest.mark.slow
@given(value=JSON_VALUES)
def test_every_key_is_searched(value: JsonValue) -> None:
    read = list(iterate_texts([value]))
    assert not isinstance(value, dict) or set(value) <= set(read)


FIELDS = PageFields.model_validate(
    {
        "hint": "A hint",
        "caption": "",
        "transcript": "Spoken",
        "scenes": ["[A beach]", {"summary": "one\nzebra", "start": 5}, ""],
    }
)
SAID = ["Spoken", "[A beach]", "summary", "one\nzebra", "start", "5"]
INDEXED: dict[str, tuple[BodyKind, JsonValue, list[str]]] = {
    "text": ("text", '{"as": "it is"}', ['{"as": "it is"}']),
    "empty text": ("text", "", []),
    "data": ("json", {"k": ["v", ""]}, ["k\nv\n"]),
    "data as a JSON string": ("json", '{"k": "one\\nzebra"}', ["k\none\nzebra"]),
    "an address": ("url", "https://example.com/x.png", []),
    "a medium": ("blob", "@blob:" + "ab" * 16, []),
    "nothing": ("none", None, []),
}


@pytest.mark.parametrize(("kind", "content", "texts"), INDEXED.values(), ids=INDEXED)
def test_all_texts_of_a_page_are_searched(
    kind: BodyKind, content: JsonValue, texts: list[str]
) -> None:
    assert list_page_texts(FIELDS, kind, content) == (["A hint"], [*SAID, *texts])


def test_page_without_words_has_no_texts() -> None:
    assert list_page_texts(PageFields.model_validate({}), "none", None) == ([], [])
