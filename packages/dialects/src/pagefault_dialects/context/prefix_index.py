"""An index of the prefix of a history, so that a rendering that folds it need not read its entries.

A fold of steps is rendered as their counts, and the counts of two runs of steps can be added. So
the index has counts for runs of steps. What may be rendered in full has references to its entries,
which are then read one by one: messages between steps, the newest step, and the newest answers with
pinned pages, since these two are never folded.

A *place* (`place`) is the position of a passage in the history, which frontiers are compared with;
see `places_of_turns`. A local variable `at` is the index of a passage in a list.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pagefault_dialects.context.recalls import Recall, RecalledObject, find_recalls
from pagefault_dialects.context.steps import (
    FoldSummary,
    MessagePassage,
    Step,
    passages_in,
    summary_of,
)
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    SyntheticNote,
    Turn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.model.frontier import Frontier
from pagefault_dialects.targets.base64_leaves import text_of

_CallPlace: TypeAlias = tuple[int, int] | None
"""`TurnCall.place`: the entry of a call and its index there, if they differ from its turn's."""


@dataclass(frozen=True, slots=True)
class PrefixMessage:
    """A reference to a message: its entry, and its index among the turns of the entry."""

    seq: int
    index: int
    is_recorded: bool
    """False if the message differs from its record, as when a note was added to it."""
    place: int
    role: TurnRole
    origin: str
    """The path of its record."""
    summary: FoldSummary
    chars: int
    """The length of its texts."""


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """A reference to a turn of a step: its entry, and its index among the turns of the entry."""

    seq: int
    index: int
    call_id: str
    tool_name: str
    calls: tuple[tuple[str, str, _CallPlace], ...]
    """The id, the tool and the `TurnCall.place` of each call, which may differ from the record."""

    def restore(self, recorded: Sequence[ComposedTurn]) -> ComposedTurn:
        """Return the turn, given the turns of the entry as they were recorded."""
        turn = recorded[self.index]
        calls = tuple(
            replace(call, call_id=call_id, name=name, place=place)
            for call, (call_id, name, place) in zip(turn.calls, self.calls, strict=True)
        )
        return replace(turn, call_id=self.call_id, tool_name=self.tool_name, calls=calls)


@dataclass(frozen=True, slots=True)
class FoldedRun:
    """Consecutive steps without messages between them, as counts."""

    place: int
    """The position of its last step."""
    origin: str
    """The path of its first record."""
    summary: FoldSummary


@dataclass(frozen=True, slots=True)
class ReferencedStep(FoldedRun):
    """A run of one step, with references to its turns, so that they can be read again."""

    turns: tuple[RecordedTurn | ComposedTurn, ...]
    """References to its turns; an answer that Pagefault has added is here itself, since it has no
    record. Empty if a turn differs from its record."""
    pages: Mapping[str, int | None]
    """The pages in its answers, each with the `seq` of the answer."""
    times: Mapping[str, int]
    """The `Recall.times` of its recalls, by the ids of their calls."""
    is_late: bool
    """True if the step repeats an earlier call, to precede an answer that came late."""


@dataclass(frozen=True, slots=True)
class UnansweredStep:
    """A step whose entry has a call without an answer."""

    number: int
    tools: frozenset[str]


PrefixPassage: TypeAlias = PrefixMessage | FoldedRun


