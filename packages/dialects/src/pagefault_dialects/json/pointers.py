"""Write, parse and follow JSON pointers (RFC 6901), and find the first difference of two values."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from pagefault_dialects.json.numbers import number_value
from pagefault_dialects.json.values import JsonValue

_ESCAPES = re.compile(r"(?:[^~]|~[01])*", re.DOTALL)
INDEX = re.compile(r"0|[1-9][0-9]{0,17}")
"""The token of an array's item in a pointer."""
_NON_NUMBERS = (str, bool, type(None), dict, list)


@dataclass(frozen=True, slots=True)
class FoundValue:
    """The value at a pointer, or the last value that exists on the path to it."""

    value: JsonValue
    steps: int
    """The number of names in the pointer that exist."""


def parse_json_pointer(text: str) -> tuple[str, ...] | None:
    """Return the names in a pointer, unescaped; `None` for an invalid pointer."""
    if (text and not text.startswith("/")) or not _ESCAPES.fullmatch(text):
        return None
    return tuple(unescape_token(token) for token in text.split("/")[1:])


def json_pointer(keys: Iterable[str | int]) -> str:
    """Return the pointer with these names and indexes, the outermost first."""
    return "".join(child_pointer("", key) for key in keys)


def child_pointer(pointer: str, key: str | int) -> str:
    """Return the pointer to a member of the value at a pointer."""
    return f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"


def unescape_token(token: str) -> str:
    """Return the name of a member from its escaped form in a pointer."""
    # `~1` is replaced first, since the token `~01` is the name `~1`.
    return token.replace("~1", "/").replace("~0", "~")


def follow(value: JsonValue, names: tuple[str, ...]) -> FoundValue:
    """Return the value at the names of a pointer, or the last value that exists on the path."""
    for step, name in enumerate(names):
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and INDEX.fullmatch(name) and int(name) < len(value):
            value = value[int(name)]
        else:
            return FoundValue(value, step)
    return FoundValue(value, len(names))


class _Pair(NamedTuple):
    """Two values with the same pointer."""

    one: JsonValue
    other: JsonValue
    key: str | int = ""
    """Their name or index in the values of `parent`."""
    parent: "_Pair | None" = None


def find_first_difference(
    one: JsonValue,
    other: JsonValue,
    *,
    is_ignored: Callable[[JsonValue, JsonValue], bool] = lambda _, __: False,
) -> str | None:
    """Return the JSON pointer to the first difference of two values; `None` if they are equal.

    The order of members and the spelling of numbers are ignored. If only one of two objects has a
    member, that member is a difference.

    Args:
        one: A value, as any parser of this package returns it.
        other: Another value. The order of its members decides which difference is the first.
        is_ignored: Returns whether a difference between two values is ignored.
    """
    stack = [_Pair(one, other)]
    while stack:
        pair = stack.pop()
        if isinstance(pair.one, dict) and isinstance(pair.other, dict):
            for key in (*pair.other, *pair.one):
                if key not in pair.one or key not in pair.other:
                    return _build_pointer(_Pair(0, 0, key, pair))
            members = [_Pair(pair.one[key], pair.other[key], key, pair) for key in pair.other]
            stack += reversed(members)
        elif isinstance(pair.one, list) and isinstance(pair.other, list):
            length = min(len(pair.one), len(pair.other))
            if len(pair.one) != len(pair.other):
                # This difference comes after those of the items that both arrays have.
                stack.append(_Pair(0, "", length, pair))
            stack += [
                _Pair(pair.one[index], pair.other[index], index, pair)
                for index in range(length - 1, -1, -1)
            ]
        elif not _are_equal(pair.one, pair.other) and not is_ignored(pair.one, pair.other):
            return _build_pointer(pair)
    return None


def _are_equal(one: JsonValue, other: JsonValue) -> bool:
    # In Python True equals 1, and a number never equals a string.
    if any(isinstance(item, _NON_NUMBERS) for item in (one, other)):
        return type(one) is type(other) and bool(one == other)
    return bool(number_value(one) == number_value(other))


def _build_pointer(pair: _Pair) -> str:
    keys: list[str | int] = []
    while pair.parent is not None:
        keys.append(pair.key)
        pair = pair.parent
    return json_pointer(reversed(keys))
