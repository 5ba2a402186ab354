"""Lines with the handles of stored media and long texts. A model refers to them by their handle.

The handle of a stored medium is the reference to its resource, `@blob:…`. So is the handle of a
text that was too long for its record. The handle of any other long text is its entry in the
session, `@entry:12`. The handle of an inline medium is its entry and the beginning of its digest,
because media of one message may have the same pointer.

Source: design document `agents.md`, "Handles".
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    DataItem,
    Item,
    Medium,
    Omission,
    ProviderBlock,
    StoredBytes,
    SyntheticNote,
    TextItem,
)
from pagefault_dialects.model.media_handles import handle_of
from pagefault_dialects.pages.line_formats import escape_bracketed_name
from pagefault_dialects.texts.cuts import find_whole_text_uri, measure_whole_text, needs_preview

_TIMES_SIGN = "\N{MULTIPLICATION SIGN}"

_HANDLE_LINE = re.compile(
    r"\s*\[[a-z]+ @(?:blob:[0-9a-f]{32}|entry:[0-9]{1,15}(?:/[0-9a-f]{12})?)(?: [^\[\]]*)?\]\s*"
)

AcceptsStructured: TypeAlias = Callable[[JsonValue], bool]


def add_handles(
    turns: Sequence[ComposedTurn], accepts_structured: AcceptsStructured = lambda _: False
) -> Sequence[ComposedTurn]:
    """Return the turns with a handle line after each stored medium and each long text.

    A medium gets the line even if the target resizes or omits the medium.

    Args:
        turns: A conversation.
        accepts_structured: Returns whether the target accepts a value as structured content.
    """
    turns_with_items = ((turn, tuple(_add_lines(turn, accepts_structured))) for turn in turns)
    # Most turns need no line, and copying them would double the time.
    return [
        turn if len(items) == len(turn.items) else replace(turn, items=items)
        for turn, items in turns_with_items
    ]


def is_handle_line(text: str) -> bool:
    """Return whether a whole text is a line that `add_handles` adds."""
    return _HANDLE_LINE.fullmatch(text) is not None


def format_medium_line(medium: Medium, handle: str) -> str:
    """Return the line for a medium: kind, handle, file name, width and height in pixels."""
    fields = [medium.kind, handle]
    if medium.filename:
        fields.append(escape_bracketed_name(medium.filename))
    if medium.hints.width and medium.hints.height:
        fields.append(f"{medium.hints.width}{_TIMES_SIGN}{medium.hints.height}")
    return f"[{' '.join(fields)}]"


def format_text_line(handle: str, size: str) -> str:
    """Return the line for a long text: `[text @blob:… 12,345 characters]`."""
    return f"[text {handle} {size}]"


def _add_lines(turn: ComposedTurn, accepts_structured: AcceptsStructured) -> Iterator[Item]:
    """Yield the items of a turn, each with its handle line after it."""
    is_structured = turn.structured is not None and accepts_structured(turn.structured[0])
    for item in turn.items:
        yield item
        if isinstance(item, SyntheticNote | ProviderBlock):
            continue
        if isinstance(item, Medium):
            line = _make_medium_line(turn, item)
        elif isinstance(item, Omission | DataItem) and is_structured:
            # The target gets the item as structured content, and not as text.
            continue
        elif isinstance(item, Omission):
            line = item.handle_line
        else:
            line = _make_long_text_line(turn, item)
        if line is not None:
            yield TextItem(item.pointer, line)


def _make_medium_line(turn: ComposedTurn, medium: Medium) -> str | None:
    # Every target writes a line in place of such a medium, which names the resource already.
    if medium.is_line and isinstance(medium.source, StoredBytes):
        return None
    handle = handle_of(medium, turn.entry_seq(medium.seq))
    return None if handle is None else format_medium_line(medium, handle)


def _make_long_text_line(turn: ComposedTurn, item: TextItem | DataItem) -> str | None:
    if isinstance(item, TextItem) and item.handle is not None:
        return format_text_line(item.handle, f"{item.whole_chars or len(item.text):,} characters")
    text = item.text if isinstance(item, TextItem) else json_text(item.value)
    if (uri := find_whole_text_uri(text)) is not None:
        return format_text_line(f"@{uri}", f"{measure_whole_text(text):,} characters")
    # Handles of entries are not valid in system prompts or outside of a session.
    seq = turn.entry_seq(item.seq)
    if turn.role == "system" or seq is None or not needs_preview(text):
        return None
    return format_text_line(f"@entry:{seq}", f"{len(text):,} characters")
