"""Texts of an answer, held to the length that a host shows.

Source: `agents`, "MCP proxy".
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from app.models.conversation import ComposedTurn, Item, LeftOut, TextItem
from app.rendering.context.eviction import entry_call
from app.rendering.texts.cuts import shortened

_NONE: Mapping[str, str] = {}


def with_texts_within(
    turns: Sequence[ComposedTurn], most_chars: int, whole: Mapping[str, str] = _NONE
) -> Sequence[ComposedTurn]:
    """Return turns in which no text is longer, with a note for each that was shortened.

    Args:
        turns: The turns.
        most_chars: The most characters of a text that is shown whole.
        whole: Texts that take the places of their previews, by these.
    """

    def items(turn: ComposedTurn) -> Iterator[Item]:
        for item in turn.items:
            if not isinstance(item, TextItem):
                yield item
                continue
            text = whole.get(item.text, item.text)
            if len(text) <= most_chars:
                yield TextItem(item.pointer, text)
                continue
            reason = f"The host shows {most_chars} characters of a text, and this has {len(text)}."
            yield LeftOut(item.pointer, "text", "text-too-long", reason, to="preview")
            yield TextItem(item.pointer, shortened(text, most_chars, entry_call(turn)))

    return [replace(turn, items=tuple(items(turn))) for turn in turns]
