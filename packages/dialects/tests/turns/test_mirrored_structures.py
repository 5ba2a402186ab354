"""Structured content beside parts: repetitions of them, and further values."""

import json

import pytest

from pagefault_dialects.json.spelling import Spelling
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.model.conversation import (
    Address,
    InlineBytes,
    Medium,
    StoredBytes,
    TextItem,
)
from pagefault_dialects.turns.mirrored_structures import RenderedPart, is_mirrored

ID = "0c8e6cc1ab1f4d34b4a5a0e21f7d6c15"
REFERENCE = f"@blob:{ID}"
URL = "https://files.example/a.png"
CITY = {"name": "Köln", "share": 0.1, "of": {"b": [True, None], "a": 2**70 + 1}}
IMAGE = {"type": "image", "data": REFERENCE, "mimeType": "image/png", "annotations": None}
FILE = {"uri": "file:///a", "mimeType": "text/plain", "text": "hi"}


def texts(*part_texts: str) -> list[RenderedPart]:
    return [
        RenderedPart(TextItem(f"/parts/{index}", text)) for index, text in enumerate(part_texts)
    ]


def medium(source: StoredBytes | Address | InlineBytes, **members: JsonValue) -> RenderedPart:
    return RenderedPart(Medium("/parts/9", source, "image", "image/png", None, None), members)


STORED = medium(StoredBytes(ID, "ab" * 32))


@pytest.mark.parametrize(
    ("value", "part_texts"),
    [
        ("a", ["a"]),
        ("Grüße 🎉\n", ["Grüße 🎉\n"]),
        ("7", ["7"]),
        (7, ["7"]),
        (2**70 + 1, ["1180591620717411303425"]),
        (1e20, ["1e+20"]),
        (1e20, ["100000000000000000000"]),
        (0.1, ["0.10"]),
        (3.0, ["3"]),
        (True, ["true"]),
        (False, ["False"]),
        (None, [""]),
        (["a", "b\n"], ["a", "b\n"]),
        (["a", "b"], ["intro", "a", "more", "b"]),
        ([1, 1e20, {"a": 1}], ["1", "1e20", '{ "a" : 1.0 }']),
        (["a", 1], ['["a",1]']),
        ([], [""]),
        ({}, ["a"]),
        (CITY, [json.dumps(CITY, indent=2, sort_keys=True)]),
        (CITY, [json.dumps(CITY, ensure_ascii=True)]),
        ([CITY, CITY], [json.dumps(CITY), json.dumps(CITY)]),
        ([{"type": "text", "text": "a", "_meta": None}, "b"], ["a", "b"]),
        ([{"type": "resource", "resource": FILE | {"uri": None}}], ["hi"]),
        (1e25, ["10000000000000000000000000"]),
        (-(10**25), ["-1e25"]),
        (1e308, ["1e308"]),
        (10**308, ["1E+308"]),
        (12345678901234567000, ["12345678901234567000.0"]),
    ],
)
def test_repeated_content_is_left_out_in_every_wrapper(
    value: JsonValue, part_texts: list[str]
) -> None:
    wrapped = [value, {"result": value}, {"content": value}, {"result": {"content": value}}]
    wrapped.append({"result": value, "error": None})
    assert [is_mirrored(item, texts(*part_texts)) for item in wrapped] == [True] * 5


@pytest.mark.parametrize(
    ("value", "part_texts"),
    [
        ({"type": ["text"], "text": "a"}, ["a"]),
        ({"a": 1}, ["hello"]),
        ({"message": "hello"}, ["hello"]),
        ({"result": "hello", "score": 1}, ["hello"]),
        ({"result": "hello", "score": 1}, ['{"result":"hello"}']),
        ("a", ["A"]),
        (1, ["true"]),
        (True, ["1"]),
        (2**53, ["9007199254740993"]),
        (10**25 + 1, ["1e25"]),
        (2**1_024, ["1e308"]),
        ({"type": "text", "text": "a", "annotations": {"priority": 1}}, ["a"]),
        ({"type": "text", "text": "a", "_meta": {"source": "guess"}}, ["a"]),
        ([{"type": "resource", "resource": FILE}], ["hi"]),
        ([FILE | {"uri": None, "name": "a.txt"}, FILE | {"uri": None}], ["hi", "hi"]),
        (FILE | {"uri": None, "title": "Greeting", "description": "by ACME", "size": 2}, ["hi"]),
        (["a", "b"], ["b", "a"]),
        (["a", "a"], ["a"]),
        (["a"], []),
        ({"type": "text", "text": "a", "score": 1}, ["a"]),
        ({"text": "a", "score": 1}, ["a"]),
        ({"a": None}, ["{}"]),
        ([IMAGE], ["a"]),
        (json.loads('{"result":' * 4 + '"a"' + "}" * 4), ["a"]),
    ],
)
def test_content_beyond_the_parts_is_not_a_repetition(
    value: JsonValue, part_texts: list[str]
) -> None:
    assert not is_mirrored(value, texts(*part_texts))


