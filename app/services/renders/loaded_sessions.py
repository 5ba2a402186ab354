"""Sessions that are loaded to be rendered, with their resources and structured contents."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from app.errors import NotFoundError
from app.models.message import StoredEntry, StoredHistoryMessage, StoredMessage
from app.models.stored_interaction import StoredAnswer, StoredInteraction
from app.services.calls.stored_message_turns import stored_message_turns
from app.services.renders.interaction_turns import answer_turn, attached_ids, interaction_turns
from app.services.renders.prompt_turns import prompt_model, prompt_turns, with_prompt
from app.services.renders.structured_contents import read_structured_contents
from app.services.renders.turn_cache import TurnCache
from app.services.resources.link_files import read_links
from app.stores.blobs.store import BlobStore
from app.stores.records.history import SessionHistory
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.context.prefix_index import NO_PREFIX_FACTS, PrefixFacts
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.messages.entry_reading import join_turns
from pagefault_dialects.messages.message_content import ContentReading
from pagefault_dialects.model.conversation import ComposedTurn
from pagefault_dialects.model.frontier import Frontier
from pagefault_dialects.model.render_options import Audience, RenderOptions
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.turns.pairing import pair_calls
from pagefault_dialects.turns.record_turns import find_structured_resource, tool_result_turn


@dataclass(frozen=True, slots=True)
class LoadedSession:
    """Entries of a session, loaded to be rendered, with everything that they refer to."""

    session_id: str
    entries: Sequence[StoredEntry]
    resources: Mapping[str, Resource]
    structured_contents: Mapping[str, JsonValue]
    """The structured contents that are stored as resources, by digest."""
    turn_cache: TurnCache
    """The cache of the turns of entries."""
    last_seq: int = 0
    """The `seq` of the newest entry of the session."""
    prompt: bytes | None = None
    """The members of a request beside its messages, as a JSON object."""
    links: Mapping[str, str] = field(default_factory=dict)
    """The addresses in link files, by resource id."""
    derived: list[Sequence[object]] = field(default_factory=list, compare=False, repr=False)
    """Objects made of the entries, to be freed with them."""
    is_beginning: bool = True
    """True if the first entry is the first one of the session."""

    @property
    def prefix_facts(self) -> PrefixFacts:
        """The facts of folded steps that were not read: none."""
        return NO_PREFIX_FACTS

    @property
    def orphans(self) -> Sequence[int]:
        """The `seq` of answers before the entries that have an added call: none."""
        return ()

    def clamp_frontier(self, frontier: Frontier) -> Frontier:
        """Return a frontier, moved on if the session cannot be read from it: unchanged."""
        return frontier

    def with_model(self, options: RenderOptions) -> RenderOptions:
        """Return options with the model of the prompt, unless they have one."""
        if options.model is not None or self.prompt is None:
            return options
        return replace(options, model=prompt_model(self.prompt))

    def turns(
        self, *, audience: Audience, pinned_results: Collection[int] = ()
    ) -> Sequence[ComposedTurn]:
        """Return the history as a conversation with paired calls and answers.

        Results whose `seq` is in `pinned_results` stay after the calls that were added for them.
        """
        return pair_calls(self.unpaired(audience), pinned_results=pinned_results)

    def unpaired(self, audience: Audience) -> Sequence[ComposedTurn]:
        """Return the turns of the history as they were recorded, with joined items."""
        turns = (turn for entry in self.entries for turn in self.turns_of(entry, audience))
        joined = join_turns((turn, turn.joins) for turn in turns)
        if self.prompt is None or not self.is_beginning:
            return joined
        origin = f"/api/sessions/{self.session_id}"
        return with_prompt(prompt_turns(self.prompt, origin=origin), joined)

    def find_unjoined(self, audience: Audience) -> set[int]:
        """Return the `seq` of the entries whose first turn is not joined to the one before."""
        turns = ((entry.seq, self.turns_of(entry, audience)) for entry in self.entries)
        return {seq for seq, read in turns if read and not read[0].joins}

    def turns_of_only_entry(self, audience: Audience) -> Sequence[ComposedTurn]:
        """Return the turns of a session that was loaded with one entry."""
        return self.turns_of(self.entries[0], audience)

    def turns_of(self, entry: StoredEntry, audience: Audience) -> Sequence[ComposedTurn]:
        """Return the turns of an entry, its answers to calls first."""
        origin = f"/api/sessions/{self.session_id}/messages/{entry.seq}"
        raw = ContentReading(self.resources, audience).raw
        match entry:
            case StoredMessage() if find_structured_resource(entry.sanitized) is not None:
                # Content that is stored as a resource may be missing in the next rendering.
                return self._result_turns(entry, audience, origin)
            case StoredMessage():
                read = partial(self._result_turns, entry, audience, origin)
                return self.turn_cache.turns(entry, {}, read, origin=origin, audience=audience)
            case StoredHistoryMessage():
                resources = self.resources
                read_message = partial(
                    stored_message_turns, entry, resources, audience=audience, origin=origin
                )
                return self.turn_cache.turns(
                    entry, resources, read_message, origin=origin, audience=audience
                )
            case StoredInteraction():
                return interaction_turns(
                    entry, self.resources, origin=origin, read=raw, links=self.links
                )
            case StoredAnswer():
                return [answer_turn(entry, origin=origin, read=raw)]

    def _result_turns(
        self, entry: StoredMessage, audience: Audience, origin: str
    ) -> Sequence[ComposedTurn]:
        turn = tool_result_turn(
            entry.sanitized,
            origin=origin,
            audience=audience,
            seq=entry.seq,
            structured_contents=self.structured_contents,
        )
        is_apart = entry.is_apart is not False
        return [replace(turn, answer_number=entry.answer_number, is_apart=is_apart)]


async def load_entry(
    records: Records, blobs: BlobStore, project_id: str, session_id: str, seq: int
) -> LoadedSession:
    """Load one entry of a history.

    Raises:
        NotFoundError: The project has no such entry.
        StoreUnavailableError: A store did not answer.
    """
    turn_cache = TurnCache()

    def read(unit: UnitOfWork) -> tuple[Sequence[StoredEntry], Mapping[str, Resource]]:
        found = unit[SessionHistory].entries(session_id, after_seq=seq - 1, limit=1)
        if not found or found[0].seq != seq:
            raise NotFoundError("entry")
        return found, unit[ResourceRecords].find_in_session(
            find_referenced_ids(found, turn_cache), session_id
        )

    entries, resources = await records.read(project_id, read)
    results = [entry.sanitized for entry in entries if isinstance(entry, StoredMessage)]
    structured = await read_structured_contents(blobs, project_id, results)
    links = await read_links(blobs, project_id, resources)
    return LoadedSession(session_id, entries, resources, structured, turn_cache, links=links)


def find_referenced_ids(entries: Sequence[StoredEntry], turn_cache: TurnCache) -> set[str]:
    """Return the ids of the resources that messages and interactions refer to.

    Some may be of another session, if a model or a tool wrote them; `find_in_session` skips those.
    """
    ids: set[str] = set()
    for entry in entries:
        if isinstance(entry, StoredHistoryMessage):
            ids |= turn_cache.referenced_ids(entry)
        elif isinstance(entry, StoredInteraction):
            ids |= attached_ids(entry)
    return ids


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
