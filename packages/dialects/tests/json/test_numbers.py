"""Numbers of JSON: their values, their spelling, and those that are refused."""

import json
import sys
from decimal import Decimal
from typing import Any

import pytest

from pagefault_dialects.errors import InvalidJsonError
from pagefault_dialects.json.numbers import (
    EXACT_HOOKS,
    SPELLED_HOOKS,
    SpelledNumber,
    number_value,
    parse_exact_integer,
    parse_finite_float,
    parse_spelled_integer,
    parse_spelled_number,
    reject_constant,
)

LONG = "7" * 5_000


@pytest.mark.parametrize(
    ("literal", "expected"),
    [("1.5", 1.5), ("1.50", SpelledNumber("1.50")), ("1E2", SpelledNumber("1E2")), ("1.0", 1.0)],
)
def test_spelling_is_kept_where_a_double_has_another(literal: str, expected: object) -> None:
    parsed = parse_spelled_number(literal)
    assert (parsed, type(parsed)) == (expected, type(expected))
    assert getattr(parsed, "literal", literal) == literal


@pytest.mark.parametrize(
    ("literal", "expected"), [("-0", SpelledNumber("-0")), ("0", 0), ("-12", -12)]
)
def test_negative_zero_keeps_its_spelling(literal: str, expected: object) -> None:
    parsed = parse_spelled_integer(literal)
    assert (parsed, type(parsed)) == (expected, type(expected))
    assert getattr(parsed, "literal", literal) == literal


@pytest.mark.parametrize(
    ("number", "value"),
    [
        *((7, 7), (7.0, 7), (7.5, 7.5), (SpelledNumber("7.50"), 7.5), (SpelledNumber("7e0"), 7)),
        (Decimal(LONG), Decimal(LONG)),
    ],
)
def test_value_of_a_number_has_no_spelling(number: float | Decimal, value: object) -> None:
    found = number_value(number)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("digits", "kind"), [(3_999, int), (4_000, Decimal), (5_000, Decimal), (1, int)]
)
def test_very_long_integer_is_a_decimal(digits: int, kind: type) -> None:
    parsed = parse_exact_integer("7" * digits)
    assert (type(parsed), str(parsed)) == (kind, "7" * digits)


def test_number_beyond_all_doubles_is_refused() -> None:
    assert parse_finite_float(f"{sys.float_info.max!r}") == sys.float_info.max
    with pytest.raises(InvalidJsonError) as refused:
        parse_finite_float("1e309")
    sentence = "A number is too large for any JSON reader. Send it as a string."
    assert refused.value.args == (sentence,)


def test_constant_that_json_does_not_have_is_refused() -> None:
    with pytest.raises(InvalidJsonError) as refused:
        reject_constant("NaN")
    sentence = "NaN is not a JSON value. Send null or a string instead."
    assert refused.value.args == (sentence,)


def test_hooks_parse_the_numbers_of_a_text() -> None:
    text = f"[1.50, -0, 2, {'7' * 4_000}]"
    parsed = json.loads(text, **EXACT_HOOKS)
    assert [str(number) for number in parsed] == ["1.50", "-0", "2", "7" * 4_000]
    spelled: dict[str, Any] = {**SPELLED_HOOKS}
    assert [str(number) for number in json.loads("[1.50, -0]", **spelled)] == ["1.50", "-0"]
    with pytest.raises(InvalidJsonError):
        json.loads("[Infinity]", **EXACT_HOOKS)
