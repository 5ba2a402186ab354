"""Shapes of JSON values. Targets check blocks and messages by them before writing them as sent.

A shape has the members that a provider requires, and their types. Other members are not checked,
since providers add members.
"""

import re
from collections.abc import Mapping
from typing import TypeAlias

from pagefault_dialects.json.values import JsonObject, JsonValue, text_member

Shape: TypeAlias = "type | re.Pattern[str] | tuple[Shape, ...] | Mapping[str, Shape]"
"""A type of JSON values: a Python type, a pattern of texts, a tuple of alternative shapes, or the
shapes of an object's members. Members whose names end in `?` may be absent or `null`."""

ADDRESS = re.compile(r"https?://\S+|data:[^\s,]+;base64,[A-Za-z0-9+/=\s]+|@blob:[0-9a-f]{32}")
"""A URL, a `data:` URI or a reference of a medium."""
NON_EMPTY_TEXT = re.compile(r".+", re.DOTALL)
"""A text that is not empty."""


def fits(value: JsonValue, shape: Shape) -> bool:
    """Return whether a value has a shape."""
    if isinstance(shape, type):
        return isinstance(value, shape)
    if isinstance(shape, tuple):
        return any(fits(value, item) for item in shape)
    if isinstance(shape, re.Pattern):
        return isinstance(value, str) and shape.fullmatch(value) is not None
    return isinstance(value, dict) and all(
        (name.endswith("?") and value.get(name[:-1]) is None)
        or fits(value.get(name.rstrip("?")), item)
        for name, item in shape.items()
    )


def fits_type(value: JsonObject, shapes: Mapping[str, Shape]) -> bool:
    """Return whether a block has the shape of its `type`; true for a type without a shape."""
    shape = shapes.get(text_member(value, "type"))
    return shape is None or fits(value, shape)


def has_known_shape(value: JsonValue, shapes: Mapping[str, Shape]) -> bool:
    """Return whether a value is a block of one of these types, with the shape of its type."""
    return isinstance(value, dict) and (
        text_member(value, "type") in shapes and fits_type(value, shapes)
    )


def fits_members(value: JsonObject, shapes: Mapping[str, Shape]) -> bool:
    """Return whether a block has at most one of these members, and this member has its shape."""
    names = [name for name in shapes if value.get(name) is not None]
    return len(names) <= 1 and all(fits(value[name], shapes[name]) for name in names)
