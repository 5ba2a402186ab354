"""Windows of sessions: the entries that a frontier shows, and facts about the folded ones.

A budget of tokens folds old steps of a session: its rendering has one message instead of them, with
the number of steps. These numbers are cached (see `prefix_cache`), so the folded entries are not
read. A window has the messages between the folded steps, and all entries after them. Its rendering
has the same bytes as that of the whole session.

A session that is too long to be read at once is rendered in the same way. Everything before its
newest 4 MiB is folded first: these entries are read in stretches, only to count them. A budget is
smaller than 4 MiB. So the frontier moves on to the position at which it would be if all entries had
been read.
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
    find_stretch_end,
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
    RecordedTurn,
    ReferencedStep,
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
"""If a session exceeds `max_bytes`, its newest entries are read, up to this fraction of it."""
_MAX_MESSAGE_CHARS = MAX_TEXT_BYTES // 4
"""The limit of characters in the messages between folded steps."""
_MAX_STRETCH_FACTOR = 8
"""The largest stretch of entries that is read at once, as a multiple of the usual one."""


@dataclass(frozen=True, slots=True)
class SessionWindow(LoadedSession):
    """A session whose beginning, the *prefix*, is folded; `entries` has the entries after it."""

    prefix: FoldedPrefix = NO_PREFIX
    """The facts of the prefix."""
    passages: Sequence[PrefixPassage] = ()
    """The messages, steps and folded runs of steps into which the frontier divides the prefix."""
    visible: Mapping[int, StoredEntry] = field(default_factory=dict)
    """The entries of messages and steps of the prefix that the frontier shows, by `seq`."""
    min_frontier: Frontier = NOTHING_EVICTED
    """The frontier from which the session is short enough to be read."""
    freezes_turns: bool = False
    """True to leave the prefix as it is, even if later entries would change it."""

    @property
    def prefix_summary(self) -> PrefixSummary:
        """The facts of the runs of steps in the prefix."""
        return self.prefix.summarize(self.passages)

    @property
    def orphans(self) -> Sequence[int]:
        """The `seq` of answers in the prefix that have an added call."""
        return self.prefix.orphans

    def clamp_frontier(self, frontier: Frontier) -> Frontier:
        """Return a frontier, moved to `min_frontier` if it is before that."""
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
        """Return the turns of the history, with one step instead of each run of folded steps.

        Raises:
            PrefixChangedError: An entry after the prefix changes it.
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
    folded: int
    """The `seq` of the last entry of the prefix."""
    up_to: int | None
    """The `seq` of the last entry of the window; `None` for the newest one."""
    stride: int
    """See `SessionWindows.stride`."""
    _: KW_ONLY
    is_long: bool = False
    """True if the session is too long to be read at once."""
    freezes_turns: bool = False
    """See `SessionWindow.freezes_turns`."""

    @property
    def rendering_key(self) -> RenderingKey:
        """The key of the prefixes in the cache. They are the same for all targets and options."""
        return "settled folds" if self.freezes_turns else "folds", RenderOptions()


@dataclass(frozen=True, slots=True)
class _VisiblePart:
    """The part of a prefix that a frontier shows; see `SessionWindow` for the fields."""

    passages: Sequence[PrefixPassage] = ()
    entries: Sequence[StoredEntry] = ()
    """The entries of those passages that are messages or referenced steps."""
    min_frontier: Frontier = NOTHING_EVICTED


_NOTHING_VISIBLE = _VisiblePart()


