"""Eviction of a history: old turns are rendered in shorter forms, so that a conversation fits.

A passage is a step or a message between steps. A step is evicted level by level: its media are
replaced by lines, its long results by previews, its results by lines, and the long strings in its
calls are cut. Last, consecutive passages are folded into one line. Messages are evicted after all
steps. Nothing is deleted: each line names the evicted content and the call that returns it.

A `Frontier` has a position for each level; passages up to that position have reached the level.
`context.frontier_moves` decides how far a frontier moves.

Source: design document `context.md`, "Budget".
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from pagefault_dialects.context.evicted_forms import (
    as_line,
    make_fold_turn,
    make_late_result,
    with_cut_arguments,
    with_media_as_lines,
    with_previews,
)
from pagefault_dialects.context.floor import Floor
from pagefault_dialects.context.floor_turns import (
    FloorTurns,
    find_newest_page_results,
    find_opening_turns,
    find_protected_messages,
)
from pagefault_dialects.context.load_meter import LoadMeter
from pagefault_dialects.context.prefix_index import EMPTY_PREFIX_SUMMARY, PrefixSummary
from pagefault_dialects.context.recalls import Recall, find_recalls
from pagefault_dialects.context.steps import (
    FoldSummary,
    MessagePassage,
    Passage,
    Step,
    split_passages,
    summarize_turns,
)
from pagefault_dialects.model.conversation import ComposedTurn
from pagefault_dialects.model.frontier import Frontier
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.targets.profile import Profile


class Levels(NamedTuple):
    """The levels of eviction that a frontier has reached at a passage."""

    media: bool = False
    """Media are replaced by lines."""
    texts: bool = False
    """Long texts are cut to previews."""
    results: bool = False
    """Results are replaced by lines, except those of raised priority."""
    recalled: bool = False
    """Results of raised priority are replaced by lines too."""
    arguments: bool = False
    """Long strings in the arguments of calls are cut."""
    folded: bool = False
    """The passage is part of a fold, one line for a run of passages."""


class LateStep(NamedTuple):
    """A step with a call whose result came after the conversation had continued."""

    passage_index: int
    """The index of the passage with the step, which may be a folded run."""
    number: int
    """The number of the step, from 1."""


@dataclass(frozen=True, slots=True)
class RenderedPassage:
    """A passage as it is rendered at a frontier, or the fold of a run of passages."""

    first: int
    """The index of the passage, or of the first passage of the run."""
    stop: int
    """The index after the last passage."""
    turns: tuple[ComposedTurn, ...]
    """The turns, reduced to `levels`."""
    levels: Levels
    fold: FoldSummary | None = None
    """The counts of the run, if it is a fold."""


@dataclass(frozen=True, slots=True, eq=False)
class EvictableTurns:
    """A conversation whose old turns can be evicted; `prepare_eviction` makes it."""

    turns: Sequence[ComposedTurn]
    """The turns, with calls and results paired."""
    passages: Sequence[Passage]
    """The steps and the messages between them. Other members refer to passages by their index."""
    recalls: Mapping[str, Recall]
    """The recalls, by the ids of their calls."""
    pinned: frozenset[str]
    """The ids of pinned pages."""
    floor: FloorTurns
    """The turns that are never left out."""
    in_progress: frozenset[int]
    """The indexes of steps that are not old.

    They are the newest step that has no late result, the steps after it, and all steps with
    unanswered calls. If all steps have late results, all are in progress.
    """
    profile: Profile
    """The target."""
    options: RenderOptions
    """The limits, and the order of eviction."""
    late: Mapping[int, LateStep]
    """The step with the call of each late result, by the index of the passage with the result."""
    pinned_steps: frozenset[int]
    """The indexes of the steps that contain the newest result for each pinned page."""
    old_steps: Sequence[int]
    """The indexes of the steps before the newest step."""
    old_messages: Sequence[int]
    """The indexes of the messages that may be folded, before the newest message of the user."""
    old_media: Sequence[int]
    """The indexes of the messages whose media may be evicted, before the newest one of the user."""
    folded: Mapping[str, FoldSummary]
    """The counts of each folded run, by the id of the call in the step that replaces the run."""
    _shortened: dict[tuple[int, Levels], tuple[ComposedTurn, ...]] = field(
        default_factory=dict, init=False
    )
    """The results of `shorten_passage` so far."""

    def turns_at(self, frontier: Frontier) -> list[ComposedTurn]:
        """Return the turns as they are rendered at a frontier."""
        return [turn for passage in self.passages_at(frontier) for turn in passage.turns]

    def passages_at(self, frontier: Frontier) -> Sequence[RenderedPassage]:
        """Return the passages at a frontier; each run of folded passages becomes one passage."""
        frontier = chain_levels(frontier)
        shortened = self._shorten_protected(frontier)
        rendered: list[RenderedPassage] = []
        run: list[int] = []
        for index, passage in enumerate(self.passages):
            levels = self.levels_at(index, frontier)
            if levels.folded:
                run.append(index)
                continue
            rendered += self._fold_run(run)
            run = []
            turns = self.shorten_passage(index, levels)
            if shortened:
                pairs = zip(turn_indexes(passage), turns, strict=True)
                turns = tuple(shortened.get(turn_index, turn) for turn_index, turn in pairs)
            late = self.late.get(index)
            if late is not None and self.levels_at(late.passage_index, frontier).folded:
                # The call is in a fold, so its late results become messages of the user.
                turns = tuple(
                    make_late_result(turn, late.number) for turn in turns if turn.role == "tool"
                )
            rendered.append(RenderedPassage(index, index + 1, turns, levels))
        return [*rendered, *self._fold_run(run)]

    def levels_at(self, index: int, frontier: Frontier) -> Levels:
        """Return the levels that a frontier has reached at a passage."""
        passage = self.passages[index]
        position = passage.position
        if isinstance(passage, MessagePassage):
            if self.is_protected(passage):
                return Levels(media=position <= frontier.said_media)
            return Levels(
                media=position <= frontier.said_media,
                texts=position <= frontier.said_texts,
                folded=position <= frontier.said_folded,
            )
        is_old = index not in self.in_progress
        # `frontier.floor` is the position up to which turns are shortened to their shares.
        is_cut = is_old and position <= frontier.floor
        # A step with a late result repeats the earlier call. Its copy is cut as soon as that call.
        late = self.late.get(index)
        call_position = position if late is None else self.passages[late.passage_index].position
        return Levels(
            media=position <= frontier.tool_media,
            texts=is_cut or position <= frontier.tool_texts,
            results=position <= frontier.tool_results,
            recalled=position <= frontier.recalled,
            arguments=is_cut or min(position, call_position) <= frontier.arguments,
            folded=is_old and position <= frontier.folded and index not in self.pinned_steps,
        )

    def shorten_passage(self, index: int, levels: Levels) -> tuple[ComposedTurn, ...]:
        """Return the turns of a passage that is not folded, reduced to some levels.

        Turns that need no change are returned themselves, not as copies.

        Args:
            index: The index of the passage.
            levels: The levels; `folded` is ignored.
        """
        key = index, levels
        if key not in self._shortened:
            passage = self.passages[index]
            turns = self.turns[passage.start : passage.stop]
            self._shortened[key] = tuple(self._shorten_turn(turn, levels) for turn in turns)
        return self._shortened[key]

    def summarize(self, index: int) -> FoldSummary:
        """Return the counts of a passage."""
        passage = self.passages[index]
        turns = self.turns[passage.start : passage.stop]
        if (run := _find_folded_run(self.turns, passage, self.folded)) is not None:
            return run
        step = passage.number if isinstance(passage, Step) else 0
        return summarize_turns(turns, step, is_late=index in self.late)

    def page_of(self, turn: ComposedTurn) -> str | None:
        """Return the page in a result of `page_fault`; `None` for other turns."""
        recall = self.recall_of(turn)
        return recall.target.name if recall is not None and recall.target.kind == "page" else None

    def has_raised_priority(self, turn: ComposedTurn) -> bool:
        """Return whether a result is evicted after the results without raised priority."""
        recall = self.recall_of(turn)
        return self.options.adaptive and recall is not None and recall.has_raised_priority

    def recall_of(self, turn: ComposedTurn) -> Recall | None:
        """Return the recall that a tool result belongs to; `None` for other turns."""
        return self.recalls.get(turn.call_id) if turn.role == "tool" else None

    def is_protected(self, passage: MessagePassage) -> bool:
        """Return whether a message is never left out."""
        return passage.start in self.floor.messages or passage.start in self.floor.system

    def floor_turns(self, frontier: Frontier) -> Mapping[int, ComposedTurn]:
        """Return the protected turns, by their indexes, at the levels that a frontier has reached.

        They are not shortened to their shares of the budget.
        """
        protected = self.floor.indexes
        return {
            passage.start + offset: turn
            for index, passage in enumerate(self.passages)
            if not protected.isdisjoint(turn_indexes(passage))
            for offset, turn in enumerate(
                self.shorten_passage(index, self.levels_at(index, frontier))
            )
            if passage.start + offset in protected
        }

    def make_floor(self, frontier: Frontier) -> Floor:
        """Return a `Floor`, which shortens the protected turns at a frontier to their shares."""
        turns = self.floor_turns(frontier)
        shortened = {
            turn_index
            for passage in self.passages
            if passage.position <= frontier.floor
            for turn_index in turn_indexes(passage)
            if turn_index in turns
        }
        return Floor(
            turns,
            self.floor,
            shortened,
            LoadMeter(self.profile),
            self.options.max_tokens or 0,
            self.page_of,
            has_older=len(self.turns) > len(turns),
        )

    def _shorten_protected(self, frontier: Frontier) -> Mapping[int, ComposedTurn]:
        """Return the turns that are shortened to a share of the budget, by their indexes."""
        if not frontier.floor or self.options.max_tokens is None:
            return {}
        floor = self.make_floor(frontier)
        shortened = {index: floor.shorten_pinned(index) for index in self.floor.pinned}
        shortened |= floor.shorten_newest_step()
        for index, passage in enumerate(self.passages):
            if passage.position > frontier.floor:
                break
            if isinstance(passage, MessagePassage) and passage.start not in self.floor.system:
                levels = self.levels_at(index, frontier)
                if not levels.folded:
                    [turn] = self.shorten_passage(index, levels)
                    shortened[passage.start] = floor.shorten_message(passage.start, turn)
        return shortened

    def _shorten_turn(self, turn: ComposedTurn, levels: Levels) -> ComposedTurn:
        if turn.role == "system":
            return turn
        if turn.role != "tool":
            if levels.media:
                turn = with_media_as_lines(turn, None)
            if levels.texts and not turn.calls:
                turn = with_previews(turn, None)
            return with_cut_arguments(turn) if levels.arguments and turn.calls else turn
        page_id = self.page_of(turn)
        if page_id in self.pinned and any(
            self.turns[index].call_id == turn.call_id for index in self.floor.pinned
        ):
            return turn
        has_raised_priority = self.has_raised_priority(turn)
        is_line = levels.recalled if has_raised_priority else levels.results
        if is_line:
            return as_line(turn, page_id)
        if has_raised_priority:
            return turn
        if levels.media:
            turn = with_media_as_lines(turn, page_id)
        return with_previews(turn, page_id) if levels.texts else turn

    def _fold_run(self, run: Sequence[int]) -> Iterable[RenderedPassage]:
        """Return the fold of a run of passages; nothing for an empty run."""
        if not run:
            return ()
        summary = sum(map(self.summarize, run), FoldSummary())
        origin = self.turns[self.passages[run[0]].start].origin
        fold = make_fold_turn(summary, origin)
        return [RenderedPassage(run[0], run[-1] + 1, (fold,), Levels(folded=True), summary)]


def chain_levels(frontier: Frontier) -> Frontier:
    """Return a frontier with each weaker level moved at least as far as the stronger levels.

    For example, results that are replaced by lines count as cut to previews too.
    """
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
    if all(getattr(frontier, name) == position for name, position in levels.items()):
        return frontier
    return frontier.model_copy(update=levels)


def prepare_eviction(
    turns: Sequence[ComposedTurn],
    profile: Profile,
    options: RenderOptions,
    pinned: Collection[str] = (),
    prefix_summary: PrefixSummary = EMPTY_PREFIX_SUMMARY,
) -> EvictableTurns:
    """Prepare a conversation for eviction.

    Args:
        turns: The conversation, with calls and results paired.
        profile: The target.
        options: The limits.
        pinned: The ids of pinned pages.
        prefix_summary: The summary of the prefix, whose folded runs are one step each in `turns`.
    """
    passages = [*split_passages(turns, prefix_summary.runs)]
    recalls = find_recalls(turns, prefix_summary.recall_totals, prefix_summary.recall_counts)
    late = dict(_find_late_steps(turns, passages, prefix_summary))
    steps = [
        index
        for index, passage in enumerate(passages)
        if isinstance(passage, Step)
        and _find_folded_run(turns, passage, prefix_summary.runs) is None
    ]
    newest = max((index for index in steps if index not in late), default=min(steps, default=0))
    in_progress = frozenset(
        index for index in steps if index >= newest or _has_unanswered_call(turns, passages[index])
    )
    protected = find_protected_messages(turns)
    system = find_opening_turns(turns)
    turns_in_progress = list(
        chain.from_iterable(turn_indexes(passages[index]) for index in sorted(in_progress))
    )
    page_results = {*find_newest_page_results(turns, recalls, pinned)}.difference(turns_in_progress)
    messages = _messages_before_newest(turns, passages)
    return EvictableTurns(
        turns=turns,
        passages=passages,
        recalls=recalls,
        pinned=frozenset(pinned),
        floor=FloorTurns(system, protected, sorted(page_results), turns_in_progress),
        in_progress=in_progress,
        profile=profile,
        options=options,
        late=late,
        folded=prefix_summary.runs,
        pinned_steps=frozenset(
            index for index in steps if not page_results.isdisjoint(turn_indexes(passages[index]))
        ),
        old_steps=[
            index
            for index in steps
            if index not in in_progress and passages[index].position < passages[newest].position
        ],
        old_messages=[
            index for index in messages if passages[index].start not in {*protected, *system}
        ],
        old_media=[index for index in messages if turns[passages[index].start].role != "system"],
    )


def _messages_before_newest(
    turns: Sequence[ComposedTurn], passages: Sequence[Passage]
) -> Sequence[int]:
    """Return the indexes of the messages before the newest message of the user.

    If there is no message of the user, all messages are returned. Newer messages are not evicted: a
    frontier that passed the newest message of the user would evict it as soon as the user wrote
    again.
    """
    users = [passage.position for passage in passages if turns[passage.start].role == "user"]
    return [
        index
        for index, passage in enumerate(passages)
        if isinstance(passage, MessagePassage) and (not users or passage.position < users[-1])
    ]


def turn_indexes(passage: Passage) -> range:
    """Return the indexes of the turns of a passage."""
    return range(passage.start, passage.stop)


def find_faulted_pages(turns: Sequence[ComposedTurn]) -> set[str]:
    """Return the ids of the pages that calls of `page_fault` name."""
    targets = (recall.target for recall in find_recalls(turns).values())
    return {target.name for target in targets if target.kind == "page"}


def _has_unanswered_call(turns: Sequence[ComposedTurn], step: Passage) -> bool:
    """Return whether a step has calls without results."""
    return len(turns[step.start].calls) > step.stop - step.start - 1


def _find_folded_run(
    turns: Sequence[ComposedTurn], passage: Passage, runs: Mapping[str, FoldSummary]
) -> FoldSummary | None:
    """Return the counts of the folded run that a passage replaces; `None` for other passages."""
    calls = turns[passage.start].calls
    return runs.get(calls[0].call_id) if calls else None


def _find_late_steps(
    turns: Sequence[ComposedTurn], passages: Sequence[Passage], prefix_summary: PrefixSummary
) -> Iterator[tuple[int, LateStep]]:
    """Yield the index of each passage with a late result, and the step with its call.

    A late result follows a turn that repeats the call; these two turns are a passage.
    """
    # By the `seq` of an entry: the number of each of its steps, and the names of the called tools.
    steps_by_seq: defaultdict[int | None, list[tuple[int, Collection[str]]]] = defaultdict(list)
    for seq, steps in prefix_summary.unanswered_steps.items():
        steps_by_seq[seq] += ((step.number, step.tools) for step in steps)
    # The number of the last step of each passage, and the index of the passage. A folded run has
    # several steps.
    ends = [(item.number, index) for index, item in enumerate(passages) if isinstance(item, Step)]
    for index, passage in enumerate(passages):
        if not isinstance(passage, Step):
            continue
        calling = turns[passage.start]
        result = turns[passage.stop - 1]
        if result.late_call_seq is not None and result.role == "tool":
            tool = calling.calls[0].name
            candidates = steps_by_seq[result.late_call_seq]
            with_tool = [number for number, tools in candidates if tool in tools]
            number = next(iter(with_tool or [number for number, _ in candidates]), None)
            if number is not None:
                passage_index = ends[bisect_left(ends, (number, -1))][1]
                yield index, LateStep(passage_index, number)
        elif _find_folded_run(turns, passage, prefix_summary.runs) is None:
            tools = [call.name for call in calling.calls]
            steps_by_seq[calling.seq].append((passage.number, tools))
