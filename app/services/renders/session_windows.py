"""Loads sessions for renderings without the old entries that are folded.

If a rendering has a limit of tokens, old steps of a session are *folded*: one message replaces
them, which says how many steps they are. The *frontier* of the session says which steps are folded.

A *window* has the entries after the folded steps, and the messages between them. For the folded
steps themselves it has only facts, such as their number. These facts are cached
(`prefix_cache.py`), so the folded entries are not read. A rendering of the window has the same
bytes as a rendering of the whole session.

A session that is too long to be read at once is loaded in the same way. First, everything before
its newest 4 MiB is folded; the folded entries are read in batches, one after the other, only to
compute the facts. Every limit of tokens is smaller than 4 MiB of text. So the rendering folds more
entries than that, and does not depend on where the 4 MiB begin.
"""

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import TypeVar

from app.models.message import StoredEntry
from app.services.renders.loaded_sessions import (
    LoadedSession,
    find_referenced_ids,
    result_records,
)
from app.services.renders.prefix_cache import PrefixCache, RenderingKey, SessionKey
from app.services.renders.prompt_turns import read_prompt_turns
from app.services.renders.session_entries import (
    MAX_TEXT_BYTES,
    WholeSessionNeededError,
    find_batch_end,
    load_session,
    read_entries,
)
from app.services.renders.structured_contents import (
    MAX_STRUCTURED_BYTES,
    read_structured_contents,
    stored_content_sizes,
)
from app.services.renders.turn_cache import TurnCache
from app.services.renders.turn_resolver import TurnResolver
from app.services.requests.validation import require_found
from app.services.resources.link_files import read_links
from app.stores.blobs.store import BlobStore
from app.stores.records.history import HistoryHead, SessionHistory
from app.stores.records.history_sizes import HistorySizes
from app.stores.records.pinned_pages import PinnedPageRecords
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.session_prompts import SessionPromptRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.context.eviction import chain_levels
from pagefault_dialects.context.prefix_index import (
    PrefixMessage,
    PrefixPassage,
    PrefixSummary,
    ReferencedStep,
    TurnReference,
)
from pagefault_dialects.errors import PayloadTooLargeError
from pagefault_dialects.folded_prefixes import NO_PREFIX, FoldedPrefix
from pagefault_dialects.model.conversation import ComposedTurn
from pagefault_dialects.model.frontier import NOTHING_EVICTED, Frontier
from pagefault_dialects.model.render_options import Audience, RenderOptions
from pagefault_dialects.model.resource import LINK_TYPE, Resource
from pagefault_dialects.turns.call_results import PrefixChangedError
from pagefault_dialects.turns.sealed_turns import seal_turns

_Result = TypeVar("_Result")

_NEWEST_DIVISOR = 4
"""If a session is larger than `max_bytes`, its newest `max_bytes / 4` are not folded first."""
_MAX_MESSAGE_CHARS = MAX_TEXT_BYTES // 4
"""The maximum number of characters of the messages between folded steps."""
_MAX_BATCH_FACTOR = 8
"""The size of the largest batch that is read at once, as a multiple of the usual size."""


@dataclass(frozen=True, slots=True)
class SessionWindow(LoadedSession):
    """A session without the folded entries of its beginning, the *prefix*.

    `entries` has the entries after the prefix.
    """

    prefix: FoldedPrefix = NO_PREFIX
    """The facts of the prefix."""
    passages: Sequence[PrefixPassage] = ()
    """The parts of the prefix at the frontier: messages, steps, and folded runs of steps."""
    visible: Mapping[int, StoredEntry] = field(default_factory=dict)
    """The entries of the prefix that are not folded, by `seq`."""
    min_frontier: Frontier = NOTHING_EVICTED
    """The frontier that folds enough for the session to be read at once."""
    freezes_turns: bool = False
    """True to leave the prefix as it is, even if later entries would change it."""

    @property
    def prefix_summary(self) -> PrefixSummary:
        """The counts of the folded runs of steps."""
        return self.prefix.summarize(self.passages)

    @property
    def orphans(self) -> Sequence[int]:
        """The `seq` of the results in the prefix whose call was not recorded, but added."""
        return self.prefix.orphans

    def clamp_frontier(self, frontier: Frontier) -> Frontier:
        """Return a frontier that folds at least as much as `min_frontier`."""
        if self.min_frontier == NOTHING_EVICTED:
            return frontier
        names = ("folded", "said_folded")
        levels = {
            name: max(getattr(frontier, name), getattr(self.min_frontier, name)) for name in names
        }
        return chain_levels(frontier.model_copy(update=levels))

    def pair_turns(
        self, *, audience: Audience, pinned_results: Collection[int] = ()
    ) -> Sequence[ComposedTurn]:
        """Return the turns of the session, with one step in place of each run of folded steps.

        Args:
            audience: The reader of the turns.
            pinned_results: See `LoadedSession.pair_turns`.

        Raises:
            PrefixChangedError: An entry after the prefix changes a turn of the prefix.
        """
        recorded = {
            seq: self.read_entry_turns(entry, audience) for seq, entry in self.visible.items()
        }
        turns = self.prefix.build_turns(
            self.passages,
            recorded,
            self.read_unpaired_turns(audience),
            pinned_results,
            freezes_turns=self.freezes_turns,
        )
        if self.prompt is None:
            return turns
        return [*read_prompt_turns(self.prompt, origin=f"/api/sessions/{self.session_id}"), *turns]


