"""Repeated keys of JSON objects."""

from collections.abc import Iterator
from typing import Any

from pagefault_dialects.json.pointers import child_pointer
from pagefault_dialects.json.values import JsonValue


class RepeatedKeys:
    """A record of the repeated keys of a text while it is parsed; the last value of each wins."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[dict[str, Any], list[str]]] = {}

    def make_object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Return the object of key-value pairs; an `object_pairs_hook`."""
        members = dict(pairs)
        if len(members) < len(pairs):
            remaining = dict.fromkeys(members, 1)
            repeated = []
            for key, _ in pairs:
                remaining[key] -= 1
                if remaining[key] == -1:
                    repeated.append(key)
            # Objects are kept here, since their identities are the keys.
            self._found[id(members)] = (members, repeated)
        return members

    def places(self, value: JsonValue) -> Iterator[tuple[str, str]]:
        """Yield the repeated keys of the parsed value: the pointer to the object, and the key."""
        waiting = [("", value)] if self._found else []
        while waiting:
            pointer, node = waiting.pop()
            if isinstance(node, dict):
                _, repeated = self._found.get(id(node), (node, []))
                yield from ((pointer, key) for key in repeated)
                waiting += ((child_pointer(pointer, key), item) for key, item in node.items())
            elif isinstance(node, list):
                waiting += ((child_pointer(pointer, i), item) for i, item in enumerate(node))
