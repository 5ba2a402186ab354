from decimal import Decimal

import pytest
from hypothesis import given

from packages.dialects.tests.pages.page_factory import JSON_VALUES
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.pages.reduced_data import outline_data, truncate_data

TRUNCATED = {
    "small values": ({"a": [1, None, True, 1.5, "x"]}, {"a": [1, None, True, 1.5, "x"]}),
    "a cut that saves nothing": ("x" * 140, "x" * 140),
    "long text": ("x" * 1_241, "x" * 100 + "[… 1,141 more characters]"),
    "long array": ([0] * 12, [0] * 10 + ["[… 2 more items]"]),
    "wide object": (
        {f"k{n}": n for n in range(52)},
        {f"k{n}": n for n in range(50)} | {"…": "[… 2 more keys]"},
    ),
    "long key": ({"k" * 300: 1}, {"k" * 100 + "[… 200 more characters]": 1}),
    "two long keys alike": (
        {"k" * 300: 1, "k" * 299 + "x": 2},
        {"k" * 100 + "[… 200 more characters]": 1, "…": "[… 1 more key]"},
    ),
    "deep": (
        {"a": {"a": {"a": {"a": {"a": {"a": {"b": 1, "c": 2}}}}}}},
        {"a": {"a": {"a": {"a": {"a": {"a": "{… 2 keys}"}}}}}},
    ),
    "very long number": (
        Decimal("7" * 5_000),
        "7" * 20 + "[… 4,980 more digits]",
    ),
    "no values inside": ({"a": [], "b": {}}, {"a": [], "b": {}}),
}

OUTLINES = {
    "types": (
        {"s": "text", "i": 1, "n": 1.5, "b": True, "z": None, "e": "", "o": {}, "a": []},
        {
            "s": "string of 4 characters",
            "i": "integer",
            "n": "number",
            "b": "boolean",
            "z": "null",
            "e": "empty string",
            "o": "empty object",
            "a": "empty array",
        },
    ),
    "array of one kind": ([1, 2, 3], "array of 3 integers"),
    "array of one text": (["a"], "array of 1 string"),
    "array of several kinds": ([1, "a"], "array of 2 values"),
    "array of objects": ([{"a": 1}, {"b": 2}], [{"a": "integer"}, "[… 1 more item]"]),
    "array of one object": ([{"a": 1}], [{"a": "integer"}]),
    "very long number": (Decimal("7" * 5_000), "integer"),
    "deep": (
        {"a": {"a": {"a": {"a": {"a": {"a": 1}}}}}},
        {"a": {"a": {"a": {"a": {"a": "object with 1 key"}}}}},
    ),
}


@pytest.mark.parametrize(("data", "expected"), TRUNCATED.values(), ids=TRUNCATED)
def test_truncated_data_marks_each_left_out_place(data: JsonValue, expected: JsonValue) -> None:
    assert truncate_data(data) == expected


@pytest.mark.parametrize(("data", "expected"), OUTLINES.values(), ids=OUTLINES)
def test_outline_has_a_type_in_the_place_of_every_value(
    data: JsonValue, expected: JsonValue
) -> None:
    assert outline_data(data) == expected


WIDE = {
    "wide at every depth": [[[[["x" * 99] * 10] * 10] * 10] * 10] * 10,
    "many keys": {f"{n:050}": {f"{m:050}": "x" * 200 for m in range(60)} for n in range(60)},
    "long keys": {"k" * 500 + str(n): {"v" * 500: "x" * 500} for n in range(100)},
}


@pytest.mark.parametrize("data", WIDE.values(), ids=WIDE)
def test_wide_data_fits_the_limits(data: JsonValue) -> None:
    assert len(json_text(truncate_data(data))) <= 4_000
    assert len(json_text(outline_data(data))) <= 800


@pytest.mark.slow
@given(data=JSON_VALUES)
def test_smaller_forms_are_bounded(data: JsonValue) -> None:
    assert len(json_text(truncate_data(data))) <= 4_000
    assert len(json_text(outline_data(data))) <= 800
