"""Find repeated keys of JSON objects, which parsers drop silently."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from pagefault_dialects.json.pointers import child_pointer
from pagefault_dialects.json.values import JsonValue


class RepeatedKeys:
    """A recorder of the repeated keys of a JSON text while it is parsed.

    Pass `make_object` to the parser, and the parsed value to `find_pointers`.
    """

    def __init__(self) -> None:
        # Objects with repeated keys by their identity, each with its keys. The object is kept, so
        # that its identity is not used again.
        self._found: dict[int, tuple[dict[str, Any], list[str]]] = {}

    def make_object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Return the object of key-value pairs, with the last value of each key.

        Pass this method to `json.loads` as `object_pairs_hook`.
        """
        members = dict(pairs)
        if len(members) < len(pairs):
            counts: Counter[str] = Counter()
            repeated = []
            for key, _ in pairs:
                counts[key] += 1
                if counts[key] == 2:
                    repeated.append(key)
            self._found[id(members)] = (members, repeated)
        return members

    def find_pointers(self, value: JsonValue) -> Iterator[tuple[str, str]]:
        """Yield each repeated key of the parsed value, with the JSON pointer to its object."""
        pending = [("", value)] if self._found else []
        while pending:
            pointer, node = pending.pop()
            if isinstance(node, dict):
                _, repeated = self._found.get(id(node), (node, []))
                yield from ((pointer, key) for key in repeated)
                pending += ((child_pointer(pointer, key), item) for key, item in node.items())
            elif isinstance(node, list):
                pending += ((child_pointer(pointer, i), item) for i, item in enumerate(node))
