"""Stored conversations as units, for the comparison with sent conversations.

A history only grows, so the units of its entries are cached, and each step of an agent only reads
new entries. Units are defined in `pagefault_dialects.messages.comparison`.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import anyio.to_thread

from app.models.message import StoredEntry, StoredHistoryMessage, StoredMessage
from app.services.calls.stored_message_turns import stored_message_turns
from app.services.renders.loaded_sessions import referred
from app.services.renders.turn_cache import TurnCache
from app.stores.records.history import SessionHistory
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.session_prompts import SessionPrompt, SessionPromptRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.messages.comparison import Unit, record_unit, units_of
from pagefault_dialects.model.resource import Resource

_ENTRIES_AT_ONCE = 200
_FEW_ENTRIES = 8
MOST_UNITS = 100_000
"""The most units in the cache, about 200 bytes each."""


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """A stored conversation: its prompt, and its units in the order of `seq`.

    All members are empty if there is no such session.
    """

    incarnation: str | None = None
    last_seq: int = 0
    units: Sequence[Unit] = ()
    prompt: SessionPrompt | None = None
    is_there: bool = False

    def up_to(self, seq: int) -> "StoredConversation":
        """Return the conversation of a fork that ends with an entry."""
        units = tuple(each for each in self.units if each.place <= seq)
        return StoredConversation(None, seq, units, self.prompt, is_there=True)


@dataclass(frozen=True, slots=True)
class _Part:
    """Some entries of a history, with their resources and the prompt."""

    incarnation: str | None
    last_seq: int
    prompt: SessionPrompt | None
    entries: Sequence[StoredEntry]
    resources: Mapping[str, Resource]


@dataclass(frozen=True, slots=True, eq=False)
class StoredConversations:
    """Reads stored conversations, and caches them in each process."""

    records: Records
    _cache: OrderedDict[tuple[str, str], StoredConversation] = field(
        init=False, default_factory=OrderedDict
    )

    async def load(self, project_id: str, session_id: str) -> StoredConversation:
        """Return the stored conversation of a session.

        Raises:
            StoreUnavailableError: The database did not answer.
        """
        key = (project_id, session_id)
        cached = self._cache.get(key)
        units = list(cached.units) if cached is not None else []
        after_seq = cached.last_seq if cached is not None else 0
        while True:
            read = partial(_read, session_id=session_id, after_seq=after_seq)
            part = await self.records.read(project_id, read)
            if part is None:
                return StoredConversation()
            if cached is not None and (
                part.incarnation is None or part.incarnation != cached.incarnation
            ):
                # The session was deleted, and its id is used again.
                cached, units, after_seq = None, [], 0
                continue
            units += await self._units(part)
            after_seq = part.entries[-1].seq if part.entries else part.last_seq
            if len(part.entries) < _ENTRIES_AT_ONCE and after_seq >= part.last_seq:
                break
            if not part.entries:
                break
        stored = StoredConversation(
            part.incarnation, part.last_seq, tuple(units), part.prompt, is_there=True
        )
        self._keep(key, stored)
        return stored

    async def _units(self, part: _Part) -> Sequence[Unit]:
        if len(part.entries) <= _FEW_ENTRIES:
            return _units_of(part)
        return await anyio.to_thread.run_sync(_units_of, part)

    def _keep(self, key: tuple[str, str], stored: StoredConversation) -> None:
        self._cache.pop(key, None)
        if stored.incarnation is None or len(stored.units) > MOST_UNITS:
            return
        self._cache[key] = stored
        while sum(len(each.units) for each in self._cache.values()) > MOST_UNITS:
            self._cache.popitem(last=False)


def _read(unit: UnitOfWork, session_id: str, after_seq: int) -> _Part | None:
    head = unit[SessionHistory].history_head(session_id)
    if head is None:
        return None
    entries = unit[SessionHistory].entries(session_id, after_seq=after_seq, limit=_ENTRIES_AT_ONCE)
    ids = referred(entries, TurnCache())
    resources = unit[ResourceRecords].find_in_session(ids, session_id) if ids else {}
    prompt = unit[SessionPromptRecords].find(session_id)
    # Entries that were appended since the head was read are part of the conversation.
    last_seq = max(head.last_seq, entries[-1].seq if entries else 0)
    return _Part(head.incarnation, last_seq, prompt, entries, resources)


def _units_of(part: _Part) -> Sequence[Unit]:
    return [unit for entry in part.entries for unit in units_of_entry(entry, part.resources)]


def units_of_entry(entry: StoredEntry, resources: Mapping[str, Resource]) -> Sequence[Unit]:
    """Return the units of an entry: one for a tool result or page fault, none for interactions."""
    if isinstance(entry, StoredMessage):
        return [record_unit(entry.tool_call_id, entry.seq)]
    if not isinstance(entry, StoredHistoryMessage):
        return []
    if entry.is_page_fault:
        return [record_unit(entry.tool_call_id or "", entry.seq)]
    turns = stored_message_turns(entry, resources, audience="everyone", origin="", finds_media=True)
    return units_of(turns, entry.seq)
