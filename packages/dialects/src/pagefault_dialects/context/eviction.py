"""Eviction: what of a history gives way to a smaller level of itself.

In this order, of each the oldest first: media in results of tools, media that people sent, long
texts in results, results whole, what was recalled again and again, long texts that people wrote.
What the system says, the first and the newest message of the user, pinned pages, and the turn in
progress stay as they are; so does every call. Nothing is deleted: a line says what stood there, and
how a model gets it back.

Source: `context`, "Budget".
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import Literal, TypeAlias, get_args

from pagefault_dialects.context.recalls import Recall, recalls_in
from pagefault_dialects.json.values import json_text
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    DataItem,
    Invented,
    Item,
    LeftOut,
    Medium,
    StoredBytes,
    TextItem,
    Words,
    block_of,
)
from pagefault_dialects.model.frontier import Frontier
from pagefault_dialects.pages.one_line import one_line, quoted, quoted_short
from pagefault_dialects.targets.base64_leaves import text_of
from pagefault_dialects.targets.media_lines import medium_words
from pagefault_dialects.texts.cuts import cut_short, excerpt_of, whole_length, whole_text_uri

EvictionClass: TypeAlias = Literal[
    "tool_media", "said_media", "tool_texts", "tool_results", "recalled", "said_texts"
]
ORDER: Sequence[EvictionClass] = get_args(EvictionClass)

_REASON = "The conversation has to fit its limits; the oldest gives way."
# A result that is hardly longer than the line that would take its place stays.
_SHORT_RESULT_CHARS = 240
# What of a turn is evicted as which kind, and from how many characters on a text is long.
_OF_RESULTS: tuple[EvictionClass, EvictionClass, int] = ("tool_media", "tool_texts", 800)
_OF_WHAT_IS_SAID: tuple[EvictionClass, EvictionClass, int] = ("said_media", "said_texts", 2_000)
_KEPT_CHARS = 400
_LONGEST_CAPTION_CHARS = 400
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class EvictableTurns:
    """Turns that may be evicted."""

    turns: Sequence[ComposedTurn]
    """In order, calls and answers paired."""
    stays: Collection[int]
    """The indexes of turns that stay as they are."""
    recalls: Mapping[str, Recall]
    """What each answer to a recall got back, by the call's id."""
    newest_user: int
    """The index of the newest turn of the user."""
    is_adaptive: bool = True
    """Whether what was recalled again and again gives way last."""

    def evicted(self, frontier: Frontier) -> list[ComposedTurn]:
        """Return the turns as a frontier has them shown."""
        through = [(each, getattr(frontier, each)) for each in ORDER]
        return [
            self.shown(index, [each for each, most in through if self.seq(index) <= most])
            for index in range(len(self.turns))
        ]

    def shown(self, index: int, classes: Collection[EvictionClass]) -> ComposedTurn:
        """Return a turn with some of what it has evicted; itself, if it has nothing of that."""
        turn = self.turns[index]
        if not classes or index in self.stays or turn.role == "system":
            return turn
        if turn.role != "tool":
            return _reduced(turn, classes, None)
        page_id = self.page_of(turn)
        is_raised = self.is_raised(turn)
        if ("recalled" if is_raised else "tool_results") in classes and not _is_short(turn):
            return _as_a_line(turn, page_id)
        return turn if is_raised else _reduced(turn, classes, page_id)

    def page_of(self, turn: ComposedTurn) -> str | None:
        """Return the page that an answer shows, if it is one to a page fault."""
        recall = self.recall_of(turn)
        return recall.what.name if recall is not None and recall.what.kind == "page" else None

    def is_raised(self, turn: ComposedTurn) -> bool:
        """Return whether an answer gives way behind all others."""
        recall = self.recall_of(turn)
        return self.is_adaptive and recall is not None and recall.is_raised

    def recall_of(self, turn: ComposedTurn) -> Recall | None:
        """Return the recall that a turn answers, if it is one."""
        return self.recalls.get(turn.call_id) if turn.role == "tool" else None

    def seq(self, index: int) -> int:
        """Return the place of a turn; what stands in no session has the first."""
        return self.turns[index].seq or 1


def history_of(
    turns: Sequence[ComposedTurn], pinned: Collection[str] = (), *, is_adaptive: bool = True
) -> EvictableTurns:
    """Return which turns of a conversation may be evicted.

    Args:
        turns: The conversation, calls and answers paired.
        pinned: The ids of pages that stay.
        is_adaptive: Whether what was recalled again and again gives way last.
    """
    users = [index for index, turn in enumerate(turns) if turn.role == "user"]
    newest_user = users[-1] if users else len(turns)
    history = EvictableTurns(turns, frozenset(), recalls_in(turns), newest_user, is_adaptive)
    stays = {
        index
        for index, turn in enumerate(turns)
        if turn.role == "system" or history.page_of(turn) in pinned
    }
    calling = [index for index, turn in enumerate(turns) if turn.calls]
    stays.update(users[:1], users[-1:])
    # The model answers next to what it called last, or to what the user said behind that.
    in_progress = max([*calling[-1:], *users[-1:]], default=len(turns))
    stays.update(range(in_progress, len(turns)))
    return replace(history, stays=frozenset(stays))


