"""The required members of the messages in a target's requests, and their types.

Members outside of a shape are not checked: providers add members and types of blocks, and messages
with such are written as they were sent.
"""

import re
from collections.abc import Mapping
from typing import TypeAlias

from pagefault_dialects.json.values import JsonObject, JsonValue, text_member

Shape: TypeAlias = "type | re.Pattern[str] | tuple[Shape, ...] | Mapping[str, Shape]"
"""A type of JSON values: a Python type, a pattern of texts, one of several, or an object.

Members of an object whose names end in `?` may be absent or `null`.
"""

ADDRESS = re.compile(r"https?://\S+|data:[^\s,]+;base64,[A-Za-z0-9+/=\s]+|@blob:[0-9a-f]{32}")
"""The address of a medium, in a form that providers load."""
WORDS = re.compile(r".+", re.DOTALL)
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
    """Return whether a block or an item has the shape of its `type`, if there is one."""
    shape = shapes.get(text_member(value, "type"))
    return shape is None or fits(value, shape)


def is_listed(value: JsonValue, shapes: Mapping[str, Shape]) -> bool:
    """Return whether a value is a block of a type with a shape, and has that shape."""
    return isinstance(value, dict) and (
        text_member(value, "type") in shapes and fits_type(value, shapes)
    )


def fits_members(value: JsonObject, shapes: Mapping[str, Shape]) -> bool:
    """Return whether a block has one of these members, in its shape; or none, and others."""
    known = [name for name in shapes if value.get(name) is not None]
    return len(known) <= 1 and all(fits(value[name], shapes[name]) for name in known)
