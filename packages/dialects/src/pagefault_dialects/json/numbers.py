"""JSON numbers that keep their spelling (`1.10`), and integers of any length."""

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Self

from pagefault_dialects.errors import InvalidJsonError

LARGEST_COUNT = 2**53
"""The largest integer that all clients read exactly, since JavaScript's numbers have 53 bits."""
# Python limits `int` to 4,300 digits by default.
_MAX_INT_DIGITS = 4_000


def number_value(number: int | float | Decimal) -> int | float | Decimal:
    """Return the value of a parsed number, without its spelling.

    The value is an `int` for whole numbers (a `Decimal` beyond the limit of `int`), and otherwise
    the nearest double.
    """
    value = float(number.literal) if isinstance(number, SpelledNumber) else number
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    return value


def reject_constant(name: str) -> None:
    """Raise `InvalidJsonError` for `NaN` and `Infinity`, which JSON does not have."""
    raise InvalidJsonError(f"{name} is not a JSON value. Send null or a string instead.")


def parse_finite_float(literal: str) -> float:
    """Return the double nearest to a literal; raise `InvalidJsonError` if it overflows."""
    number = float(literal)
    if math.isinf(number):
        raise InvalidJsonError("A number is too large for any JSON reader. Send it as a string.")
    return number


class SpelledNumber(Decimal):
    """A decimal number with the literal that it was parsed from, such as `1.10`."""

    literal: str

    def __new__(cls, literal: str) -> Self:
        """Create the number of a literal."""
        number = super().__new__(cls, literal)
        number.literal = literal
        return number


def parse_spelled_number(literal: str) -> float | Decimal:
    """Parse a literal with a fraction or an exponent; return a `SpelledNumber` if needed.

    Raises:
        InvalidJsonError: The number is too large for a double.
    """
    number = parse_finite_float(literal)
    return number if repr(number) == literal else SpelledNumber(literal)


def parse_spelled_integer(literal: str) -> int | Decimal:
    """Parse an integer literal; `-0` keeps its spelling."""
    return SpelledNumber(literal) if literal == "-0" else int(literal)


def parse_exact_integer(literal: str) -> int | Decimal:
    """Parse an integer literal; a very long one becomes a `Decimal`."""
    is_short = len(literal) < _MAX_INT_DIGITS
    return parse_spelled_integer(literal) if is_short else Decimal(literal)


SPELLED_HOOKS: dict[str, Callable[[Any], object]] = {
    "parse_float": parse_spelled_number,
    "parse_int": parse_spelled_integer,
}
"""Arguments of `json.loads` for numbers that keep their spelling."""
EXACT_HOOKS: dict[str, Any] = {
    "parse_constant": reject_constant,
    "parse_float": parse_spelled_number,
    "parse_int": parse_exact_integer,
}
"""Arguments of `json.loads` that also accept integers of any length, and reject `NaN`."""
