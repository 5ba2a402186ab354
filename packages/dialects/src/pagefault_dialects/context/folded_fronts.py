"""The folded beginning of a history, as counts: a rendering reads what is behind it alone.

A fold shows counts of its steps, and these add up. What was said between steps stays until much
later; it is named here by its entry and read by itself.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pagefault_dialects.context.recalls import Recalled, recalls_in
from pagefault_dialects.context.steps import FoldSummary, SaidTurn, Step, passages_in, summary_of
from pagefault_dialects.model.conversation import ComposedTurn, Turn, TurnCall
from pagefault_dialects.model.frontier import Frontier


@dataclass(frozen=True, slots=True)
class SaidEntry:
    """A turn that is of no step, by its place among the turns of its entry."""

    seq: int
    index: int
    place: int
    is_user: bool
    origin: str
    summary: FoldSummary


@dataclass(frozen=True, slots=True)
class FoldedRun:
    """Steps with nothing shown between them."""

    place: int
    """Where a frontier finds the last of them."""
    origin: str
    """The path that the first is read from."""
    summary: FoldSummary


FrontPassage = SaidEntry | FoldedRun


@dataclass(frozen=True, slots=True)
class FoldedFront:
    """The facts of a final beginning, for frontiers that have folded its steps."""

    passages: tuple[FrontPassage, ...] = ()
    """In order; no two runs follow each other."""
    recalled: Mapping[Recalled, int] = field(default_factory=dict)
    """How often each thing was recalled in it."""
    steps: int = 0
    """How many steps it has."""

    @property
    def pages(self) -> set[str]:
        """The pages that were faulted in it."""
        return {each.name for each in self.recalled if each.kind == "page"}

    def grown(
        self, turns: Sequence[ComposedTurn], recorded: Mapping[int, Sequence[ComposedTurn]]
    ) -> "FoldedFront | None":
        """Return the facts of this beginning and of the turns behind it.

        Args:
            turns: Calls and answers paired.
            recorded: The turns of each entry as it was recorded.

        Returns:
            Those facts; `None` if something that was said is not as it was recorded.
        """
        passages, steps = [*self.passages], self.steps
        for passage in passages_in(turns):
            part = turns[passage.start : passage.stop]
            if isinstance(passage, Step):
                steps += 1
                summary = summary_of(part, steps, is_late=part[-1].late_for is not None)
                passages.append(FoldedRun(passage.place, part[0].origin, summary))
            elif part[0].seq is not None:
                said = _said_entry(passage, part[0], recorded.get(part[0].seq, ()))
                if said is None:
                    return None
                passages.append(said)
        recalled = Counter(self.recalled)
        recalled.update(each.what for each in recalls_in(turns).values())
        return FoldedFront(tuple(_merged(passages)), dict(recalled), steps)

    def shown_passages(self, frontier: Frontier) -> Sequence[FrontPassage]:
        """Return the passages; runs are one where a frontier shows nothing between them.

        The user's first message, what stands before that, and the newest one are always shown.
        """
        users = [
            at
            for at, each in enumerate(self.passages)
            if isinstance(each, SaidEntry) and each.is_user
        ]
        between = range(users[0] + 1, users[-1]) if users else range(0)
        return _merged(
            FoldedRun(each.place, each.origin, each.summary)
            if isinstance(each, SaidEntry) and at in between and each.place <= frontier.said_folded
            else each
            for at, each in enumerate(self.passages)
        )


@dataclass(frozen=True, slots=True)
class FrontFacts:
    """What is known of runs of folded steps, whose turns are not at hand."""

    runs: Mapping[str, FoldSummary] = field(default_factory=dict)
    """Each run by the id of the call of the step that stands for it."""
    recalled: Mapping[Recalled, int] = field(default_factory=dict)
    """How often each thing was recalled in them."""


NO_FRONT = FrontFacts()
"""Of a conversation that is there from its first turn."""


def run_turns(run: FoldedRun, number: int) -> tuple[ComposedTurn, ComposedTurn]:
    """Return two turns that take the place of a run in a conversation.

    They are a step of which nothing is shown: see `EvictableTurns.folded`.

    Args:
        run: The run.
        number: Another one for each run of a conversation.
    """
    call = TurnCall(f"\0folded {number}", "", {})
    return (
        Turn("assistant", (), run.origin, run.place, calls=(call,)),
        Turn("tool", (), run.origin, run.place, call_id=call.call_id),
    )


def _said_entry(
    passage: SaidTurn, turn: ComposedTurn, recorded: Sequence[ComposedTurn]
) -> SaidEntry | None:
    indexes = [at for at, each in enumerate(recorded) if each == turn]
    if not indexes or turn.seq is None:
        return None
    place, is_user = passage.place, turn.role == "user"
    return SaidEntry(turn.seq, indexes[0], place, is_user, turn.origin, summary_of([turn], 0))


def _merged(passages: Iterable[FrontPassage]) -> Sequence[FrontPassage]:
    """Return passages with runs that follow each other as one."""
    merged: list[FrontPassage] = []
    for passage in passages:
        before = merged[-1] if merged else None
        if isinstance(passage, FoldedRun) and isinstance(before, FoldedRun):
            summary = before.summary + passage.summary
            merged[-1] = FoldedRun(passage.place, before.origin, summary)
        else:
            merged.append(passage)
    return merged
