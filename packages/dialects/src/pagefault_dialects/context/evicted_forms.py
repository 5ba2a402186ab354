"""The shorter forms of evicted turns: previews, lines, cut arguments and folds.

In a session, each form names the call of a memory tool that returns the whole content: `read_text`,
`view_media` or `page_fault`. For the loss account, a change adds an `Omission` to the turn, and an
evicted medium is marked with `is_evicted`.

Source: design document `context.md`, "Budget": the levels of a step.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import is_

from pagefault_dialects.context.cut_arguments import cut_arguments
from pagefault_dialects.context.steps import FoldSummary, shorten_tool_name
from pagefault_dialects.json.values import JsonObject, json_text
from pagefault_dialects.media.types import is_textual
from pagefault_dialects.model.conversation import (
    AlternativeText,
    ComposedTurn,
    DataItem,
    Item,
    Medium,
    Omission,
    ProviderBlock,
    StoredBytes,
    SyntheticNote,
    TextItem,
    Turn,
    TurnCall,
    block_of,
    is_cache_mark,
)
from pagefault_dialects.pages.line_formats import escape_line_breaks, quote, quote_short
from pagefault_dialects.targets.base64_leaves import text_of
from pagefault_dialects.targets.media_lines import format_medium_name
from pagefault_dialects.targets.rules import code_and_reason
from pagefault_dialects.texts.cuts import (
    cut_short,
    find_excerpted_length,
    find_whole_text_uri,
    measure_whole_text,
)

REASON = "The conversation has to fit its limits; the oldest gives way."
"""The reason of evictions in the loss account."""

# The code and the reason of folds in the loss account.
_FOLDED = code_and_reason("folded")
# Results up to this length are not replaced by a line.
_SHORT_RESULT_CHARS = 240
# Longer texts of results become previews.
_LONG_RESULT_CHARS = 800
# Longer texts of messages become previews.
_LONG_MESSAGE_CHARS = 2_000
_PREVIEW_CHARS = 400
_MAX_CAPTION_CHARS = 400
# The line of a result names at most this many media, and counts the others.
_MAX_NAMED_MEDIA = 3

ShortenText = Callable[[str, int, str], str]
"""A function that shortens a text.

Its arguments are the text, which may already be an excerpt; the length of the whole text; and the
call that returns the whole text, written as `read_text("@entry:12")`, or `""` outside of a session.
"""


def format_entry_text(turns: Sequence[ComposedTurn]) -> str:
    """Return the texts of an entry's turns as one text, with a line for each medium."""
    return "\n\n".join(
        text for turn in turns for item in turn.items if (text := format_item_text(item))
    )


def format_item_text(item: Item) -> str:
    """Return the text of an item; for a medium, the line that names the medium."""
    return f"[{format_medium_name(item)}]" if isinstance(item, Medium) else text_of(item) or ""


def format_entry_call(seq: int | None) -> str:
    """Return the text of the call that reads a whole entry; empty outside of a session."""
    return "" if seq is None else f'read_text("@entry:{seq}")'


def with_media_as_lines(turn: ComposedTurn, page_id: str | None) -> ComposedTurn:
    """Return a turn with each medium replaced by a line, and by its caption if it has one.

    Args:
        turn: The turn.
        page_id: The page in the turn, if the turn is a result of `page_fault`.
    """
    items = [
        _evict_medium(item, page_id) if isinstance(item, Medium) else item for item in turn.items
    ]
    return _with_items(turn, items)


def with_previews(turn: ComposedTurn, page_id: str | None) -> ComposedTurn:
    """Return a turn with each long text cut to its first 400 characters.

    Args:
        turn: The turn.
        page_id: The page in the turn, if the turn is a result of `page_fault`.
    """
    max_chars = _LONG_RESULT_CHARS if turn.role == "tool" else _LONG_MESSAGE_CHARS

    def preview(text: str, length: int, call: str) -> str:
        if len(text) <= max_chars:
            return text
        hint = f"; {call} shows all of it" if call else ""
        return f"{cut_short(text, _PREVIEW_CHARS)}\n[… shortened from {length} characters{hint}]"

    return with_shorter_texts(turn, page_id, preview)


