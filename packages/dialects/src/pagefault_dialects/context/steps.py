"""Steps of a history, and the counts of a fold, which replaces steps and messages by one line.

A step is one turn of the assistant that calls tools, with the results of its calls. All other turns
are messages of the system, the user, or the assistant. Steps are numbered from 1, from the oldest
on, so appending a step does not change the numbers of earlier steps.

Source: design document `context.md`, "Budget".
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from pagefault_dialects.model.conversation import ComposedTurn, SyntheticNote
from pagefault_dialects.pages.line_formats import escape_line_breaks
from pagefault_dialects.texts.cuts import cut_short

MAX_TOOLS = 6
"""The number of tools that the line of a fold names; other tools are counted together."""

_MAX_TOOL_NAME_CHARS = 40


@dataclass(frozen=True, slots=True)
class Step:
    """A turn of the assistant with calls, and the turns with their results."""

    number: int
    """The number in the history, from 1."""
    start: int
    """The index of the turn with the calls."""
    stop: int
    """The index after the last result."""
    position: int
    """The position of its turns; see `find_turn_positions`."""


@dataclass(frozen=True, slots=True)
class MessagePassage:
    """A message: a turn outside of steps."""

    start: int
    """The index of the turn."""
    stop: int
    """The index after the turn."""
    position: int
    """The position of the turn; see `find_turn_positions`."""


Passage: TypeAlias = Step | MessagePassage
"""A step or a message. All turns of a passage are evicted together."""


def find_turn_positions(turns: Sequence[ComposedTurn]) -> Sequence[int]:
    """Return the position of each turn, by which frontiers say how far content is evicted.

    The position of a result is that of its call, and the position of any other turn is its `seq`.
    Positions never decrease, and appending turns does not change earlier positions. Turns without a
    session have the positions 1, 2, 3 and so on.
    """
    if all(turn.seq is None for turn in turns):
        return range(1, len(turns) + 1)
    positions: list[int] = []
    # Frontiers start at position 0, so positions of turns start at 1.
    position = 1
    for turn in turns:
        if turn.role != "tool" or not positions:
            position = max(position, turn.seq or 0)
        positions.append(position)
    return positions


def split_passages(
    turns: Sequence[ComposedTurn], folded: Mapping[str, "FoldSummary"] = MappingProxyType({})
) -> Iterator[Passage]:
    """Yield the steps of a conversation and the messages between them, in order.

    Args:
        turns: The conversation, with calls and results paired.
        folded: The counts of folded runs, by the id of the call in the step that replaces the run.
    """
    positions = find_turn_positions(turns)
    index = number = 0
    while index < len(turns):
        start, index = index, index + 1
        # A result that is rendered alone has no call before it, and is a step by itself.
        if not turns[start].calls and turns[start].role != "tool":
            yield MessagePassage(start, index, positions[start])
            continue
        while index < len(turns) and turns[index].role == "tool":
            index += 1
        run = folded.get(turns[start].calls[0].call_id) if turns[start].calls else None
        number += 1 if run is None else run.steps
        yield Step(number, start, index, positions[start])


@dataclass(frozen=True, slots=True)
class FoldSummary:
    """Counts of a run: of consecutive steps and messages. Runs are joined with `+`."""

    first_step: int = 0
    """The number of the first step; 0 without steps."""
    last_step: int = 0
    """The number of the last step; 0 without steps."""
    messages: int = 0
    steps: int = 0
    failed: int = 0
    """The number of failed results."""
    from_seq: int | None = None
    """The `seq` of the first entry; `None` outside of a session."""
    to_seq: int | None = None
    """The `seq` of the last entry; `None` outside of a session."""
    tools: Mapping[str, int] = field(default_factory=dict)
    """The number of calls of each tool, by its escaped name."""

    def __add__(self, other: "FoldSummary") -> "FoldSummary":
        tools = dict(self.tools)
        for name, count in other.tools.items():
            tools[name] = tools.get(name, 0) + count
        first_steps = [item.first_step for item in (self, other) if item.steps]
        first_seqs = [item for item in (self.from_seq, other.from_seq) if item is not None]
        last_seqs = [item for item in (self.to_seq, other.to_seq) if item is not None]
        return FoldSummary(
            first_step=min(first_steps, default=0),
            last_step=max(self.last_step, other.last_step),
            messages=self.messages + other.messages,
            steps=self.steps + other.steps,
            failed=self.failed + other.failed,
            from_seq=min(first_seqs, default=None),
            to_seq=max(last_seqs, default=None),
            tools=tools,
        )

    @property
    def text(self) -> str:
        """The line that replaces the run."""
        counts = self._describe_calls()
        subject = self._describe_passages()
        sentence = f"{subject}: {', '.join(counts)}." if counts else f"{subject}."
        if self.from_seq is None or self.to_seq is None:
            return sentence
        lists = "lists it" if self.steps + self.messages == 1 else "lists them"
        return f"{sentence} read_text @entries:{self.from_seq}-{self.to_seq} {lists}."

    def _describe_passages(self) -> str:
        """Return the subject of the line, such as `Steps 3 to 7 and 2 messages`."""
        is_one_step = self.first_step == self.last_step
        steps = (
            f"Step {self.first_step}"
            if is_one_step
            else f"Steps {self.first_step} to {self.last_step}"
        )
        messages = f"{self.messages} message{'' if self.messages == 1 else 's'}"
        if not self.steps:
            return messages
        return f"{steps} and {messages}" if self.messages else steps

    def _describe_calls(self) -> list[str]:
        """Return the number of calls of each tool, most frequent first, and of failed calls."""
        ordered = sorted(self.tools.items(), key=lambda tool: (-tool[1], tool[0]))
        counts = [f"{name} {count}" for name, count in ordered[:MAX_TOOLS]]
        if other_calls := sum(count for _, count in ordered[MAX_TOOLS:]):
            counts.append(f"others {other_calls}")
        return [*counts, f"{self.failed} failed"] if self.failed else counts


def summarize_turns(
    turns: Sequence[ComposedTurn], number: int, *, is_late: bool = False
) -> FoldSummary:
    """Return the counts of one step or message.

    Args:
        turns: The turns of the step, or the message.
        number: The number of the step; 0 for a message.
        is_late: True if the step repeats a call whose result came late; it is counted already.
    """
    tools: dict[str, int] = {}
    for call in () if is_late else turns[0].calls:
        name = shorten_tool_name(call.name)
        tools[name] = tools.get(name, 0) + 1
    seqs = [turn.seq for turn in turns if turn.seq is not None and not is_added_result(turn)]
    return FoldSummary(
        first_step=number,
        last_step=number,
        messages=0 if number else 1,
        steps=1 if number else 0,
        failed=sum(turn.is_error and not is_added_result(turn) for turn in turns),
        from_seq=min(seqs, default=turns[0].seq),
        to_seq=max(seqs, default=turns[0].seq),
        tools=tools,
    )


def shorten_tool_name(tool_name: str) -> str:
    """Return the name of a tool on one line, cut to 40 characters."""
    return cut_short(
        escape_line_breaks(tool_name[: 2 * _MAX_TOOL_NAME_CHARS]), _MAX_TOOL_NAME_CHARS
    )


def is_added_result(turn: ComposedTurn) -> bool:
    """Return whether Pagefault added this result for a call that has none."""
    return turn.role == "tool" and any(isinstance(item, SyntheticNote) for item in turn.items)
