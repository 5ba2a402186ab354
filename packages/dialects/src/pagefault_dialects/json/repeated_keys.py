"""Keys that JSON objects have more than once."""

from collections.abc import Iterator
from typing import Any

from pagefault_dialects.json.pointers import child_pointer
from pagefault_dialects.json.values import JsonValue


class RepeatedKeys:
    """Notes the repeated keys of a text while it is parsed; of each the last value stays."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[dict[str, Any], list[str]]] = {}

    def make_object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Return the object of key-value pairs: an `object_pairs_hook`."""
        members = dict(pairs)
        if len(members) < len(pairs):
            left = dict.fromkeys(members, 1)
            repeated = []
            for key, _ in pairs:
                left[key] -= 1
                if left[key] == -1:
                    repeated.append(key)
            # An object is known by its identity, which stays its own while it is kept here.
            self._found[id(members)] = (members, repeated)
        return members

    def places(self, value: JsonValue) -> Iterator[tuple[str, str]]:
        """Yield the keys in the value that was parsed: the pointer to the object, and the key."""
        waiting = [("", value)] if self._found else []
        while waiting:
            pointer, node = waiting.pop()
            if isinstance(node, dict):
                _, repeated = self._found.get(id(node), (node, []))
                yield from ((pointer, key) for key in repeated)
                waiting += ((child_pointer(pointer, key), each) for key, each in node.items())
            elif isinstance(node, list):
                waiting += ((child_pointer(pointer, i), each) for i, each in enumerate(node))
