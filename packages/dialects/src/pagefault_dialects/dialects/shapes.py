"""Shapes: checks whether an object is an object of a protocol, by the names and values of members.

An object has a shape if it has every required member and no unknown member, and the check of each
member accepts the value. A member that is `null` counts as absent. SDKs write names in camelCase or
in snake_case, and both spellings are the same member.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pagefault_dialects.media.block_shapes import is_media_source
from pagefault_dialects.media.block_table import MemberPath

Object = dict[str, object]
"""A JSON object, in which media may replace strings."""
Check = Callable[[object], bool]
"""A function that returns whether a member may have a value."""

_CAMEL_BOUNDARY = re.compile(r"(?<=[a-z0-9])([A-Z])")
_SNAKE_BOUNDARY = re.compile(r"(?<=[a-zA-Z0-9])_([a-z])")


def accept_any(_: object) -> bool:
    """Accept any value."""
    return True


def is_string(value: object) -> bool:
    """Accept a string."""
    return isinstance(value, str)


def is_boolean(value: object) -> bool:
    """Accept `true` and `false`."""
    return isinstance(value, bool)


def is_object(value: object) -> bool:
    """Accept an object."""
    return isinstance(value, dict)


def is_array(value: object) -> bool:
    """Accept a list."""
    return isinstance(value, list)


def is_object_array(value: object) -> bool:
    """Accept a list of objects."""
    return isinstance(value, list) and all(map(is_object, value))


def is_content(value: object) -> bool:
    """Accept a string, a list of blocks, or the handle of a medium that replaces a string."""
    return isinstance(value, str | list) or is_media_source(value)


def one_of(*strings: str) -> Check:
    """Return a check that accepts one of some strings."""
    return lambda value: isinstance(value, str) and value in strings


class Members:
    """The members of an object that are not `null`, by their names in the protocol."""

    __slots__ = ("_keys", "value")

    def __init__(self, value: Object, keys: dict[str, str]) -> None:
        self.value = value
        self._keys = keys

    def __contains__(self, name: str) -> bool:
        return name in self._keys

    def __getitem__(self, name: str) -> object:
        """Return the value of a member; `None` if the member is absent."""
        return self.value[self._keys[name]] if name in self._keys else None

    def key(self, name: str) -> str:
        """Return the name of a member as the object spells it. The member must be present."""
        return self._keys[name]

    def path(self, *names: str) -> MemberPath:
        """Return the path to a member, or into it, with the first name as the object spells it."""
        return (self._keys.get(names[0], names[0]), *names[1:])


@dataclass(frozen=True, slots=True)
class ResultShape:
    """The names and checks of the members of an object."""

    required: Mapping[str, Check]
    optional: Mapping[str, Check]
    names: Mapping[str, str]
    """The names of members in the protocol, by each spelling of the name."""
    nullable: frozenset[str]
    """Required members that may be `null`."""

    def read(self, value: Object) -> Members | None:
        """Return the members of an object; `None` if it has another shape."""
        keys: dict[str, str] = {}
        required_count = 0
        for key, member in value.items():
            name = self.names.get(key)
            if member is None:
                required_count += name in self.nullable
                continue
            if name is None or name in keys:
                return None
            check = self.required.get(name) or self.optional[name]
            if not check(member):
                return None
            keys[name] = key
            required_count += name in self.required
        return Members(value, keys) if required_count == len(self.required) else None


def shape(
    required: Mapping[str, Check],
    optional: Mapping[str, Check] | Iterable[str] = (),
    *,
    nullable: Iterable[str] = (),
) -> ResultShape:
    """Return the shape of objects with some members, in any spelling of the SDKs.

    Args:
        required: The checks of required members, by their names in the protocol.
        optional: The checks of optional members, or only the names if any value is accepted.
        nullable: Required members that may be `null`.
    """
    optional_checks = (
        optional if isinstance(optional, Mapping) else dict.fromkeys(optional, accept_any)
    )
    names = {
        spelling: name
        for name in (*required, *optional_checks)
        for spelling in _list_spellings(name)
    }
    return ResultShape(required, optional_checks, names, frozenset(nullable))


def _list_spellings(name: str) -> tuple[str, ...]:
    """Return the name of a member in the protocol, in camelCase and in snake_case."""
    if name == "_meta":
        return ("_meta", "meta", "field_meta")
    snake = _CAMEL_BOUNDARY.sub(lambda found: f"_{found[1].lower()}", name)
    camel = _SNAKE_BOUNDARY.sub(lambda found: found[1].upper(), name)
    return (name, snake, camel)
