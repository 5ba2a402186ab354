"""Steps of a history, and the counts of folded runs.

A step is one turn of the assistant that calls tools, with its answers. All other turns are
messages of the system, the user, or the assistant. Steps are numbered from 1, so that appending
changes no number.

Source: `context`, "Budget".
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from pagefault_dialects.model.conversation import ComposedTurn, SyntheticNote
from pagefault_dialects.pages.one_line import one_line
from pagefault_dialects.texts.cuts import cut_short

MAX_TOOLS = 6
"""The number of tools that a fold names; the others are counted together."""

_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class Step:
    """A turn of the assistant with calls, and its answers."""

    number: int
    """The number in the history, from 1."""
    start: int
    """The index of the turn with the calls."""
    stop: int
    """The index after the last answer."""
    place: int
    """The position that frontiers compare: the `seq` of the turn with the calls."""


@dataclass(frozen=True, slots=True)
class MessagePassage:
    """A message: a turn outside of steps."""

    start: int
    """The index of the turn."""
    stop: int
    """The index after it."""
    place: int
    """The position that frontiers compare: its `seq`."""


Passage: TypeAlias = Step | MessagePassage
"""A step or a message; each is evicted as a whole."""


def places_of_turns(turns: Sequence[ComposedTurn]) -> Sequence[int]:
    """Return the position of each turn: the `seq` of its step, or its own.

    Positions never decrease, and appending changes none. Turns outside of a session are numbered
    from 1.
    """
    if all(turn.seq is None for turn in turns):
        return range(1, len(turns) + 1)
    places: list[int] = []
    # Position 0 is that of a frontier before its first move.
    place = 1
    for turn in turns:
        if turn.role != "tool" or not places:
            place = max(place, turn.seq or 0)
        places.append(place)
    return places


def passages_in(
    turns: Sequence[ComposedTurn], folded: Mapping[str, "FoldSummary"] = MappingProxyType({})
) -> Iterator[Passage]:
    """Yield the steps of a conversation, and the turns between them, in order.

    Args:
        turns: The conversation, calls and answers paired.
        folded: Folded runs, each by the id of the call of the step that replaces it.
    """
    places = places_of_turns(turns)
    index = number = 0
    while index < len(turns):
        start, index = index, index + 1
        # An answer that is rendered alone has no call before it.
        if not turns[start].calls and turns[start].role != "tool":
            yield MessagePassage(start, index, places[start])
            continue
        while index < len(turns) and turns[index].role == "tool":
            index += 1
        run = folded.get(turns[start].calls[0].call_id) if turns[start].calls else None
        number += 1 if run is None else run.steps
        yield Step(number, start, index, places[start])


@dataclass(frozen=True, slots=True)
class FoldSummary:
    """Counts of a run of steps and messages; the counts of two runs can be added."""

    first_step: int = 0
    """The number of the first step; 0 without steps."""
    last_step: int = 0
    messages: int = 0
    """The number of messages."""
    steps: int = 0
    failed: int = 0
    """The number of failed results."""
    from_seq: int | None = None
    """The first entry; `None` outside of a session."""
    to_seq: int | None = None
    tools: Mapping[str, int] = field(default_factory=dict)
    """The number of calls of each tool, by its escaped name."""

    def __add__(self, other: "FoldSummary") -> "FoldSummary":
        tools = dict(self.tools)
        for name, count in other.tools.items():
            tools[name] = tools.get(name, 0) + count
        numbers = [item.first_step for item in (self, other) if item.steps]
        seqs = [item for item in (self.from_seq, other.from_seq) if item is not None]
        last_seqs = [item for item in (self.to_seq, other.to_seq) if item is not None]
        return FoldSummary(
            first_step=min(numbers, default=0),
            last_step=max(self.last_step, other.last_step),
            messages=self.messages + other.messages,
            steps=self.steps + other.steps,
            failed=self.failed + other.failed,
            from_seq=min(seqs, default=None),
            to_seq=max(last_seqs, default=None),
            tools=tools,
        )

    @property
    def text(self) -> str:
        """The line that replaces the run."""
        counts = self._counts()
        head = self._head()
        words = f"{head}: {', '.join(counts)}." if counts else f"{head}."
        if self.from_seq is None or self.to_seq is None:
            return words
        lists = "lists it" if self.steps + self.messages == 1 else "lists them"
        return f"{words} read_text @entries:{self.from_seq}-{self.to_seq} {lists}."

    def _head(self) -> str:
        one = self.first_step == self.last_step
        steps = f"Step {self.first_step}" if one else f"Steps {self.first_step} to {self.last_step}"
        messages = f"{self.messages} message{'' if self.messages == 1 else 's'}"
        if not self.steps:
            return messages
        return f"{steps} and {messages}" if self.messages else steps

    def _counts(self) -> list[str]:
        ordered = sorted(self.tools.items(), key=lambda tool: (-tool[1], tool[0]))
        counts = [f"{name} {count}" for name, count in ordered[:MAX_TOOLS]]
        if other_calls := sum(count for _, count in ordered[MAX_TOOLS:]):
            counts.append(f"others {other_calls}")
        return [*counts, f"{self.failed} failed"] if self.failed else counts


def summary_of(turns: Sequence[ComposedTurn], number: int, *, is_late: bool = False) -> FoldSummary:
    """Return the counts of one step or message.

    Args:
        turns: The turns of the step, or the message.
        number: The number of the step; 0 for a message.
        is_late: The step repeats a call whose answer came late, so its calls are not counted.
    """
    tools: dict[str, int] = {}
    for call in () if is_late else turns[0].calls:
        name = shown_name(call.name)
        tools[name] = tools.get(name, 0) + 1
    seqs = [turn.seq for turn in turns if turn.seq is not None and not _is_written(turn)]
    return FoldSummary(
        first_step=number,
        last_step=number,
        messages=0 if number else 1,
        steps=1 if number else 0,
        failed=sum(turn.is_error and not _is_written(turn) for turn in turns),
        from_seq=min(seqs, default=turns[0].seq),
        to_seq=max(seqs, default=turns[0].seq),
        tools=tools,
    )


def shown_name(tool_name: str) -> str:
    """Return the name of a tool on one line, shortened."""
    return cut_short(one_line(tool_name[: 2 * _LONGEST_NAME]), _LONGEST_NAME)


def _is_written(turn: ComposedTurn) -> bool:
    """Return whether an answer is synthetic."""
    return turn.role == "tool" and any(isinstance(item, SyntheticNote) for item in turn.items)