def with_shorter_texts(
    turn: ComposedTurn, page_id: str | None, shorten: ShortenText
) -> ComposedTurn:
    """Return a turn with its texts shortened, and an `Omission` for each text that changed.

    JSON values of results are shortened as texts. The structured content of a result has to stay
    valid, so it is removed if `shorten` would change it.

    Args:
        turn: The turn.
        page_id: The page in the turn, if the turn is a result of `page_fault`.
        shorten: Shortens a text, or returns it unchanged.
    """
    is_result = turn.role == "tool"
    items: list[Item] = []
    for item in turn.items:
        if not (isinstance(item, TextItem) or (is_result and isinstance(item, DataItem))):
            items.append(item)
            continue
        text = format_item_text(item)
        length = _find_whole_length(item, text, page_id)
        short = shorten(text, length, _format_restoring_call(turn, item, page_id))
        if short == text:
            items.append(item)
            continue
        note = Omission(
            *(item.pointer, "text", "evicted", REASON),
            to="preview",
            seq=item.seq,
            block=block_of(item),
        )
        # If the text was shortened before, the same note already precedes it.
        if note not in items[-1:]:
            items.append(note)
        items.append(TextItem(item.pointer, short))
    if is_result and turn.structured is not None:
        value = json_text(turn.structured[0])
        # This needs no `Omission`: the items have the same content, and are rendered instead.
        if shorten(value, len(value), "") != value:
            return replace(turn, items=tuple(items), structured=None)
    return _with_items(turn, items)


def as_line(turn: ComposedTurn, page_id: str | None) -> ComposedTurn:
    """Return a result as one line that names its media; a short result is returned unchanged.

    Args:
        turn: The result.
        page_id: The page in the result, if it is a result of `page_fault`.
    """
    if _is_short(turn):
        return turn
    handles = [
        f"@blob:{item.source.resource_id}"
        for item in turn.items
        if isinstance(item, Medium) and isinstance(item.source, StoredBytes)
    ]
    call = _format_page_call(page_id) if page_id else format_entry_call(turn.entry_seq())
    media = f"; its media: {', '.join(handles[:_MAX_NAMED_MEDIA])}" if handles else ""
    if (others := len(handles) - _MAX_NAMED_MEDIA) > 0:
        media += f" and {others} more"
    name = quote_short(escape_line_breaks(turn.tool_name), 64)
    hint = f": {call} shows it" if call else ""
    line = f"[The result of {name} was left out{hint}{media}]"
    block = block_of(turn.items[0]) if turn.items else None
    note = Omission("", "result", "evicted", REASON, to="line", block=block)
    return replace(turn, items=(note, TextItem("", line)), structured=None)


def with_cut_arguments(turn: ComposedTurn) -> ComposedTurn:
    """Return a turn with calls, with long texts and long strings in arguments cut.

    A turn that its provider has signed is returned unchanged, since the signature covers its texts
    and arguments.
    """
    return turn if is_signed(turn) else with_shorter_arguments(turn, cut_arguments)


def with_shorter_arguments(
    turn: ComposedTurn, shorten: Callable[[JsonObject, str | None], JsonObject]
) -> ComposedTurn:
    """Return a turn with calls, with shorter arguments and with long texts cut.

    Args:
        turn: The turn; its thoughts are unchanged.
        shorten: Returns shorter arguments, or the same object if they are short. It gets the
            arguments and their handle, which is `None` outside of a session.
    """
    calls: list[TurnCall] = []
    notes: list[Omission] = []
    for index, call in enumerate(turn.calls):
        # A call that was read from another entry than its turn has its own position.
        seq, call_index = call.entry_position or (turn.seq, index)
        # Messages of a request that is not stored have a `seq` too, but a tool cannot read them.
        handle = f"@entry:{seq}/arguments/{call_index}" if turn.entry_seq() else None
        cut = shorten(call.arguments, handle)
        # Without a `seq`, the loss account could not locate the call.
        if cut is call.arguments or seq is None:
            calls.append(call)
            continue
        calls.append(replace(call, arguments=cut))
        notes.append(Omission("", "arguments", "evicted", REASON, to="preview", seq=seq))
    previewed = with_previews(turn, None)
    if not notes:
        return previewed
    return replace(previewed, items=(*previewed.items, *notes), calls=tuple(calls))


def is_signed(turn: ComposedTurn) -> bool:
    """Return whether a turn has blocks of its provider, such as thoughts, or a signed call."""
    return any(
        isinstance(item, ProviderBlock) and not is_cache_mark(item) for item in turn.items
    ) or any(call.thought_signature for call in turn.calls)


