"""JSON values that nobody can change, and changeable copies of them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

JsonData: TypeAlias = Any
"""JSON in Python's own types, or in the unchangeable ones of `frozen`."""


def frozen(value: JsonData) -> JsonData:
    """A JSON value with read-only mappings for objects and tuples for arrays, at any depth."""
    return _rebuilt(value, MappingProxyType, tuple)


def thawed(value: JsonData) -> JsonData:
    """A JSON value with dicts for objects and lists for arrays, at any depth."""
    return _rebuilt(value, dict, list)


def _rebuilt(
    value: JsonData,
    make_object: Callable[[dict[str, JsonData]], JsonData],
    make_array: Callable[[list[JsonData]], JsonData],
) -> JsonData:
    # With a stack of its own, since a value may nest a thousand levels deep.
    root: list[JsonData] = [value]
    stack: list[tuple[Any, Any]] = [(root, 0)]
    copied: list[tuple[Any, Any]] = []
    while stack:
        holder, key = stack.pop()
        node = holder[key]
        if isinstance(node, Mapping):
            copy: Any = dict(node)
            stack.extend((copy, name) for name in copy)
        elif isinstance(node, list | tuple):
            copy = list(node)
            stack.extend((copy, index) for index in range(len(copy)))
        else:
            continue
        holder[key] = copy
        copied.append((holder, key))
    # What holds another was copied before it, so backwards every child is made before its parent.
    for holder, key in reversed(copied):
        made = make_object if isinstance(holder[key], dict) else make_array
        holder[key] = made(holder[key])
    return root[0]
