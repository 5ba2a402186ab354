"""Texts of JSON values with half of a surrogate pair, and the pointers to them."""

import pytest

from pagefault_dialects.json.surrogates import find_lone_surrogates, has_lone_surrogate
from pagefault_dialects.json.values import JsonValue


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *(("plain", []), ("é \U0001f600", []), (7, []), (None, []), ([], []), ({}, [])),
        ("a\ud800", [("", "a\ud800")]),
        (["a", ["\udfff"]], [("/1/0", "\udfff")]),
        ({"a/b": {"c": "\ud83d"}}, [("/a~1b/c", "\ud83d")]),
        ({"x": {"k\ud800": "é"}}, [("/x", "k\ud800")]),
        ({"k\ud800": ["\udc00"]}, [("", "k\ud800"), ("/k\ud800/0", "\udc00")]),
        (["\ud800", "\udc00"], [("/0", "\ud800"), ("/1", "\udc00")]),
    ],
)
def test_each_text_with_half_a_pair_is_found(
    value: JsonValue, expected: list[tuple[str, str]]
) -> None:
    assert sorted(find_lone_surrogates(value)) == sorted(expected)
    assert has_lone_surrogate(value) is bool(expected)
