"""Indexes the prefix of a history, so that a rendering does not read the entries that it folds.

A passage is a step or a message between steps. Folded steps are rendered as counts, so the index
has the counts of each run of steps. Some passages may have to be rendered in full: messages, the
newest step, and the step with the newest result for each page. For these, the index has references
to their entries, which are read one by one.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple, TypeAlias

from pagefault_dialects.context.recalls import Recall, RecalledObject, find_recalls
from pagefault_dialects.context.steps import (
    FoldSummary,
    MessagePassage,
    Step,
    is_added_result,
    split_passages,
    summarize_turns,
)
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    Turn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.model.frontier import Frontier
from pagefault_dialects.targets.base64_leaves import text_of


@dataclass(frozen=True, slots=True)
class PrefixMessage:
    """A reference to a message: its entry, and its index among the turns of the entry."""

    seq: int
    index: int
    is_recorded: bool
    """False if the message differs from its record, for example because a note was added to it."""
    position: int
    """The position that frontiers are compared with; see `find_turn_positions`."""
    role: TurnRole
    origin: str
    """The HTTP path of its record."""
    summary: FoldSummary
    """The counts of this message, which are added to those of a fold."""
    chars: int
    """The total length of its texts."""


class _PairedCall(NamedTuple):
    """The members of a `TurnCall` that may change when calls and results are paired."""

    call_id: str
    name: str
    entry_position: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class TurnReference:
    """A reference to a turn of a step: its entry, and its index among the turns of the entry.

    The ids and names may differ from those in the record, since ids are made unique when calls and
    results are paired.
    """

    seq: int
    index: int
    call_id: str
    tool_name: str
    calls: tuple[_PairedCall, ...]

    def restore(self, recorded: Sequence[ComposedTurn]) -> ComposedTurn:
        """Return the turn, from the turns of its entry as they were recorded."""
        turn = recorded[self.index]
        calls = tuple(
            replace(call, **paired._asdict())
            for call, paired in zip(turn.calls, self.calls, strict=True)
        )
        return replace(turn, call_id=self.call_id, tool_name=self.tool_name, calls=calls)


@dataclass(frozen=True, slots=True)
class FoldedRun:
    """Counts of consecutive passages: of steps, and of folded messages."""

    position: int
    """The position of its last passage."""
    origin: str
    """The HTTP path of its first record."""
    summary: FoldSummary


@dataclass(frozen=True, slots=True)
class ReferencedStep(FoldedRun):
    """A run of one step, with references to its turns, so that they can be read again."""

    turns: tuple[TurnReference | ComposedTurn, ...]
    """References to its turns; empty if a turn differs from its record. A result that Pagefault has
    added has no record, so `turns` has the turn itself."""
    pages: Mapping[str, int | None]
    """The `seq` of the result with each page, by the id of the page."""
    recall_counts: Mapping[str, int]
    """The `Recall.count` of its recalls, by the ids of their calls."""
    is_late: bool
    """True if the step was added for a result that came late: it repeats the earlier call."""


@dataclass(frozen=True, slots=True)
class UnansweredStep:
    """A step whose entry has a call without a result, which may still arrive."""

    number: int
    """The number of the step, from 1."""
    tools: frozenset[str]
    """The names of the tools that the step calls."""


PrefixPassage: TypeAlias = PrefixMessage | FoldedRun


@dataclass(frozen=True, slots=True)
class PrefixIndex:
    """The passages of a prefix that later entries do not change.

    A rendering can use it if its frontier has folded the steps of the prefix.
    """

    passages: tuple[PrefixPassage, ...] = ()
    """The passages in order. Steps are joined into runs, except the newest step, and the step with
    the newest result for each page."""
    recall_totals: Mapping[RecalledObject, int] = field(default_factory=dict)
    """The number of recalls of each object."""
    steps: int = 0
    """The number of steps."""
    unanswered_steps: Mapping[int, Sequence[UnansweredStep]] = field(default_factory=dict)
    """The steps of entries with calls whose results may still arrive, by the `seq` of the entry."""

    @property
    def pages(self) -> set[str]:
        """The ids of the pages that the calls of `page_fault` name."""
        return {item.name for item in self.recall_totals if item.kind == "page"}

    @property
    def page_results(self) -> Mapping[str, int | None]:
        """The `seq` of the newest result with each page, by the id of the page."""
        steps = (passage for passage in self.passages if isinstance(passage, ReferencedStep))
        return {page_id: seq for step in steps for page_id, seq in step.pages.items()}

    def extend(
        self, turns: Sequence[ComposedTurn], recorded: Mapping[int, Sequence[ComposedTurn]]
    ) -> "PrefixIndex":
        """Return the index of a prefix that is longer by some turns.

        Args:
            turns: The turns that follow the prefix, with calls and results paired.
            recorded: The turns of each of their entries, as they were recorded, by `seq`.
        """
        passages, steps = [*self.passages], self.steps
        recalls = find_recalls(turns, self.recall_totals)
        steps_by_seq: defaultdict[int, list[tuple[UnansweredStep, bool]]] = defaultdict(list)
        new_passages = [*split_passages(turns)]
        # The starts of passages that repeat a call, for a result that came late.
        late_starts = {
            item.start for item in new_passages if turns[item.stop - 1].late_call_seq is not None
        }
        step_starts = [
            item.start
            for item in new_passages
            if turns[item.start].calls and item.start not in late_starts
        ]
        for passage in new_passages:
            passage_turns = turns[passage.start : passage.stop]
            first = passage_turns[0]
            if isinstance(passage, Step):
                steps += 1
                is_late = passage.start in late_starts
                summary = summarize_turns(passage_turns, steps, is_late=is_late)
                run = FoldedRun(passage.position, first.origin, summary)
                pages = _find_pages(passage_turns, recalls)
                if pages or passage.start in step_starts[-1:]:
                    run = _index_step(run, passage_turns, pages, recalls, recorded)
                passages.append(run)
                if not is_late and first.seq is not None:
                    tools = frozenset(call.name for call in first.calls)
                    lacks_result = any(map(is_added_result, passage_turns))
                    steps_by_seq[first.seq].append((UnansweredStep(steps, tools), lacks_result))
            elif first.seq is not None:
                passages.append(_index_message(passage, first, recorded.get(first.seq, ())))
        recall_totals = Counter(self.recall_totals)
        recall_totals.update(recall.target for recall in recalls.values())
        unanswered = {
            seq: [step for step, _ in steps_of_entry]
            for seq, steps_of_entry in steps_by_seq.items()
            if any(lacks_result for _, lacks_result in steps_of_entry)
        }
        joined = _join_runs(passages, _find_unfolded(passages))
        return PrefixIndex(
            tuple(joined), dict(recall_totals), steps, {**self.unanswered_steps, **unanswered}
        )

    def passages_at(
        self, frontier: Frontier, pinned: Collection[str] = ()
    ) -> Sequence[PrefixPassage]:
        """Return the passages at a frontier. Folded messages are runs; adjacent runs are joined.

        These passages are never folded: all messages up to the first message of the user, the
        user's newest message, the newest step, and the step with the newest result for each pinned
        page. Without a message of the user, the first message and all messages of the system are
        not folded.

        Args:
            frontier: The frontier; every step of the prefix counts as folded at it.
            pinned: The ids of pinned pages.
        """
        foldable = {*self._find_foldable_messages()}
        unfolded = {
            index
            for index, passage in enumerate(self.passages)
            if isinstance(passage, ReferencedStep) and not passage.pages.keys().isdisjoint(pinned)
        }
        unfolded |= _find_newest_step(self.passages)
        return _join_runs(
            (
                FoldedRun(passage.position, passage.origin, passage.summary)
                if index in foldable and passage.position <= frontier.said_folded
                else passage
                for index, passage in enumerate(self.passages)
            ),
            unfolded,
        )

    def _find_foldable_messages(self) -> Iterator[int]:
        """Yield the indexes of the messages that may be folded; see `passages_at`."""
        roles = [
            passage.role if isinstance(passage, PrefixMessage) else None
            for passage in self.passages
        ]
        users = [index for index, role in enumerate(roles) if role == "user"]
        others = [index for index, role in enumerate(roles) if role != "system"]
        first = next(iter((*users, *others)), 0)
        for index, role in enumerate(roles):
            is_system = role == "system" and not users
            if role is not None and index > first and index not in users[-1:] and not is_system:
                yield index

    def find_message_fold(self, max_chars: int) -> int:
        """Return the position up to which messages have to be folded.

        The messages after this position have at most `max_chars` together. The position is 0 if no
        message has to be folded.
        """
        for passage in reversed(self.passages):
            if isinstance(passage, PrefixMessage):
                max_chars -= passage.chars
                if max_chars < 0:
                    return passage.position
        return 0


@dataclass(frozen=True, slots=True)
class PrefixSummary:
    """Counts of a prefix at a frontier, whose folded steps were not read."""

    runs: Mapping[str, FoldSummary] = field(default_factory=dict)
    """The counts of each folded run, by the id of the call in the step that replaces the run."""
    recall_totals: Mapping[RecalledObject, int] = field(default_factory=dict)
    """The number of recalls of each object in the prefix."""
    recall_counts: Mapping[str, int] = field(default_factory=dict)
    """The `Recall.count` of each recall in steps that are not folded, by the ids of their calls."""
    unanswered_steps: Mapping[int, Sequence[UnansweredStep]] = field(default_factory=dict)
    """The steps of entries with calls whose results may still arrive, by the `seq` of the entry."""
    page_results: Mapping[str, int | None] = field(default_factory=dict)
    """The `seq` of the newest result with each page, by the id of the page."""
    last_seq: int = 0
    """The `seq` of the last entry of the prefix."""


EMPTY_PREFIX_SUMMARY = PrefixSummary()
"""The counts of an empty prefix: the conversation was read from its first turn."""


def make_run_turns(run: FoldedRun, number: int) -> tuple[ComposedTurn, ComposedTurn]:
    """Return the turns of a step, a call and its result, that replaces a run.

    `PrefixSummary.runs` has the counts of the run under the id of this call.

    Args:
        run: The run.
        number: A number that makes the id of the call unique in the conversation.
    """
    call = TurnCall(f"\0folded {number}", "", {})
    return (
        Turn("assistant", (), run.origin, run.position, calls=(call,)),
        Turn("tool", (), run.origin, run.position, call_id=call.call_id),
    )


def _index_message(
    passage: MessagePassage, turn: ComposedTurn, recorded: Sequence[ComposedTurn]
) -> PrefixMessage:
    """Return a reference to a message.

    Args:
        passage: The passage of the message.
        turn: The message.
        recorded: The turns of its entry, as they were recorded.
    """
    equal = [index for index, item in enumerate(recorded) if item == turn]
    with_same_role = [index for index, item in enumerate(recorded) if item.role == turn.role]
    return PrefixMessage(
        seq=turn.seq or 0,
        index=next(iter((*equal, *with_same_role)), 0),
        is_recorded=bool(equal),
        position=passage.position,
        role=turn.role,
        origin=turn.origin,
        summary=summarize_turns([turn], 0),
        chars=sum(len(text_of(item) or "") for item in turn.items),
    )


def _find_pages(
    step: Sequence[ComposedTurn], recalls: Mapping[str, Recall]
) -> Mapping[str, int | None]:
    """Return the `seq` of the result with each page in a step, by the id of the page."""
    return {
        recall.target.name: turn.seq
        for turn in step
        if turn.role == "tool" and not turn.is_error
        if (recall := recalls.get(turn.call_id)) is not None and recall.target.kind == "page"
    }


def _index_step(
    run: FoldedRun,
    turns: Sequence[ComposedTurn],
    pages: Mapping[str, int | None],
    recalls: Mapping[str, Recall],
    recorded: Mapping[int, Sequence[ComposedTurn]],
) -> ReferencedStep:
    """Return the run of one step with references to its turns.

    Args:
        run: The run.
        turns: The turns of the step.
        pages: The pages in its results; see `_find_pages`.
        recalls: The recalls of the history, by the ids of their calls.
        recorded: The turns of the entries of the step, as they were recorded, by `seq`.
    """
    references = [_make_turn_reference(turn, recorded.get(turn.seq or 0, ())) for turn in turns]
    restorable = tuple(reference for reference in references if reference is not None)
    call_ids = [call.call_id for call in turns[0].calls]
    return ReferencedStep(
        *(run.position, run.origin, run.summary),
        restorable if len(restorable) == len(references) else (),
        pages,
        {call_id: recalls[call_id].count for call_id in call_ids if call_id in recalls},
        is_late=turns[-1].late_call_seq is not None,
    )


def _make_turn_reference(
    turn: ComposedTurn, recorded: Sequence[ComposedTurn]
) -> TurnReference | ComposedTurn | None:
    """Return a reference to a turn; `None` if the turn differs from its record.

    A result that Pagefault has added has no record, and is returned itself.
    """
    if is_added_result(turn):
        return turn
    calls = tuple(_PairedCall(call.call_id, call.name, call.entry_position) for call in turn.calls)
    for index, item in enumerate(recorded):
        if len(item.calls) == len(calls):
            reference = TurnReference(turn.seq or 0, index, turn.call_id, turn.tool_name, calls)
            if reference.restore(recorded) == turn:
                return reference
    return None


def _find_newest_step(passages: Sequence[PrefixPassage]) -> set[int]:
    """Return the index of the newest referenced step that is not late, in a set of at most one."""
    indexes = (
        index
        for index in reversed(range(len(passages)))
        if isinstance(passage := passages[index], ReferencedStep) and not passage.is_late
    )
    return {*islice(indexes, 1)}


def _find_unfolded(passages: Sequence[PrefixPassage]) -> Collection[int]:
    """Return the indexes of the newest step, and of the newest step with a result for each page."""
    newest = {
        page_id: index
        for index, passage in enumerate(passages)
        if isinstance(passage, ReferencedStep)
        for page_id in passage.pages
    }
    return _find_newest_step(passages) | {*newest.values()}


def _join_runs(
    passages: Iterable[PrefixPassage], unfolded: Collection[int] = ()
) -> Sequence[PrefixPassage]:
    """Return passages with adjacent runs joined, except those at the `unfolded` indexes."""
    joined: list[PrefixPassage] = []
    may_join = False
    for index, passage in enumerate(passages):
        previous = joined[-1] if joined and may_join else None
        may_join = index not in unfolded
        if not isinstance(passage, FoldedRun) or not may_join:
            joined.append(passage)
        elif isinstance(previous, FoldedRun):
            summary = previous.summary + passage.summary
            joined[-1] = FoldedRun(passage.position, previous.origin, summary)
        else:
            joined.append(FoldedRun(passage.position, passage.origin, passage.summary))
    return joined
