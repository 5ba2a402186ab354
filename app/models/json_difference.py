"""Where two JSON values differ first, for whoever is told that they do."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from app.models.json_pointer import json_pointer
from app.models.json_value import JsonValue, number_value


class _Pair(NamedTuple):
    """Two values at one place. `key` is what they have in the pair they are members of."""

    one: JsonValue
    other: JsonValue
    key: str | int = ""
    parent: "_Pair | None" = None


def _never(_: JsonValue, __: JsonValue) -> bool:
    return False


def first_difference(
    one: JsonValue,
    other: JsonValue,
    *,
    passed_over: Callable[[JsonValue, JsonValue], bool] = _never,
) -> str | None:
    """Return the JSON pointer to the first place where two values differ; `None` if they do not.

    The order of members and the spelling of numbers are no difference. What one of two objects
    lacks is a difference at the place of it.

    Args:
        one: A value, as any parser here returns it.
        other: Another; its order is that in which differences come.
        passed_over: Says of two different strings whether they are to count as equal.
    """
    stack = [_Pair(one, other)]
    while stack:
        pair = stack.pop()
        if isinstance(pair.one, dict) and isinstance(pair.other, dict):
            if missing := next((_Pair(0, 0, key, pair) for key in _missing(pair)), None):
                return _pointer(missing)
            members = [_Pair(pair.one[key], pair.other[key], key, pair) for key in pair.other]
            stack += reversed(members)
        elif isinstance(pair.one, list) and isinstance(pair.other, list):
            length = min(len(pair.one), len(pair.other))
            if len(pair.one) != len(pair.other):
                # Said behind the items that both have.
                stack.append(_Pair(0, "", length, pair))
            stack += [
                _Pair(pair.one[index], pair.other[index], index, pair)
                for index in range(length - 1, -1, -1)
            ]
        elif not _is_same(pair.one, pair.other) and not passed_over(pair.one, pair.other):
            return _pointer(pair)
    return None


def _missing(pair: _Pair) -> Iterator[str]:
    """The keys that one of two objects lacks."""
    yield from (key for key in pair.other if key not in pair.one)
    yield from (key for key in pair.one if key not in pair.other)


def _is_same(one: JsonValue, other: JsonValue) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str) and one == other
    constants = (None, True, False)
    if any(each is constant for each in (one, other) for constant in constants):
        return one is other
    if isinstance(one, dict | list) or isinstance(other, dict | list):
        return False
    return number_value(one) == number_value(other)


def _pointer(pair: _Pair) -> str:
    keys: list[str | int] = []
    while pair.parent is not None:
        keys.append(pair.key)
        pair = pair.parent
    return json_pointer(reversed(keys))
