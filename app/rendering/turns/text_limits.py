"""Texts of an answer, held to the length that a host shows.

Source: `agents`, "MCP proxy".
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from app.models.conversation import ComposedTurn, Item, LeftOut, TextItem
from app.rendering.context.eviction import entry_call
from app.rendering.texts.cuts import shortened, whole_length, whole_text_uri
from app.rendering.turns.handles import text_line

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
            shown = shortened(text, most_chars, entry_call(turn))
            yield TextItem(item.pointer, shown)
            many, uri = whole_length(text), whole_text_uri(text)
            reason = f"The host shows {most_chars} characters of a text, and this has {many}."
            note = LeftOut(item.pointer, "text", "text-too-long", reason, to="preview")
            # One that is cut short again is no longer known by what it says of the whole.
            is_named = uri is None or whole_text_uri(shown) is not None
            line = None if is_named else text_line(f"@{uri}", f"{many:,} characters")
            yield replace(note, handle_line=line)

    return [replace(turn, items=tuple(items(turn))) for turn in turns]
