"""JSON pointers, by the examples of RFC 6901 §5 and beyond them."""

from typing import Any

import pytest

from pagefault_dialects.json.pointers import child_pointer, follow, json_pointer, parse_json_pointer

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
