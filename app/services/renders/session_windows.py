"""Windows of sessions: the entries that a frontier shows, and facts of the folded ones.

A rendering within a budget has one message for the folded steps. Their counts are cached (see
`prefix_cache`), so their entries are not read. A window has the messages between these steps and
all entries behind them. Its rendering is byte for byte that of the whole session.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Self

from app.models.message import StoredEntry, StoredMessage
from app.services.renders.loaded_sessions import LoadedSession, read_entries, referred
from app.services.renders.prefix_cache import PrefixCache, SessionKey
from app.services.renders.prompt_turns import prompt_turns
from app.services.renders.structured_contents import MAX_APART_BYTES, kept_sizes, read_apart
from app.services.renders.turn_cache import TurnCache
from app.services.renders.turn_resolver import TurnResolver
from app.services.requests.validation import require_found
from app.stores.blobs.store import BlobStore
from app.stores.records.history import SessionHistory
from app.stores.records.pinned_pages import PinnedPageRecords
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.session_prompts import SessionPromptRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.context.folded_fronts import (
    FoldedFront,
    FoldedRun,
    FrontFacts,
    FrontPassage,
    SaidEntry,
    run_turns,
)
from pagefault_dialects.model.conversation import ComposedTurn
from pagefault_dialects.model.frontier import Frontier
from pagefault_dialects.model.render_options import Audience, RenderOptions
from pagefault_dialects.model.resource import LINK_TYPE, Resource
from pagefault_dialects.turns.answered_turns import PrefixChangedError
from pagefault_dialects.turns.pairing import PairedPrefix, Pairing, orphans_in
from pagefault_dialects.turns.sealed_turns import seal_turns

_ENTRIES_AT_ONCE = 1_000
_FOLDS = ("folds", RenderOptions())


class _WholeNeededError(Exception):
    """The session cannot be rendered without its folded entries."""


@dataclass(frozen=True, slots=True)
class WindowPrefix:
    """The facts of a final prefix, for frontiers that have folded its steps."""

    seq: int
    """The `seq` of its last entry."""
    paired: PairedPrefix
    """The state of pairing calls and answers."""
    front: FoldedFront
    """Counts of its steps, and the places of other messages."""
    orphans: tuple[int, ...]
    """The `seq` of its answers that have an added call."""
    apart: Mapping[str, int]
    """The sizes of structured contents that are stored as resources, by digest."""
    number: int = 1
    """Its place among the prefixes of its session, from 1."""

    @property
    def fact_count(self) -> int:
        """The number of facts besides those of calls."""
        front = self.front
        return len(front.passages) + len(front.recalled) + len(self.orphans) + len(self.apart)

    def with_paired(self, paired: PairedPrefix) -> Self:
        """Return a copy with equal facts of calls, which it shares with other prefixes."""
        return replace(self, paired=paired)


_NOTHING = WindowPrefix(0, PairedPrefix(), FoldedFront(), (), {}, 0)


@dataclass(frozen=True, slots=True)
class SessionWindow(LoadedSession):
    """A session with the facts of a folded prefix; `entries` are those behind it."""

    prefix: WindowPrefix = _NOTHING
    """The facts."""
    passages: Sequence[FrontPassage] = ()
    """The passages of the prefix for the frontier."""
    messages: Mapping[int, StoredEntry] = field(default_factory=dict)
    """The messages between its steps that the frontier shows, by `seq`."""

    @property
    def front(self) -> FrontFacts:
        """The facts of the runs of steps in the prefix."""
        runs = {
            run_turns(passage, number)[0].calls[0].call_id: passage.summary
            for number, passage in enumerate(self.passages)
            if isinstance(passage, FoldedRun)
        }
        return FrontFacts(runs, self.prefix.front.recalled)

    @property
    def orphans(self) -> Sequence[int]:
        """The `seq` of answers in the prefix that have an added call."""
        return self.prefix.orphans

    def turns(self, *, audience: Audience, kept: Collection[int] = ()) -> Sequence[ComposedTurn]:
        """Return the history as a conversation, with one step for each run of folded ones.

        Raises:
            PrefixChangedError: An entry behind the prefix changes it.
        """
        if not {item for item in kept if item <= self.prefix.seq} <= {*self.prefix.orphans}:
            raise PrefixChangedError
        pairing = Pairing(kept, self.prefix.paired)
        for turn in self.unpaired(audience):
            pairing.add(turn)
        following = pairing.turns()
        late = [item.late_for for item in following if item.late_for is not None]
        has_step = sum(bool(item.calls) for item in following) > len(late)
        if not has_step or any(item <= self.prefix.seq for item in late):
            # The newest step is not folded, and a late answer names the step of its call.
            raise PrefixChangedError
        return [*self._front_turns(audience), *following]

    def _front_turns(self, audience: Audience) -> Sequence[ComposedTurn]:
        origin = f"/api/sessions/{self.session_id}"
        turns = [*prompt_turns(self.prompt, origin=origin)] if self.prompt is not None else []
        for number, passage in enumerate(self.passages):
            if isinstance(passage, SaidEntry):
                turns.append(self.turns_of(self.messages[passage.seq], audience)[passage.index])
            else:
                turns += run_turns(passage, number)
        return turns


@dataclass(frozen=True, slots=True)
class _Request:
    """A session and a frontier."""

    project_id: str
    session_id: str
    audience: Audience
    frontier: Frontier


@dataclass(frozen=True, slots=True)
class _Part:
    """Entries of a session behind a cached prefix."""

    key: SessionKey
    prefix: WindowPrefix
    entries: Sequence[StoredEntry]
    messages: Sequence[StoredEntry]
    """The messages in the prefix that the frontier shows."""
    resources: Mapping[str, Resource]
    last_seq: int
    _: KW_ONLY
    is_last: bool
    """True if these are the last entries."""


@dataclass(frozen=True, slots=True, eq=False)
class SessionWindows:
    """Loads windows of sessions."""

    records: Records
    """Reads sessions."""
    blobs: BlobStore
    """Reads structured contents."""
    resolver: TurnResolver
    """Runs pure functions in threads."""
    known: TurnCache
    """Caches entries and their turns."""
    stride: int = 32
    """The number of folded entries behind a prefix from which on it is extended."""
    prefixes: PrefixCache[WindowPrefix] = field(default_factory=PrefixCache)
    """Caches the facts of prefixes."""

    async def load(
        self, project_id: str, session_id: str, options: RenderOptions, frontier: Frontier
    ) -> LoadedSession | None:
        """Return a session without its folded entries; `None` if it has to be read whole.

        Raises:
            NotFoundError: The project has no such session.
            PayloadTooLargeError: The entries behind the fold are too long to be rendered at once.
            StoreUnavailableError: A store did not answer.
        """
        if frontier.folded <= 2 * self.stride or options.max_text is not None:
            return None
        request = _Request(project_id, session_id, options.audience, frontier)
        try:
            part = await self._load(request)
            while not part.is_last:
                further = await self._advance(request, part)
                if further is not None:
                    self.prefixes.put(part.key, _FOLDS, further)
                part = await self._load(request, reads_rest=further is None)
                if further is not None and part.prefix.seq < further.seq:
                    # It was evicted from the cache, or has no room in it.
                    raise _WholeNeededError
            return await self._window(request, part)
        except (_WholeNeededError, PrefixChangedError):
            return None

    async def _load(self, request: _Request, *, reads_rest: bool = False) -> _Part:
        read = partial(self._read, request=request, reads_rest=reads_rest)
        return await self.records.read_snapshot(request.project_id, read)

    def _read(self, unit: UnitOfWork, request: _Request, *, reads_rest: bool) -> _Part:
        session_id, folded = request.session_id, request.frontier.folded
        head = require_found(unit[SessionHistory].history_head(session_id), "session")
        if head.incarnation is None:
            # Sessions of older versions have none, so a new session of this name looks the same.
            raise _WholeNeededError
        found = unit[SessionPromptRecords].find(session_id)
        key = SessionKey(
            *(request.project_id, session_id, head.incarnation, request.audience),
            found.prompt if found else None,
        )
        prefix = self.prefixes.find(key, _FOLDS, up_to=folded) or _NOTHING
        is_last = reads_rest or folded - prefix.seq <= 2 * self.stride
        ends = (folded // self.stride) * self.stride
        to_seq = head.last_seq if is_last else min(ends, prefix.seq + _ENTRIES_AT_ONCE)
        entries = read_entries(
            unit, session_id, head, self.known, after_seq=prefix.seq, to_seq=to_seq
        )
        messages = _read_messages(unit, request, prefix) if is_last else []
        resource_ids = referred([*entries, *messages], self.known)
        resources = unit[ResourceRecords].find_in_session(resource_ids, session_id)
        if any(resource.mime_type == LINK_TYPE for resource in resources.values()):
            raise _WholeNeededError
        return _Part(key, prefix, entries, messages, resources, head.last_seq, is_last=is_last)

    async def _advance(self, request: _Request, part: _Part) -> WindowPrefix | None:
        """Return an extended prefix; `None` if no further entries are final."""
        prefix, audience = part.prefix, request.audience
        loaded = await self._loaded(request, part)

        def advance() -> WindowPrefix | None:
            begins = loaded.begins(audience)
            sealed = seal_turns(loaded.unpaired(audience), begins, prefix.paired)
            if sealed is None:
                return None
            entries = [entry for entry in part.entries if entry.seq < sealed.next_seq]
            recorded = {entry.seq: loaded.turns_of(entry, audience) for entry in entries}
            front = prefix.front.grown(sealed.turns, recorded)
            if front is None:
                raise _WholeNeededError
            return WindowPrefix(
                *(entries[-1].seq, sealed.paired, front),
                (*prefix.orphans, *orphans_in(sealed.turns)),
                {**prefix.apart, **kept_sizes(_results(entries))},
                prefix.number + 1,
            )

        return await self.resolver.run(advance, turns=len(part.entries))

    async def _window(self, request: _Request, part: _Part) -> SessionWindow:
        if not part.prefix.seq:
            raise _WholeNeededError
        loaded = await self._loaded(request, part)
        return SessionWindow(
            *(loaded.session_id, loaded.entries, loaded.resources, loaded.apart, loaded.known),
            *(loaded.last_seq, loaded.prompt),
            is_beginning=False,
            prefix=part.prefix,
            passages=part.prefix.front.passages_at(request.frontier),
            messages={message.seq: message for message in part.messages},
        )

    async def _loaded(self, request: _Request, part: _Part) -> LoadedSession:
        results = _results(part.entries)
        apart = {**part.prefix.apart, **kept_sizes(results)}
        if sum(apart.values()) > MAX_APART_BYTES:
            raise _WholeNeededError
        values = await read_apart(self.blobs, request.project_id, results) if apart else {}
        return LoadedSession(
            *(request.session_id, part.entries, part.resources, values, self.known),
            *(part.last_seq, part.key.prompt),
            is_beginning=not part.prefix.seq,
        )


def _read_messages(
    unit: UnitOfWork, request: _Request, prefix: WindowPrefix
) -> Sequence[StoredEntry]:
    """Read the messages in a prefix that a frontier shows."""
    pages = prefix.front.pages
    if pages and unit[PinnedPageRecords].among(pages):
        # The newest showing of a pinned page is never evicted, and may be in the prefix.
        raise _WholeNeededError
    passages = prefix.front.passages_at(request.frontier)
    seqs = {passage.seq for passage in passages if isinstance(passage, SaidEntry)}
    history = unit[SessionHistory]
    found = (
        history.entries(request.session_id, after_seq=seq - 1, limit=1) for seq in sorted(seqs)
    )
    return [entry for entries in found for entry in entries]


def _results(entries: Sequence[StoredEntry]) -> Sequence[bytes]:
    return [entry.sanitized for entry in entries if isinstance(entry, StoredMessage)]
