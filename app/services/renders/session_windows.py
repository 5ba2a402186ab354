"""Windows of sessions: the entries that a frontier shows, and facts about the folded ones.

If a budget has folded old steps of a session, its rendering has one message instead of them, which
only counts them. These counts are cached (see `prefix_cache`), so the folded entries are not read.
A window has the messages between the folded steps, and all entries after them. Its rendering is
byte for byte that of the whole session.

A session that is too long to be read at once is rendered in the same way. Everything before its
newest 4 MiB is folded first: these entries are read in stretches, only to count them. A budget is
smaller than 4 MiB, so the frontier then moves on to the position that it would have if all entries
had been read.
"""

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import TypeVar

from app.models.message import StoredEntry, StoredMessage
from app.services.renders.loaded_sessions import LoadedSession, find_referenced_ids
from app.services.renders.prefix_cache import PrefixCache, RenderedAs, SessionKey
from app.services.renders.prompt_turns import prompt_turns
from app.services.renders.session_entries import (
    MAX_TEXT_BYTES,
    load_session,
    read_entries,
    stretch_end,
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
    PrefixFacts,
    PrefixMessage,
    PrefixPassage,
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
"""Of a session above the limit, the newest entries are read, up to the limit divided by this."""
_MAX_MESSAGE_CHARS = MAX_TEXT_BYTES // 4
"""The limit of characters in the messages between folded steps."""
_MAX_STRETCH_FACTOR = 8
"""The largest stretch of entries that is read at once, as a multiple of the usual one."""


class _NeedsWholeSessionError(Exception):
    """The session cannot be rendered without its folded entries."""


@dataclass(frozen=True, slots=True)
class SessionWindow(LoadedSession):
    """A session with the facts of a folded prefix; `entries` has the entries after it."""

    prefix: FoldedPrefix = NO_PREFIX
    """The prefix, as its facts."""
    passages: Sequence[PrefixPassage] = ()
    """The passages of the prefix for the frontier."""
    visible: Mapping[int, StoredEntry] = field(default_factory=dict)
    """The entries of messages and steps of the prefix that the frontier shows, by `seq`."""
    min_frontier: Frontier = NOTHING_EVICTED
    """The levels that make the session short enough to be read."""
    freezes_turns: bool = False
    """True if later entries do not change the prefix."""

    @property
    def prefix_facts(self) -> PrefixFacts:
        """The facts of the runs of steps in the prefix."""
        return self.prefix.facts(self.passages)

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

    def turns(
        self, *, audience: Audience, pinned_results: Collection[int] = ()
    ) -> Sequence[ComposedTurn]:
        """Return the history as a conversation, with one step for each run of folded ones.

        Raises:
            PrefixChangedError: An entry after the prefix changes it.
        """
        recorded = {seq: self.turns_of(entry, audience) for seq, entry in self.visible.items()}
        turns = self.prefix.turns(
            self.passages,
            recorded,
            self.unpaired(audience),
            pinned_results,
            freezes_turns=self.freezes_turns,
        )
        if self.prompt is None:
            return turns
        return [*prompt_turns(self.prompt, origin=f"/api/sessions/{self.session_id}"), *turns]


@dataclass(frozen=True, slots=True)
class _Request:
    """A session, a frontier, and the part of the session that it folds."""

    project_id: str
    session_id: str
    audience: Audience
    frontier: Frontier
    folded: int
    """The `seq` up to which only facts of the entries are read."""
    up_to: int | None
    stride: int
    _: KW_ONLY
    is_long: bool = False
    """True if the session is too long to be read at once."""
    freezes_turns: bool = False
    """True if later entries do not change the entries before the fold."""

    @property
    def rendered_as(self) -> RenderedAs:
        """The key of its prefixes in the cache."""
        return "settled folds" if self.freezes_turns else "folds", RenderOptions()


@dataclass(frozen=True, slots=True)
class _VisiblePart:
    """The passages of a prefix that a frontier shows."""

    passages: Sequence[PrefixPassage] = ()
    entries: Sequence[StoredEntry] = ()
    """The entries of the messages and of the referenced steps among them."""
    min_frontier: Frontier = NOTHING_EVICTED
    """The levels that make the session short enough to be read."""


_NOTHING_VISIBLE = _VisiblePart()


@dataclass(frozen=True, slots=True)
class _Part:
    """Entries of a session after a prefix."""

    key: SessionKey
    prefix: FoldedPrefix
    entries: Sequence[StoredEntry]
    visible: _VisiblePart
    resources: Mapping[str, Resource]
    last_seq: int
    turn_cache: TurnCache
    _: KW_ONLY
    is_last: bool
    """True if these are the last entries."""
    is_all: bool
    """True if these are all entries that a prefix may have."""


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
    """The step in entries by which a prefix is extended, once it is two steps too short."""
    prefixes: PrefixCache[FoldedPrefix] = field(default_factory=PrefixCache)
    """Caches the facts of prefixes."""
    max_bytes: int = MAX_TEXT_BYTES
    """The size above which a session is too long to be read at once."""

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
        """Load a session without its folded entries, and return the result of a function of it.

        If the function needs the folded entries, it is called again with the whole session.

        Args:
            project_id: The project.
            session_id: The session.
            options: The options of the rendering.
            frontier: The frontier.
            render: The function; raises `PrefixChangedError` if it needs the folded entries.
            up_to: The last entry of an earlier state of the session.

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
        del loaded
        await self.resolver.free(sequences, turns=turns)
        return result

    async def load_whole(
        self, project_id: str, session_id: str, *, up_to: int | None = None
    ) -> LoadedSession:
        """Return all of a session, or all up to an entry; see `load_and_render` for errors."""
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
            up_to: The last entry of an earlier state of the session.
            is_long: True if the session is too long to be read at once.
            freezes_turns: True to render it even if entries after the fold would change those
                before it.

        Raises:
            NotFoundError: The project has no such session.
            StoreUnavailableError: A store did not answer.
        """
        is_short = frontier.folded <= 2 * self.stride or options.max_text is not None
        folded = frontier.folded if up_to is None else min(up_to, frontier.folded)
        request = _Request(
            *(project_id, session_id, options.audience, frontier, folded, up_to, self.stride)
        )
        if is_short and not is_long:
            return None
        try:
            if is_long:
                request = replace(await self._fold(request), freezes_turns=freezes_turns)
            return await self._window(request)
        except (_NeedsWholeSessionError, PrefixChangedError, PayloadTooLargeError):
            return None

    async def _fold(self, request: _Request) -> _Request:
        """Return a request for the newest entries that can be read at once."""

        def find(unit: UnitOfWork) -> int:
            start = partial(
                unit[HistorySizes].start_of_newest,
                request.session_id,
                after_seq=request.folded,
                to=request.up_to,
            )
            is_short = start(max_bytes=self.max_bytes) == request.folded
            return (
                request.folded if is_short else start(max_bytes=self.max_bytes // _NEWEST_DIVISOR)
            )

        folded = await self.records.read(request.project_id, find)
        return replace(request, folded=folded, stride=0, is_long=True)

    async def _window(self, request: _Request) -> SessionWindow:
        """Read the entries after the fold, and the facts about the entries before it."""
        part = await self._load(request, None)
        factor = 1
        while not part.is_last:
            extended = await self._extend_prefix(request, part)
            factor = 1 if extended is not None else 2 * factor
            # A prefix with frozen turns depends on the end of its stretch, so the last one is not
            # cached.
            is_cached = part.key.incarnation and not (request.freezes_turns and part.is_all)
            if extended is not None and is_cached:
                self.prefixes.put(part.key, request.rendered_as, extended)
            latest = (part.key, extended or part.prefix)
            # If no step ends within a stretch, read a larger one.
            is_last = extended is None and (factor > _MAX_STRETCH_FACTOR or part.is_all)
            part = await self._load(request, latest, factor=factor, reads_rest=is_last)
        if not part.prefix.seq:
            raise _NeedsWholeSessionError
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
            to_seq = stretch_end(
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
            raise _NeedsWholeSessionError
        return _Part(
            *(key, prefix, entries, visible, resources, last_seq, turn_cache),
            is_last=is_last,
            is_all=to_seq == end_seq,
        )

    def _find_prefix(
        self,
        unit: UnitOfWork,
        request: _Request,
        head: HistoryHead,
        latest: tuple[SessionKey, FoldedPrefix] | None,
    ) -> tuple[SessionKey, FoldedPrefix]:
        """Return the longer prefix of the cached one and the latest one, which was just read."""
        if head.incarnation is None and not request.is_long:
            # A session of an older version has no incarnation, which would distinguish it from a
            # later session of the same name.
            raise _NeedsWholeSessionError
        prompt = unit[SessionPromptRecords].find(request.session_id)
        key = SessionKey(
            *(request.project_id, request.session_id, head.incarnation or "", request.audience),
            prompt.prompt if prompt else None,
        )
        cached = self.prefixes.find(key, request.rendered_as, up_to=request.folded) or NO_PREFIX
        read = latest[1] if latest is not None and latest[0] == key else NO_PREFIX
        return key, max(cached, read, key=lambda item: item.seq)

    def _read_visible(
        self, unit: UnitOfWork, request: _Request, head: HistoryHead, prefix: FoldedPrefix
    ) -> _VisiblePart:
        """Read the messages and the steps of a prefix that a frontier shows."""
        index, frontier, min_frontier = prefix.index, request.frontier, NOTHING_EVICTED
        if request.is_long:
            said_folded = index.find_message_fold(_MAX_MESSAGE_CHARS)
            min_frontier = Frontier(folded=request.folded, said_folded=said_folded)
            said_folded = max(said_folded, frontier.said_folded)
            frontier = frontier.model_copy(update={"said_folded": said_folded})
        pages = index.pages
        pinned = unit[PinnedPageRecords].among(pages) if pages else ()
        passages = index.passages_at(frontier, pinned)
        messages = [passage for passage in passages if isinstance(passage, PrefixMessage)]
        if not request.is_long and sum(message.chars for message in messages) > _MAX_MESSAGE_CHARS:
            raise PayloadTooLargeError("The messages between folded steps are too long.")
        steps = [passage for passage in passages if isinstance(passage, ReferencedStep)]
        if not request.freezes_turns and any(
            not item.turns and not item.pages.keys().isdisjoint(pinned) for item in steps
        ):
            # The newest answer that contains a pinned page is never evicted.
            raise _NeedsWholeSessionError
        turns = [turn for item in steps for turn in item.turns]
        seqs = {message.seq for message in messages}
        seqs |= {turn.seq for turn in turns if isinstance(turn, RecordedTurn)}
        read = partial(read_entries, unit, request.session_id, head, self.turn_cache)
        ranges = _ranges(sorted(seqs))
        entries = [
            item for first, last in ranges for item in read(after_seq=first - 1, to_seq=last)
        ]
        return _VisiblePart(passages, entries, min_frontier)

    async def _extend_prefix(self, request: _Request, part: _Part) -> FoldedPrefix | None:
        """Return an extended prefix; `None` if no further entries are final."""
        prefix, audience = part.prefix, request.audience
        loaded = await self._load_contents(request, part)

        def extend() -> FoldedPrefix | None:
            unjoined = loaded.find_unjoined(audience)
            sealed = seal_turns(
                loaded.unpaired(audience),
                unjoined,
                prefix.paired,
                freezes_turns=request.freezes_turns,
            )
            if sealed is None:
                return None
            entries = [entry for entry in part.entries if entry.seq < sealed.next_seq]
            recorded = {entry.seq: loaded.turns_of(entry, audience) for entry in entries}
            return prefix.extend(sealed, recorded, stored_content_sizes(_records(entries)))

        return await self.resolver.run(extend, turns=len(part.entries))

    async def _load_contents(self, request: _Request, part: _Part) -> LoadedSession:
        results = _records([*part.visible.entries, *part.entries])
        sizes = {**part.prefix.apart, **stored_content_sizes(results)}
        if sum(sizes.values()) > MAX_STRUCTURED_BYTES and not request.is_long:
            raise _NeedsWholeSessionError
        project_id = request.project_id
        contents = await read_structured_contents(self.blobs, project_id, results) if sizes else {}
        links = await read_links(self.blobs, project_id, part.resources)
        return LoadedSession(
            *(request.session_id, part.entries, part.resources, contents, part.turn_cache),
            *(part.last_seq, part.key.prompt, links),
            is_beginning=not part.prefix.seq,
        )


def _ranges(seqs: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of each run of consecutive numbers."""
    for _, run in groupby(enumerate(seqs), key=lambda seq: seq[1] - seq[0]):
        numbers = [seq for _, seq in run]
        yield numbers[0], numbers[-1]


def _records(entries: Sequence[StoredEntry]) -> Sequence[bytes]:
    return [entry.sanitized for entry in entries if isinstance(entry, StoredMessage)]