@dataclass(frozen=True, slots=True)
class PrefixIndex:
    """The passages of a prefix that will not change, for frontiers that have folded its steps."""

    passages: tuple[PrefixPassage, ...] = ()
    """Its passages in order. Steps are joined to runs, except the newest step, and steps with the
    newest answer that shows some page."""
    recalled: Mapping[RecalledObject, int] = field(default_factory=dict)
    """The number of recalls of each object."""
    steps: int = 0
    """The number of its steps."""
    calling: Mapping[int, Sequence[UnansweredStep]] = field(default_factory=dict)
    """The steps of entries with calls that may be answered late, by the `seq` of the entry."""

    @property
    def pages(self) -> set[str]:
        """The pages that were faulted in."""
        return {item.name for item in self.recalled if item.kind == "page"}

    @property
    def page_answers(self) -> Mapping[str, int | None]:
        """The `seq` of the newest answer with each page, by page."""
        named = (passage for passage in self.passages if isinstance(passage, ReferencedStep))
        return {page_id: seq for item in named for page_id, seq in item.pages.items()}

    def extend(
        self, turns: Sequence[ComposedTurn], recorded: Mapping[int, Sequence[ComposedTurn]]
    ) -> "PrefixIndex":
        """Return the index of a longer prefix.

        Args:
            turns: The turns to be added, calls and answers paired.
            recorded: The turns of each of their entries, as they were recorded.
        """
        passages, steps = [*self.passages], self.steps
        recalls = find_recalls(turns, self.recalled)
        steps_by_seq: defaultdict[int, list[tuple[UnansweredStep, bool]]] = defaultdict(list)
        found = [*passages_in(turns)]
        is_late = {span.start: turns[span.stop - 1].late_for is not None for span in found}
        calling = [at for at, is_old in is_late.items() if turns[at].calls and not is_old]
        for passage in found:
            part = turns[passage.start : passage.stop]
            if isinstance(passage, Step):
                steps += 1
                summary = summary_of(part, steps, is_late=is_late[passage.start])
                run = FoldedRun(passage.place, part[0].origin, summary)
                pages = _pages_of(part, recalls)
                if pages or passage.start in calling[-1:]:
                    run = _index_step(run, part, pages, recalls, recorded)
                passages.append(run)
                if not is_late[passage.start] and part[0].seq is not None:
                    tools = frozenset(call.name for call in part[0].calls)
                    lacks_answer = any(map(_is_added_answer, part))
                    steps_by_seq[part[0].seq].append((UnansweredStep(steps, tools), lacks_answer))
            elif part[0].seq is not None:
                passages.append(_index_message(passage, part[0], recorded.get(part[0].seq, ())))
        recalled = Counter(self.recalled)
        recalled.update(recall.target for recall in recalls.values())
        waiting = {
            seq: [step for step, _ in steps_of_entry]
            for seq, steps_of_entry in steps_by_seq.items()
            if any(lacks_answer for _, lacks_answer in steps_of_entry)
        }
        joined = _join_runs(passages, _find_unfolded(passages))
        return PrefixIndex(tuple(joined), dict(recalled), steps, {**self.calling, **waiting})

    def passages_at(
        self, frontier: Frontier, pinned: Collection[str] = ()
    ) -> Sequence[PrefixPassage]:
        """Return the passages at a frontier, with folded messages as runs.

        Adjacent runs are joined. These are never folded: messages up to the user's first one; the
        user's newest message; the newest step; and steps with `pinned` pages. Without messages of
        the user, the first message and those of the system are never folded.
        """
        foldable = {*self._foldable()}
        kept = {
            at
            for at, passage in enumerate(self.passages)
            if isinstance(passage, ReferencedStep) and not passage.pages.keys().isdisjoint(pinned)
        }
        kept.update(_newest_steps(self.passages)[:1])
        return _join_runs(
            (
                FoldedRun(passage.place, passage.origin, passage.summary)
                if at in foldable and passage.place <= frontier.said_folded
                else passage
                for at, passage in enumerate(self.passages)
            ),
            kept,
        )

    def _foldable(self) -> Iterator[int]:
        """Yield the indexes of messages that may be folded."""
        roles = [
            passage.role if isinstance(passage, PrefixMessage) else None
            for passage in self.passages
        ]
        users = [at for at, role in enumerate(roles) if role == "user"]
        spoken = [at for at, role in enumerate(roles) if role != "system"]
        first = next(iter((*users, *spoken)), 0)
        for at, role in enumerate(roles):
            is_system = role == "system" and not users
            if role is not None and at > first and at not in users[-1:] and not is_system:
                yield at

    def find_message_fold(self, max_chars: int) -> int:
        """Return the position up to which messages are folded, to leave at most `max_chars`."""
        for passage in reversed(self.passages):
            if isinstance(passage, PrefixMessage):
                max_chars -= passage.chars
                if max_chars < 0:
                    return passage.place
        return 0


@dataclass(frozen=True, slots=True)
class PrefixFacts:
    """Facts about a prefix whose folded steps were not read."""

    runs: Mapping[str, FoldSummary] = field(default_factory=dict)
    """The counts of each run, by the id of the call in the step that replaces it."""
    recalled: Mapping[RecalledObject, int] = field(default_factory=dict)
    """The number of recalls of each object in the prefix."""
    times: Mapping[str, int] = field(default_factory=dict)
    """The `Recall.times` of the recalls of referenced steps, by the ids of their calls."""
    calling: Mapping[int, Sequence[UnansweredStep]] = field(default_factory=dict)
    """The steps of entries with calls that may be answered late, by the `seq` of the entry."""
    page_answers: Mapping[str, int | None] = field(default_factory=dict)
    """The `seq` of the newest answer with each page, by page."""
    last_seq: int = 0
    """The `seq` of the last entry of the prefix."""


NO_PREFIX_FACTS = PrefixFacts()
"""The facts of an empty prefix: the conversation was read from its first turn."""


