"""Sessions that were loaded to be rendered: entries, and the resources to which they refer.

`LoadedSession` reads the entries as turns. `session_entries.py` and `session_windows.py` load
sessions; `load_entry` loads a single entry.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from app.errors import NotFoundError
from app.models.message import StoredEntry, StoredHistoryMessage, StoredMessage
from app.models.stored_interaction import StoredAnswer, StoredInteraction
from app.services.calls.stored_message_turns import read_message_turns
from app.services.renders.interaction_turns import (
    find_attached_ids,
    read_answer_turn,
    read_interaction_turns,
)
from app.services.renders.prompt_turns import (
    read_prompt_model,
    read_prompt_turns,
    replace_system_turns,
)
from app.services.renders.structured_contents import read_structured_contents
from app.services.renders.turn_cache import TurnCache
from app.services.resources.link_files import read_links
from app.stores.blobs.store import BlobStore
from app.stores.records.history import SessionHistory
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.context.prefix_index import EMPTY_PREFIX_SUMMARY, PrefixSummary
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.messages.entry_reading import join_turns
from pagefault_dialects.messages.message_content import ContentReader
from pagefault_dialects.model.conversation import ComposedTurn
from pagefault_dialects.model.frontier import Frontier
from pagefault_dialects.model.render_options import Audience, RenderOptions
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.turns.pairing import pair_calls
from pagefault_dialects.turns.record_turns import find_structured_resource, make_tool_result_turn


@dataclass(frozen=True, slots=True)
class LoadedSession:
    """Entries of a session, with everything that their turns need.

    A `SessionWindow`, a subclass, has no folded entries, and overrides some of the methods.
    """

    session_id: str
    entries: Sequence[StoredEntry]
    """The entries in order of `seq`."""
    resources: Mapping[str, Resource]
    """The resources that the entries refer to, by id."""
    structured_contents: Mapping[str, JsonValue]
    """The structured contents that are stored as resources, by digest."""
    turn_cache: TurnCache
    """The cache of the turns of entries."""
    last_seq: int = 0
    """The `seq` of the newest entry of the session."""
    prompt: bytes | None = None
    """The members of a model request that are not messages, as a JSON object."""
    links: Mapping[str, str] = field(default_factory=dict)
    """The URLs in link files, by resource id."""
    derived: list[Sequence[object]] = field(default_factory=list, compare=False, repr=False)
    """Objects that were made from the entries, to be freed with them by `TurnResolver.free`."""
    is_beginning: bool = True
    """True if the first of the entries is the first entry of the session."""

    @property
    def prefix_summary(self) -> PrefixSummary:
        """The counts of folded steps that were not read; empty, because all entries are loaded."""
        return EMPTY_PREFIX_SUMMARY

    @property
    def orphans(self) -> Sequence[int]:
        """The `seq` of results without a recorded call among entries that were not read; empty."""
        return ()

    def clamp_frontier(self, frontier: Frontier) -> Frontier:
        """Return a frontier at which the session can be rendered: here `frontier` itself."""
        return frontier

    def with_model(self, options: RenderOptions) -> RenderOptions:
        """Return the options with the model that the prompt names, unless they name a model."""
        if options.model is not None or self.prompt is None:
            return options
        return replace(options, model=read_prompt_model(self.prompt))

    def pair_turns(
        self, *, audience: Audience, pinned_results: Collection[int] = ()
    ) -> Sequence[ComposedTurn]:
        """Return the turns of the history, with each result after its call.

        If no call was recorded for a result, a call is added.

        Args:
            audience: The reader of the turns. Blocks for other readers are left out.
            pinned_results: The `seq` of results that keep an added call, because an earlier
                rendering had one, even if the real call is in the history by now.
        """
        turns = self.read_unpaired_turns(audience)
        return pair_calls(turns, pinned_results=pinned_results)

    def read_unpaired_turns(self, audience: Audience) -> Sequence[ComposedTurn]:
        """Return the turns of the history in the order in which they were recorded.

        A turn that continues the turn before it is joined to that turn.
        """
        turns = (turn for entry in self.entries for turn in self.read_entry_turns(entry, audience))
        joined = join_turns((turn, turn.continues_turn) for turn in turns)
        if self.prompt is None or not self.is_beginning:
            return joined
        origin = f"/api/sessions/{self.session_id}"
        return replace_system_turns(read_prompt_turns(self.prompt, origin=origin), joined)

    def find_unjoined(self, audience: Audience) -> set[int]:
        """Return the `seq` of the entries whose first turn does not continue the turn before it."""
        entries = ((entry.seq, self.read_entry_turns(entry, audience)) for entry in self.entries)
        return {seq for seq, turns in entries if turns and not turns[0].continues_turn}

    def read_first_entry_turns(self, audience: Audience) -> Sequence[ComposedTurn]:
        """Return the turns of the first entry, for a session that `load_entry` has returned."""
        return self.read_entry_turns(self.entries[0], audience)

    def read_entry_turns(self, entry: StoredEntry, audience: Audience) -> Sequence[ComposedTurn]:
        """Return the turns of an entry. If a message has tool results, their turns are first."""
        origin = f"/api/sessions/{self.session_id}/messages/{entry.seq}"
        read_items = ContentReader(self.resources, audience).read_unsearched
        match entry:
            case StoredMessage() if find_structured_resource(entry.sanitized) is not None:
                # The resource with the structured content may be deleted before the next rendering,
                # so these turns are not cached.
                return self._read_result_turns(entry, audience, origin)
            case StoredMessage():
                read = partial(self._read_result_turns, entry, audience, origin)
                return self.turn_cache.turns(entry, {}, read, origin=origin, audience=audience)
            case StoredHistoryMessage():
                resources = self.resources
                read_message = partial(
                    read_message_turns, entry, resources, audience=audience, origin=origin
                )
                return self.turn_cache.turns(
                    entry, resources, read_message, origin=origin, audience=audience
                )
            case StoredInteraction():
                return read_interaction_turns(
                    entry, self.resources, origin=origin, read=read_items, links=self.links
                )
            case StoredAnswer():
                return [read_answer_turn(entry, origin=origin, read=read_items)]

    def _read_result_turns(
        self, entry: StoredMessage, audience: Audience, origin: str
    ) -> Sequence[ComposedTurn]:
        turn = make_tool_result_turn(
            entry.sanitized,
            origin=origin,
            audience=audience,
            seq=entry.seq,
            structured_contents=self.structured_contents,
        )
        is_stored_alone = entry.is_apart is not False
        return [replace(turn, answer_number=entry.answer_number, is_stored_alone=is_stored_alone)]


async def load_entry(
    records: Records, blobs: BlobStore, project_id: str, session_id: str, seq: int
) -> LoadedSession:
    """Load one entry of a history.

    Returns:
        A session that has only this entry.

    Raises:
        NotFoundError: The project has no such entry.
        StoreUnavailableError: A store did not answer.
    """
    turn_cache = TurnCache()

    def read(unit: UnitOfWork) -> tuple[Sequence[StoredEntry], Mapping[str, Resource]]:
        entries = unit[SessionHistory].entries(session_id, after_seq=seq - 1, limit=1)
        if not entries or entries[0].seq != seq:
            raise NotFoundError("entry")
        return entries, unit[ResourceRecords].find_in_session(
            find_referenced_ids(entries, turn_cache), session_id
        )

    entries, resources = await records.read(project_id, read)
    structured = await read_structured_contents(blobs, project_id, result_records(entries))
    links = await read_links(blobs, project_id, resources)
    return LoadedSession(session_id, entries, resources, structured, turn_cache, links=links)


def find_referenced_ids(entries: Sequence[StoredEntry], turn_cache: TurnCache) -> set[str]:
    """Return the ids of the resources to which messages and interactions refer.

    A model or a tool may have written the id of a resource of another session, which must not be
    shown. So load the resources with `find_in_session`, which leaves such resources out.
    """
    ids: set[str] = set()
    for entry in entries:
        if isinstance(entry, StoredHistoryMessage):
            ids |= turn_cache.referenced_ids(entry)
        elif isinstance(entry, StoredInteraction):
            ids |= find_attached_ids(entry)
    return ids


def result_records(entries: Iterable[StoredEntry]) -> Sequence[bytes]:
    """Return the records of those entries that are tool results, as JSON."""
    return [entry.sanitized for entry in entries if isinstance(entry, StoredMessage)]


def entry_size_bytes(entry: StoredEntry) -> int:
    """Return the stored size of an entry, without its media."""
    match entry:
        case StoredMessage():
            return len(entry.sanitized)
        case StoredHistoryMessage():
            return len(entry.message)
        case StoredInteraction():
            return len(entry.input) + len(entry.output or b"")
        case StoredAnswer():
            return len(entry.output)