@dataclass(frozen=True, slots=True)
class _Request:
    """A request to load the window of a session at a frontier."""

    project_id: str
    session_id: str
    audience: Audience
    frontier: Frontier
    fold_seq: int
    """The `seq` of the last folded entry. The prefix ends there, or a little earlier."""
    up_to: int | None
    """The `seq` of the last entry of the window; `None` for the newest entry."""
    stride: int
    """See `SessionWindows.stride`; 0 to let the prefix end as late as possible."""
    _: KW_ONLY
    is_long: bool = False
    """True if the session is too long to be read at once."""
    freezes_turns: bool = False
    """See `SessionWindow.freezes_turns`."""

    @property
    def rendering_key(self) -> RenderingKey:
        """The key of the prefixes in the cache, which does not depend on a target or on options."""
        return "settled folds" if self.freezes_turns else "folds", RenderOptions()


@dataclass(frozen=True, slots=True)
class _VisiblePart:
    """The part of a prefix that is not folded; see `SessionWindow` for the fields."""

    passages: Sequence[PrefixPassage] = ()
    entries: Sequence[StoredEntry] = ()
    min_frontier: Frontier = NOTHING_EVICTED


_NOTHING_VISIBLE = _VisiblePart()


@dataclass(frozen=True, slots=True)
class _Batch:
    """Consecutive entries of a session, directly after its prefix.

    The entries of a batch extend the prefix, until it reaches the fold. The last batch has the
    entries of the window.
    """

    key: SessionKey
    """The key of the session in the cache of prefixes."""
    prefix: FoldedPrefix
    """The facts of the longest prefix that was computed so far."""
    entries: Sequence[StoredEntry]
    """The entries after the prefix."""
    visible: _VisiblePart
    """The part of the prefix that is not folded; empty unless this is the last batch."""
    resources: Mapping[str, Resource]
    """The resources that the entries refer to, by id."""
    last_seq: int
    """The `seq` of the last entry of the window."""
    turn_cache: TurnCache
    """The cache of the turns of the entries."""
    _: KW_ONLY
    is_last: bool
    """True if the batch ends with the last entry of the window."""
    is_at_fold: bool
    """True if the batch reaches the fold, so that no later batch extends the prefix."""


