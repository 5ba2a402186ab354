"""Find lone surrogates in JSON values, which UTF-8 cannot encode."""

from collections.abc import Iterator

from pagefault_dialects.json.pointers import child_pointer
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.text_windows import without_lone_surrogates


def find_lone_surrogates(value: JsonValue) -> Iterator[tuple[str, str]]:
    """Yield the JSON pointer and the text of each string or key with a lone surrogate.

    The pointer of a key is that of its object. The strings are not in the order of the text.
    """
    pending: list[tuple[str, JsonValue]] = [("", value)]
    while pending:
        pointer, node = pending.pop()
        if isinstance(node, str) and not node.isascii():
            if without_lone_surrogates(node) is not node:
                yield pointer, node
        elif isinstance(node, dict):
            pending += ((pointer, key) for key in node)
            pending += ((child_pointer(pointer, key), item) for key, item in node.items())
        elif isinstance(node, list):
            pending += ((child_pointer(pointer, index), item) for index, item in enumerate(node))


def has_lone_surrogate(value: JsonValue) -> bool:
    """Return whether a string or a key of a value has a lone surrogate."""
    return next(find_lone_surrogates(value), None) is not None
