"""Shortens the texts of tool results to a limit for each text.

Source: design document `agents.md`, "MCP proxy".
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import is_

from pagefault_dialects.context.evicted_forms import format_entry_call
from pagefault_dialects.context.recalls import find_recalls
from pagefault_dialects.model.conversation import ComposedTurn, Item, Omission, TextItem
from pagefault_dialects.texts.cuts import (
    find_whole_text_uri,
    measure_whole_text,
    needs_preview,
    shorten_text,
)

_NO_TEXTS: Mapping[str, str] = {}


def find_limited_results(turns: Sequence[ComposedTurn]) -> Mapping[int, ComposedTurn]:
    """Return the turns whose texts have a limit, by their indexes.

    They are the results of all calls except those that recall a page or a text.
    """
    recalls = find_recalls(turns)
    return {
        index: turn
        for index, turn in enumerate(turns)
        if turn.role == "tool" and turn.call_id not in recalls
    }


def shorten_texts(
    turns: Sequence[ComposedTurn], max_chars: int, whole_texts: Mapping[str, str] = _NO_TEXTS
) -> Sequence[ComposedTurn]:
    """Return turns in which long texts of results are shortened, each with a note.

    Args:
        turns: The turns.
        max_chars: The limit of a text in characters.
        whole_texts: Full texts that were loaded, by their previews in the turns. A preview is
            replaced by the full text, which may then be shortened again.
    """
    limited = dict(enumerate(turns))
    for index, turn in find_limited_results(turns).items():
        items = tuple(_shorten_items(turn, max_chars, whole_texts))
        if len(items) != len(turn.items) or not all(map(is_, items, turn.items)):
            limited[index] = replace(turn, items=items)
    return list(limited.values())


def _shorten_items(
    turn: ComposedTurn, max_chars: int, whole_texts: Mapping[str, str]
) -> Iterator[Item]:
    for item in turn.items:
        if not isinstance(item, TextItem):
            yield item
            continue
        text, length = whole_texts.get(item.text, item.text), measure_whole_text(item.text)
        handle = _find_handle(turn, item.text)
        if len(text) <= max_chars:
            whole_item = replace(item, text=text, handle=handle, whole_chars=None, block=None)
            yield item if text == item.text else whole_item
            continue
        preview = shorten_text(text, max_chars, format_entry_call(turn.entry_seq()))
        yield replace(item, text=preview, handle=handle, whole_chars=length, block=None)
        reason = f"Texts of up to {max_chars} characters are shown whole, and this has {length}."
        # With the block, the loss account also lists the members that only the block has.
        block = item.block
        yield Omission(item.pointer, "text", "text-too-long", reason, to="preview", block=block)


def _find_handle(turn: ComposedTurn, text: str) -> str | None:
    """Return the handle of a long text: its resource, or else the entry of its turn.

    The result is `None` if the text has neither, or is so short that models see it in full.
    """
    if (uri := find_whole_text_uri(text)) is not None:
        return f"@{uri}"
    seq = turn.entry_seq()
    return f"@entry:{seq}" if seq is not None and needs_preview(text) else None
