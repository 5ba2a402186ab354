"""JSON texts in their canonical spelling, and compact ones in the spelling of a writer."""

import json
from typing import Any

import pytest

from pagefault_dialects.json.spelling import (
    Spelling,
    canonicalize,
    canonicalize_text,
    detect_spelling,
    escape_non_ascii,
)

VALUE: dict[str, Any] = {
    "a": [1, [], {}, {"b": [2, "x, y: [z]"]}],
    'q"\\': "{",
    "": None,
    "n": [[[True]]],
}
COMPACT = json.dumps(VALUE, separators=(",", ":"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"b": 1, "a": [2]}', '{"a":[2],"b":1}'),
        ('"\\u00e9"', '"é"'),
        ("1.0", "1"),
        ("1e2", "100"),
        ("1.50", "1.5"),
        ("-0.0", "0"),
        ("1e16", "10000000000000000"),
        ("123e20", "12300000000000000000000"),
        ("-1e16", "-10000000000000000"),
    ],
)
def test_equal_values_have_one_canonical_text(one: str, other: str) -> None:
    assert canonicalize_text(one) == canonicalize_text(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("1", "2"), ("1", '"1"'), ("[1,2]", "[2,1]"), ("0.1", "0.2")),
        # Doubles skip whole numbers from 2**53 on; digits are compared there.
        ("10000000000000001", "10000000000000000"),
        ("123456789012345678", "123456789012345680"),
        ("9007199254740993", "9007199254740992"),
    ],
)
def test_other_values_have_other_canonical_texts(one: str, other: str) -> None:
    assert canonicalize_text(one) != canonicalize_text(other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"b": 1.0, "a": "é"}', '{"a":"é","b":1}'),
        ("9999999999999999", "9999999999999999"),
        ("1e15", "1000000000000000"),
        ("10000000000000000", "1e+16"),
        ("12345678901234567", "12345678901234567"),
        ("12345678901234568", "1.2345678901234568e+16"),
        ("123456789012345680", "1.2345678901234568e+17"),
        ("1234567890123456789", "1234567890123456789"),
        ("-20000000000000000", "-2e+16"),
        ('"a\\ud800b"', '"a\ufffdb"'),
        ("1" + "0" * 309, "1" + "0" * 309),
    ],
)
def test_canonical_text(text: str, expected: str) -> None:
    assert canonicalize_text(text) == expected


def test_text_that_cannot_be_read_is_compared_as_it_is() -> None:
    for text in ("nope", "[" * 100_000, "7" * 5_000, " NaN"):
        assert canonicalize_text(text) == text
    assert canonicalize({"b": 1.0, "a": [True, None]}) == '{"a":[true,null],"b":1}'


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        (COMPACT, Spelling()),
        (json.dumps(VALUE), Spelling(is_spaced=True)),
        (json.dumps(VALUE, indent=2), Spelling("  ")),
        (json.dumps(VALUE, indent="\t"), Spelling("\t")),
        (json.dumps(VALUE, indent=16), Spelling(" " * 16)),
        ('["a, b: c"]', Spelling()),
        ('["a, b",1]', Spelling()),
        ('["a,b", 1]', Spelling(is_spaced=True)),
        ("7", Spelling()),
        (f'["{"x" * 5_000}", 1]', Spelling()),
    ],
)
def test_spelling_follows_from_the_beginning(text: str, spelling: Spelling) -> None:
    assert detect_spelling(text) == spelling


@pytest.mark.parametrize("options", [{}, {"indent": 1}, {"indent": 4}, {"indent": "\t"}])
def test_compact_text_is_written_as_python_writes_it(options: dict[str, Any]) -> None:
    text = json.dumps(VALUE, **options)
    assert detect_spelling(text).write(COMPACT) == text


def test_compact_spelling_is_the_text_itself() -> None:
    assert Spelling().write(COMPACT) is COMPACT


def test_text_that_would_be_much_longer_is_not_written() -> None:
    deep = "[" * 100 + "]" * 100
    assert Spelling(" " * 16).write(deep) is None
    # Sixteen times as long is the most.
    assert Spelling(" " * 29).write("[7]") == f"[\n{' ' * 29}7\n]"
    assert Spelling(" " * 43).write("[7]") == f"[\n{' ' * 43}7\n]"
    assert Spelling(" " * 44).write("[7]") is None


def test_characters_beyond_ascii_are_escaped() -> None:
    assert escape_non_ascii('{"é\\n": "日本\U0001f600~"}') == (
        '{"\\u00e9\\n": "\\u65e5\\u672c\\ud83d\\ude00~"}'
    )
