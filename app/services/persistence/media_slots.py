"""Open places in JSON values: finding them, and putting references there.

Both walk with a stack of their own, since a value may nest a thousand levels deep.
"""

from collections.abc import Iterator, Sequence

from app.models.json_value import JsonValue
from app.models.normalized import MediaSlot


def slots_in(value: JsonValue) -> Iterator[MediaSlot]:
    """The `MediaSlot` leaves of a value, in document order."""
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, MediaSlot):
            yield node
        elif isinstance(node, dict):
            stack.extend(reversed(node.values()))
        elif isinstance(node, list | tuple):
            stack.extend(reversed(node))


def fill_places(value: JsonValue, references: Sequence[str]) -> JsonValue:
    """The value with `references[index]` in every open place; unchanged if it has none."""
    if next(slots_in(value), None) is None:
        return value
    root: list[JsonValue] = [value]
    stack: list[JsonValue] = [root]
    while stack:
        holder = stack.pop()
        for key, member in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            filled = holder[key] = _filled(member, references)
            if isinstance(filled, dict | list):
                stack.append(filled)
    return root[0]


def _filled(node: JsonValue, references: Sequence[str]) -> JsonValue:
    """A copy of a container, a leaf with its places filled, or the leaf itself."""
    if isinstance(node, MediaSlot):
        return references[node.index]
    if isinstance(node, tuple):
        return "".join(
            piece if isinstance(piece, str) else references[piece.index] for piece in node
        )
    if isinstance(node, dict):
        return dict(node)
    return list(node) if isinstance(node, list) else node
