"""JSON pointers (RFC 6901): into a value, and through it."""

import re
from dataclasses import dataclass

from app.models.json_value import JsonValue

_ESCAPES = re.compile(r"(?:[^~]|~[01])*", re.DOTALL)
_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class Followed:
    """Where a pointer has led: the value, and how many of its names led somewhere."""

    value: JsonValue
    steps: int


def parse_json_pointer(text: str) -> tuple[str, ...] | None:
    """The names in a pointer, unescaped; `None` if it is no pointer."""
    if (text and not text.startswith("/")) or not _ESCAPES.fullmatch(text):
        return None
    return tuple(name.replace("~1", "/").replace("~0", "~") for name in text.split("/")[1:])


def child_pointer(pointer: str, key: str | int) -> str:
    """The pointer to a member of what a pointer leads to."""
    return f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"


def follow(value: JsonValue, names: tuple[str, ...]) -> Followed:
    """The value that names lead to, or the last one they lead to before there is nothing."""
    for step, name in enumerate(names):
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and _INDEX.fullmatch(name) and int(name) < len(value):
            value = value[int(name)]
        else:
            return Followed(value, step)
    return Followed(value, len(names))
