"""Computes working sets: lists of the entries that a model has in context.

A working set describes the rendering of a session with the same options: for each entry its level
of detail, the tokens and media that were sent, and how often it was recalled. The frontier of the
session is not moved. `Outlines` uses the levels of the entries too.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from app.services.renders.loaded_sessions import LoadedSession
from app.services.renders.queries import RenderQuery
from app.services.renders.session_renders import SessionRenders
from app.wire.outlines import Priority, StepLevel, WorkingSet, WorkingSetEntry, WorkingSetPage
from pagefault_dialects.context.eviction import EvictableTurns, RenderedPassage
from pagefault_dialects.context.prefix_index import PrefixSummary
from pagefault_dialects.context.recalls import RECALLS_FOR_RAISED_PRIORITY, RecalledObject
from pagefault_dialects.context.steps import FoldSummary
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    MediaItem,
    Medium,
    Omission,
    ResolvedTurn,
    StoredBytes,
)
from pagefault_dialects.model.frontier import Frontier
from pagefault_dialects.model.page import Level
from pagefault_dialects.targets.opening_turns import split_system_text
from pagefault_dialects.targets.profile import Profile

# The codes of omissions that an eviction causes.
_EVICTION_CODES = ("evicted", "folded")
# What was evicted from a turn (`Omission.what`) to the level of this eviction, strongest first.
_STEP_LEVELS_BY_OMISSION: Mapping[str, StepLevel] = {
    "original": "folded",
    "result": "line",
    "arguments": "arguments",
    "text": "preview",
}
# The level of detail that remains for a model after an eviction.
_DETAIL_BY_STEP_LEVEL = {
    "folded": Level.REFERENCE,
    "line": Level.REFERENCE,
    "arguments": Level.REDUCED,
    "preview": Level.REDUCED,
    "media": Level.REDUCED,
}
# From the weakest eviction to the strongest.
_STEP_LEVELS: Sequence[StepLevel] = ("media", "preview", "line", "arguments", "folded")
_TurnKey = tuple[int | None, str, str]
"""The `seq`, the role and the call id of a turn, which a rendered turn has in common with it."""


@dataclass(frozen=True, slots=True, eq=False)
class WorkingSets:
    """Computes working sets."""

    renders: SessionRenders
    """Loads sessions, and fits them to a target."""

    async def get(self, project_id: str, session_id: str, query: RenderQuery) -> bytes:
        """Return the working set of a session as JSON.

        Args:
            project_id: The caller's project.
            session_id: The session.
            query: The target and options of the rendering.

        Raises:
            NotFoundError: The project has no such session.
            InvalidPayloadError: The turns that are never evicted do not fit the limits.
            PayloadTooLargeError: The history is too long to be rendered at once.
            StoreUnavailableError: A store did not answer.
        """
        rendering = await self._measure(project_id, session_id, query)

        def build_json() -> bytes:
            profile = rendering.profile
            system, turns = split_system_text(rendering.resolved, profile)
            return WorkingSet(
                session_id=session_id,
                target=profile.target,
                profile=f"{profile.target}/{profile.version}",
                tokens_est=profile.tokens.count_turns(turns, system),
                max_tokens=query.options.max_tokens,
                frontier=rendering.frontier.wire(),
                entries=tuple(rendering.take_entries()),
                pages=tuple(rendering.list_pages()),
            ).encode()

        return await self.renders.resolver.run(build_json, turns=len(rendering.resolved))

    async def step_levels(
        self, project_id: str, session_id: str, query: RenderQuery
    ) -> Mapping[int, StepLevel]:
        """Return how far each entry of a session was evicted in a rendering, by `seq`.

        If an entry has several turns, the strongest of their levels counts. Entries that were not
        evicted are absent.

        Raises:
            Exception: See `get`.
        """
        rendering = await self._measure(project_id, session_id, query)
        return await self.renders.resolver.run(
            rendering.find_step_levels, turns=len(rendering.resolved)
        )

    async def _measure(
        self, project_id: str, session_id: str, query: RenderQuery
    ) -> "_MeasuredRendering":
        """Load a session, fit it to the target of the query, and measure its turns."""
        renders, resolver = self.renders, self.renders.resolver
        profile, options = renders.check(query), query.options

        async def measure(loaded: LoadedSession) -> _MeasuredRendering:
            fitted = await renders.fit(project_id, loaded, profile, query)
            history = await resolver.load_history(
                project_id, fitted.turns, profile, options, loaded.prefix_summary
            )
            build = partial(
                _MeasuredRendering,
                history,
                fitted.frontier,
                fitted.resolved.turns,
                profile,
                loaded.prefix_summary,
            )
            return await resolver.run(build, turns=len(fitted.turns))

        async with renders.slots.slot(project_id):
            return await renders.load_and_render(project_id, session_id, query, measure)


class _MeasuredRendering:
    """A rendered conversation, with the tokens and media of each turn.

    Args:
        history: The whole conversation before eviction.
        frontier: How far the conversation was evicted.
        resolved: The turns as they are sent to the target.
        profile: The limits and rules of the target.
        prefix_summary: Counts of the folded beginning of the session, whose entries were not read.
    """

    def __init__(
        self,
        history: EvictableTurns,
        frontier: Frontier,
        resolved: Sequence[ResolvedTurn],
        profile: Profile,
        prefix_summary: PrefixSummary,
    ) -> None:
        self.frontier, self.resolved, self.profile = frontier, resolved, profile
        self._prefix_summary = prefix_summary
        self._history = history
        self._never_evicted = history.floor.indexes
        self._passages = history.passages_at(frontier)
        self._rendered = {
            index: turn for passage in self._passages for index, turn in self._pair_turns(passage)
        }
        # The tokens and media of the resolved turns, counted by key, because a resolved turn does
        # not have the index of its turn in the history.
        self._tokens: Counter[_TurnKey] = Counter()
        self._media: Counter[_TurnKey] = Counter()
        self._media_tokens: Counter[_TurnKey] = Counter()
        for turn in resolved:
            key = _turn_key(turn)
            self._tokens[key] += profile.tokens.count_turn(turn)
            media = [item for item in turn.items if isinstance(item, MediaItem)]
            self._media[key] += len(media)
            self._media_tokens[key] += sum(map(profile.tokens.count_medium, media))
        # The indexes of the turns that recall an object. Recalls in the prefix are in its summary.
        self._recall_indexes: defaultdict[RecalledObject, list[int]] = defaultdict(list)
        for call_id, recall in history.recalls.items():
            if call_id not in prefix_summary.recall_counts:
                self._recall_indexes[recall.target].append(recall.index)

    def take_entries(self) -> Iterator[WorkingSetEntry]:
        """Yield an entry for each turn, in order, and one for each run of folded turns.

        Call this once: it removes the counts. If several resolved turns have the same key, the
        first entry with the key gets the tokens and media of all of them.
        """
        for passage in self._passages:
            if passage.fold is not None:
                yield self._take_fold_entry(passage.fold, passage.turns[0])
                continue
            for index, rendered in self._pair_turns(passage):
                yield self._take_entry(index, rendered)

    def _take_entry(self, index: int, rendered: ComposedTurn) -> WorkingSetEntry:
        turn, key = self._history.turns[index], _turn_key(rendered)
        media = self._media.pop(key, 0)
        step_level = _find_step_level(rendered)
        has_fewer_media = media < sum(isinstance(item, Medium) for item in turn.items)
        level = _DETAIL_BY_STEP_LEVEL.get(
            step_level or "", Level.REDUCED if has_fewer_media else Level.FULL
        )
        return WorkingSetEntry(
            seq=turn.seq,
            role=turn.role,
            tool_name=turn.tool_name or None,
            call_id=turn.call_id or None,
            page_id=self._history.page_of(turn),
            level=level.name,
            step_level=step_level,
            tokens=self._tokens.pop(key, 0),
            media=media,
            media_tokens=self._media_tokens.pop(key, 0),
            evicted=step_level is not None,
            recalls=self._count_recalls(index),
            priority=self._find_priority(index),
        )

    def _take_fold_entry(self, fold: FoldSummary, rendered: ComposedTurn) -> WorkingSetEntry:
        return WorkingSetEntry(
            seq=rendered.seq,
            from_seq=fold.from_seq,
            count=fold.steps + fold.messages,
            role=rendered.role,
            level=Level.REFERENCE.name,
            step_level="folded",
            tokens=self._tokens.pop(_turn_key(rendered), 0),
            evicted=True,
        )

    def _pair_turns(self, passage: RenderedPassage) -> Iterator[tuple[int, ComposedTurn]]:
        """Yield the index in the history of each turn of a passage, with the rendered turn."""
        originals = self._history.passages[passage.first : passage.stop]
        indexes = [index for span in originals for index in range(span.start, span.stop)]
        if passage.fold is not None:
            yield from ((index, passage.turns[0]) for index in indexes)
        else:
            # A passage with a late result begins with a copy of its call. If the call is in a fold,
            # the copy is not rendered.
            yield from zip(indexes[-len(passage.turns) :], passage.turns, strict=True)

    def find_step_levels(self) -> Mapping[int, StepLevel]:
        """Return how far each entry was evicted; see `WorkingSets.step_levels`."""
        levels: dict[int, StepLevel] = {}
        for passage in self._passages:
            if passage.fold is not None:
                first, last = passage.fold.from_seq or 0, passage.fold.to_seq or 0
                levels |= dict.fromkeys(range(first, last + 1), "folded")
                continue
            for index, rendered in self._pair_turns(passage):
                seq, level = self._history.turns[index].seq, _find_step_level(rendered)
                if seq is not None and level is not None:
                    levels[seq] = max(level, levels.get(seq, level), key=_STEP_LEVELS.index)
        return levels

    def list_pages(self) -> Iterator[WorkingSetPage]:
        """Yield each page that was faulted in, in the order of the first faults."""
        # The results with each page: the index of the turn, and the level of detail that remains.
        results: defaultdict[str, list[tuple[int, Level]]] = defaultdict(list)
        for index, turn in enumerate(self._history.turns):
            recall = self._history.recall_of(turn)
            if recall is not None and recall.target.kind == "page" and not turn.is_error:
                level = _DETAIL_BY_STEP_LEVEL.get(
                    _find_step_level(self._rendered[index]) or "", Level.FULL
                )
                results[recall.target.name].append((index, max(recall.level, level)))
        prefix = self._prefix_summary
        prefix_pages = (
            item.name
            for item in prefix.recall_totals
            if item.kind == "page" and item.name in prefix.page_results
        )
        for page_id in dict.fromkeys(chain(prefix_pages, results)):
            target = RecalledObject("page", page_id)
            prefix_recalls = prefix.recall_totals.get(target, 0)
            priority: Priority = "normal"
            if results[page_id]:
                newest_index, _ = results[page_id][-1]
                seq = self._history.turns[newest_index].seq
                priority = self._find_priority(newest_index)
            else:
                seq = prefix.page_results.get(page_id)
                is_often_recalled = prefix_recalls >= RECALLS_FOR_RAISED_PRIORITY
                if is_often_recalled and self._history.options.adaptive:
                    priority = "raised"
            yield WorkingSetPage(
                page_id=page_id,
                seq=seq,
                level=min((level for _, level in results[page_id]), default=Level.REFERENCE).name,
                faults=prefix_recalls + len(self._recall_indexes.get(target, ())),
                priority=priority,
            )

    def _find_priority(self, index: int) -> Priority:
        if index in self._never_evicted:
            return "stays"
        return (
            "raised" if self._history.has_raised_priority(self._history.turns[index]) else "normal"
        )

    def _count_recalls(self, index: int) -> int:
        """Count the later calls that recall a turn, or a page or medium in it."""
        turn, prefix = self._history.turns[index], self._prefix_summary
        targets = set(_list_recall_targets(self._history, turn))
        prefix_recalls = 0
        if turn.seq is not None and turn.seq <= prefix.last_seq:
            prefix_recalls = sum(prefix.recall_totals.get(target, 0) for target in targets)
        return prefix_recalls + sum(
            recall_index > index
            for target in targets
            for recall_index in self._recall_indexes.get(target, ())
        )


def _list_recall_targets(history: EvictableTurns, turn: ComposedTurn) -> Iterator[RecalledObject]:
    """Yield the objects that a call can recall in a turn: its entry, its page and its media."""
    if turn.seq is not None:
        yield RecalledObject("entry", str(turn.seq))
    page_id = history.page_of(turn)
    if page_id is not None:
        yield RecalledObject("page", page_id)
    for item in turn.items:
        if isinstance(item, Medium) and isinstance(item.source, StoredBytes):
            yield RecalledObject("medium", item.source.resource_id)


def _find_step_level(rendered: ComposedTurn) -> StepLevel | None:
    """Return the strongest level to which a rendered turn was evicted; `None` if it was not."""
    omissions = (item for item in rendered.items if isinstance(item, Omission))
    evicted = {item.what for item in omissions if item.code in _EVICTION_CODES}
    for what, level in _STEP_LEVELS_BY_OMISSION.items():
        if what in evicted:
            return level
    has_evicted_media = any(isinstance(item, Medium) and item.is_evicted for item in rendered.items)
    return "media" if has_evicted_media else None


def _turn_key(turn: ComposedTurn | ResolvedTurn) -> _TurnKey:
    return turn.seq, turn.role, turn.call_id
