"""The folded beginning of a history as counts, so that a rendering need not read its entries.

A fold renders the counts of its steps, which can be added. Messages between steps are evicted much
later, and the newest step and the newest answers with pinned pages are never folded. They are named
by their entries, and read one by one.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pagefault_dialects.context.recalls import Recall, RecalledObject, find_recalls
from pagefault_dialects.context.steps import FoldSummary, SaidTurn, Step, passages_in, summary_of
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    SyntheticNote,
    Turn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.model.frontier import Frontier
from pagefault_dialects.targets.base64_leaves import text_of

_Place: TypeAlias = tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class SaidEntry:
    """A message, by its entry and its index among the turns of the entry."""

    seq: int
    index: int
    is_recorded: bool
    """False if the message differs from its record, which may have a note more or less."""
    place: int
    role: TurnRole
    origin: str
    summary: FoldSummary
    chars: int
    """The length of its texts."""


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """A turn of a step, by its entry and its index among the turns of the entry."""

    seq: int
    index: int
    call_id: str
    tool_name: str
    calls: tuple[tuple[str, str, _Place], ...]
    """The id, the tool and the place of each call, which may differ from the record."""

    def of(self, recorded: Sequence[ComposedTurn]) -> ComposedTurn:
        """Return the turn, given the turns of the entry as they were recorded."""
        turn = recorded[self.index]
        calls = tuple(
            replace(call, call_id=call_id, name=name, place=place)
            for call, (call_id, name, place) in zip(turn.calls, self.calls, strict=True)
        )
        return replace(turn, call_id=self.call_id, tool_name=self.tool_name, calls=calls)


@dataclass(frozen=True, slots=True)
class FoldedRun:
    """A run of steps without messages between them."""

    place: int
    """The position of its last step, which frontiers compare."""
    origin: str
    """The path of its first record."""
    summary: FoldSummary


@dataclass(frozen=True, slots=True)
class NamedStep(FoldedRun):
    """A step whose turns can be read again."""

    turns: tuple[RecordedTurn | ComposedTurn, ...]
    """Its turns; a written answer is kept as it is. Empty if a turn differs from its record."""
    pages: Mapping[str, int | None]
    """The pages in its answers, each with the `seq` of the answer."""
    times: Mapping[str, int]
    """The `times` of its recalls, by the ids of their calls."""
    is_late: bool
    """It repeats a call whose answer came late."""


@dataclass(frozen=True, slots=True)
class CallingStep:
    """A step of an entry with calls that have no answer."""

    number: int
    tools: frozenset[str]


FrontPassage: TypeAlias = SaidEntry | FoldedRun


@dataclass(frozen=True, slots=True)
class FoldedFront:
    """The facts about a final beginning, for frontiers that have folded its steps."""

    passages: tuple[FrontPassage, ...] = ()
    """Its passages in order. Steps are joined to runs, except the newest one, and those with the
    newest answer that contains a page."""
    recalled: Mapping[RecalledObject, int] = field(default_factory=dict)
    """The number of recalls of each object."""
    steps: int = 0
    """The number of its steps."""
    calling: Mapping[int, Sequence[CallingStep]] = field(default_factory=dict)
    """The steps of entries with calls that may be answered late, by the `seq` of the entry."""

    @property
    def pages(self) -> set[str]:
        """The pages that were faulted in."""
        return {item.name for item in self.recalled if item.kind == "page"}

    @property
    def showings(self) -> Mapping[str, int | None]:
        """The `seq` of the newest answer with each page, by page."""
        named = (passage for passage in self.passages if isinstance(passage, NamedStep))
        return {page_id: seq for item in named for page_id, seq in item.pages.items()}

    def grown(
        self, turns: Sequence[ComposedTurn], recorded: Mapping[int, Sequence[ComposedTurn]]
    ) -> "FoldedFront":
        """Return the facts about a longer beginning.

        Args:
            turns: The turns that follow, calls and answers paired.
            recorded: The turns of each entry as it was recorded.
        """
        passages, steps = [*self.passages], self.steps
        recalls = find_recalls(turns, self.recalled)
        by_entry: defaultdict[int, list[tuple[CallingStep, bool]]] = defaultdict(list)
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
                    run = _named_step(run, part, pages, recalls, recorded)
                passages.append(run)
                if not is_late[passage.start] and part[0].seq is not None:
                    tools = frozenset(call.name for call in part[0].calls)
                    is_open = any(map(_is_written_answer, part))
                    by_entry[part[0].seq].append((CallingStep(steps, tools), is_open))
            elif part[0].seq is not None:
                passages.append(_said_entry(passage, part[0], recorded.get(part[0].seq, ())))
        recalled = Counter(self.recalled)
        recalled.update(recall.target for recall in recalls.values())
        waiting = {
            seq: [step for step, _ in steps_of_entry]
            for seq, steps_of_entry in by_entry.items()
            if any(is_open for _, is_open in steps_of_entry)
        }
        named = _merged(passages, _names_needed(passages))
        return FoldedFront(tuple(named), dict(recalled), steps, {**self.calling, **waiting})

    def passages_at(
        self, frontier: Frontier, pinned: Collection[str] = ()
    ) -> Sequence[FrontPassage]:
        """Return the passages at a frontier; runs without messages between them are joined.

        Everything up to the first message of the user, and the newest one, is always rendered, as
        are the newest step and those with `pinned` pages. Without such a message, that is the first
        message, and those of the system.
        """
        foldable = {*self._foldable()}
        needed = {
            at
            for at, passage in enumerate(self.passages)
            if isinstance(passage, NamedStep) and not passage.pages.keys().isdisjoint(pinned)
        }
        needed.update(_newest_steps(self.passages)[:1])
        return _merged(
            (
                FoldedRun(passage.place, passage.origin, passage.summary)
                if at in foldable and passage.place <= frontier.said_folded
                else passage
                for at, passage in enumerate(self.passages)
            ),
            needed,
        )

    def _foldable(self) -> Iterator[int]:
        """Yield the indexes of messages that may be folded."""
        roles = [
            passage.role if isinstance(passage, SaidEntry) else None for passage in self.passages
        ]
        users = [at for at, role in enumerate(roles) if role == "user"]
        spoken = [at for at, role in enumerate(roles) if role != "system"]
        first = next(iter((*users, *spoken)), 0)
        for at, role in enumerate(roles):
            is_system = role == "system" and not users
            if role is not None and at > first and at not in users[-1:] and not is_system:
                yield at

    def said_fold(self, most_chars: int) -> int:
        """Return the position up to which messages have more than `most_chars` behind them."""
        for passage in reversed(self.passages):
            if isinstance(passage, SaidEntry):
                most_chars -= passage.chars
                if most_chars < 0:
                    return passage.place
        return 0


@dataclass(frozen=True, slots=True)
class FrontFacts:
    """Facts about runs of folded steps whose turns were not read."""

    runs: Mapping[str, FoldSummary] = field(default_factory=dict)
    """The runs, each by the id of the call of the step that replaces it."""
    recalled: Mapping[RecalledObject, int] = field(default_factory=dict)
    """The number of recalls of each object in them, and in the named steps between them."""
    times: Mapping[str, int] = field(default_factory=dict)
    """The `times` of the recalls of those steps, by the ids of their calls."""
    calling: Mapping[int, Sequence[CallingStep]] = field(default_factory=dict)
    """The steps of entries with calls that may be answered late, by the `seq` of the entry."""
    showings: Mapping[str, int | None] = field(default_factory=dict)
    """The `seq` of the newest answer with each page, by page."""
    last_seq: int = 0
    """The `seq` of their last entry."""


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
) -> SaidEntry:
    same = [at for at, found in enumerate(recorded) if found == turn]
    alike = [at for at, found in enumerate(recorded) if found.role == turn.role]
    index = next(iter((*same, *alike)), 0)
    place, role, summary = passage.place, turn.role, summary_of([turn], 0)
    chars = sum(len(text_of(item) or "") for item in turn.items)
    return SaidEntry(*(turn.seq or 0, index, bool(same), place, role, turn.origin, summary, chars))


def _pages_of(
    part: Sequence[ComposedTurn], recalls: Mapping[str, Recall]
) -> Mapping[str, int | None]:
    """Return the pages in the answers of a step, each with the `seq` of the answer."""
    answers = [turn for turn in part if turn.role == "tool" and not turn.is_error]
    recalled = [(recalls[turn.call_id], turn.seq) for turn in answers if turn.call_id in recalls]
    return {recall.target.name: seq for recall, seq in recalled if recall.target.kind == "page"}


def _named_step(
    run: FoldedRun,
    part: Sequence[ComposedTurn],
    pages: Mapping[str, int | None],
    recalls: Mapping[str, Recall],
    recorded: Mapping[int, Sequence[ComposedTurn]],
) -> NamedStep:
    turns = [_recorded_turn(turn, recorded.get(turn.seq or 0, ())) for turn in part]
    readable = tuple(turn for turn in turns if turn is not None)
    ids = [call.call_id for call in part[0].calls]
    return NamedStep(
        *(run.place, run.origin, run.summary),
        readable if len(readable) == len(turns) else (),
        pages,
        {call_id: recalls[call_id].times for call_id in ids if call_id in recalls},
        is_late=part[-1].late_for is not None,
    )


def _recorded_turn(
    turn: ComposedTurn, recorded: Sequence[ComposedTurn]
) -> RecordedTurn | ComposedTurn | None:
    """Return where a turn can be read again; `None` if it differs from its record."""
    if _is_written_answer(turn):
        return turn
    calls = tuple((call.call_id, call.name, call.place) for call in turn.calls)
    for index, item in enumerate(recorded):
        if len(item.calls) == len(calls):
            found = RecordedTurn(turn.seq or 0, index, turn.call_id, turn.tool_name, calls)
            if found.of(recorded) == turn:
                return found
    return None


def _is_written_answer(turn: ComposedTurn) -> bool:
    return turn.role == "tool" and any(isinstance(item, SyntheticNote) for item in turn.items)


def _newest_steps(passages: Sequence[FrontPassage]) -> Sequence[int]:
    """Return the indexes of named steps, the newest first, that repeat no earlier call."""
    return [
        at
        for at in reversed(range(len(passages)))
        if isinstance(passage := passages[at], NamedStep) and not passage.is_late
    ]


def _names_needed(passages: Sequence[FrontPassage]) -> Collection[int]:
    """Return the indexes of the newest step, and of those with the newest answers with a page."""
    newest = {
        page_id: at
        for at, passage in enumerate(passages)
        if isinstance(passage, NamedStep)
        for page_id in passage.pages
    }
    return {*_newest_steps(passages)[:1], *newest.values()}


def _merged(
    passages: Iterable[FrontPassage], needed: Collection[int] = ()
) -> Sequence[FrontPassage]:
    """Return passages with adjacent runs joined, except the steps at the `needed` indexes."""
    merged: list[FrontPassage] = []
    is_open = False
    for at, passage in enumerate(passages):
        before = merged[-1] if merged and is_open else None
        is_open = at not in needed
        if not isinstance(passage, FoldedRun) or not is_open:
            merged.append(passage)
        elif isinstance(before, FoldedRun):
            summary = before.summary + passage.summary
            merged[-1] = FoldedRun(passage.place, before.origin, summary)
        else:
            merged.append(FoldedRun(passage.place, passage.origin, passage.summary))
    return merged
