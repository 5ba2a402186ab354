"""Smaller forms of data: truncated values, and the outline of keys and types.

Both stay JSON and note omissions in place. They are made with generous limits first and
tighter ones until they fit, so that one long string and a thousand short ones are reduced alike.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.texts.cuts import boundary_at_or_before

REDUCED_LIMIT_CHARS = 4_000
ABSTRACT_LIMIT_CHARS = 800

_LONGEST_NUMBER_CHARS = 100
# Omissions shorter than their own notice would make the value longer.
_NOTICE_CHARS = 40
_LEFT_OUT_KEY = "…"
_KINDS: dict[type, str] = {
    **{type(None): "null", bool: "boolean", int: "integer", float: "number"},
    **{str: "string", list: "array", dict: "object"},
}


@dataclass(frozen=True, slots=True)
class Measures:
    """The limits of kept values."""

    text_chars: int
    items: int
    keys: int
    depth: int


# The last limits fit any data, even if every character takes an escape of six.
_REDUCED = (
    Measures(100, 10, 50, 6),
    Measures(80, 5, 30, 5),
    Measures(60, 3, 20, 4),
    Measures(40, 2, 10, 3),
    Measures(30, 1, 8, 2),
    Measures(20, 1, 5, 1),
)
_ABSTRACT = (
    Measures(60, 1, 40, 5),
    Measures(60, 1, 30, 3),
    Measures(40, 1, 20, 2),
    Measures(30, 1, 10, 1),
    Measures(20, 1, 5, 1),
    Measures(20, 1, 1, 1),
)


def truncated(data: JsonValue) -> JsonValue:
    """Return data with long strings, long arrays, wide objects and deep nesting truncated."""
    return _fitting(data, _truncated, _REDUCED, REDUCED_LIMIT_CHARS)


def outline(data: JsonValue) -> JsonValue:
    """Return the structure of data: its keys, with the type of each value in its place.

    An array is described by its length and its items' type; an array of objects or arrays by the
    outline of its first item and the number of the others.
    """
    return _fitting(data, _outline, _ABSTRACT, ABSTRACT_LIMIT_CHARS)


def _fitting(
    data: JsonValue,
    shorten: Callable[[JsonValue, Measures, int], JsonValue],
    measures: Sequence[Measures],
    limit_chars: int,
) -> JsonValue:
    short: JsonValue = None
    for measure in measures:
        short = shorten(data, measure, measure.depth)
        if len(json_text(short)) <= limit_chars:
            break
    return short


def _truncated(value: JsonValue, measures: Measures, depth: int) -> JsonValue:
    if isinstance(value, dict):
        if value and depth == 0:
            return f"{{… {_count(len(value), 'key')}}}"
        shorten = partial(_truncated, measures=measures, depth=depth - 1)
        return _some_members(value, measures, shorten)
    if isinstance(value, list):
        if value and depth == 0:
            return f"[… {_count(len(value), 'item')}]"
        kept = [_truncated(item, measures, depth - 1) for item in value[: measures.items]]
        left_out = len(value) - len(kept)
        return [*kept, f"[… {_count(left_out, 'more item')}]"] if left_out else kept
    if isinstance(value, str):
        return _truncated_text(value, measures.text_chars)
    return _truncated_number(value)


def _truncated_text(text: str, limit_chars: int) -> str:
    if len(text) <= limit_chars + _NOTICE_CHARS:
        return text
    end = boundary_at_or_before(text, limit_chars)
    return f"{text[:end]}[… {_count(len(text) - end, 'more character')}]"


def _truncated_number(value: JsonValue) -> JsonValue:
    """Return a number of very many digits as text; other values as they are."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return value
    literal = json_text(value)
    if len(literal) <= _LONGEST_NUMBER_CHARS:
        return value
    return f"{literal[:20]}[… {_count(len(literal) - 20, 'more digit')}]"


def _outline(value: JsonValue, measures: Measures, depth: int) -> JsonValue:
    if isinstance(value, dict):
        if depth == 0 or not value:
            return f"object with {_count(len(value), 'key')}" if value else "empty object"
        shorten = partial(_outline, measures=measures, depth=depth - 1)
        return _some_members(value, measures, shorten)
    if not isinstance(value, list):
        return _type_name(value)
    if not value:
        return "empty array"
    kinds = {_kind(item) for item in value}
    if kinds <= {"object", "array"} and depth > 0:
        first = _outline(value[0], measures, depth - 1)
        left_out = len(value) - 1
        return [first, f"[… {_count(left_out, 'more item')}]"] if left_out else [first]
    return f"array of {_count(len(value), kinds.pop() if len(kinds) == 1 else 'value')}"


def _some_members(
    members: dict[str, JsonValue], measures: Measures, shorten: Callable[[JsonValue], JsonValue]
) -> dict[str, JsonValue]:
    kept: dict[str, JsonValue] = {}
    for key, member in members.items():
        if len(kept) == measures.keys:
            break
        # Of long keys that are equal after the cut, the first one is kept.
        kept.setdefault(_truncated_text(key, measures.text_chars), shorten(member))
    left_out = len(members) - len(kept)
    if left_out:
        kept[_LEFT_OUT_KEY] = f"[… {_count(left_out, 'more key')}]"
    return kept


def _type_name(value: JsonValue) -> str:
    if isinstance(value, str):
        return f"string of {_count(len(value), 'character')}" if value else "empty string"
    return _kind(value)


def _kind(value: JsonValue) -> str:
    if isinstance(value, Decimal):
        return "integer" if value == value.to_integral_value() else "number"
    return _KINDS.get(type(value), "value")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
