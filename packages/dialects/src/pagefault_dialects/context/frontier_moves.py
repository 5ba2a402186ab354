"""The moves of a frontier: how far each level comes for a conversation to become small enough.

Each level moves over the oldest passages first. Before a newer result becomes a line, old steps
that are only lines are folded, so that these have at most a fifth of the budget.

Source: `context`, "Budget".
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, TypeAlias

from pagefault_dialects.context.eviction import EvictableTurns, Levels, chained
from pagefault_dialects.context.steps import Step
from pagefault_dialects.context.weighing import Load, Weighing
from pagefault_dialects.model.frontier import Frontier

# Steps that are only lines have one of so many parts of the budget at the most.
_PARTS_FOR_LINES = 5
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
# What always stays is shortened by these, one after the other.
_LOWERED = (
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
    """Passages of one place, which a frontier passes together."""

    place: int
    numbers: tuple[int, ...]


def moved(
    history: EvictableTurns, frontier: Frontier, wanted: Load, weighing: Weighing
) -> Frontier:
    """Move a frontier until so much is saved, or there is nothing left that could be.

    Args:
        history: What may be evicted.
        frontier: How far it has been.
        wanted: What is to be saved. For media and base64 no text is evicted.
        weighing: Knows what turns take.
    """
    moves = _Moves(history, frontier, wanted, weighing)
    moves.move()
    return moves.frontier


def lowered(history: EvictableTurns, frontier: Frontier) -> Frontier:
    """Move a frontier by the next of the levels that shorten what always stays.

    Args:
        history: What may be evicted; all else has given way.
        frontier: How far it has been.

    Returns:
        A frontier that is further; the same one, if there is no such level left.
    """
    last = max((passage.place for passage in history.passages), default=0)
    for names in _LOWERED:
        if any(getattr(frontier, name) < last for name in names):
            return chained(frontier.model_copy(update=dict.fromkeys(names, last)))
    return frontier


class _Moves:
    """A frontier that is being moved."""

    def __init__(
        self, history: EvictableTurns, frontier: Frontier, wanted: Load, weighing: Weighing
    ) -> None:
        self._history, self._weighing, self._missing = history, weighing, wanted
        self._frontier = chained(frontier)
        self._at = {name: place for name, place in self._frontier if isinstance(place, int)}
        self._folded: set[int] = set()
        # Steps that are only lines, those of them whose arguments are whole, and what they take.
        self._lines: deque[_Group] = deque()
        self._uncut: deque[_Group] = deque()
        self._lines_tokens = 0

    @property
    def frontier(self) -> Frontier:
        """How far it has come."""
        return chained(self._frontier.model_copy(update=self._at))

    def move(self) -> None:
        """Move level by level, until enough is saved."""
        history = self._history
        steps = self._groups(history.old_steps)
        self._advance(self._groups(sorted({*history.old_steps, *history.old_media})), "media")
        self._advance(steps, "texts")
        if self._is_enough("results"):
            return
        frontier = self.frontier
        every = range(len(history.passages))
        self._folded = {each for each in every if history.levels(each, frontier).folded}
        self._advance_results(steps)
        self._advance(steps, "recalled")
        self._advance(steps, "arguments")
        self._advance(steps, "folded")
        said = self._groups(history.old_said)
        self._advance(said, "texts")
        self._advance(said, "folded")

    def _groups(self, numbers: Iterable[int]) -> Sequence[_Group]:
        passages = self._history.passages
        grouped = groupby(numbers, key=lambda number: passages[number].place)
        return [_Group(place, tuple(each)) for place, each in grouped]

    def _advance(self, groups: Sequence[_Group], level: Level) -> None:
        """Move one level over passages, as far as it saves something that is missing."""
        before = self.frontier
        pending = Load()
        for group in groups:
            if self._is_enough(level):
                return
            ahead = [
                each for each in group.numbers if group.place > self._at[self._name(each, level)]
            ]
            for number in ahead:
                pending += self._saving(number, self._history.levels(number, before), level)
            if ahead and (pending.tokens > 0 or pending.media > 0):
                self._at |= {self._name(each, level): group.place for each in ahead}
                self._missing -= pending
                pending = Load()

    def _advance_results(self, steps: Sequence[_Group]) -> None:
        """Make results lines, one step at a time, and hold lines to their part of the budget."""
        before = self.frontier
        levels = {
            number: self._history.levels(number, before)
            for each in steps
            for number in each.numbers
        }
        pending = Load()
        passed: list[_Group] = []
        for group in steps:
            if group.place <= self._at["tool_results"]:
                self._add_lines([group], levels)
                continue
            if self._is_enough("results"):
                return
            self._hold_lines(levels)
            passed.append(group)
            for number in group.numbers:
                pending += self._saving(number, levels[number], "results")
            if pending.tokens > 0:
                self._at["tool_results"] = group.place
                self._missing -= pending
                self._add_lines(passed, levels)
                pending, passed = Load(), []
                self._hold_lines(levels)

    def _add_lines(self, groups: Iterable[_Group], levels: dict[int, Levels]) -> None:
        """Count steps among those that are only lines."""
        for group in groups:
            if group.place <= self._at["folded"]:
                continue
            for number in group.numbers:
                levels[number] = levels[number]._replace(media=True, texts=True, results=True)
                self._lines_tokens += self._tokens(number, levels[number])
            self._lines.append(group)
            if group.place > self._at["arguments"]:
                self._uncut.append(group)

    def _hold_lines(self, levels: dict[int, Levels]) -> None:
        """Cut the arguments of the oldest lines, then fold these, until they are few enough."""
        most = (self._history.options.max_tokens or 0) // _PARTS_FOR_LINES
        while self._lines_tokens > most and self._lines:
            level: Level = "arguments" if self._uncut else "folded"
            group = self._uncut.popleft() if self._uncut else self._lines.popleft()
            for number in group.numbers:
                old = self._tokens(number, levels[number])
                self._missing -= self._saving(number, levels[number], level)
                levels[number] = levels[number]._replace(**{level: True})
                new = 0 if level == "folded" else self._tokens(number, levels[number])
                self._lines_tokens -= old - new
            self._at[level] = group.place

    def _tokens(self, number: int, levels: Levels) -> int:
        """Return what a step takes that is only lines; nothing, if it has a result that stays."""
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
        """Return what a passage saves at one level more."""
        history, weighing = self._history, self._weighing
        if getattr(levels, level):
            return Load()
        turns = history.form(number, levels)
        if level != "folded":
            return weighing.saving(turns, history.form(number, levels._replace(**{level: True})))
        if number in history.pinned_steps:
            return Load()
        around = (number - 1 in self._folded) + (number + 1 in self._folded)
        self._folded.add(number)
        # A run of its own begins, or two of them become one.
        return weighing.turns(turns) - Load((1 - around) * _FOLD_TOKENS)

    def _is_enough(self, level: Level) -> bool:
        missing = self._missing
        wants_media = missing.media > 0 or missing.base64_chars > 0
        return missing.tokens <= 0 and not (wants_media and level == "media")

    def _name(self, number: int, level: Level) -> str:
        is_step = isinstance(self._history.passages[number], Step)
        return (_OF_STEPS if is_step else _OF_SAID)[level]
