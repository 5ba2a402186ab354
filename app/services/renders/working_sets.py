"""Working sets: the entries of a session that a model has in context, with their levels.

A working set describes the rendering with the same options. It moves no frontier.
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
# The level of an eviction by `Omission.what`, the strongest level first.
_STEP_LEVELS_BY_OMISSION: Mapping[str, StepLevel] = {
    "original": "folded",
    "result": "line",
    "arguments": "arguments",
    "text": "preview",
}
# The level of detail that a model sees after an eviction, by the level of the eviction.
_DETAIL_BY_STEP_LEVEL = {
    "folded": Level.REFERENCE,
    "line": Level.REFERENCE,
    "arguments": Level.REDUCED,
    "preview": Level.REDUCED,
    "media": Level.REDUCED,
}
_BY_STRENGTH: Sequence[StepLevel] = ("media", "preview", "line", "arguments", "folded")
_STRONGEST = _BY_STRENGTH[-1]
_TurnKey = tuple[int | None, str, str]
"""The `seq`, the role and the call id of a turn; see `_turn_key`."""


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
        measured = await self._measure(project_id, session_id, query)
        options = query.options

        def describe() -> bytes:
            profile = measured.profile
            system, turns = split_system_text(measured.resolved, profile)
            return WorkingSet(
                session_id=session_id,
                target=profile.target,
                profile=f"{profile.target}/{profile.version}",
                tokens_est=profile.tokens.count_turns(turns, system),
                max_tokens=options.max_tokens,
                frontier=measured.frontier.wire(),
                entries=tuple(measured.entries()),
                pages=tuple(measured.pages()),
            ).encode()

        return await self.renders.resolver.run(describe, turns=len(measured.resolved))

    async def step_levels(
        self, project_id: str, session_id: str, query: RenderQuery
    ) -> Mapping[int, StepLevel]:
        """Return the strongest level to which each entry was evicted, by `seq`.

        Raises:
            Exception: See `get`.
        """
        measured = await self._measure(project_id, session_id, query)
        return await self.renders.resolver.run(measured.step_levels, turns=len(measured.resolved))

    async def _measure(
        self, project_id: str, session_id: str, query: RenderQuery
    ) -> "_MeasuredRendering":
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
    """A rendered conversation, with the tokens and media of each turn."""

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
        self._floor = history.floor.indexes
        self._passages = history.passages_at(frontier)
        self._rendered = {
            index: turn for passage in self._passages for index, turn in self._turns_of(passage)
        }
        self._tokens: Counter[_TurnKey] = Counter()
        self._media: Counter[_TurnKey] = Counter()
        self._media_tokens: Counter[_TurnKey] = Counter()
        for turn in resolved:
            key = _turn_key(turn)
            self._tokens[key] += profile.tokens.count_turn(turn)
            media = [item for item in turn.items if isinstance(item, MediaItem)]
            self._media[key] += len(media)
            self._media_tokens[key] += sum(map(profile.tokens.count_medium, media))
        self._calls: defaultdict[RecalledObject, list[int]] = defaultdict(list)
        for call_id, recall in history.recalls.items():
            if call_id not in prefix_summary.recall_counts:
                self._calls[recall.target].append(recall.index)

    def entries(self) -> Iterator[WorkingSetEntry]:
        """Yield an entry for each turn, in order. Call it once: it consumes the counts.

        A rendering may add turns with the same key. Their tokens and media count for the first one.
        """
        for passage in self._passages:
            if passage.fold is not None:
                yield self._fold_entry(passage.fold, passage.turns[0])
                continue
            for index, rendered in self._turns_of(passage):
                yield self._entry(index, rendered)

    def _entry(self, index: int, rendered: ComposedTurn) -> WorkingSetEntry:
        turn, key = self._history.turns[index], _turn_key(rendered)
        media = self._media.pop(key, 0)
        step_level = _step_level(rendered)
        has_less = media < sum(isinstance(item, Medium) for item in turn.items)
        level = _DETAIL_BY_STEP_LEVEL.get(
            step_level or "", Level.REDUCED if has_less else Level.FULL
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
            recalls=self._recalls(index),
            priority=self._priority(index),
        )

    def _fold_entry(self, fold: FoldSummary, rendered: ComposedTurn) -> WorkingSetEntry:
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

    def _turns_of(self, passage: RenderedPassage) -> Iterator[tuple[int, ComposedTurn]]:
        """Yield the index of each turn of a passage with its rendered form."""
        passages = self._history.passages[passage.first : passage.stop]
        indexes = [index for span in passages for index in range(span.start, span.stop)]
        if passage.fold is not None:
            yield from ((index, passage.turns[0]) for index in indexes)
        else:
            # The call of a late result is rendered where it was made, in an earlier passage.
            yield from zip(indexes[-len(passage.turns) :], passage.turns, strict=True)

    def step_levels(self) -> Mapping[int, StepLevel]:
        """Return the strongest level to which each entry was evicted, by `seq`."""
        levels: dict[int, StepLevel] = {}
        for passage in self._passages:
            if passage.fold is not None:
                first, last = passage.fold.from_seq or 0, passage.fold.to_seq or 0
                levels |= dict.fromkeys(range(first, last + 1), _STRONGEST)
                continue
            for index, rendered in self._turns_of(passage):
                seq, level = self._history.turns[index].seq, _step_level(rendered)
                if seq is not None and level is not None:
                    levels[seq] = max(level, levels.get(seq, level), key=_BY_STRENGTH.index)
        return levels

    def pages(self) -> Iterator[WorkingSetPage]:
        """Yield each page that was faulted in, in the order of the first faults."""
        answers: defaultdict[str, list[tuple[int, Level]]] = defaultdict(list)
        for index, turn in enumerate(self._history.turns):
            recall = self._history.recall_of(turn)
            if recall is not None and recall.target.kind == "page" and not turn.is_error:
                level = _DETAIL_BY_STEP_LEVEL.get(
                    _step_level(self._rendered[index]) or "", Level.FULL
                )
                answers[recall.target.name].append((index, max(recall.level, level)))
        folded_answers = self._prefix_summary.page_results
        folded_pages = (
            item.name
            for item in self._prefix_summary.recall_totals
            if item.kind == "page" and item.name in folded_answers
        )
        for page_id in dict.fromkeys(chain(folded_pages, answers)):
            levels = answers[page_id]
            newest = levels[-1][0] if levels else None
            target = RecalledObject("page", page_id)
            total = self._prefix_summary.recall_totals.get(target, 0)
            has_raised_priority = (
                total >= RECALLS_FOR_RAISED_PRIORITY and self._history.options.adaptive
            )
            yield WorkingSetPage(
                page_id=page_id,
                seq=folded_answers.get(page_id)
                if newest is None
                else self._history.turns[newest].seq,
                level=min((level for _, level in levels), default=Level.REFERENCE).name,
                faults=total + len(self._calls.get(target, ())),
                priority=self._priority(newest)
                if newest is not None
                else ("raised" if has_raised_priority else "normal"),
            )

    def _priority(self, index: int) -> Priority:
        if index in self._floor:
            return "stays"
        return (
            "raised" if self._history.has_raised_priority(self._history.turns[index]) else "normal"
        )

    def _recalls(self, index: int) -> int:
        """Count the later calls that recall something in a turn."""
        turn, prefix_summary = self._history.turns[index], self._prefix_summary
        names = set(_recall_names(self._history, turn))
        is_in_prefix = turn.seq is not None and turn.seq <= prefix_summary.last_seq
        folded = (
            sum(prefix_summary.recall_totals.get(name, 0) for name in names) if is_in_prefix else 0
        )
        return folded + sum(
            call_index > index for name in names for call_index in self._calls.get(name, ())
        )


def _recall_names(history: EvictableTurns, turn: ComposedTurn) -> Iterator[RecalledObject]:
    """Yield all names under which a turn, or something in it, can be recalled."""
    if turn.seq is not None:
        yield RecalledObject("entry", str(turn.seq))
    page_id = history.page_of(turn)
    if page_id is not None:
        yield RecalledObject("page", page_id)
    for item in turn.items:
        if isinstance(item, Medium) and isinstance(item.source, StoredBytes):
            yield RecalledObject("medium", item.source.resource_id)


def _step_level(rendered: ComposedTurn) -> StepLevel | None:
    """Return the strongest level to which a turn was evicted, if it was."""
    omissions = (item for item in rendered.items if isinstance(item, Omission))
    omitted = {item.what for item in omissions if item.code in _EVICTION_CODES}
    for what, level in _STEP_LEVELS_BY_OMISSION.items():
        if what in omitted:
            return level
    is_smaller = any(isinstance(item, Medium) and item.is_evicted for item in rendered.items)
    return "media" if is_smaller else None


def _turn_key(turn: ComposedTurn | ResolvedTurn) -> _TurnKey:
    return turn.seq, turn.role, turn.call_id
