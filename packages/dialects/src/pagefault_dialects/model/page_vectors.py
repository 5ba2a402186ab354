"""Numeric data of pages: embeddings, and the timestamps of a recording.

An embedding is a list of 32-bit floats. Timestamps keep the spelling they were sent in, so they are
not converted to `float`.
"""

import math
import struct
from decimal import Decimal
from typing import Annotated, Any, TypeGuard

from pydantic import FailFast, Field, PlainValidator, WithJsonSchema
from typing_extensions import TypeAliasType

from pagefault_dialects.json.values import JsonObject

LONGEST_EMBEDDING = 4_096
MAX_TIMESTAMPS = 100_000


def is_finite_number(value: object) -> TypeGuard[int | float | Decimal]:
    """Return whether a JSON value is a number that a double can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


_FLOAT32 = struct.Struct("<f")
# A 32-bit float keeps at least six decimal digits, and nine digits identify it.
_FEWEST_DIGITS, _MAX_DIGITS = 6, 9
# Larger numbers become infinite as a 32-bit float.
_LARGEST_COORDINATE = 3.4028235677973366e38


def as_float32(value: Any) -> Any:  # noqa: ANN401 - a JSON value
    """Return the shortest number that is the same 32-bit float.

    Other values are returned unchanged.
    """
    if not is_finite_number(value):
        return value
    try:
        packed = _FLOAT32.pack(float(value))
    except (OverflowError, struct.error):
        return value
    [number] = _FLOAT32.unpack(packed)
    for digits in range(_FEWEST_DIGITS, _MAX_DIGITS):
        short = float(f"{number:.{digits}g}")
        if _FLOAT32.pack(short) == packed:
            return short
    return float(f"{number:.{_MAX_DIGITS}g}")


def _check_coordinate(value: object) -> object:
    if not is_finite_number(value) or abs(float(value)) >= _LARGEST_COORDINATE:
        msg = "must be a finite number of 32 bits"
        raise ValueError(msg)
    return value


def _check_timestamp(value: object) -> object:
    is_span = isinstance(value, list) and len(value) == 2 and all(map(is_finite_number, value))
    if not isinstance(value, dict) and not is_span and not is_finite_number(value):
        msg = "must be an object, a number of seconds, or two of them: [start, end]"
        raise ValueError(msg)
    return value


_Coordinate = Annotated[Any, PlainValidator(_check_coordinate), WithJsonSchema({"type": "number"})]
TimestampItem = TypeAliasType(
    "TimestampItem",
    Annotated[
        Any,
        PlainValidator(
            _check_timestamp, json_schema_input_type=JsonObject | float | tuple[float, float]
        ),
    ],
)
# `FailFast` stops at the first error, since there may be thousands.
Embedding = TypeAliasType(
    "Embedding",
    Annotated[
        tuple[_Coordinate, ...], FailFast(), Field(strict=False, max_length=LONGEST_EMBEDDING)
    ],
)
Timestamps = TypeAliasType(
    "Timestamps",
    Annotated[
        tuple[TimestampItem, ...], FailFast(), Field(strict=False, max_length=MAX_TIMESTAMPS)
    ],
)
