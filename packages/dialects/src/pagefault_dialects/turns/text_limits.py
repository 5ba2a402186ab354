"""Limits of the lengths of texts in tool answers.

Source: `agents`, "MCP proxy".
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import is_

from pagefault_dialects.context.evicted_forms import entry_call
from pagefault_dialects.context.recalls import find_recalls
from pagefault_dialects.model.conversation import ComposedTurn, Item, Omission, TextItem
from pagefault_dialects.texts.cuts import needs_preview, shortened, whole_length, whole_text_uri

_NONE: Mapping[str, str] = {}


def limited_answers(turns: Sequence[ComposedTurn]) -> Mapping[int, ComposedTurn]:
    """Return the turns whose texts have a limit, by their indexes.

    These are the answers to all calls except those that recall a page or a text.
    """
    recalls = find_recalls(turns)
    return {
        index: turn
        for index, turn in enumerate(turns)
        if turn.role == "tool" and turn.call_id not in recalls
    }


def with_texts_within(
    turns: Sequence[ComposedTurn], max_chars: int, whole: Mapping[str, str] = _NONE
) -> Sequence[ComposedTurn]:
    """Return turns with the long texts of answers shortened, and a note for each.

    Args:
        turns: The turns.
        max_chars: The limit of a text in characters.
        whole: Full texts, by their previews.
    """
    limited = dict(enumerate(turns))
    for index, turn in limited_answers(turns).items():
        items = tuple(_items(turn, max_chars, whole))
        if len(items) != len(turn.items) or not all(map(is_, items, turn.items)):
            limited[index] = replace(turn, items=items)
    return list(limited.values())


def _items(turn: ComposedTurn, max_chars: int, whole: Mapping[str, str]) -> Iterator[Item]:
    for item in turn.items:
        if not isinstance(item, TextItem):
            yield item
            continue
        text, many = whole.get(item.text, item.text), whole_length(item.text)
        if len(text) <= max_chars:
            is_same = text == item.text
            handle = _handle(turn, item.text)
            whole_text = replace(item, text=text, handle=handle, whole_chars=None, block=None)
            yield item if is_same else whole_text
            continue
        preview = shortened(text, max_chars, entry_call(turn.entry_seq()))
        handle = _handle(turn, item.text)
        yield replace(item, text=preview, handle=handle, whole_chars=many, block=None)
        reason = f"Texts of up to {max_chars} characters are shown whole, and this has {many}."
        note = Omission(item.pointer, "text", "text-too-long", reason, to="preview")
        yield replace(note, block=item.block)


def _handle(turn: ComposedTurn, text: str) -> str | None:
    """Return the handle of a long text of an answer; `None` if it has none."""
    if (uri := whole_text_uri(text)) is not None:
        return f"@{uri}"
    seq = turn.entry_seq()
    return f"@entry:{seq}" if seq is not None and needs_preview(text) else None
