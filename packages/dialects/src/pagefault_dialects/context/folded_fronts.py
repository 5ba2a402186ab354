"""The folded beginning of a history as counts, so that a rendering need not read its entries.

A fold renders the counts of its steps, which can be added. Messages between steps are evicted much
later; they are named by their entries, and read one by one.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pagefault_dialects.context.recalls import RecalledObject, find_recalls
from pagefault_dialects.context.steps import FoldSummary, SaidTurn, Step, passages_in, summary_of
from pagefault_dialects.model.conversation import ComposedTurn, Turn, TurnCall
from pagefault_dialects.model.frontier import Frontier


@dataclass(frozen=True, slots=True)
class SaidEntry:
    """A message, by its entry and its index among the turns of the entry."""

    seq: int
    index: int
    place: int
    is_user: bool
    origin: str
    summary: FoldSummary


@dataclass(frozen=True, slots=True)
class FoldedRun:
    """A run of steps without messages between them."""

    place: int
    """The position of its last step, which frontiers compare."""
    origin: str
    """The path of its first record."""
    summary: FoldSummary


FrontPassage = SaidEntry | FoldedRun


@dataclass(frozen=True, slots=True)
class FoldedFront:
    """The facts about a final beginning, for frontiers that have folded its steps."""

    passages: tuple[FrontPassage, ...] = ()
    """Its passages in order; no two runs are adjacent."""
    recalled: Mapping[RecalledObject, int] = field(default_factory=dict)
    """The number of recalls of each object."""
    steps: int = 0
    """The number of its steps."""

    @property
    def pages(self) -> set[str]:
        """The pages that were faulted in."""
        return {item.name for item in self.recalled if item.kind == "page"}

    def grown(
        self, turns: Sequence[ComposedTurn], recorded: Mapping[int, Sequence[ComposedTurn]]
    ) -> "FoldedFront | None":
        """Return the facts about a longer beginning.

        Args:
            turns: The turns that follow, calls and answers paired.
            recorded: The turns of each entry as it was recorded.

        Returns:
            The facts; `None` if a message differs from its record.
        """
        passages, steps = [*self.passages], self.steps
        for passage in passages_in(turns):
            part = turns[passage.start : passage.stop]
            if isinstance(passage, Step):
                steps += 1
                summary = summary_of(part, steps, is_late=part[-1].late_for is not None)
                passages.append(FoldedRun(passage.place, part[0].origin, summary))
            elif part[0].seq is not None:
                entry = _said_entry(passage, part[0], recorded.get(part[0].seq, ()))
                if entry is None:
                    return None
                passages.append(entry)
        recalled = Counter(self.recalled)
        recalled.update(recall.target for recall in find_recalls(turns).values())
        return FoldedFront(tuple(_merged(passages)), dict(recalled), steps)

    def passages_at(self, frontier: Frontier) -> Sequence[FrontPassage]:
        """Return the passages at a frontier; runs without messages between them are joined.

        Everything up to the first message of the user, and the newest one, is always rendered.
        """
        users = [
            at
            for at, passage in enumerate(self.passages)
            if isinstance(passage, SaidEntry) and passage.is_user
        ]
        between = range(users[0] + 1, users[-1]) if users else range(0)
        return _merged(
            FoldedRun(passage.place, passage.origin, passage.summary)
            if isinstance(passage, SaidEntry)
            and at in between
            and passage.place <= frontier.said_folded
            else passage
            for at, passage in enumerate(self.passages)
        )


@dataclass(frozen=True, slots=True)
class FrontFacts:
    """Facts about runs of folded steps whose turns were not read."""

    runs: Mapping[str, FoldSummary] = field(default_factory=dict)
    """The runs, each by the id of the call of the step that replaces it."""
    recalled: Mapping[RecalledObject, int] = field(default_factory=dict)
    """The number of recalls of each object in them."""


NO_FRONT = FrontFacts()
"""The facts for a conversation that was read from its first turn."""


def run_turns(run: FoldedRun, number: int) -> tuple[ComposedTurn, ComposedTurn]:
    """Return a step of two turns that replaces a run; see `EvictableTurns.folded`.

    Args:
        run: The run.
        number: A number that no other run of the conversation has.
    """
    call = TurnCall(f"\0folded {number}", "", {})
    return (
        Turn("assistant", (), run.origin, run.place, calls=(call,)),
        Turn("tool", (), run.origin, run.place, call_id=call.call_id),
    )


def _said_entry(
    passage: SaidTurn, turn: ComposedTurn, recorded: Sequence[ComposedTurn]
) -> SaidEntry | None:
    indexes = [at for at, item in enumerate(recorded) if item == turn]
    if not indexes or turn.seq is None:
        return None
    place, is_user = passage.place, turn.role == "user"
    return SaidEntry(turn.seq, indexes[0], place, is_user, turn.origin, summary_of([turn], 0))


def _merged(passages: Iterable[FrontPassage]) -> Sequence[FrontPassage]:
    """Return passages with adjacent runs joined."""
    merged: list[FrontPassage] = []
    for passage in passages:
        before = merged[-1] if merged else None
        if isinstance(passage, FoldedRun) and isinstance(before, FoldedRun):
            summary = before.summary + passage.summary
            merged[-1] = FoldedRun(passage.place, before.origin, summary)
        else:
            merged.append(passage)
    return merged
