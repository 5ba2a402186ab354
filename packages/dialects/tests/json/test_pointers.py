"""JSON pointers, by the examples of RFC 6901 §5 and beyond them."""

from typing import Any

import pytest

from pagefault_dialects.json.pointers import (
    child_pointer,
    find_first_difference,
    follow,
    json_pointer,
    parse_json_pointer,
)
from pagefault_dialects.json.values import JsonValue

DOCUMENT: dict[str, Any] = {
    "foo": ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "c%d": 2,
    "e^f": 3,
    "g|h": 4,
    "i\\j": 5,
    'k"l': 6,
    " ": 7,
    "m~n": 8,
    "~1": 9,
}
DEEP = "/a~1b/m~0n/1/y/0"


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [
        *(("", DOCUMENT), ("/foo", ["bar", "baz"]), ("/foo/0", "bar"), ("/", 0), ("/a~1b", 1)),
        *(("/c%d", 2), ("/e^f", 3), ("/g|h", 4), ("/i\\j", 5), ('/k"l', 6), ("/ ", 7)),
        *(("/m~0n", 8), ("/~01", 9)),
    ],
)
def test_pointer_leads_to_its_value(pointer: str, expected: object) -> None:
    names = parse_json_pointer(pointer)
    assert names is not None
    assert (follow(DOCUMENT, names).value, follow(DOCUMENT, names).steps) == (expected, len(names))


@pytest.mark.parametrize("pointer", ["foo", "#/foo", "/~", "/~2", "/a~", " /a"])
def test_text_that_is_no_pointer_is_none(pointer: str) -> None:
    assert parse_json_pointer(pointer) is None


@pytest.mark.parametrize(
    ("pointer", "steps"),
    [
        *(("/none", 0), ("/foo/2", 1), ("/foo/-", 1), ("/foo/00", 1), ("/foo/-1", 1)),
        *(("/foo/1/x", 2), ("/foo/\u0660", 1), ("/foo/" + "9" * 5_000, 1), ("/foo/0/0", 2)),
    ],
)
def test_pointer_without_a_value_returns_how_far_it_was_followed(pointer: str, steps: int) -> None:
    names = parse_json_pointer(pointer)
    assert names is not None
    assert follow(DOCUMENT, names).steps == steps


@pytest.mark.parametrize("key", DOCUMENT)
def test_pointer_to_a_member_leads_to_it(key: str) -> None:
    names = parse_json_pointer(child_pointer("", key))
    assert names is not None
    assert follow(DOCUMENT, names).value == DOCUMENT[key]


@pytest.mark.parametrize(
    "keys", [(), ("",), ("a/b", 0, "m~n"), ("~1", "~0", "~01", "/"), (12, "\ud800", "é")]
)
def test_pointer_that_is_written_is_read_as_the_same_names(keys: tuple[str | int, ...]) -> None:
    assert parse_json_pointer(json_pointer(keys)) == tuple(map(str, keys))


@pytest.mark.parametrize(
    ("one", "other", "pointer"),
    [
        *((1, 1, None), (1, 2, ""), ("a", "a", None), ("a", "b", ""), (None, None, None)),
        *((True, 1, ""), (False, 0, ""), (None, 0, ""), ("1", 1, ""), (1, 1.0, None)),
        *(([], {}, ""), ([], [], None), ({}, {}, None), ([0], 0, ""), ({"a": 0}, [0], "")),
        ([1, 2], [1, 3], "/1"),
        ([1, 2], [0, 3], "/0"),
        # Items that both have are compared before the number of items is.
        ([1], [1, 2], "/1"),
        ([1, 2, 3], [1, 9], "/1"),
        ([1, 2, 3], [1, 2], "/2"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, None),
        # Differences are in the order of the other value; members that are missing come first.
        ({"a": 1, "b": 2}, {"b": 3, "a": 4}, "/b"),
        ({"a": 1}, {"a": 2, "b": 3}, "/b"),
        ({"a": 1, "b": 2}, {"a": 3}, "/b"),
        ({"a/b": {"m~n": [{"x": 0}, {"y": [7]}]}}, {"a/b": {"m~n": [{"x": 0}, {"y": [8]}]}}, DEEP),
    ],
)
def test_first_difference_is_a_pointer(
    one: JsonValue, other: JsonValue, pointer: str | None
) -> None:
    assert find_first_difference(one, other) == pointer


def _is_lower(one: JsonValue, other: JsonValue) -> bool:
    return isinstance(one, str) and one.lower() == other


def test_strings_that_count_as_equal_are_no_difference() -> None:
    one, other = {"a": "A", "b": ["x"]}, {"a": "a", "b": ["y"]}
    assert find_first_difference(one, other) == "/a"
    assert find_first_difference(one, other, is_ignored=_is_lower) == "/b/0"