def faulted_pages(turns: Sequence[ComposedTurn]) -> set[str]:
    """Return the ids of the pages that calls of `page_fault` name."""
    named = (recall.what for recall in recalls_in(turns).values())
    return {what.name for what in named if what.kind == "page"}


def entry_text(turns: Sequence[ComposedTurn]) -> str:
    """Return all words of an entry, whole; a medium among them is a line."""
    return "\n\n".join(text for turn in turns for item in turn.items if (text := _text_of(item)))


def _text_of(item: Item) -> str:
    return f"[{medium_words(item)}]" if isinstance(item, Medium) else text_of(item) or ""


def _reduced(
    turn: ComposedTurn, classes: Collection[EvictionClass], page_id: str | None
) -> ComposedTurn:
    """Return a turn with its media as lines and its long texts shortened, if those are evicted."""
    is_result = turn.role == "tool"
    media, texts, most_chars = _OF_RESULTS if is_result else _OF_WHAT_IS_SAID
    items: list[Item] = []
    for item in turn.items:
        may_be_long = isinstance(item, TextItem) or (is_result and isinstance(item, DataItem))
        text = _text_of(item) if may_be_long and texts in classes else ""
        if isinstance(item, Medium) and media in classes:
            items.append(_small(item, page_id))
        elif len(text) > most_chars and isinstance(item, TextItem | DataItem):
            many = _whole_chars(item, text, page_id)
            items += _shortened(item, text, many, _way_back(turn, item, page_id))
        else:
            items.append(item)
    is_long = is_result and texts in classes and turn.structured is not None
    if is_long and len(json_text(turn.structured)) > most_chars:
        return replace(turn, items=tuple(items), structured=None)
    is_same = len(items) == len(turn.items) and all(map(is_, items, turn.items))
    return turn if is_same else replace(turn, items=tuple(items))


def _as_a_line(turn: ComposedTurn, page_id: str | None) -> ComposedTurn:
    """Return an answer that is one line, which names what was in it."""
    stored = [item for item in turn.items if isinstance(item, Medium)]
    named = [
        f"@blob:{item.source.resource_id}"
        for item in stored
        if isinstance(item.source, StoredBytes)
    ]
    way = _page_call(page_id) if page_id else entry_call(turn.seq)
    media = f"; its media: {', '.join(named[:_MOST_NAMED])}" if named else ""
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    name = quoted_short(one_line(turn.tool_name), 64)
    shows = f": {way} shows it" if way else ""
    line = f"[The result of {name} was left out{shows}{media}{more}]"
    block = block_of(turn.items[0]) if turn.items else None
    note = LeftOut("", "result", "evicted", _REASON, to="line", block=block)
    return replace(turn, items=(note, TextItem("", line)), structured=None)


def _small(medium: Medium, page_id: str | None) -> Medium:
    """Return a medium that is to be shown as its caption, or as one line."""
    kept: Words | None = None
    if medium.words is not None and medium.words.kind == "caption":
        kept = Words("caption", cut_short(medium.words.text, _LONGEST_CAPTION_CHARS))
    way = ""
    if page_id:
        way = f": {_page_call(page_id)} shows it"
    elif isinstance(medium.source, StoredBytes):
        way = f': view_media("@blob:{medium.source.resource_id}") shows it'
    line = f"[{medium_words(medium)}, left out to make room{way}]"
    instead = line if kept is None else f"{line}\n{kept.text}"
    return replace(medium, words=kept, instead=instead, is_evicted=True)


def _shortened(item: TextItem | DataItem, text: str, many: int, way: str) -> list[Item]:
    kept = cut_short(text, _KEPT_CHARS)
    shows = f"; {way} shows all of it" if way else ""
    line = f"[… shortened from {many} characters{shows}]"
    note = LeftOut(item.pointer, "text", "evicted", _REASON, to="preview", seq=item.seq)
    note = replace(note, block=block_of(item))
    return [note, TextItem(item.pointer, f"{kept}\n{line}")]


def _whole_chars(item: TextItem | DataItem, text: str, page_id: str | None) -> int:
    """Return how many characters the text has that the way back leads to."""
    if isinstance(item, DataItem):
        return len(text)
    if page_id:
        return excerpt_of(text) or len(text)
    return item.whole_chars or whole_length(text)


def _way_back(turn: ComposedTurn, item: TextItem | DataItem, page_id: str | None) -> str:
    if page_id:
        return _page_call(page_id)
    handle = None
    if isinstance(item, TextItem):
        uri = whole_text_uri(item.text)
        handle = item.handle or (f"@{uri}" if uri else None)
    return f'read_text("{handle}")' if handle else entry_call(item.seq or turn.seq)


def entry_call(seq: int | None) -> str:
    """Return the call that shows all of an entry, if a model can make one."""
    # What is rendered outside of its session is no entry that a model could name.
    return "" if seq is None else f'read_text("@entry:{seq}")'


def _page_call(page_id: str) -> str:
    return f"page_fault({quoted(page_id)}, 0)"


def _is_short(turn: ComposedTurn) -> bool:
    """Return whether a result is no longer than the line that would stand for it."""
    texts = [item.text for item in turn.items if isinstance(item, TextItem)]
    is_plain = all(isinstance(item, TextItem | LeftOut | Invented) for item in turn.items)
    return is_plain and sum(map(len, texts)) <= _SHORT_RESULT_CHARS
