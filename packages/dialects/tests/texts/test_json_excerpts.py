"""JSON values in one response: whole, or described by their first members."""

import json
from decimal import Decimal
from typing import Any

from pagefault_dialects.json.numbers import SpelledNumber
from pagefault_dialects.json.pointer_scanner import LargeValue
from pagefault_dialects.texts.excerpts import (
    RESPONSE_BYTES,
    SHOWN_KEYS,
    JsonExcerpt,
    LineExcerpt,
    LineMatch,
    Matches,
    excerpt_json,
    format_plain_text,
)

MANY = (
    "Too large for one answer. Ask for one of its members, by the `pointer` of its key or by "
    "another; it has"
)


def test_value_that_fits_is_returned_as_json_and_as_text() -> None:
    values: list[tuple[Any, str, str]] = [
        ({"a": [1, None]}, '{"a":[1,null]}', '{"a":[1,null]}'),
        ('a"é\n', '"a\\"é\\n"', 'a"é\n'),
        ([SpelledNumber("1.10")], "[1.10]", "[1.10]"),
        ("a" * (RESPONSE_BYTES - 2), f'"{"a" * (RESPONSE_BYTES - 2)}"', "a" * (RESPONSE_BYTES - 2)),
    ]
    expected = [JsonExcerpt("/x", written, None, plain) for _, written, plain in values]
    assert [excerpt_json(value, "/x") for value, _, _ in values] == expected
    assert [format_plain_text(found) for found in expected] == [plain for _, _, plain in values]


def describe(value: Any, pointer: str = "/x") -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """Return the description of a value that is too large, which is also its plain text."""
    found = excerpt_json(value, pointer)
    assert found.shape is not None
    text = json.dumps(found.shape, ensure_ascii=False, separators=(",", ":"))
    assert found == JsonExcerpt(pointer, None, found.shape, text)
    return found.shape


def test_long_string_and_number_are_described() -> None:
    text = "e\u0301" * RESPONSE_BYTES
    assert describe(text) == {
        "type": "string",
        "size": 3 * RESPONSE_BYTES + 2,
        "length": 2 * RESPONSE_BYTES,
        "start": "e\u0301" * 2_000,
        "hint": "Too long for one answer; `start` is its beginning. Find a passage with `grep`, or "
        "read all of the resource from `/api/resources/{uri}/content`.",
    }
    assert describe(text[1:])["start"] == "\u0301" + "e\u0301" * 1_999
    assert describe(Decimal("1" * (RESPONSE_BYTES + 1))) == {
        "type": "number",
        "size": RESPONSE_BYTES + 1,
        "hint": "Too long for one answer: read it from `/api/resources/{uri}/content`.",
    }


def test_large_container_is_described_by_its_members() -> None:
    long = "a" * RESPONSE_BYTES
    members = {"a/b": long, "n": 1, "d": 1.5, "t": True, "z": None, "o": {"c": 1}, "l": [1, 2]}
    sized = {"string": RESPONSE_BYTES, "object": 1, "array": 2}
    types = ["string", "number", "number", "boolean", "null", "object", "array"]
    assert describe(members) == {
        "type": "object",
        "size": len(json.dumps(members, separators=(",", ":"))),
        "length": 7,
        "keys": [
            {"key": key, "pointer": f"/x/{key.replace('/', '~1')}", "type": kind}
            | ({"length": sized[kind]} if kind in sized else {})
            for key, kind in zip(members, types, strict=True)
        ],
        "hint": f"{MANY} 7.",
    }
    items = [long, Decimal(1)]
    assert describe(items, "") == {
        "type": "array",
        "size": RESPONSE_BYTES + 6,
        "length": 2,
        "keys": [
            {"key": 0, "pointer": "/0", "type": "string", "length": RESPONSE_BYTES},
            {"key": 1, "pointer": "/1", "type": "number"},
        ],
        "hint": f"{MANY} 2.",
    }
    inner = LargeValue(is_array=True, length=9)
    large = LargeValue(is_array=False, length=500, size_bytes=10**6, members=(("a", inner),))
    assert describe(large) == {
        "type": "object",
        "size": 10**6,
        "length": 500,
        "keys": [{"key": "a", "pointer": "/x/a", "type": "array", "length": 9}],
        "hint": f"{MANY} 500.",
    }
    assert describe(LargeValue(is_array=True, length=0))["type"] == "array"


def test_members_are_described_as_long_as_they_fit() -> None:
    keys = describe(["a" * 200] * 1_000)["keys"]
    assert [member["key"] for member in keys] == [*range(SHOWN_KEYS)]
    long = describe({f"{number:01000}": "a" * 9_000 for number in range(100)})["keys"]
    size = len(json.dumps(long[0], separators=(",", ":")))
    assert len(long) == 16 * 1024 // size


def match(line: int, text: str, before: list[str], after: list[str]) -> LineMatch:
    return LineMatch(line, text, before, after)


def test_excerpts_are_written_as_grep_writes_them() -> None:
    excerpts: list[tuple[LineExcerpt | Matches, str]] = [
        (LineExcerpt(3, ("a", ""), (), None), "a\n\n"),
        (LineExcerpt(3, (), (), None), ""),
        (Matches((), 0, None), ""),
        # Without context, gaps are not marked.
        (Matches((match(2, "b", [], []), match(9, "i", [], [])), 2, None), "2:b\n9:i\n"),
        (
            Matches((match(3, "c", ["a", "b"], ["d"]), match(9, "i", ["h"], [])), 2, None),
            "1-a\n2-b\n3:c\n4-d\n--\n8-h\n9:i\n",
        ),
        # Lines that are the context of two matches are written once.
        (
            Matches((match(2, "b", ["a"], ["c"]), match(3, "c", ["b"], ["d"])), 2, None),
            "1-a\n2:b\n3:c\n4-d\n",
        ),
        (
            Matches((match(2, "b", ["a"], []), match(4, "d", ["c"], [])), 2, None),
            "1-a\n2:b\n3-c\n4:d\n",
        ),
    ]
    assert [(found, format_plain_text(found)) for found, _ in excerpts] == excerpts
    ranges = [LineExcerpt(3, ("a", "b"), (), None), LineExcerpt(3, (), (), None)]
    assert [found.last_line for found in ranges] == [4, 2]