def make_run_turns(run: FoldedRun, number: int) -> tuple[ComposedTurn, ComposedTurn]:
    """Make a step, a call and its answer, that replaces a run; see `EvictableTurns.folded`.

    Args:
        run: The run.
        number: A number that makes the id of the call unique in the conversation.
    """
    call = TurnCall(f"\0folded {number}", "", {})
    return (
        Turn("assistant", (), run.origin, run.place, calls=(call,)),
        Turn("tool", (), run.origin, run.place, call_id=call.call_id),
    )


def _index_message(
    passage: MessagePassage, turn: ComposedTurn, recorded: Sequence[ComposedTurn]
) -> PrefixMessage:
    equal = [at for at, found in enumerate(recorded) if found == turn]
    with_same_role = [at for at, found in enumerate(recorded) if found.role == turn.role]
    index = next(iter((*equal, *with_same_role)), 0)
    place, role, summary = passage.place, turn.role, summary_of([turn], 0)
    chars = sum(len(text_of(item) or "") for item in turn.items)
    return PrefixMessage(
        *(turn.seq or 0, index, bool(equal), place, role, turn.origin, summary, chars)
    )


def _pages_of(
    part: Sequence[ComposedTurn], recalls: Mapping[str, Recall]
) -> Mapping[str, int | None]:
    """Return the pages in the answers of a step, each with the `seq` of the answer."""
    answers = [turn for turn in part if turn.role == "tool" and not turn.is_error]
    recalled = [(recalls[turn.call_id], turn.seq) for turn in answers if turn.call_id in recalls]
    return {recall.target.name: seq for recall, seq in recalled if recall.target.kind == "page"}


def _index_step(
    run: FoldedRun,
    part: Sequence[ComposedTurn],
    pages: Mapping[str, int | None],
    recalls: Mapping[str, Recall],
    recorded: Mapping[int, Sequence[ComposedTurn]],
) -> ReferencedStep:
    turns = [_refer_to_turn(turn, recorded.get(turn.seq or 0, ())) for turn in part]
    readable = tuple(turn for turn in turns if turn is not None)
    ids = [call.call_id for call in part[0].calls]
    return ReferencedStep(
        *(run.place, run.origin, run.summary),
        readable if len(readable) == len(turns) else (),
        pages,
        {call_id: recalls[call_id].times for call_id in ids if call_id in recalls},
        is_late=part[-1].late_for is not None,
    )


def _refer_to_turn(
    turn: ComposedTurn, recorded: Sequence[ComposedTurn]
) -> RecordedTurn | ComposedTurn | None:
    """Return a reference to a turn, or an added answer itself; `None` if its record differs."""
    if _is_added_answer(turn):
        return turn
    calls = tuple((call.call_id, call.name, call.place) for call in turn.calls)
    for index, item in enumerate(recorded):
        if len(item.calls) == len(calls):
            found = RecordedTurn(turn.seq or 0, index, turn.call_id, turn.tool_name, calls)
            if found.restore(recorded) == turn:
                return found
    return None


def _is_added_answer(turn: ComposedTurn) -> bool:
    """Return whether Pagefault added this answer to a call that has none."""
    return turn.role == "tool" and any(isinstance(item, SyntheticNote) for item in turn.items)


def _newest_steps(passages: Sequence[PrefixPassage]) -> Sequence[int]:
    """Return the indexes of the referenced steps, the newest first, without late ones."""
    return [
        at
        for at in reversed(range(len(passages)))
        if isinstance(passage := passages[at], ReferencedStep) and not passage.is_late
    ]


def _find_unfolded(passages: Sequence[PrefixPassage]) -> Collection[int]:
    """Return the indexes of the newest step, and of steps with the newest answer of some page."""
    newest = {
        page_id: at
        for at, passage in enumerate(passages)
        if isinstance(passage, ReferencedStep)
        for page_id in passage.pages
    }
    return {*_newest_steps(passages)[:1], *newest.values()}


def _join_runs(
    passages: Iterable[PrefixPassage], kept: Collection[int] = ()
) -> Sequence[PrefixPassage]:
    """Return passages with adjacent runs joined, except those at the `kept` indexes."""
    merged: list[PrefixPassage] = []
    may_join = False
    for at, passage in enumerate(passages):
        before = merged[-1] if merged and may_join else None
        may_join = at not in kept
        if not isinstance(passage, FoldedRun) or not may_join:
            merged.append(passage)
        elif isinstance(before, FoldedRun):
            summary = before.summary + passage.summary
            merged[-1] = FoldedRun(passage.place, before.origin, summary)
        else:
            merged.append(FoldedRun(passage.place, passage.origin, passage.summary))
    return merged
