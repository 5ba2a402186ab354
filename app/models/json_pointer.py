"""JSON pointers (RFC 6901): written, read, and followed through a value."""

import re
from collections.abc import Iterable
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
    """Return the names in a pointer, unescaped; `None` if it is no pointer."""
    if (text and not text.startswith("/")) or not _ESCAPES.fullmatch(text):
        return None
    return tuple(unescape(token) for token in text.split("/")[1:])


def json_pointer(keys: Iterable[str | int]) -> str:
    """Return the pointer that leads through members of these names, from the outermost in."""
    return "".join(child_pointer("", key) for key in keys)


def child_pointer(pointer: str, key: str | int) -> str:
    """Return the pointer to a member of what a pointer leads to."""
    return f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"


def unescape(token: str) -> str:
    """Return the name that one token of a pointer stands for."""
    # In this order: `~01` is a tilde and a one, and no slash.
    return token.replace("~1", "/").replace("~0", "~")


def follow(value: JsonValue, names: tuple[str, ...]) -> Followed:
    """Return the value that names lead to, or the last one before they lead to nothing."""
    for step, name in enumerate(names):
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and _INDEX.fullmatch(name) and int(name) < len(value):
            value = value[int(name)]
        else:
            return Followed(value, step)
    return Followed(value, len(names))