@dataclass(frozen=True, slots=True)
class _Part:
    """Entries of a session after a prefix."""

    key: SessionKey
    """The key of the session in the cache of prefixes."""
    prefix: FoldedPrefix
    """The longest prefix that is known so far."""
    entries: Sequence[StoredEntry]
    """The entries after the prefix."""
    visible: _VisiblePart
    """What the frontier shows of the prefix, if these are the last entries."""
    resources: Mapping[str, Resource]
    """The resources that the entries refer to, by id."""
    last_seq: int
    """The `seq` of the last entry of the window."""
    turn_cache: TurnCache
    """The cache of the turns of the entries."""
    _: KW_ONLY
    is_last: bool
    """True if no entries of the window follow."""
    is_complete: bool
    """False if the size of a stretch has ended the part before the fold."""


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
    """The number of entries by which a prefix is extended, once it lacks twice as many."""
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
        """Load a session without its folded entries; return the result of `render` for it.

        If `render` needs the folded entries, it is called again with the whole session.

        Args:
            project_id: The project.
            session_id: The session.
            options: The options of the rendering.
            frontier: The frontier.
            render: Renders the session; raises `PrefixChangedError` if it needs folded entries.
            up_to: The `seq` of the last entry to load; `None` for the newest one.

        Raises:
            NotFoundError: The project has no such session.
            PayloadTooLargeError: It is too long to be rendered.
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
        """Return a session without its folded entries; `None` if it has to be read whole.

        Args:
            project_id: The project.
            session_id: The session.
            options: The options of the rendering.
            frontier: The frontier.
            up_to: The `seq` of the last entry to load; `None` for the newest one.
            is_long: True if the session is too long to be read at once.
            freezes_turns: See `SessionWindow.freezes_turns`.

        Raises:
            NotFoundError: The project has no such session.
            StoreUnavailableError: A store did not answer.
        """
        is_short = frontier.folded <= 2 * self.stride or options.max_text is not None
        folded = frontier.folded if up_to is None else min(up_to, frontier.folded)
        if is_short and not is_long:
            return None
        request = _Request(
            project_id,
            session_id,
            options.audience,
            frontier,
            folded,
            up_to,
            self.stride,
            freezes_turns=is_long and freezes_turns,
        )
        try:
            if is_long:
                request = await self._fold_long_session(request)
            return await self._window(request)
        except (WholeSessionNeededError, PrefixChangedError, PayloadTooLargeError):
            return None

    async def _fold_long_session(self, request: _Request) -> _Request:
        """Return a request whose prefix ends where the newest entries can be read at once."""

        def find_fold(unit: UnitOfWork) -> int:
            find_start = partial(
                unit[HistorySizes].start_of_newest,
                request.session_id,
                after_seq=request.folded,
                to=request.up_to,
            )
            if find_start(max_bytes=self.max_bytes) == request.folded:
                return request.folded
            return find_start(max_bytes=self.max_bytes // _NEWEST_DIVISOR)

        folded = await self.records.read(request.project_id, find_fold)
        return replace(request, folded=folded, stride=0, is_long=True)

    async def _window(self, request: _Request) -> SessionWindow:
        """Return the window: the entries after the fold, and facts about the entries before it."""
        part = await self._load(request, None)
        factor = 1
        while not part.is_last:
            extended = await self._extend_prefix(request, part)
            factor = 1 if extended is not None else 2 * factor
            # If late changes are ignored, the last prefix depends on `folded`, so it is not cached.
            is_cached = part.key.incarnation and not (request.freezes_turns and part.is_complete)
            if extended is not None and is_cached:
                self.prefixes.put(part.key, request.rendering_key, extended)
            latest = (part.key, extended or part.prefix)
            # A prefix ends at the end of a step. If the stretch has no such end, read a larger one.
            is_last = extended is None and (factor > _MAX_STRETCH_FACTOR or part.is_complete)
            part = await self._load(request, latest, factor=factor, reads_rest=is_last)
        if not part.prefix.seq:
            raise WholeSessionNeededError
        loaded = await self._load_contents(request, part)
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
            prefix=part.prefix,
            passages=part.visible.passages,
            visible={entry.seq: entry for entry in part.visible.entries},
            min_frontier=part.visible.min_frontier,
            freezes_turns=request.freezes_turns,
        )

    async def _load(
        self,
        request: _Request,
        latest: tuple[SessionKey, FoldedPrefix] | None,
        *,
        factor: int = 1,
        reads_rest: bool = False,
    ) -> _Part:
        """Return the entries after the longest prefix that is cached or was just read.

        Args:
            request: The window.
            latest: The prefix that was just read, with its session.
            factor: Multiplies the usual size of a stretch.
            reads_rest: True to read all entries to the end of the window.
        """
        read = partial(
            self._read, request=request, latest=latest, factor=factor, reads_rest=reads_rest
        )
        return await self.records.read_snapshot(request.project_id, read)

    def _read(
        self,
        unit: UnitOfWork,
        request: _Request,
        latest: tuple[SessionKey, FoldedPrefix] | None,
        *,
        factor: int,
        reads_rest: bool,
    ) -> _Part:
        session_id, folded, stride = request.session_id, request.folded, request.stride
        head = require_found(unit[SessionHistory].history_head(session_id), "session")
        key, prefix = self._find_prefix(unit, request, head, latest)
        last_seq = head.last_seq if request.up_to is None else min(request.up_to, head.last_seq)
        is_last = reads_rest or folded - prefix.seq <= 2 * stride
        to_seq = end_seq = last_seq if is_last else folded // max(1, stride) * max(1, stride)
        turn_cache, visible = self.turn_cache, _NOTHING_VISIBLE
        if is_last:
            visible = self._read_visible(unit, request, head, prefix)
        else:
            to_seq = find_stretch_end(
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
        return _Part(
            key,
            prefix,
            entries,
            visible,
            resources,
            last_seq,
            turn_cache,
            is_last=is_last,
            is_complete=to_seq == end_seq,
        )

    def _find_prefix(
        self,
        unit: UnitOfWork,
        request: _Request,
        head: HistoryHead,
        latest: tuple[SessionKey, FoldedPrefix] | None,
    ) -> tuple[SessionKey, FoldedPrefix]:
        """Return the key of the session, and the longer one of the cached prefix and `latest`."""
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
        cached = self.prefixes.find(key, request.rendering_key, up_to=request.folded) or NO_PREFIX
        # If the keys differ, the prompt was changed, or another session has the id by now.
        read = latest[1] if latest is not None and latest[0] == key else NO_PREFIX
        return key, max(cached, read, key=lambda prefix: prefix.seq)

    def _read_visible(
        self, unit: UnitOfWork, request: _Request, head: HistoryHead, prefix: FoldedPrefix
    ) -> _VisiblePart:
        """Return the messages and the steps of a prefix that a frontier shows."""
        index, frontier, min_frontier = prefix.index, request.frontier, NOTHING_EVICTED
        if request.is_long:
            # Messages of the prefix, beside its steps, are folded as well: the oldest ones.
            said_folded = index.find_message_fold(_MAX_MESSAGE_CHARS)
            min_frontier = Frontier(folded=request.folded, said_folded=said_folded)
            said_folded = max(said_folded, frontier.said_folded)
            frontier = frontier.model_copy(update={"said_folded": said_folded})
        pages = index.pages
        pinned = unit[PinnedPageRecords].find_pinned(pages) if pages else ()
        passages = index.passages_at(frontier, pinned)
        messages = [passage for passage in passages if isinstance(passage, PrefixMessage)]
        if not request.is_long and sum(message.chars for message in messages) > _MAX_MESSAGE_CHARS:
            raise PayloadTooLargeError("The messages between folded steps are too long.")
        steps = [passage for passage in passages if isinstance(passage, ReferencedStep)]
        # The newest answer with a pinned page is never evicted, so its step has to be read.
        has_unread_pin = any(
            not step.turns and not step.pages.keys().isdisjoint(pinned) for step in steps
        )
        if has_unread_pin and not request.freezes_turns:
            raise WholeSessionNeededError
        turns = [turn for item in steps for turn in item.turns]
        seqs = {message.seq for message in messages}
        seqs |= {turn.seq for turn in turns if isinstance(turn, RecordedTurn)}
        read = partial(read_entries, unit, request.session_id, head, self.turn_cache)
        entries = [
            entry
            for first, last in _group_consecutive(sorted(seqs))
            for entry in read(after_seq=first - 1, to_seq=last)
        ]
        return _VisiblePart(passages, entries, min_frontier)

    async def _extend_prefix(self, request: _Request, part: _Part) -> FoldedPrefix | None:
        """Return the prefix, extended by entries of a part.

        Returns:
            The longer prefix; `None` if later entries may change the first entry of the part.
        """
        prefix, audience = part.prefix, request.audience
        loaded = await self._load_contents(request, part)

        def extend() -> FoldedPrefix | None:
            sealed = seal_turns(
                loaded.read_unpaired_turns(audience),
                loaded.find_unjoined(audience),
                prefix.pairing_state,
                freezes_turns=request.freezes_turns,
            )
            if sealed is None:
                return None
            entries = [entry for entry in part.entries if entry.seq < sealed.next_seq]
            recorded = {entry.seq: loaded.read_entry_turns(entry, audience) for entry in entries}
            return prefix.extend(sealed, recorded, stored_content_sizes(result_records(entries)))

        return await self.resolver.run(extend, turns=len(part.entries))

    async def _load_contents(self, request: _Request, part: _Part) -> LoadedSession:
        """Return the entries of a part as a session, with their structured contents and links."""
        results = result_records([*part.visible.entries, *part.entries])
        sizes = {**part.prefix.structured_sizes, **stored_content_sizes(results)}
        if sum(sizes.values()) > MAX_STRUCTURED_BYTES and not request.is_long:
            raise WholeSessionNeededError
        project_id = request.project_id
        contents = await read_structured_contents(self.blobs, project_id, results) if sizes else {}
        links = await read_links(self.blobs, project_id, part.resources)
        return LoadedSession(
            request.session_id,
            part.entries,
            part.resources,
            contents,
            part.turn_cache,
            part.last_seq,
            part.key.prompt,
            links,
            is_beginning=not part.prefix.seq,
        )


def _group_consecutive(seqs: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last number of each run of consecutive numbers."""
    # Within a run, the difference between a number and its index is constant.
    for _, run in groupby(enumerate(seqs), key=lambda item: item[1] - item[0]):
        numbers = [seq for _, seq in run]
        yield numbers[0], numbers[-1]