def make_late_result(result: ComposedTurn, step_number: int) -> ComposedTurn:
    """Return the late result of a call that is folded, as a message of the user.

    Args:
        result: The result.
        step_number: The number of the step with the call.
    """
    tool_name = shorten_tool_name(result.tool_name) or "a tool"
    failed = ", which failed" if result.is_error else ""
    heading = f"Result of {tool_name}, step {step_number}{failed}:"
    items = [item for item in result.items if not isinstance(item, SyntheticNote)]
    for index, item in enumerate(items):
        if isinstance(item, TextItem):
            items[index] = replace(item, text=f"{heading} {item.text}")
            break
        if isinstance(item, Medium | DataItem):
            items.insert(index, TextItem("", heading))
            break
    else:
        items.append(TextItem("", heading))
    return Turn("user", tuple(items), result.origin, result.seq)


def make_fold_turn(summary: FoldSummary, origin: str) -> ComposedTurn:
    """Return the message of the user that replaces a run of steps and messages.

    Args:
        summary: The counts of the run.
        origin: The HTTP path of its first record.
    """
    restore = f"GET {origin}"
    # A `GET` of the record's path without its last segment lists the records of the session.
    list_path, slash, _ = origin.rpartition("/")
    if summary.from_seq is not None and slash:
        restore = f"GET {list_path}?after={summary.from_seq - 1}"
    note = Omission(
        "",
        "original",
        *_FOLDED,
        restore=restore,
        to="line",
        run=(summary.from_seq, summary.to_seq, summary.steps + summary.messages),
    )
    fold: ComposedTurn = Turn("user", (), origin, summary.to_seq)
    # Outside of a session there are no entries that `read_text` could list.
    counts = summary if fold.entry_seq() else replace(summary, from_seq=None)
    return replace(fold, items=(note, TextItem("", counts.text)))


def _with_items(turn: ComposedTurn, items: Sequence[Item]) -> ComposedTurn:
    is_same = len(items) == len(turn.items) and all(map(is_, items, turn.items))
    return turn if is_same else replace(turn, items=tuple(items))


def _evict_medium(medium: Medium, page_id: str | None) -> Medium:
    """Return a medium marked as evicted, with the line that replaces it, and its caption."""
    if medium.is_collected:
        # Every target already writes a line in place of a file that a tool wrote into a folder.
        return medium
    caption: AlternativeText | None = None
    if medium.words is not None and medium.words.kind == "caption":
        caption = AlternativeText("caption", cut_short(medium.words.text, _MAX_CAPTION_CHARS))
    hint = ""
    if page_id:
        hint = f": {_format_page_call(page_id)} shows it"
    elif isinstance(medium.source, StoredBytes):
        tool = "read_text" if is_textual(medium.mime_type) else "view_media"
        hint = f': {tool}("@blob:{medium.source.resource_id}") shows it'
    line = f"[{format_medium_name(medium)}, left out to make room{hint}]"
    instead = line if caption is None else f"{line}\n{caption.text}"
    return replace(medium, words=caption, instead=instead, is_evicted=True)


def _find_whole_length(item: TextItem | DataItem, text: str, page_id: str | None) -> int:
    """Return the length of the whole text, of which `text` may be an excerpt or a preview."""
    if isinstance(item, DataItem):
        # Values are never excerpts.
        return len(text)
    if page_id:
        # `page_fault` returns long pages in excerpts, whose notice has the length of the page.
        return find_excerpted_length(text) or len(text)
    # A text shortened for this rendering has `whole_chars`; a part that was shortened when it was
    # stored has a line with the omitted characters.
    return item.whole_chars or measure_whole_text(text)


def _format_restoring_call(
    turn: ComposedTurn, item: TextItem | DataItem, page_id: str | None
) -> str:
    """Return the text of the call that returns a whole text; empty outside of a session."""
    if page_id:
        return _format_page_call(page_id)
    handle = None
    if isinstance(item, TextItem):
        uri = find_whole_text_uri(item.text)
        handle = item.handle or (f"@{uri}" if uri else None)
    return f'read_text("{handle}")' if handle else format_entry_call(turn.entry_seq(item.seq))


def _format_page_call(page_id: str) -> str:
    return f"page_fault({quote(page_id)}, 0)"


def _is_short(turn: ComposedTurn) -> bool:
    """Return whether a result is about as short as the line that would replace it."""
    texts: Iterator[str] = (item.text for item in turn.items if isinstance(item, TextItem))
    is_plain = all(
        isinstance(item, TextItem | Omission | SyntheticNote) or is_cache_mark(item)
        for item in turn.items
    )
    return is_plain and sum(map(len, texts)) <= _SHORT_RESULT_CHARS