@dataclass(frozen=True, slots=True, eq=False)
class SessionWindows:
    """Loads windows of sessions."""

    records: Records
    """Reads sessions."""
    blobs: BlobStore
    """Reads structured contents."""
    resolver: TurnResolver
    """Runs pure functions in threads."""
    turn_cache: TurnCache
    """Caches entries and their turns."""
    stride: int = 32
    """Prefixes end at multiples of this number of entries.

    A prefix is extended if the fold is more than twice as many entries behind its end.
    """
    prefixes: PrefixCache[FoldedPrefix] = field(default_factory=PrefixCache)
    """Caches the facts of prefixes."""
    max_bytes: int = MAX_TEXT_BYTES
    """The size in bytes above which a session is too long to be read at once."""

    async def load_and_render(
        self,
        project_id: str,
        session_id: str,
        options: RenderOptions,
        frontier: Frontier,
        render: Callable[[LoadedSession], Awaitable[_Result]],
        *,
        up_to: int | None,
    ) -> _Result:
        """Load a session without its folded entries, and return the result of `render`.

        If `render` needs the folded entries, it is called again with the whole session.

        Args:
            project_id: The project.
            session_id: The session.
            options: The options of the rendering.
            frontier: The frontier, which says which entries are folded.
            render: Renders the loaded session. It raises `PrefixChangedError` if it needs folded
                entries.
            up_to: The `seq` of the last entry to load; `None` for the newest entry.

        Raises:
            NotFoundError: The project has no such session.
            PayloadTooLargeError: The session is too long to be rendered.
            StoreUnavailableError: A store did not answer.
        """
        load = partial(self.load, project_id, session_id, options, frontier, up_to=up_to)
        window = await load()
        if window is not None:
            with suppress(PrefixChangedError):
                return await render(window)
        try:
            loaded = await self.load_whole(project_id, session_id, up_to=up_to)
        except PayloadTooLargeError:
            if options.max_tokens is None:
                raise
            # If an entry after the prefix would change the prefix, a second attempt leaves the
            # prefix as it is.
            for freezes_turns in (False, True):
                window = await load(is_long=True, freezes_turns=freezes_turns)
                with suppress(PrefixChangedError):
                    if window is not None:
                        return await render(window)
            raise
        result = await render(loaded)
        sequences, turns = [loaded.entries, *loaded.derived], len(loaded.entries)
        # `free` needs the last references to the objects.
        del loaded
        await self.resolver.free(sequences, turns=turns)
        return result

    async def load_whole(
        self, project_id: str, session_id: str, *, up_to: int | None = None
    ) -> LoadedSession:
        """Return a session with all entries up to `up_to`; see `load_and_render` for errors."""
        return await load_session(
            self.records, self.blobs, project_id, session_id, self.turn_cache, up_to=up_to
        )

    async def load(
        self,
        project_id: str,
        session_id: str,
        options: RenderOptions,
        frontier: Frontier,
        *,
        up_to: int | None = None,
        is_long: bool = False,
        freezes_turns: bool = False,
    ) -> LoadedSession | None:
        """Return a session without its folded entries.

        Args:
            project_id: The project.
            session_id: The session.
            options: The options of the rendering.
            frontier: The frontier, which says which entries are folded.
            up_to: The `seq` of the last entry to load; `None` for the newest entry.
            is_long: True if the session is too long to be read at once.
            freezes_turns: See `SessionWindow.freezes_turns`; ignored unless `is_long`.

        Returns:
            `None` if all entries have to be read.

        Raises:
            NotFoundError: The project has no such session.
            StoreUnavailableError: A store did not answer.
        """
        # A short prefix saves little. With `max_text`, the calls of all results are needed, because
        # the results of some calls are not cut.
        needs_all = frontier.folded <= 2 * self.stride or options.max_text is not None
        if needs_all and not is_long:
            return None
        request = _Request(
            project_id,
            session_id,
            options.audience,
            frontier,
            frontier.folded if up_to is None else min(up_to, frontier.folded),
            up_to,
            self.stride,
            freezes_turns=is_long and freezes_turns,
        )
        try:
            if is_long:
                request = await self._fold_long_session(request)
            return await self._load_window(request)
        except (WholeSessionNeededError, PrefixChangedError, PayloadTooLargeError):
            return None

    async def _fold_long_session(self, request: _Request) -> _Request:
        """Return a request that folds so much that the other entries can be read at once."""

        def find_fold(unit: UnitOfWork) -> int:
            find_start = partial(
                unit[HistorySizes].find_seq_before_newest,
                request.session_id,
                after_seq=request.fold_seq,
                to=request.up_to,
            )
            if find_start(max_bytes=self.max_bytes) == request.fold_seq:
                return request.fold_seq
            return find_start(max_bytes=self.max_bytes // _NEWEST_DIVISOR)

        fold_seq = await self.records.read(request.project_id, find_fold)
        return replace(request, fold_seq=fold_seq, stride=0, is_long=True)

    async def _load_window(self, request: _Request) -> SessionWindow:
        """Extend the cached prefix up to the fold, and load the entries after it.

        Raises:
            WholeSessionNeededError: No prefix was found, or its facts are not enough.
        """
        batch = await self._read_batch(request, None)
        factor = 1
        while not batch.is_last:
            extended = await self._extend_prefix(request, batch)
            factor = 1 if extended is not None else 2 * factor
            # With frozen turns, a prefix that reaches the fold is valid for this fold only.
            is_for_one_fold = request.freezes_turns and batch.is_at_fold
            if extended is not None and batch.key.incarnation and not is_for_one_fold:
                self.prefixes.put(batch.key, request.rendering_key, extended)
            latest = (batch.key, extended or batch.prefix)
            # A prefix ends at the end of a step. If the batch has no such end, a larger batch
            # is read next, and finally all other entries.
            reads_rest = extended is None and (factor > _MAX_BATCH_FACTOR or batch.is_at_fold)
            batch = await self._read_batch(request, latest, factor=factor, reads_rest=reads_rest)
        if not batch.prefix.seq:
            raise WholeSessionNeededError
        loaded = await self._load_contents(request, batch)
        return SessionWindow(
            loaded.session_id,
            loaded.entries,
            loaded.resources,
            loaded.structured_contents,
            loaded.turn_cache,
            loaded.last_seq,
            loaded.prompt,
            loaded.links,
            is_beginning=False,
            prefix=batch.prefix,
            passages=batch.visible.passages,
            visible={entry.seq: entry for entry in batch.visible.entries},
            min_frontier=batch.visible.min_frontier,
            freezes_turns=request.freezes_turns,
        )

    async def _read_batch(
        self,
        request: _Request,
        latest: tuple[SessionKey, FoldedPrefix] | None,
        *,
        factor: int = 1,
        reads_rest: bool = False,
    ) -> _Batch:
        """Read the entries after the longest prefix, which is cached or was just computed.

        Args:
            request: The window.
            latest: The prefix that was just computed, with the key of its session.
            factor: The size of the batch, as a multiple of the usual size.
            reads_rest: True to read all entries up to the end of the window.
        """
        read = partial(
            self._read_in_unit, request=request, latest=latest, factor=factor, reads_rest=reads_rest
        )
        return await self.records.read_snapshot(request.project_id, read)

    def _read_in_unit(
        self,
        unit: UnitOfWork,
        request: _Request,
        latest: tuple[SessionKey, FoldedPrefix] | None,
        *,
        factor: int,
        reads_rest: bool,
    ) -> _Batch:
        """Read a batch in a snapshot of the records; see `_read_batch`."""
        session_id, fold_seq, stride = request.session_id, request.fold_seq, max(1, request.stride)
        head = require_found(unit[SessionHistory].find_head(session_id), "session")
        key, prefix = self._find_prefix(unit, request, head, latest)
        last_seq = head.last_seq if request.up_to is None else min(request.up_to, head.last_seq)
        is_last = reads_rest or fold_seq - prefix.seq <= 2 * request.stride
        to_seq = end_seq = last_seq if is_last else fold_seq // stride * stride
        turn_cache, visible = self.turn_cache, _NOTHING_VISIBLE
        if is_last:
            visible = self._read_visible(unit, request, head, prefix)
        else:
            to_seq = find_batch_end(
                unit, session_id, after_seq=prefix.seq, to_seq=end_seq, factor=factor
            )
            turn_cache = TurnCache() if request.is_long else self.turn_cache
        entries = read_entries(
            unit, session_id, head, turn_cache, after_seq=prefix.seq, to_seq=to_seq
        )
        resource_ids = find_referenced_ids([*entries, *visible.entries], turn_cache)
        resources = unit[ResourceRecords].find_in_session(resource_ids, session_id)
        has_links = any(resource.mime_type == LINK_TYPE for resource in resources.values())
        if has_links and not request.is_long:
            raise WholeSessionNeededError
        return _Batch(
            key,
            prefix,
            entries,
            visible,
            resources,
            last_seq,
            turn_cache,
            is_last=is_last,
            is_at_fold=to_seq == end_seq,
        )

    def _find_prefix(
        self,
        unit: UnitOfWork,
        request: _Request,
        head: HistoryHead,
        latest: tuple[SessionKey, FoldedPrefix] | None,
    ) -> tuple[SessionKey, FoldedPrefix]:
        """Return the key of the session, and the longer of the cached prefix and `latest`.

        Raises:
            WholeSessionNeededError: The session cannot be cached.
        """
        if head.incarnation is None and not request.is_long:
            # A session of an older version has no incarnation, which would distinguish it from a
            # later session of the same name.
            raise WholeSessionNeededError
        prompt = unit[SessionPromptRecords].find(request.session_id)
        key = SessionKey(
            request.project_id,
            request.session_id,
            head.incarnation or "",
            request.audience,
            prompt.prompt if prompt else None,
        )
        cached = self.prefixes.find(key, request.rendering_key, up_to=request.fold_seq) or NO_PREFIX
        # If the keys differ, the prompt was changed, or another session has the id by now.
        computed = latest[1] if latest is not None and latest[0] == key else NO_PREFIX
        return key, max(cached, computed, key=lambda prefix: prefix.seq)

    def _read_visible(
        self, unit: UnitOfWork, request: _Request, head: HistoryHead, prefix: FoldedPrefix
    ) -> _VisiblePart:
        """Read the entries of a prefix that are not folded.

        Raises:
            PayloadTooLargeError: The messages between folded steps are too long.
            WholeSessionNeededError: The result with a pinned page was not recorded in the prefix.
        """
        index, frontier, min_frontier = prefix.index, request.frontier, NOTHING_EVICTED
        if request.is_long:
            # The oldest messages of the prefix are folded too, if its messages are too long.
            said_folded = index.find_message_fold(_MAX_MESSAGE_CHARS)
            min_frontier = Frontier(folded=request.fold_seq, said_folded=said_folded)
            said_folded = max(said_folded, frontier.said_folded)
            frontier = frontier.model_copy(update={"said_folded": said_folded})
        pinned_pages = unit[PinnedPageRecords].find_pinned(index.pages) if index.pages else ()
        passages = index.passages_at(frontier, pinned_pages)
        messages = [passage for passage in passages if isinstance(passage, PrefixMessage)]
        if not request.is_long and sum(message.chars for message in messages) > _MAX_MESSAGE_CHARS:
            raise PayloadTooLargeError("The messages between folded steps are too long.")
        steps = [passage for passage in passages if isinstance(passage, ReferencedStep)]
        # The newest answer with a pinned page is never evicted, so its step has to be read.
        has_unread_pin = any(
            not step.turns and not step.pages.keys().isdisjoint(pinned_pages) for step in steps
        )
        if has_unread_pin and not request.freezes_turns:
            raise WholeSessionNeededError
        seqs = {message.seq for message in messages}
        seqs |= {
            turn.seq for step in steps for turn in step.turns if isinstance(turn, TurnReference)
        }
        read = partial(read_entries, unit, request.session_id, head, self.turn_cache)
        entries = [
            entry
            for first, last in _group_consecutive(sorted(seqs))
            for entry in read(after_seq=first - 1, to_seq=last)
        ]
        return _VisiblePart(passages, entries, min_frontier)

    async def _extend_prefix(self, request: _Request, batch: _Batch) -> FoldedPrefix | None:
        """Extend the prefix by those entries of a batch that later entries cannot change.

        Returns:
            The longer prefix; `None` if later entries may change the first entry of the batch.
        """
        prefix, audience = batch.prefix, request.audience
        loaded = await self._load_contents(request, batch)

        def extend() -> FoldedPrefix | None:
            sealed = seal_turns(
                loaded.read_unpaired_turns(audience),
                loaded.find_unjoined(audience),
                prefix.pairing_state,
                freezes_turns=request.freezes_turns,
            )
            if sealed is None:
                return None
            entries = [entry for entry in batch.entries if entry.seq < sealed.next_seq]
            recorded = {entry.seq: loaded.read_entry_turns(entry, audience) for entry in entries}
            return prefix.extend(sealed, recorded, stored_content_sizes(result_records(entries)))

        return await self.resolver.run(extend, turns=len(batch.entries))

    async def _load_contents(self, request: _Request, batch: _Batch) -> LoadedSession:
        """Load the structured contents and the links of the entries of a batch.

        Raises:
            WholeSessionNeededError: The structured contents are too large. Which of them are left
                out depends on all entries.
        """
        results = result_records([*batch.visible.entries, *batch.entries])
        sizes = {**batch.prefix.structured_sizes, **stored_content_sizes(results)}
        if sum(sizes.values()) > MAX_STRUCTURED_BYTES and not request.is_long:
            raise WholeSessionNeededError
        project_id = request.project_id
        contents = await read_structured_contents(self.blobs, project_id, results) if sizes else {}
        links = await read_links(self.blobs, project_id, batch.resources)
        return LoadedSession(
            request.session_id,
            batch.entries,
            batch.resources,
            contents,
            batch.turn_cache,
            batch.last_seq,
            batch.key.prompt,
            links,
            is_beginning=not batch.prefix.seq,
        )


def _group_consecutive(seqs: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last number of each run of consecutive numbers."""
    # Within a run, the difference between a number and its index is constant.
    for _, run in groupby(enumerate(seqs), key=lambda item: item[1] - item[0]):
        numbers = [seq for _, seq in run]
        yield numbers[0], numbers[-1]
