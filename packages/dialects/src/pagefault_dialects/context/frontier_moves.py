"""Moves of a frontier: how far each level of eviction has to go for a conversation to fit.

A frontier has a position for each level: passages up to this position are reduced to the level. So
a level is always applied to the oldest passages first. If the steps whose results are lines exceed
a fifth of the budget, the oldest of them are folded before more results become lines.

Source: design document `context.md`, "Budget".
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
from pagefault_dialects.context.load_meter import Load, LoadMeter
from pagefault_dialects.context.steps import Step
from pagefault_dialects.model.frontier import Frontier

# Steps reduced to previews take at most a fifth of the budget, and so do steps reduced to lines.
_REDUCED_STEPS_DIVISOR = 5
# The tokens of a fold, approximately.
_FOLD_TOKENS = 40

LevelName: TypeAlias = Literal["media", "texts", "results", "recalled", "arguments", "folded"]
# The fields of `Frontier` with the position of each level: for steps, and below for messages.
_STEP_FIELDS: Mapping[LevelName, str] = {
    "media": "tool_media",
    "texts": "tool_texts",
    "results": "tool_results",
    "recalled": "recalled",
    "arguments": "arguments",
    "folded": "folded",
}
_MESSAGE_FIELDS: Mapping[LevelName, str] = {
    "media": "said_media",
    "texts": "said_texts",
    "folded": "said_folded",
}
# Each of these levels of steps implies the levels before it; see `chain_levels`.
_IMPLYING_LEVELS: Sequence[LevelName] = ("media", "texts", "results", "arguments")
# The fields of `Frontier` that shorten turns which are never left out, in the order of their use.
_PROTECTED_TURN_FIELDS = (
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
    """Passages with the same position, which reach a level together."""

    position: int
    indexes: tuple[int, ...]
    """The indexes of the passages in the history."""


def advance_frontier(
    history: EvictableTurns, frontier: Frontier, excess: Load, meter: LoadMeter
) -> Frontier:
    """Return the frontier at which enough load is saved, or at which nothing more can be evicted.

    Args:
        history: The conversation.
        frontier: The frontier before the move.
        excess: The load to be saved. If it has no tokens, only media are evicted.
        meter: Measures turns.
    """
    move = _FrontierMove(history, frontier, excess, meter)
    move.run()
    return move.frontier


def estimate_tokens(history: EvictableTurns, frontier: Frontier, meter: LoadMeter) -> int:
    """Return the tokens of a conversation at a frontier, counted as `advance_frontier` counts.

    The result depends on the frontier alone, not on the moves that led to it.
    """

    def count_tokens(passage: RenderedPassage) -> int:
        if passage.fold is not None:
            return _FOLD_TOKENS
        # A late result counts the same, whether its call is folded or not.
        is_late = passage.first in history.late
        turns = history.shorten_passage(passage.first, passage.levels) if is_late else passage.turns
        return meter.measure_turns(turns).tokens

    return sum(map(count_tokens, history.passages_at(frontier)))


def shorten_protected(history: EvictableTurns, frontier: Frontier) -> Frontier:
    """Return a frontier that shortens the turns which are never left out by one more level.

    Args:
        history: The conversation; all other turns are evicted already.
        frontier: The frontier before the move.

    Returns:
        The frontier with this level at the end of the history; the same frontier if every level is
        at the end.
    """
    last = max((passage.position for passage in history.passages), default=0)
    for names in _PROTECTED_TURN_FIELDS:
        if any(getattr(frontier, name) < last for name in names):
            # If entries were deleted, a stored frontier may be after the end of the history.
            levels = {name: max(last, getattr(frontier, name)) for name in names}
            return chain_levels(frontier.model_copy(update=levels))
    return frontier


class _StepQueue:
    """Steps that are reduced to the same level, the oldest first, with their tokens."""

    def __init__(self) -> None:
        self.tokens = 0
        self._tokens: dict[_Group, int] = {}

    @property
    def oldest(self) -> _Group:
        """The steps that were put into the queue first."""
        return next(iter(self._tokens))

    def put(self, group: _Group, tokens: int) -> None:
        """Add steps with their tokens; for steps in the queue, replace their tokens."""
        self.tokens += tokens - self._tokens.get(group, 0)
        self._tokens[group] = tokens

    def drop(self, group: _Group) -> None:
        """Remove steps, if they are in the queue."""
        self.tokens -= self._tokens.pop(group, 0)


class _FrontierMove:
    """One move of a frontier, level by level."""

    def __init__(
        self, history: EvictableTurns, frontier: Frontier, excess: Load, meter: LoadMeter
    ) -> None:
        self._history, self._meter = history, meter
        # The load that still has to be saved. Lines can have more tokens than the media that they
        # replace, but this is not made up for if no tokens have to be saved.
        self._missing = excess
        self._needs_tokens = excess.tokens > 0
        self._frontier = chain_levels(frontier)
        self._positions = {
            name: position for name, position in self._frontier if isinstance(position, int)
        }
        # The indexes of folded passages, and the levels of each passage by its index.
        self._folded: set[int] = set()
        self._levels: dict[int, Levels] = {}
        # The steps whose results are previews, and those whose results are lines.
        self._previews = _StepQueue()
        self._lines = _StepQueue()
        # The steps in `_lines` whose arguments are not cut yet.
        self._lines_with_arguments: deque[_Group] = deque()

    @property
    def frontier(self) -> Frontier:
        """The frontier that has been reached so far."""
        return chain_levels(self._frontier.model_copy(update=self._positions))

    def run(self) -> None:
        """Apply level after level until enough is saved."""
        history = self._history
        steps = self._group_by_position(history.old_steps)
        steps_and_media = sorted({*history.old_steps, *history.old_media})
        self._advance(self._group_by_position(steps_and_media), "media")
        self._queue_reduced_steps(steps)
        self._advance_results(steps, "texts")
        self._advance_results(steps, "results")
        self._advance(steps, "recalled")
        self._advance(steps, "arguments")
        self._advance(steps, "folded")
        messages = self._group_by_position(history.old_messages)
        self._advance(messages, "texts")
        self._advance(messages, "folded")

    def _group_by_position(self, indexes: Iterable[int]) -> Sequence[_Group]:
        passages = self._history.passages
        grouped = groupby(indexes, key=lambda index: passages[index].position)
        return [_Group(position, tuple(item)) for position, item in grouped]

    def _advance(self, groups: Sequence[_Group], level: LevelName) -> None:
        """Apply one level to passages until enough is saved.

        If reducing a passage saves nothing, the frontier does not stop there: the passage reaches
        the level together with the next one that saves something.
        """
        before = self.frontier
        pending, pending_indexes = Load(), set[int]()
        for group in groups:
            if self._is_enough(level):
                return
            indexes = [
                index
                for index in group.indexes
                if group.position > self._positions[self._find_field(index, level)]
            ]
            for index in indexes:
                levels = self._history.levels_at(index, before)
                pending += self._measure_saving(index, levels, level)
            pending_indexes.update(indexes)
            if indexes and (pending.tokens > 0 or pending.media > 0):
                fields = {self._find_field(index, level) for index in indexes}
                self._positions |= dict.fromkeys(fields, group.position)
                self._missing -= pending
                pending, pending_indexes = Load(), set()
        if level == "folded":
            # The last passages would save nothing, and are not folded.
            self._folded -= pending_indexes

    def _queue_reduced_steps(self, steps: Sequence[_Group]) -> None:
        """Put the steps that an earlier move has reduced into the queues."""
        if self._is_enough("texts"):
            return
        frontier = self.frontier
        self._levels = {
            index: self._history.levels_at(index, frontier)
            for index in range(len(self._history.passages))
        }
        self._folded = {index for index, levels in self._levels.items() if levels.folded}
        for group in steps:
            if self._positions["tool_results"] < group.position <= self._positions["tool_texts"]:
                self._enqueue(self._previews, group)
            elif self._positions["folded"] < group.position <= self._positions["tool_results"]:
                self._enqueue(self._lines, group)

    def _advance_results(self, steps: Sequence[_Group], level: LevelName) -> None:
        """Reduce results to previews or lines, step by step, until enough is saved.

        Steps that save nothing are reduced together with the next step that saves tokens. Then, if
        the reduced steps exceed their part of the budget, the oldest are reduced further.
        """
        pending = Load()
        pending_groups: list[_Group] = []
        for group in steps:
            if group.position <= self._positions[_STEP_FIELDS[level]]:
                continue
            if self._is_enough(level):
                return
            pending_groups.append(group)
            for index in group.indexes:
                pending += self._measure_saving(index, self._levels[index], level)
            if pending.tokens > 0:
                self._missing -= pending
                for pending_group in pending_groups:
                    self._apply(pending_group, level)
                pending, pending_groups = Load(), []
                self._limit_reduced_steps()

    def _apply(self, group: _Group, level: LevelName) -> None:
        """Reduce the results of steps to a level."""
        self._positions[_STEP_FIELDS[level]] = group.position
        for index in group.indexes:
            self._levels[index] = self._levels[index]._replace(**{level: True})
        if level == "results":
            self._previews.drop(group)
        self._enqueue(self._lines if level == "results" else self._previews, group)

    def _enqueue(self, queue: _StepQueue, group: _Group) -> None:
        self._update_tokens(queue, group)
        if queue is self._lines and group.position > self._positions["arguments"]:
            self._lines_with_arguments.append(group)

    def _update_tokens(self, queue: _StepQueue, group: _Group) -> None:
        queue.put(
            group, sum(self._count_tokens(index, self._levels[index]) for index in group.indexes)
        )

    def _limit_reduced_steps(self) -> None:
        """Reduce the oldest reduced steps further, while they exceed their part of the budget.

        Previews become lines. If there are too many lines, the arguments of their steps are cut,
        and then the steps are folded. This ends as soon as enough load is saved.
        """
        max_tokens = (self._history.options.max_tokens or 0) // _REDUCED_STEPS_DIVISOR
        while self._previews.tokens > max_tokens and not self._is_enough("results"):
            group = self._previews.oldest
            for index in group.indexes:
                self._missing -= self._measure_saving(index, self._levels[index], "results")
            self._apply(group, "results")
        while self._lines.tokens > max_tokens and not self._is_enough("results"):
            level: LevelName = "arguments" if self._lines_with_arguments else "folded"
            group = (
                self._lines_with_arguments.popleft()
                if self._lines_with_arguments
                else self._lines.oldest
            )
            for index in group.indexes:
                self._missing -= self._measure_saving(index, self._levels[index], level)
                self._levels[index] = self._levels[index]._replace(**{level: True})
            self._positions[level] = group.position
            if level == "folded":
                self._lines.drop(group)
            else:
                self._update_tokens(self._lines, group)

    def _count_tokens(self, index: int, levels: Levels) -> int:
        """Return the tokens of a reduced step; 0 if one of its results cannot be reduced now.

        Otherwise one long result, such as a pinned page, would cause all other steps to be folded.
        """
        history = self._history
        passage = history.passages[index]
        has_whole_result = index in history.pinned_steps or (
            not levels.recalled
            and any(map(history.has_raised_priority, history.turns[passage.start : passage.stop]))
        )
        if has_whole_result:
            return 0
        return self._meter.measure_turns(history.shorten_passage(index, levels)).tokens

    def _measure_saving(self, index: int, levels: Levels, level: LevelName) -> Load:
        """Return the load that is saved by reducing a passage to one more level.

        Args:
            index: The index of the passage.
            levels: The levels that it has reached.
            level: The level to add. If it is `folded`, the passage counts as folded from now on.
        """
        history, meter = self._history, self._meter
        if getattr(levels, level):
            return Load()
        turns = history.shorten_passage(index, levels)
        if level != "folded":
            reached = dict.fromkeys(self._find_implied_levels(index, level), True)
            shortened = history.shorten_passage(index, levels._replace(**reached))
            return meter.measure_saving(turns, shortened)
        if index in history.pinned_steps:
            return Load()
        folded_neighbours = (index - 1 in self._folded) + (index + 1 in self._folded)
        self._folded.add(index)
        # A folded passage adds a fold, extends a neighbour, or joins two neighbours into one.
        return meter.measure_turns(turns) - Load((1 - folded_neighbours) * _FOLD_TOKENS)

    def _is_enough(self, level: LevelName) -> bool:
        """Return whether a level does not have to be applied to further passages."""
        missing = self._missing
        exceeds_tokens = self._needs_tokens and missing.tokens > 0
        exceeds_media = missing.media > 0 or missing.base64_chars > 0
        return not exceeds_tokens and not (exceeds_media and level == "media")

    def _find_implied_levels(self, index: int, level: LevelName) -> Sequence[LevelName]:
        """Return the weaker levels that a level implies at a passage, and the level itself."""
        if isinstance(self._history.passages[index], Step) and level in _IMPLYING_LEVELS:
            return _IMPLYING_LEVELS[: _IMPLYING_LEVELS.index(level) + 1]
        return [level]

    def _find_field(self, index: int, level: LevelName) -> str:
        """Return the field of `Frontier` with the position of a level for a passage."""
        is_step = isinstance(self._history.passages[index], Step)
        return (_STEP_FIELDS if is_step else _MESSAGE_FIELDS)[level]
