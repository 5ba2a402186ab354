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

# Steps of which only previews are left have one of so many parts of the budget at the most, and
# those of which only lines are left another one.
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
            # A stored frontier may be further than all that is left of its history.
            levels = {name: max(last, getattr(frontier, name)) for name in names}
            return chained(frontier.model_copy(update=levels))
    return frontier


class _Queue:
    """Steps of which the same is left, the oldest first, and what they take."""

    def __init__(self) -> None:
        self.tokens = 0
        self._tokens: dict[_Group, int] = {}

    @property
    def oldest(self) -> _Group:
        """The oldest of them."""
        return next(iter(self._tokens))

    def put(self, group: _Group, tokens: int) -> None:
        """Take steps that take so many tokens; those that are there keep their place."""
        self.tokens += tokens - self._tokens.get(group, 0)
        self._tokens[group] = tokens

    def drop(self, group: _Group) -> None:
        """Leave steps out, if they are there."""
        self.tokens -= self._tokens.pop(group, 0)


class _Moves:
    """A frontier that is being moved."""

    def __init__(
        self, history: EvictableTurns, frontier: Frontier, wanted: Load, weighing: Weighing
    ) -> None:
        self._history, self._weighing, self._missing = history, weighing, wanted
        self._frontier = chained(frontier)
        self._at = {name: place for name, place in self._frontier if isinstance(place, int)}
        self._folded: set[int] = set()
        self._levels: dict[int, Levels] = {}
        # Steps of which previews are left, of which lines are left, and of these, with arguments.
        self._previews = _Queue()
        self._lines = _Queue()
        self._uncut: deque[_Group] = deque()

    @property
    def frontier(self) -> Frontier:
        """How far it has come."""
        return chained(self._frontier.model_copy(update=self._at))

    def move(self) -> None:
        """Move level by level, until enough is saved."""
        history = self._history
        steps = self._groups(history.old_steps)
        self._advance(self._groups(sorted({*history.old_steps, *history.old_media})), "media")
        self._count(steps)
        self._advance_results(steps, "texts")
        self._advance_results(steps, "results")
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

    def _count(self, steps: Sequence[_Group]) -> None:
        """Count what is left of steps that are evicted already."""
        if self._is_enough("texts"):
            return
        frontier = self.frontier
        every = range(len(self._history.passages))
        self._levels = {each: self._history.levels(each, frontier) for each in every}
        self._folded = {each for each, levels in self._levels.items() if levels.folded}
        for group in steps:
            if self._at["tool_results"] < group.place <= self._at["tool_texts"]:
                self._add(self._previews, group)
            elif self._at["folded"] < group.place <= self._at["tool_results"]:
                self._add(self._lines, group)

    def _advance_results(self, steps: Sequence[_Group], level: Level) -> None:
        """Shorten results, one step at a time, or make lines of them.

        What is left of older steps is held to its part of the budget after each.
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
                for each in passed:
                    self._reach(each, level)
                pending, passed = Load(), []
                self._hold()

    def _reach(self, group: _Group, level: Level) -> None:
        """Let steps reach a level of their results."""
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
        queue.put(group, sum(self._tokens(each, self._levels[each]) for each in group.numbers))

    def _hold(self) -> None:
        """Hold previews, and lines, to their part of the budget, as long as more has to be saved.

        The oldest previews become lines. Of the oldest lines the arguments are cut, then these are
        folded.
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
