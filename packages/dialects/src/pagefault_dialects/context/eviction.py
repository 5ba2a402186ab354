"""Eviction of a history: old turns are rendered at lower levels.

A step ages as a whole. Its media become lines, its long results previews, and its results lines.
Then the long strings in its calls are cut, and finally it is folded with its neighbours into one
line. Other messages are evicted last. Nothing is deleted: each line names the evicted content and
the call that returns it.

Source: `context`, "Budget".
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pagefault_dialects.context.evicted_forms import (
    as_line,
    fold_turn,
    late_result,
    with_cut_arguments,
    with_previews,
    with_small_media,
)
from pagefault_dialects.context.floor import Floor
from pagefault_dialects.context.floor_turns import (
    FloorTurns,
    newest_page_answers,
    opening_turns,
    protected_messages,
)
from pagefault_dialects.context.prefix_index import NO_PREFIX_FACTS, PrefixFacts
from pagefault_dialects.context.recalls import Recall, find_recalls
from pagefault_dialects.context.steps import (
    FoldSummary,
    MessagePassage,
    Passage,
    Step,
    passages_in,
    summary_of,
)
from pagefault_dialects.context.weighing import Weighing
from pagefault_dialects.model.conversation import ComposedTurn
from pagefault_dialects.model.frontier import Frontier
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.targets.profile import Profile


class Levels(NamedTuple):
    """The levels that a frontier has reached at a passage."""

    media: bool = False
    texts: bool = False
    results: bool = False
    recalled: bool = False
    arguments: bool = False
    folded: bool = False


class LateStep(NamedTuple):
    """A step with a call that was answered late."""

    passage: int
    """The number of its passage, which may be a folded run."""
    step: int
    """The number of the step."""


@dataclass(frozen=True, slots=True)
class RenderedPassage:
    """A passage as it is rendered at a frontier, or the fold of a run of passages."""

    first: int
    """The number of its first passage, from 0."""
    stop: int
    """The number after its last passage."""
    turns: tuple[ComposedTurn, ...]
    """Its turns."""
    levels: Levels
    """Its levels."""
    fold: FoldSummary | None = None
    """The counts of the run, if it is a fold."""


@dataclass(frozen=True, slots=True, eq=False)
class EvictableTurns:
    """A conversation that can be evicted."""

    turns: Sequence[ComposedTurn]
    """Its turns, calls and answers paired."""
    passages: Sequence[Passage]
    """Its steps, and the turns between them."""
    recalls: Mapping[str, Recall]
    """Its recalls, by the ids of their calls."""
    pinned: frozenset[str]
    """The ids of pinned pages."""
    floor: FloorTurns
    """The turns that are never left out."""
    in_progress: frozenset[int]
    """The numbers of the newest step, of later steps, and of steps with open calls."""
    profile: Profile
    """The target."""
    options: RenderOptions
    """The limits, and the order of eviction."""
    late: Mapping[int, LateStep]
    """The steps that called for late answers, by the numbers of the passages with the answers."""
    pinned_steps: frozenset[int]
    """The numbers of the steps with the newest answers that contain pinned pages."""
    old_steps: Sequence[int]
    """The numbers of the steps before the newest step."""
    old_messages: Sequence[int]
    """The numbers of messages before the newest message of the user that may be folded."""
    old_media: Sequence[int]
    """The numbers of messages before the newest message of the user whose media may be evicted."""
    folded: Mapping[str, FoldSummary]
    """Folded runs of steps, each by the id of the call of the step that replaces it."""
    _forms: dict[tuple[int, Levels], tuple[ComposedTurn, ...]] = field(
        default_factory=dict, init=False
    )

    def turns_at(self, frontier: Frontier) -> list[ComposedTurn]:
        """Return the turns as they are rendered at a frontier."""
        return [turn for passage in self.passages_at(frontier) for turn in passage.turns]

    def passages_at(self, frontier: Frontier) -> Sequence[RenderedPassage]:
        """Return the passages at a frontier, with each run of folded ones as one."""
        frontier = chain_levels(frontier)
        at_floor = self._at_floor(frontier)
        rendered: list[RenderedPassage] = []
        run: list[int] = []
        for number, passage in enumerate(self.passages):
            levels = self.levels(number, frontier)
            if levels.folded:
                run.append(number)
                continue
            rendered += self._folds(run)
            run = []
            turns = self.form(number, levels)
            if at_floor:
                pairs = zip(indexes_of(passage), turns, strict=True)
                turns = tuple(at_floor.get(at, turn) for at, turn in pairs)
            if number in self.late and self.levels(self.late[number].passage, frontier).folded:
                turns = self._late_results(number, turns)
            rendered.append(RenderedPassage(number, number + 1, turns, levels))
        return [*rendered, *self._folds(run)]

    def levels(self, number: int, frontier: Frontier) -> Levels:
        """Return the levels that a frontier has reached at a passage."""
        passage = self.passages[number]
        place = passage.place
        if isinstance(passage, MessagePassage):
            if self.is_protected(passage):
                return Levels(media=place <= frontier.said_media)
            return Levels(
                media=place <= frontier.said_media,
                texts=place <= frontier.said_texts,
                folded=place <= frontier.said_folded,
            )
        is_old = number not in self.in_progress
        is_cut = is_old and place <= frontier.floor
        # A late result repeats its call, which is cut where it was made.
        caller = self.late.get(number)
        made_at = place if caller is None else self.passages[caller.passage].place
        return Levels(
            media=place <= frontier.tool_media,
            texts=is_cut or place <= frontier.tool_texts,
            results=place <= frontier.tool_results,
            recalled=place <= frontier.recalled,
            arguments=is_cut or min(place, made_at) <= frontier.arguments,
            folded=is_old and place <= frontier.folded and number not in self.pinned_steps,
        )

    def form(self, number: int, levels: Levels) -> tuple[ComposedTurn, ...]:
        """Return the turns of a passage at levels below the fold; unchanged turns are the same."""
        key = number, levels
        if key not in self._forms:
            passage = self.passages[number]
            turns = self.turns[passage.start : passage.stop]
            self._forms[key] = tuple(self._form(turn, levels) for turn in turns)
        return self._forms[key]

    def summary(self, number: int) -> FoldSummary:
        """Return the counts of a passage."""
        passage = self.passages[number]
        turns = self.turns[passage.start : passage.stop]
        if (run := _run_of(self.turns, passage, self.folded)) is not None:
            return run
        step = passage.number if isinstance(passage, Step) else 0
        return summary_of(turns, step, is_late=number in self.late)

    def page_of(self, turn: ComposedTurn) -> str | None:
        """Return the page of an answer to a page fault; `None` for other turns."""
        recall = self.recall_of(turn)
        return recall.target.name if recall is not None and recall.target.kind == "page" else None

    def is_raised(self, turn: ComposedTurn) -> bool:
        """Return whether an answer is evicted after all others."""
        recall = self.recall_of(turn)
        return self.options.adaptive and recall is not None and recall.is_raised

    def recall_of(self, turn: ComposedTurn) -> Recall | None:
        """Return the recall that a turn answers, if there is one."""
        return self.recalls.get(turn.call_id) if turn.role == "tool" else None

    def is_protected(self, passage: MessagePassage) -> bool:
        """Return whether a turn is never folded."""
        return passage.start in self.floor.messages or passage.start in self.floor.system

    def floor_turns(self, frontier: Frontier) -> Mapping[int, ComposedTurn]:
        """Return the protected turns at a frontier, by their indexes, before they are shortened."""
        protected = self.floor.indexes
        return {
            at: self.form(number, self.levels(number, frontier))[at - passage.start]
            for number, passage in enumerate(self.passages)
            for at in indexes_of(passage)
            if at in protected
        }

    def floor_shares(self, frontier: Frontier) -> Floor:
        """Return the shares of the protected turns at a frontier."""
        turns = self.floor_turns(frontier)
        cut = {
            at
            for passage in self.passages
            if passage.place <= frontier.floor
            for at in indexes_of(passage)
            if at in turns
        }
        most = self.options.max_tokens or 0
        weighing = Weighing(self.profile)
        has_older = len(self.turns) > len(turns)
        return Floor(turns, self.floor, cut, weighing, most, self.page_of, has_older=has_older)

    def _at_floor(self, frontier: Frontier) -> Mapping[int, ComposedTurn]:
        """Return the turns that are shortened to a share of the budget, by their indexes."""
        if not frontier.floor or self.options.max_tokens is None:
            return {}
        shares = self.floor_shares(frontier)
        cut = {at: shares.pinned(at) for at in self.floor.pinned} | shares.newest()
        for number, passage in enumerate(self.passages):
            if passage.place > frontier.floor:
                break
            if isinstance(passage, MessagePassage) and passage.start not in self.floor.system:
                levels = self.levels(number, frontier)
                if not levels.folded:
                    [turn] = self.form(number, levels)
                    cut[passage.start] = shares.message(passage.start, turn)
        return cut

    def _form(self, turn: ComposedTurn, levels: Levels) -> ComposedTurn:
        if turn.role == "system":
            return turn
        if turn.role != "tool":
            if levels.media:
                turn = with_small_media(turn, None)
            if levels.texts and not turn.calls:
                turn = with_previews(turn, None)
            return with_cut_arguments(turn) if levels.arguments and turn.calls else turn
        page_id = self.page_of(turn)
        if page_id in self.pinned and self._is_newest_showing(turn):
            return turn
        is_raised = self.is_raised(turn)
        if levels.recalled if is_raised else levels.results:
            return as_line(turn, page_id)
        if is_raised:
            return turn
        if levels.media:
            turn = with_small_media(turn, page_id)
        return with_previews(turn, page_id) if levels.texts else turn

    def _is_newest_showing(self, turn: ComposedTurn) -> bool:
        return any(self.turns[at].call_id == turn.call_id for at in self.floor.pinned)

    def _folds(self, run: Sequence[int]) -> Iterable[RenderedPassage]:
        """Return the fold of a run of passages; nothing for an empty run."""
        if not run:
            return ()
        summary = sum(map(self.summary, run), FoldSummary())
        origin = self.turns[self.passages[run[0]].start].origin
        fold = fold_turn(summary, origin)
        return [RenderedPassage(run[0], run[-1] + 1, (fold,), Levels(folded=True), summary)]

    def _late_results(self, number: int, turns: Sequence[ComposedTurn]) -> tuple[ComposedTurn, ...]:
        """Return the answers to folded calls, as messages of the user."""
        called = self.late[number].step
        return tuple(late_result(turn, called) for turn in turns if turn.role == "tool")


def chain_levels(frontier: Frontier) -> Frontier:
    """Return a frontier in which no level is ahead of a weaker one."""
    arguments = max(frontier.arguments, frontier.folded)
    results = max(frontier.tool_results, arguments)
    texts = max(frontier.tool_texts, results)
    media = max(frontier.tool_media, texts)
    said_texts = max(frontier.said_texts, frontier.said_folded)
    levels = {
        "arguments": arguments,
        "tool_results": results,
        "tool_texts": texts,
        "tool_media": media,
        "said_texts": said_texts,
    }
    if all(getattr(frontier, name) == place for name, place in levels.items()):
        return frontier
    return frontier.model_copy(update=levels)


def history_of(
    turns: Sequence[ComposedTurn],
    profile: Profile,
    options: RenderOptions,
    pinned: Collection[str] = (),
    prefix_facts: PrefixFacts = NO_PREFIX_FACTS,
) -> EvictableTurns:
    """Prepare a conversation for eviction.

    Args:
        turns: The conversation, calls and answers paired.
        profile: The target.
        options: The limits.
        pinned: The ids of pinned pages.
        prefix_facts: The facts about folded runs, each of which is one step of the conversation.
    """
    passages = [*passages_in(turns, prefix_facts.runs)]
    recalls = find_recalls(turns, prefix_facts.recalled, prefix_facts.times)
    late = dict(_late_steps(turns, passages, prefix_facts))
    steps = [
        number
        for number, passage in enumerate(passages)
        if isinstance(passage, Step) and _run_of(turns, passage, prefix_facts.runs) is None
    ]
    newest = max((step for step in steps if step not in late), default=min(steps, default=0))
    in_progress = frozenset(
        step for step in steps if step >= newest or _is_waiting(turns, passages[step])
    )
    protected = protected_messages(turns)
    system = opening_turns(turns)
    newest_turns = [at for number in sorted(in_progress) for at in indexes_of(passages[number])]
    page_answers = {*newest_page_answers(turns, recalls, pinned)}.difference(newest_turns)
    messages = _messages_before_newest(turns, passages)
    return EvictableTurns(
        turns=turns,
        passages=passages,
        recalls=recalls,
        pinned=frozenset(pinned),
        floor=FloorTurns(system, protected, sorted(page_answers), newest_turns),
        in_progress=in_progress,
        profile=profile,
        options=options,
        late=late,
        folded=prefix_facts.runs,
        pinned_steps=frozenset(
            step for step in steps if not page_answers.isdisjoint(indexes_of(passages[step]))
        ),
        old_steps=[
            step
            for step in steps
            if step not in in_progress and passages[step].place < passages[newest].place
        ],
        old_messages=[
            message for message in messages if passages[message].start not in {*protected, *system}
        ],
        old_media=[
            message for message in messages if turns[passages[message].start].role != "system"
        ],
    )


def _messages_before_newest(
    turns: Sequence[ComposedTurn], passages: Sequence[Passage]
) -> Sequence[int]:
    """Return the numbers of the messages before the newest one of the user; of all without one.

    Positions behind it would evict it once there is a newer one.
    """
    users = [passage.place for passage in passages if turns[passage.start].role == "user"]
    return [
        number
        for number, passage in enumerate(passages)
        if isinstance(passage, MessagePassage) and not (users and passage.place >= users[-1])
    ]


def indexes_of(passage: Passage) -> range:
    """Return the indexes of the turns of a passage."""
    return range(passage.start, passage.stop)


def faulted_pages(turns: Sequence[ComposedTurn]) -> set[str]:
    """Return the ids of the pages that calls of `page_fault` name."""
    named = (recall.target for recall in find_recalls(turns).values())
    return {what.name for what in named if what.kind == "page"}


def _is_waiting(turns: Sequence[ComposedTurn], step: Passage) -> bool:
    """Return whether a step has calls without answers."""
    return len(turns[step.start].calls) > step.stop - step.start - 1


def _run_of(
    turns: Sequence[ComposedTurn], passage: Passage, runs: Mapping[str, FoldSummary]
) -> FoldSummary | None:
    """Return the counts of a folded run, if a passage replaces one."""
    calls = turns[passage.start].calls
    return runs.get(calls[0].call_id) if calls else None


def _late_steps(
    turns: Sequence[ComposedTurn], passages: Sequence[Passage], prefix_facts: PrefixFacts
) -> Iterator[tuple[int, LateStep]]:
    """Yield the number of each passage with a late answer, and the step that called first."""
    callers: defaultdict[int | None, list[tuple[int, Collection[str]]]] = defaultdict(list)
    for seq, steps in prefix_facts.calling.items():
        callers[seq] += ((item.number, item.tools) for item in steps)
    ends = [(item.number, number) for number, item in enumerate(passages) if isinstance(item, Step)]
    for number, passage in enumerate(passages):
        if not isinstance(passage, Step):
            continue
        calling = turns[passage.start]
        answer = turns[passage.stop - 1]
        if answer.late_for is not None and answer.role == "tool":
            tool = calling.calls[0].name
            found = [step for step, _ in callers[answer.late_for]]
            named = [step for step, tools in callers[answer.late_for] if tool in tools]
            for step in (named or found)[:1]:
                # A run has the number of its last step.
                at = ends[bisect_left(ends, (step, -1))][1]
                yield number, LateStep(at, step)
        elif _run_of(turns, passage, prefix_facts.runs) is None:
            callers[calling.seq].append((passage.number, [call.name for call in calling.calls]))
