"""The beginning of a history whose steps a budget has folded, so that it is not read again.

A fold is one line of text in place of old steps; see `context/eviction.py`. For a fold, counts are
enough, so a rendering within a budget reads only the entries after the prefix, and the few entries
in it that are not folded. A prefix is final: later entries do not change its turns. The service
keeps prefixes in memory between requests; see `app/services/renders/session_windows.py`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeGuard

from pagefault_dialects.context.prefix_index import (
    FoldedRun,
    PrefixIndex,
    PrefixMessage,
    PrefixPassage,
    PrefixSummary,
    ReferencedStep,
    TurnReference,
    make_run_turns,
)
from pagefault_dialects.context.steps import FoldSummary
from pagefault_dialects.model.conversation import ComposedTurn
from pagefault_dialects.turns.call_results import PrefixChangedError
from pagefault_dialects.turns.pairing import Pairing, PairingState, find_orphans
from pagefault_dialects.turns.sealed_turns import SealedTurns


@dataclass(frozen=True, slots=True)
class FoldedPrefix:
    """Counts and references of a final prefix, for frontiers that have folded its steps."""

    seq: int
    """The `seq` of its last entry."""
    pairing_state: PairingState
    """The state of pairing calls and answers after its last entry."""
    index: PrefixIndex
    """Counts of its steps, and the positions of messages that belong to no step."""
    orphans: tuple[int, ...]
    """The `seq` of its answers whose call is not in the history; a rendering adds that call."""
    structured_sizes: Mapping[str, int]
    """The sizes in bytes of structured contents that are stored as resources, by digest."""
    number: int = 1
    """Its number among the prefixes of its session, from 1."""

    @property
    def fact_count(self) -> int:
        """The number of items that the prefix keeps in memory, without `pairing_state`."""
        index = self.index
        in_index = (index.passages, index.recall_totals, index.unanswered_steps)
        return sum(map(len, (*in_index, self.orphans, self.structured_sizes)))

    def with_pairing_state(self, pairing_state: PairingState) -> Self:
        """Return a copy with an equal state that other prefixes share, to save memory."""
        return replace(self, pairing_state=pairing_state)

    def extend(
        self,
        sealed: SealedTurns,
        recorded: Mapping[int, Sequence[ComposedTurn]],
        structured_sizes: Mapping[str, int],
    ) -> "FoldedPrefix":
        """Return a prefix that is longer by some turns.

        Args:
            sealed: The turns that follow, which are final as well.
            recorded: The turns of each of their entries as they were stored, by `seq`.
            structured_sizes: The sizes in bytes of their structured contents that are stored as
                resources, by digest.
        """
        return FoldedPrefix(
            max(recorded),
            sealed.pairing_state,
            self.index.extend(sealed.turns, recorded),
            (*self.orphans, *find_orphans(sealed.turns)),
            {**self.structured_sizes, **structured_sizes},
            self.number + 1,
        )

    def summarize(self, passages: Sequence[PrefixPassage]) -> PrefixSummary:
        """Return the counts that the eviction of the whole history needs of this prefix.

        Args:
            passages: The passages of the prefix at a frontier; see `PrefixIndex.passages_at`.
        """
        index = self.index
        recall_counts: dict[str, int] = {}
        runs: dict[str, FoldSummary] = {}
        for number, passage in enumerate(passages):
            if _has_turns(passage):
                recall_counts |= passage.recall_counts
            elif isinstance(passage, FoldedRun):
                runs[make_run_turns(passage, number)[0].calls[0].call_id] = passage.summary
        return PrefixSummary(
            runs=runs,
            recall_totals=index.recall_totals,
            recall_counts=recall_counts,
            unanswered_steps=index.unanswered_steps,
            page_results=index.page_results,
            last_seq=self.seq,
        )

    def build_turns(
        self,
        passages: Sequence[PrefixPassage],
        recorded: Mapping[int, Sequence[ComposedTurn]],
        following: Sequence[ComposedTurn],
        pinned_results: Collection[int],
        *,
        freezes_turns: bool = False,
    ) -> Sequence[ComposedTurn]:
        """Return the whole history as a conversation, with one step in place of each folded run.

        Args:
            passages: The passages of the prefix at a frontier; see `PrefixIndex.passages_at`.
            recorded: The turns of the entries that these passages refer to, as they were stored, by
                `seq`.
            following: The turns after the prefix, as they were stored.
            pinned_results: The `seq` of orphans that stay after their added call, even if their own
                call follows.
            freezes_turns: True if turns after the prefix do not change it; see `Pairing`.

        Raises:
            PrefixChangedError: A turn after the prefix changes it, or needs a step of it that is
                folded. The history has to be read from its beginning.
        """
        pairing = Pairing(pinned_results, self.pairing_state, freezes_turns=freezes_turns)
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
        # Answers in the prefix that are no longer orphans have found their call.
        if not {seq for seq in pinned_results if seq <= self.seq} <= {*self.orphans}:
            raise PrefixChangedError
        late_call_seqs = {
            turn.late_call_seq for turn in following if turn.late_call_seq is not None
        }
        # A late answer comes with a turn that repeats its call, which is not a step of its own.
        has_new_step = sum(bool(turn.calls) for turn in following) > len(late_call_seqs)
        has_newest_step = not self.index.steps or any(map(_has_turns, passages))
        if not following or not (has_new_step or has_newest_step):
            # The newest step is never folded, and this prefix has only its counts.
            raise PrefixChangedError
        if {seq for seq in late_call_seqs if seq <= self.seq} - self.index.unanswered_steps.keys():
            # A late answer names the step of its call, which this prefix does not know.
            raise PrefixChangedError


NO_PREFIX = FoldedPrefix(0, PairingState(), PrefixIndex(), (), {}, 0)
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
                # The stored message would be rendered without the note that was added to it.
                raise PrefixChangedError
            yield recorded[passage.seq][passage.index]
        elif _has_turns(passage):
            for turn in passage.turns:
                yield turn.restore(recorded[turn.seq]) if isinstance(turn, TurnReference) else turn
        else:
            yield from make_run_turns(passage, number)


def _has_turns(passage: PrefixPassage) -> TypeGuard[ReferencedStep]:
    """Return whether a passage is a step whose turns can be read again, not only counts."""
    return isinstance(passage, ReferencedStep) and bool(passage.turns)
