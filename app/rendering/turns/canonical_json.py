"""JSON in one spelling, so that values can be compared as texts.

The order of keys, white space, escapes and the spelling of numbers do not count. Whole numbers are
compared digit by digit, others as doubles; a whole number that is written with an exponent is the
one of the digits that the double is written with.
"""

import json
import sys
from decimal import Decimal

from app.models.json_value import JsonValue, json_text
from app.models.text_windows import without_lone_surrogates

_SORTED = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
)
# From here on a double is no longer every whole number, and is written with an exponent.
_FIRST_WITH_EXPONENT = 10**16
_LARGEST_DOUBLE = int(sys.float_info.max)
# Doubles are written with as many digits at most, and zeros behind them.
_MOST_DIGITS = 17


def canonical(value: JsonValue) -> str:
    """Return a JSON value as the text that every equal one has."""
    return canonical_text(json_text(value))


def canonical_text(text: str) -> str:
    """Return a JSON text as any other one of the same value; as it is, if it cannot be read."""
    try:
        value = json.loads(text, parse_float=_number, parse_int=_whole)
        return without_lone_surrogates(_SORTED.encode(value))
    except (RecursionError, ValueError):
        # Too deep, or with numbers too long, for anything but the text.
        return text


def _number(literal: str) -> int | float:
    number = float(literal)
    is_short = abs(number) < _FIRST_WITH_EXPONENT and number.is_integer()
    return int(number) if is_short else number


def _whole(literal: str) -> int | float:
    """A whole number, as the double that is written shortest for it if it is of the same digits."""
    whole = int(literal)
    digits = literal.lstrip("-").rstrip("0")
    if len(digits) > _MOST_DIGITS or not _FIRST_WITH_EXPONENT <= abs(whole) <= _LARGEST_DOUBLE:
        return whole
    double = float(whole)
    return double if Decimal(repr(double)) == whole else whole
