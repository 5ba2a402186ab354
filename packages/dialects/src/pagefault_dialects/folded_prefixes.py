"""Final prefixes of histories as facts, behind which renderings within a budget go on."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeGuard

from pagefault_dialects.context.prefix_index import (
    FoldedRun,
    PrefixFacts,
    PrefixIndex,
    PrefixMessage,
    PrefixPassage,
    RecordedTurn,
    ReferencedStep,
    make_run_turns,
)
from pagefault_dialects.context.steps import FoldSummary
from pagefault_dialects.model.conversation import ComposedTurn
from pagefault_dialects.turns.answered_turns import PrefixChangedError
from pagefault_dialects.turns.pairing import PairedPrefix, Pairing, orphans_in
from pagefault_dialects.turns.sealed_turns import SealedTurns


@dataclass(frozen=True, slots=True)
class FoldedPrefix:
    """The facts of a final prefix, for frontiers that have folded its steps."""

    seq: int
    """The `seq` of its last entry."""
    paired: PairedPrefix
    """The state of pairing calls and answers."""
    index: PrefixIndex
    """Counts of its steps, and the places of other messages."""
    orphans: tuple[int, ...]
    """The `seq` of its answers that have an added call."""
    apart: Mapping[str, int]
    """The sizes of structured contents that are stored as resources, by digest."""
    number: int = 1
    """Its place among the prefixes of its session, from 1."""

    @property
    def fact_count(self) -> int:
        """The number of facts besides those of calls."""
        index = self.index
        lists = (index.passages, index.recalled, index.calling, self.orphans, self.apart)
        return sum(map(len, lists))

    def with_paired(self, paired: PairedPrefix) -> Self:
        """Return a copy with equal facts of calls, which it shares with other prefixes."""
        return replace(self, paired=paired)

    def extend(
        self,
        sealed: SealedTurns,
        recorded: Mapping[int, Sequence[ComposedTurn]],
        apart: Mapping[str, int],
    ) -> "FoldedPrefix":
        """Return the facts of a longer prefix.

        Args:
            sealed: The turns that follow.
            recorded: The turns of each of their entries as it was recorded, in order.
            apart: The sizes of their structured contents that are stored as resources, by digest.
        """
        return FoldedPrefix(
            max(recorded),
            sealed.paired,
            self.index.extend(sealed.turns, recorded),
            (*self.orphans, *orphans_in(sealed.turns)),
            {**self.apart, **apart},
            self.number + 1,
        )

    def facts(self, passages: Sequence[PrefixPassage]) -> PrefixFacts:
        """Return the facts about its runs of steps, which `passages` has for a frontier."""
        index = self.index
        times: dict[str, int] = {}
        runs: dict[str, FoldSummary] = {}
        for number, passage in enumerate(passages):
            if _is_readable(passage):
                times |= passage.times
            elif isinstance(passage, FoldedRun):
                runs[make_run_turns(passage, number)[0].calls[0].call_id] = passage.summary
        return PrefixFacts(runs, index.recalled, times, index.calling, index.page_answers, self.seq)

    def turns(
        self,
        passages: Sequence[PrefixPassage],
        recorded: Mapping[int, Sequence[ComposedTurn]],
        behind: Sequence[ComposedTurn],
        kept: Collection[int],
        *,
        settles: bool = False,
    ) -> Sequence[ComposedTurn]:
        """Return the history as a conversation, with one step for each run of folded ones.

        Args:
            passages: The passages of the prefix at a frontier.
            recorded: The turns of the entries that these name, as they were recorded.
            behind: The turns behind the prefix, as they were recorded.
            kept: The `seq` of answers that keep the calls that were written for them.
            settles: Whether the prefix is final, whatever follows; see `Pairing`.

        Raises:
            PrefixChangedError: A turn behind the prefix changes it, or needs more of it.
        """
        pairing = Pairing(kept, self.paired, settles=settles)
        for turn in behind:
            pairing.add(turn)
        following = pairing.turns()
        if not settles:
            self._check(passages, following, kept)
        return [*_prefix_turns(passages, recorded, settles=settles), *following]

    def _check(
        self,
        passages: Sequence[PrefixPassage],
        following: Sequence[ComposedTurn],
        kept: Collection[int],
    ) -> None:
        if not {seq for seq in kept if seq <= self.seq} <= {*self.orphans}:
            raise PrefixChangedError
        late = {turn.late_for for turn in following if turn.late_for is not None}
        has_step = sum(bool(turn.calls) for turn in following) > len(late)
        has_newest = not self.index.steps or any(map(_is_readable, passages))
        if not following or not (has_step or has_newest):
            # The newest step is not folded.
            raise PrefixChangedError
        if {seq for seq in late if seq <= self.seq} - self.index.calling.keys():
            # A late answer names the step of its call.
            raise PrefixChangedError


NO_PREFIX = FoldedPrefix(0, PairedPrefix(), PrefixIndex(), (), {}, 0)
"""The facts of no entries."""


def _prefix_turns(
    passages: Sequence[PrefixPassage],
    recorded: Mapping[int, Sequence[ComposedTurn]],
    *,
    settles: bool,
) -> Iterator[ComposedTurn]:
    for number, passage in enumerate(passages):
        if isinstance(passage, PrefixMessage):
            if not passage.is_recorded and not settles:
                raise PrefixChangedError
            yield recorded[passage.seq][passage.index]
        elif _is_readable(passage):
            for turn in passage.turns:
                yield turn.restore(recorded[turn.seq]) if isinstance(turn, RecordedTurn) else turn
        else:
            yield from make_run_turns(passage, number)


def _is_readable(passage: PrefixPassage) -> TypeGuard[ReferencedStep]:
    return isinstance(passage, ReferencedStep) and bool(passage.turns)
