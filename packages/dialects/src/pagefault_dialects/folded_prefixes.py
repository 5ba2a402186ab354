"""What a rendering within a budget has to know of the final part of a history.

A prefix is final if later entries cannot change its turns. Renderings continue after it without
reading its entries again.
"""

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
from pagefault_dialects.turns.call_results import PrefixChangedError
from pagefault_dialects.turns.pairing import PairedPrefix, Pairing, find_orphans
from pagefault_dialects.turns.sealed_turns import SealedTurns


@dataclass(frozen=True, slots=True)
class FoldedPrefix:
    """What is known of a final prefix, for frontiers that have folded its steps."""

    seq: int
    """The `seq` of its last entry."""
    paired: PairedPrefix
    """The state of pairing calls and answers."""
    index: PrefixIndex
    """Counts of its steps, and the positions of messages that belong to no step."""
    orphans: tuple[int, ...]
    """The `seq` of its answers whose call is not in the history; a rendering adds one."""
    apart: Mapping[str, int]
    """The sizes of structured contents that are stored as resources, by digest."""
    number: int = 1
    """Its number among the prefixes of its session, from 1."""

    @property
    def fact_count(self) -> int:
        """The number of items that it keeps in memory, without those of `paired`."""
        index = self.index
        lists = (index.passages, index.recalled, index.calling, self.orphans, self.apart)
        return sum(map(len, lists))

    def with_paired(self, paired: PairedPrefix) -> Self:
        """Return a copy with an equal `paired` that other prefixes share, to save memory."""
        return replace(self, paired=paired)

    def extend(
        self,
        sealed: SealedTurns,
        recorded: Mapping[int, Sequence[ComposedTurn]],
        apart: Mapping[str, int],
    ) -> "FoldedPrefix":
        """Return a prefix that is longer by some turns.

        Args:
            sealed: The turns that follow, which are final as well.
            recorded: By `seq`, the turns of each of their entries as it was stored, in order.
            apart: The sizes of their structured contents that are stored as resources, by digest.
        """
        return FoldedPrefix(
            max(recorded),
            sealed.paired,
            self.index.extend(sealed.turns, recorded),
            (*self.orphans, *find_orphans(sealed.turns)),
            {**self.apart, **apart},
            self.number + 1,
        )

    def facts(self, passages: Sequence[PrefixPassage]) -> PrefixFacts:
        """Return what a rendering has to know of the prefix, given its passages at a frontier."""
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
        following: Sequence[ComposedTurn],
        pinned_results: Collection[int],
        *,
        freezes_turns: bool = False,
    ) -> Sequence[ComposedTurn]:
        """Return the history as a conversation, with one step for each run of folded ones.

        Args:
            passages: The prefix in pieces, as the frontier has them: messages, steps and folded
                runs of steps.
            recorded: By `seq`, the turns of the entries of these messages, as they were stored.
            following: The turns after the prefix, as they were stored.
            pinned_results: The `seq` of orphans that stay after their added call, even if their own
                call follows.
            freezes_turns: Whether the prefix is final even if later turns would change it; see
                `Pairing`.

        Raises:
            PrefixChangedError: A turn after the prefix changes it, or needs a turn that it has not
                kept.
        """
        pairing = Pairing(pinned_results, self.paired, freezes_turns=freezes_turns)
        for turn in following:
            pairing.add(turn)
        later_turns = pairing.take_turns()
        if not freezes_turns:
            self._require_unchanged(passages, later_turns, pinned_results)
        return [*_prefix_turns(passages, recorded, freezes_turns=freezes_turns), *later_turns]

    def _require_unchanged(
        self,
        passages: Sequence[PrefixPassage],
        following: Sequence[ComposedTurn],
        pinned_results: Collection[int],
    ) -> None:
        # Only orphans of the prefix have an added call to keep.
        if not {seq for seq in pinned_results if seq <= self.seq} <= {*self.orphans}:
            raise PrefixChangedError
        late = {turn.late_for for turn in following if turn.late_for is not None}
        has_step = sum(bool(turn.calls) for turn in following) > len(late)
        has_newest = not self.index.steps or any(map(_is_readable, passages))
        if not following or not (has_step or has_newest):
            # The newest step must stay readable, and this prefix has folded it.
            raise PrefixChangedError
        if {seq for seq in late if seq <= self.seq} - self.index.calling.keys():
            # A late result needs the step of its call, which this prefix does not have.
            raise PrefixChangedError


NO_PREFIX = FoldedPrefix(0, PairedPrefix(), PrefixIndex(), (), {}, 0)
"""The prefix without entries."""


def _prefix_turns(
    passages: Sequence[PrefixPassage],
    recorded: Mapping[int, Sequence[ComposedTurn]],
    *,
    freezes_turns: bool,
) -> Iterator[ComposedTurn]:
    for number, passage in enumerate(passages):
        if isinstance(passage, PrefixMessage):
            if not passage.is_recorded and not freezes_turns:
                raise PrefixChangedError
            yield recorded[passage.seq][passage.index]
        elif _is_readable(passage):
            for turn in passage.turns:
                yield turn.restore(recorded[turn.seq]) if isinstance(turn, RecordedTurn) else turn
        else:
            yield from make_run_turns(passage, number)


def _is_readable(passage: PrefixPassage) -> TypeGuard[ReferencedStep]:
    """Return whether the passage is a step with its turns, not only a line in place of them."""
    return isinstance(passage, ReferencedStep) and bool(passage.turns)
