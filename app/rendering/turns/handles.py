"""Handles: lines that name stored media to a model, so that its next call can refer to them.

Source: `agents`, "Handles".
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.models.conversation import ComposedTurn, Item, Medium, StoredBytes, TextItem
from app.rendering.pages.lines import one_line

# A name that closes our brackets could go on as a line of ours.
_BY = "\N{MULTIPLICATION SIGN}"
_ROUND = str.maketrans("[]", "()")


def with_handles(turns: Sequence[ComposedTurn]) -> Sequence[ComposedTurn]:
    """Return the turns with a line behind each stored medium that names it.

    The line stands there whether the medium itself is shown, made smaller or left out.
    """
    return [replace(turn, items=tuple(_named(turn.items))) for turn in turns]


def handle_line(medium: Medium, resource_id: str) -> str:
    """Return the line for a medium: kind, handle, file name, width and height in pixels."""
    words = [medium.kind, f"@blob:{resource_id}"]
    if medium.filename:
        words.append(one_line(medium.filename).translate(_ROUND))
    if medium.hints.width and medium.hints.height:
        words.append(f"{medium.hints.width}{_BY}{medium.hints.height}")
    return f"[{' '.join(words)}]"


def _named(items: Sequence[Item]) -> Iterator[Item]:
    for item in items:
        yield item
        # The line in the place of an evicted medium names it already.
        if isinstance(item, Medium) and not item.is_evicted:
            source = item.source
            if isinstance(source, StoredBytes):
                yield TextItem(item.pointer, handle_line(item, source.resource_id))