@pytest.mark.parametrize(
    ("value", "rendered_part"),
    [
        (REFERENCE, STORED),
        ([IMAGE], STORED),
        ([{"type": "resource", "resource": {"blob": REFERENCE}}], STORED),
        ({"type": "resource_link", "uri": URL}, medium(Address(URL))),
        (
            {"type": "image", "data": "AAEC", "mimeType": "image/png"},
            medium(InlineBytes(b"\0\1\2")),
        ),
    ],
)
def test_reference_is_mirrored_by_the_part_of_its_medium(
    value: JsonValue, rendered_part: RenderedPart
) -> None:
    assert is_mirrored({"result": value}, [rendered_part])
    items = value if isinstance(value, list) else [value]
    assert is_mirrored([{"type": "text", "text": "a"}, *items], [*texts("a"), rendered_part])
    assert not is_mirrored({"image": value, "caption": "A fox."}, [rendered_part])
    assert not is_mirrored([value], texts("a"))


LINK = {
    "type": "resource_link",
    "uri": "https://acme.example/r.html",
    "name": "report",
    "title": "Annual report 2025",
    "description": "by ACME,\nfor everybody",
    "mimeType": "text/html",
    "size": 12,
}
LINES = "\n".join(
    (
        "Annual report 2025",
        "report",
        "https://acme.example/r.html",
        "text/html",
        "12 bytes",
        "by ACME,\nfor everybody",
    )
)


@pytest.mark.parametrize(
    ("block", "part", "following"),
    [
        (
            {"type": "text", "text": "a", "annotations": {"audience": None, "priority": 1.0}},
            RenderedPart(TextItem("", "a"), {"annotations": {"priority": 1}}),
            [],
        ),
        (
            {"type": "text", "text": "a", "_meta": {"source": "guess"}},
            RenderedPart(TextItem("", "a"), {"_meta": {"mimeType": "text/x", "source": "guess"}}),
            [],
        ),
        (
            {"type": "resource", "resource": FILE, "annotations": {"priority": 1}},
            RenderedPart(TextItem("", "hi"), {"uri": "file:///a", "annotations": {"priority": 1}}),
            [],
        ),
        (FILE | {"name": "a.txt"}, RenderedPart(TextItem("", "hi"), FILE | {"name": "a.txt"}), []),
        (
            IMAGE | {"name": "a.png", "title": "A fox", "icons": [{"src": URL}]},
            medium(StoredBytes(ID, "ab" * 32), name="a.png"),
            texts('{"title":"A fox","icons":[{"src":"https://files.example/a.png"}]}'),
        ),
        (
            {"type": "resource", "resource": {"uri": "file:///a", "blob": REFERENCE, "title": "A"}},
            medium(StoredBytes(ID, "ab" * 32), uri="file:///a"),
            texts('{"resource":{"title":"A"}}'),
        ),
        (
            {"type": "resource_link", "uri": URL, "name": "a"},
            medium(Address(URL), uri=URL, name="a"),
            [],
        ),
        (LINK, RenderedPart(TextItem("", LINES), {"uri": LINK["uri"], "name": "report"}), []),
    ],
)
def test_block_is_mirrored_only_by_its_own_part(
    block: dict[str, JsonValue], part: RenderedPart, following: list[RenderedPart]
) -> None:
    assert is_mirrored({"result": [block, "z"]}, [part, *following, *texts("z")])
    bare = [RenderedPart(text.item) for text in (part, *texts("z"))]
    assert not is_mirrored({"result": [block, "z"]}, bare)
    changed = {name: {"priority": 2} if name == "annotations" else "else" for name in block}
    for name in block.keys() - {"type", "mimeType"}:
        assert not is_mirrored(
            [block | {name: changed[name]}, "z"], [part, *following, *texts("z")]
        )


def test_values_of_any_depth_are_compared() -> None:
    deep = "[" * 3_000 + "]" * 3_000
    value: JsonValue = []
    for _ in range(2_999):
        value = [value]
    assert is_mirrored(value, texts(deep))
    assert not is_mirrored(value, texts(f"[{deep}]"))


def test_text_shorter_than_the_value_is_not_parsed() -> None:
    deep: JsonValue = [1] * 1_000
    for _ in range(900):
        deep = [deep]
    assert Spelling(" " * 16).write(json_text(deep)) is None
    rendered_part = TextItem("", "[\n" + " " * 16 + "x" * 100)
    assert not is_mirrored({"a": deep}, [RenderedPart(rendered_part, digest="ab" * 32)])


def test_many_items_are_compared_with_as_many_parts() -> None:
    items = [f"row {number} " + "x" * 100 for number in range(20_000)]
    assert is_mirrored({"result": items}, texts(*items))
    assert not is_mirrored({"result": [*items, "more"]}, texts(*items))
