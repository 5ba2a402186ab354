"""Moves of a frontier: the positions of each level that make a conversation fit its limits.

Each level moves over the oldest passages first. Old steps that are only lines are folded before a
newer result becomes a line, so that they take at most a fifth of the budget.

Source: `context`, "Budget".
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, TypeAlias

from pagefault_dialects.context.eviction import (
    EvictableTurns,
    Levels,
    RenderedPassage,
    chain_levels,
)
from pagefault_dialects.context.steps import Step
from pagefault_dialects.context.weighing import Load, Weighing
from pagefault_dialects.model.frontier import Frontier

# Steps that are only previews take at most this part of the budget, and steps that are only lines
# another one.
_PARTS_FOR_LEFTOVERS = 5
_FOLD_TOKENS = 40

Level: TypeAlias = Literal["media", "texts", "results", "recalled", "arguments", "folded"]
_OF_STEPS: Mapping[Level, str] = {
    "media": "tool_media",
    "texts": "tool_texts",
    "results": "tool_results",
    "recalled": "recalled",
    "arguments": "arguments",
    "folded": "folded",
}
_OF_SAID: Mapping[Level, str] = {
    "media": "said_media",
    "texts": "said_texts",
    "folded": "said_folded",
}
# Each level of steps implies the ones before it; see `chain_levels`.
_CHAIN: Sequence[Level] = ("media", "texts", "results", "arguments")
# The levels that shorten protected turns, in order.
_SHORTENING = (
    ("floor",),
    ("tool_media", "said_media"),
    ("said_texts", "said_folded"),
    ("tool_texts",),
    ("tool_results", "recalled"),
    ("arguments",),
    ("folded",),
)


@dataclass(frozen=True, slots=True)
class _Group:
    """Passages at one position, which a frontier passes together."""

    place: int
    numbers: tuple[int, ...]


def advance_frontier(
    history: EvictableTurns, frontier: Frontier, excess: Load, weighing: Weighing
) -> Frontier:
    """Move a frontier until enough is saved, or nothing can be evicted any more.

    Args:
        history: The conversation.
        frontier: The frontier before the move.
        excess: The load to be saved. For media and base64, no text is evicted.
        weighing: Measures turns.
    """
    moves = _Moves(history, frontier, excess, weighing)
    moves.move()
    return moves.frontier


def estimate_tokens(history: EvictableTurns, frontier: Frontier, weighing: Weighing) -> int:
    """Return the tokens of a conversation at a frontier, as moves count them.

    Equal positions have equal tokens, whatever was folded before.
    """

    def tokens(passage: RenderedPassage) -> int:
        if passage.fold is not None:
            return _FOLD_TOKENS
        # A late result counts with its call, whether that is folded or not.
        is_late = passage.first in history.late
        turns = history.form(passage.first, passage.levels) if is_late else passage.turns
        return weighing.turns(turns).tokens

    return sum(map(tokens, history.passages_at(frontier)))


def shorten_protected(history: EvictableTurns, frontier: Frontier) -> Frontier:
    """Move a frontier by the next level that shortens protected turns.

    Args:
        history: The conversation, in which everything else is evicted.
        frontier: The frontier before the move.

    Returns:
        The moved frontier; the same one if no level is left.
    """
    last = max((passage.place for passage in history.passages), default=0)
    for names in _SHORTENING:
        if any(getattr(frontier, name) < last for name in names):
            # A stored frontier may be ahead of a history of which entries were deleted.
            levels = {name: max(last, getattr(frontier, name)) for name in names}
            return chain_levels(frontier.model_copy(update=levels))
    return frontier


class _Queue:
    """Steps at the same level, the oldest first, with their tokens."""

    def __init__(self) -> None:
        self.tokens = 0
        self._tokens: dict[_Group, int] = {}

    @property
    def oldest(self) -> _Group:
        """The oldest steps."""
        return next(iter(self._tokens))

    def put(self, group: _Group, tokens: int) -> None:
        """Add steps with their tokens; existing ones keep their place."""
        self.tokens += tokens - self._tokens.get(group, 0)
        self._tokens[group] = tokens

    def drop(self, group: _Group) -> None:
        """Remove steps, if they are in the queue."""
        self.tokens -= self._tokens.pop(group, 0)


class _Moves:
    """The move of a frontier."""

    def __init__(
        self, history: EvictableTurns, frontier: Frontier, excess: Load, weighing: Weighing
    ) -> None:
        self._history, self._weighing, self._missing = history, weighing, excess
        self._frontier = chain_levels(frontier)
        self._at = {name: place for name, place in self._frontier if isinstance(place, int)}
        self._folded: set[int] = set()
        self._levels: dict[int, Levels] = {}
        # Steps that are previews, steps that are lines, and lines with whole arguments.
        self._previews = _Queue()
        self._lines = _Queue()
        self._uncut: deque[_Group] = deque()

    @property
    def frontier(self) -> Frontier:
        """The frontier at present."""
        return chain_levels(self._frontier.model_copy(update=self._at))

    def move(self) -> None:
        """Move level by level until enough is saved."""
        history = self._history
        steps = self._groups(history.old_steps)
        self._advance(self._groups(sorted({*history.old_steps, *history.old_media})), "media")
        self._count(steps)
        self._advance_results(steps, "texts")
        self._advance_results(steps, "results")
        self._advance(steps, "recalled")
        self._advance(steps, "arguments")
        self._advance(steps, "folded")
        messages = self._groups(history.old_said)
        self._advance(messages, "texts")
        self._advance(messages, "folded")

    def _groups(self, numbers: Iterable[int]) -> Sequence[_Group]:
        passages = self._history.passages
        grouped = groupby(numbers, key=lambda number: passages[number].place)
        return [_Group(place, tuple(item)) for place, item in grouped]

    def _advance(self, groups: Sequence[_Group], level: Level) -> None:
        """Move one level over passages until enough is saved."""
        before = self.frontier
        pending = Load()
        for group in groups:
            if self._is_enough(level):
                return
            ahead = [
                item for item in group.numbers if group.place > self._at[self._name(item, level)]
            ]
            for number in ahead:
                pending += self._saving(number, self._history.levels(number, before), level)
            if ahead and (pending.tokens > 0 or pending.media > 0):
                self._at |= {self._name(item, level): group.place for item in ahead}
                self._missing -= pending
                pending = Load()

    def _count(self, steps: Sequence[_Group]) -> None:
        """Queue the steps that are previews or lines already."""
        if self._is_enough("texts"):
            return
        frontier = self.frontier
        every = range(len(self._history.passages))
        self._levels = {item: self._history.levels(item, frontier) for item in every}
        self._folded = {key for key, levels in self._levels.items() if levels.folded}
        for group in steps:
            if self._at["tool_results"] < group.place <= self._at["tool_texts"]:
                self._add(self._previews, group)
            elif self._at["folded"] < group.place <= self._at["tool_results"]:
                self._add(self._lines, group)

    def _advance_results(self, steps: Sequence[_Group], level: Level) -> None:
        """Make previews or lines of results, one step at a time.

        After each step, previews and lines of older steps are limited to their part of the budget.
        """
        pending = Load()
        passed: list[_Group] = []
        for group in steps:
            if group.place <= self._at[_OF_STEPS[level]]:
                continue
            if self._is_enough(level):
                return
            passed.append(group)
            for number in group.numbers:
                pending += self._saving(number, self._levels[number], level)
            if pending.tokens > 0:
                self._missing -= pending
                for item in passed:
                    self._reach(item, level)
                pending, passed = Load(), []
                self._hold()

    def _reach(self, group: _Group, level: Level) -> None:
        """Move steps to a level of their results."""
        self._at[_OF_STEPS[level]] = group.place
        for number in group.numbers:
            self._levels[number] = self._levels[number]._replace(**{level: True})
        if level == "results":
            self._previews.drop(group)
        self._add(self._lines if level == "results" else self._previews, group)

    def _add(self, queue: _Queue, group: _Group) -> None:
        self._weigh(queue, group)
        if queue is self._lines and group.place > self._at["arguments"]:
            self._uncut.append(group)

    def _weigh(self, queue: _Queue, group: _Group) -> None:
        queue.put(
            group, sum(self._tokens(number, self._levels[number]) for number in group.numbers)
        )

    def _hold(self) -> None:
        """Limit previews and lines to their part of the budget while more has to be saved.

        The oldest previews become lines. The oldest lines get cut arguments, and are folded then.
        """
        most = (self._history.options.max_tokens or 0) // _PARTS_FOR_LEFTOVERS
        while self._previews.tokens > most and not self._is_enough("results"):
            group = self._previews.oldest
            for number in group.numbers:
                self._missing -= self._saving(number, self._levels[number], "results")
            self._reach(group, "results")
        while self._lines.tokens > most and not self._is_enough("results"):
            level: Level = "arguments" if self._uncut else "folded"
            group = self._uncut.popleft() if self._uncut else self._lines.oldest
            for number in group.numbers:
                self._missing -= self._saving(number, self._levels[number], level)
                self._levels[number] = self._levels[number]._replace(**{level: True})
            self._at[level] = group.place
            if level == "folded":
                self._lines.drop(group)
            else:
                self._weigh(self._lines, group)

    def _tokens(self, number: int, levels: Levels) -> int:
        """Return the tokens of a step that is only lines; 0 if one of its results is protected."""
        history = self._history
        passage = history.passages[number]
        is_whole = number in history.pinned_steps or (
            not levels.recalled
            and any(map(history.is_raised, history.turns[passage.start : passage.stop]))
        )
        if is_whole:
            return 0
        return self._weighing.turns(self._history.form(number, levels)).tokens

    def _saving(self, number: int, levels: Levels, level: Level) -> Load:
        """Return the load that a passage saves at one more level."""
        history, weighing = self._history, self._weighing
        if getattr(levels, level):
            return Load()
        turns = history.form(number, levels)
        if level != "folded":
            reached = dict.fromkeys(self._implied(number, level), True)
            return weighing.saving(turns, history.form(number, levels._replace(**reached)))
        if number in history.pinned_steps:
            return Load()
        folded_neighbours = (number - 1 in self._folded) + (number + 1 in self._folded)
        self._folded.add(number)
        # A fold is added, or two of them are joined.
        return weighing.turns(turns) - Load((1 - folded_neighbours) * _FOLD_TOKENS)

    def _is_enough(self, level: Level) -> bool:
        missing = self._missing
        wants_media = missing.media > 0 or missing.base64_chars > 0
        return missing.tokens <= 0 and not (wants_media and level == "media")

    def _implied(self, number: int, level: Level) -> Sequence[Level]:
        """Return a level with the weaker ones that its frontier has reached as well."""
        is_chained = isinstance(self._history.passages[number], Step) and level in _CHAIN
        return _CHAIN[: _CHAIN.index(level) + 1] if is_chained else [level]

    def _name(self, number: int, level: Level) -> str:
        is_step = isinstance(self._history.passages[number], Step)
        return (_OF_STEPS if is_step else _OF_SAID)[level]
