"""Numbers of JSON of any length, which keep their spelling."""

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Self

from pagefault_dialects.errors import InvalidJsonError

_LARGEST_INT_DIGITS = 4_000


def number_value(node: int | float | Decimal) -> int | float | Decimal:
    """Return the value of a number that one of these parsers returned, without its spelling.

    Whole numbers are integers, or a `Decimal` if too long for `int`; others are the nearest
    doubles.
    """
    number = float(node.literal) if isinstance(node, SpelledNumber) else node
    if isinstance(number, float):
        return int(number) if number.is_integer() else number
    return number


def refuse_constant(name: str) -> None:
    """Raise for `NaN` and the infinities, which JSON does not have."""
    raise InvalidJsonError(f"{name} is not a JSON value. Send null or a string instead.")


def finite_float(literal: str) -> float:
    """Return the double nearest to a literal; raise if it is too large for one."""
    number = float(literal)
    if math.isinf(number):
        raise InvalidJsonError("A number is too large for any JSON reader. Send it as a string.")
    return number


class SpelledNumber(Decimal):
    """A number that keeps its spelling."""

    literal: str

    def __new__(cls, literal: str) -> Self:
        """Make the number of a literal."""
        number = super().__new__(cls, literal)
        number.literal = literal
        return number


def spelled_number(literal: str) -> float | Decimal:
    """Return the number of a literal such as `1.10`, which keeps its spelling."""
    number = finite_float(literal)
    return number if repr(number) == literal else SpelledNumber(literal)


def spelled_integer(literal: str) -> int | Decimal:
    """Return the number of a literal without a fraction; `-0` keeps its spelling as well."""
    return SpelledNumber(literal) if literal == "-0" else int(literal)


def exact_integer(literal: str) -> int | Decimal:
    """Return the number of a literal without a fraction, a `Decimal` if too long for `int`."""
    return spelled_integer(literal) if len(literal) < _LARGEST_INT_DIGITS else Decimal(literal)


SPELLED_HOOKS: dict[str, Callable[[Any], object]] = {
    "parse_float": spelled_number,
    "parse_int": spelled_integer,
}
"""Hooks of a decoder for numbers that keep their spelling."""
EXACT_HOOKS: dict[str, Any] = {
    "parse_constant": refuse_constant,
    "parse_float": spelled_number,
    "parse_int": exact_integer,
}
"""Hooks of a decoder for integers of any length; constants are refused."""
