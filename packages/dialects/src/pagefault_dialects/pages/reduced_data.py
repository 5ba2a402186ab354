"""Smaller forms of JSON data: truncated values, and an outline of keys and types.

Both are JSON values, in which a text replaces each omitted part. They are made with generous limits
first, and again with tighter limits until they fit. So data with one long string is reduced as well
as data with a thousand short ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.texts.cuts import find_boundary_before

REDUCED_LIMIT_CHARS = 4_000
ABSTRACT_LIMIT_CHARS = 800

_MAX_NUMBER_CHARS = 100
# An omission of fewer characters would be shorter than the text that replaces it.
_NOTICE_CHARS = 40
_LEFT_OUT_KEY = "…"
_JSON_TYPES: dict[type, str] = {
    **{type(None): "null", bool: "boolean", int: "integer", float: "number"},
    **{str: "string", list: "array", dict: "object"},
}


@dataclass(frozen=True, slots=True)
class DataLimits:
    """The limits of one attempt to reduce data."""

    text_chars: int
    """The most characters of a string and of a key."""
    items: int
    """The most items of an array."""
    keys: int
    """The most members of an object."""
    depth: int
    """The most levels of objects and arrays."""


# With the last limits any data fits, even if every character is an escape of six characters.
_REDUCED = (
    DataLimits(100, 10, 50, 6),
    DataLimits(80, 5, 30, 5),
    DataLimits(60, 3, 20, 4),
    DataLimits(40, 2, 10, 3),
    DataLimits(30, 1, 8, 2),
    DataLimits(20, 1, 5, 1),
)
_ABSTRACT = (
    DataLimits(60, 1, 40, 5),
    DataLimits(60, 1, 30, 3),
    DataLimits(40, 1, 20, 2),
    DataLimits(30, 1, 10, 1),
    DataLimits(20, 1, 5, 1),
    DataLimits(20, 1, 1, 1),
)


def truncate_data(data: JsonValue) -> JsonValue:
    """Return data of at most `REDUCED_LIMIT_CHARS`.

    Long strings, arrays with many items, objects with many members and deep nesting are truncated.
    """
    return _shorten_to_fit(data, _truncate, _REDUCED, REDUCED_LIMIT_CHARS)


def outline_data(data: JsonValue) -> JsonValue:
    """Return the structure of data in at most `ABSTRACT_LIMIT_CHARS`.

    The type of each value replaces the value. An array is replaced by its length and the type of
    its items. An array of objects or arrays has the outline of its first item, and the number of
    the others.
    """
    return _shorten_to_fit(data, _outline, _ABSTRACT, ABSTRACT_LIMIT_CHARS)


def _shorten_to_fit(
    data: JsonValue,
    shorten: Callable[[JsonValue, DataLimits, int], JsonValue],
    attempts: Sequence[DataLimits],
    limit_chars: int,
) -> JsonValue:
    """Return the result of the first limits whose JSON text fits, else of the last ones."""
    short: JsonValue = None
    for limits in attempts:
        short = shorten(data, limits, limits.depth)
        if len(json_text(short)) <= limit_chars:
            break
    return short


def _truncate(value: JsonValue, limits: DataLimits, depth: int) -> JsonValue:
    if isinstance(value, dict):
        if value and depth == 0:
            return f"{{… {_format_count(len(value), 'key')}}}"
        shorten = partial(_truncate, limits=limits, depth=depth - 1)
        return _shorten_members(value, limits, shorten)
    if isinstance(value, list):
        if value and depth == 0:
            return f"[… {_format_count(len(value), 'item')}]"
        kept = [_truncate(item, limits, depth - 1) for item in value[: limits.items]]
        omitted = len(value) - len(kept)
        return [*kept, f"[… {_format_count(omitted, 'more item')}]"] if omitted else kept
    if isinstance(value, str):
        return _truncate_text(value, limits.text_chars)
    return _truncate_number(value)


def _truncate_text(text: str, limit_chars: int) -> str:
    if len(text) <= limit_chars + _NOTICE_CHARS:
        return text
    end = find_boundary_before(text, limit_chars)
    return f"{text[:end]}[… {_format_count(len(text) - end, 'more character')}]"


def _truncate_number(value: JsonValue) -> JsonValue:
    """Return a number of very many digits as text; other values as they are."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return value
    literal = json_text(value)
    if len(literal) <= _MAX_NUMBER_CHARS:
        return value
    return f"{literal[:20]}[… {_format_count(len(literal) - 20, 'more digit')}]"


def _outline(value: JsonValue, limits: DataLimits, depth: int) -> JsonValue:
    if isinstance(value, dict):
        if depth == 0 or not value:
            return f"object with {_format_count(len(value), 'key')}" if value else "empty object"
        shorten = partial(_outline, limits=limits, depth=depth - 1)
        return _shorten_members(value, limits, shorten)
    if not isinstance(value, list):
        return _type_name(value)
    if not value:
        return "empty array"
    kinds = {_json_type(item) for item in value}
    if kinds <= {"object", "array"} and depth > 0:
        first = _outline(value[0], limits, depth - 1)
        omitted = len(value) - 1
        return [first, f"[… {_format_count(omitted, 'more item')}]"] if omitted else [first]
    return f"array of {_format_count(len(value), kinds.pop() if len(kinds) == 1 else 'value')}"


def _shorten_members(
    members: dict[str, JsonValue], limits: DataLimits, shorten: Callable[[JsonValue], JsonValue]
) -> dict[str, JsonValue]:
    kept: dict[str, JsonValue] = {}
    for key, member in members.items():
        if len(kept) == limits.keys:
            break
        # If long keys are equal after they were cut, the first member is kept.
        kept.setdefault(_truncate_text(key, limits.text_chars), shorten(member))
    omitted = len(members) - len(kept)
    if omitted:
        kept[_LEFT_OUT_KEY] = f"[… {_format_count(omitted, 'more key')}]"
    return kept


def _type_name(value: JsonValue) -> str:
    if isinstance(value, str):
        return f"string of {_format_count(len(value), 'character')}" if value else "empty string"
    return _json_type(value)


def _json_type(value: JsonValue) -> str:
    if isinstance(value, Decimal):
        return "integer" if value == value.to_integral_value() else "number"
    return _JSON_TYPES.get(type(value), "value")


def _format_count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
