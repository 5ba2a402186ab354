"""Which members the messages of a target's requests cannot do without, and of which kind they are.

What a shape does not name is not looked at: providers add members and types of blocks, and a
message with such goes out as it was sent.
"""

import re
from collections.abc import Mapping
from typing import TypeAlias

from pagefault_dialects.json.values import JsonObject, JsonValue, text_member

Shape: TypeAlias = "type | re.Pattern[str] | tuple[Shape, ...] | Mapping[str, Shape]"
"""A kind of JSON values: a type, what a text looks like, one of several, or an object.

Members of an object whose names end in `?` may be absent or `null`.
"""

ADDRESS = re.compile(r"https?://\S+|data:[^\s,]+;base64,[A-Za-z0-9+/=\s]+|@blob:[0-9a-f]{32}")
"""Where a provider finds a medium."""
WORDS = re.compile(r".+", re.DOTALL)
"""A text that is not empty."""


def fits(value: JsonValue, shape: Shape) -> bool:
    """Return whether a value is of a shape."""
    if isinstance(shape, type):
        return isinstance(value, shape)
    if isinstance(shape, tuple):
        return any(fits(value, each) for each in shape)
    if isinstance(shape, re.Pattern):
        return isinstance(value, str) and shape.fullmatch(value) is not None
    return isinstance(value, dict) and all(
        (name.endswith("?") and value.get(name[:-1]) is None)
        or fits(value.get(name.rstrip("?")), each)
        for name, each in shape.items()
    )


def fits_type(value: JsonObject, shapes: Mapping[str, Shape]) -> bool:
    """Return whether a block or an item is of the shape that its `type` has, if there is one."""
    shape = shapes.get(text_member(value, "type"))
    return shape is None or fits(value, shape)


def is_listed(value: JsonValue, shapes: Mapping[str, Shape]) -> bool:
    """Return whether a value is a block of a type that has a shape, and of that shape."""
    return isinstance(value, dict) and (
        text_member(value, "type") in shapes and fits_type(value, shapes)
    )


def fits_members(value: JsonObject, shapes: Mapping[str, Shape]) -> bool:
    """Return whether a block has one of these members, of its shape; or none, and others."""
    known = [name for name in shapes if value.get(name) is not None]
    return len(known) <= 1 and all(fits(value[name], shapes[name]) for name in known)
