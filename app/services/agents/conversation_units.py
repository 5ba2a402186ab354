"""Conversations as units, by which sent messages are compared with stored ones.

Units are defined in `pagefault_dialects.messages.comparison`. A history only grows, and each step
of an agent sends all messages again. So units are cached, and each step only processes new entries
and messages.
"""

import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from threading import Lock

import anyio.to_thread

from app.models.message import StoredEntry, StoredHistoryMessage, StoredMessage
from app.services.calls.stored_message_turns import read_message_turns
from app.services.renders.loaded_sessions import find_referenced_ids
from app.services.renders.turn_cache import TurnCache
from app.services.sessions.message_requests import ParsedMessage, build_parsed_message
from app.stores.blobs.draft_media import StreamedMedia
from app.stores.records.history import SessionHistory
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.session_prompts import SessionPrompt, SessionPromptRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import JsonObject, JsonValue, json_text
from pagefault_dialects.media.embedded_data_uris import MovableString
from pagefault_dialects.messages.comparison import Unit, digest_bytes, record_unit, split_into_units
from pagefault_dialects.messages.conversation_reading import read_conversation
from pagefault_dialects.messages.entry_reading import EntryReading, read_entry, read_entry_turns
from pagefault_dialects.model.resource import Resource

MESSAGES = "messages"
"""The member of a prompt with the system messages at the beginning."""
# About ten megabytes of memory.
_MAX_MESSAGES = 20_000
_MAX_CACHED_UNITS = 8
_CACHE_MARKS = ("cache_control", "cachePoint", "cache_point")


@dataclass(frozen=True)
class SentMessage:
    """A message of a conversation, with its pointer into the body.

    Both properties are computed on first access. `read` is only used for new messages.
    """

    pointer: str
    value: JsonObject
    reading: EntryReading

    @cached_property
    def parsed(self) -> ParsedMessage:
        """The message as it is stored."""
        return build_parsed_message(self.value, self.reading)

    @cached_property
    def digest(self) -> bytes:
        """The digest of its JSON."""
        return hashlib.sha256(json_text(self.value).encode()).digest()


@dataclass(frozen=True, slots=True)
class SentConversation:
    """A sent conversation. `end` is the pointer that the next message would have."""

    messages: Sequence[SentMessage]
    dialect: str | None
    prompt: JsonObject
    continues: bool
    end: str
    passed_over: int = 0


def read_sent(value: JsonValue) -> SentConversation:
    """Read a body with a conversation.

    System messages at the beginning are part of the prompt.

    Raises:
        InvalidPayloadError: No dialect knows a part of the body.
    """
    reading = read_conversation(value)
    first = 0
    while first < len(reading.entries) and reading.entries[first][2].role == "system":
        first += 1
    leading = [message for _, message, _ in reading.entries[:first]]
    prompt = {**reading.prompt, **({MESSAGES: leading} if leading else {})}
    messages = [
        SentMessage(pointer, message, entry) for pointer, message, entry in reading.entries[first:]
    ]
    if not reading.entries and not prompt:
        raise InvalidPayloadError(
            "The body has no message. Send the list of messages as your SDK has it, the "
            "request with it, or a response.",
            faults=[Fault("", "has no message")],
        )
    last = reading.entries[-1][0] if reading.entries else ""
    parent, _, index = last.rpartition("/")
    end = f"{parent}/{int(index) + 1}" if index.isdigit() else last
    return SentConversation(
        messages, reading.dialect, prompt, reading.continues, end, reading.passed_over
    )


class SentUnits:
    """Units of sent messages, with a cache for messages without media.

    Each step of an agent sends the messages of all steps before it. The units of a message only
    depend on its JSON, so the digest of the JSON is the key of the cache.
    """

    def __init__(self) -> None:
        self._cache: OrderedDict[bytes, Sequence[Unit]] = OrderedDict()
        self._lock = Lock()

    def find_movable(self, conversation: SentConversation) -> Sequence[MovableString]:
        """Return the media to be moved out of messages that are not cached; blocks."""
        return [
            medium
            for message in conversation.messages
            if self._find(message.digest) is None
            for medium in message.parsed.media_strings
        ]

    def units(self, conversation: SentConversation, media: StreamedMedia) -> Sequence[Unit]:
        """Return the units of the messages; blocks.

        Args:
            conversation: The sent conversation.
            media: The media in drafts.
        """
        return [
            unit._replace(position=index)
            for index, message in enumerate(conversation.messages)
            for unit in self._units_of(message, media)
        ]

    def _units_of(self, message: SentMessage, media: StreamedMedia) -> Sequence[Unit]:
        cached = self._find(message.digest)
        if cached is not None:
            return cached
        units = make_units(message.reading, 0, media)
        if len(units) <= _MAX_CACHED_UNITS and not message.parsed.media_strings:
            with self._lock:
                self._cache[message.digest] = units
                if len(self._cache) > _MAX_MESSAGES:
                    self._cache.popitem(last=False)
        return units

    def _find(self, digest: bytes) -> Sequence[Unit] | None:
        """Return the cached units of a message."""
        with self._lock:
            units = self._cache.get(digest)
            if units is not None:
                self._cache.move_to_end(digest)
        return units


def make_units(reading: EntryReading, place: int, media: StreamedMedia) -> list[Unit]:
    """Return the units of one message; blocks."""

    def digest_of(data: bytes) -> str:
        string = media.get(data)
        return digest_bytes(data) if string is None else string.draft.digest()

    turns = read_entry_turns(
        reading, 0, "", {}, audience="everyone", moved_out=frozenset(), finds_media=True
    )
    return split_into_units(turns, place, digest_of)


def make_message_units(message: JsonObject, media: StreamedMedia) -> Sequence[Unit]:
    """Return the units of a message; an empty list if it has no content; blocks."""
    try:
        return make_units(read_entry(message), 0, media)
    except InvalidPayloadError:
        return []


def is_same_prompt(one: Mapping[str, JsonValue], other: Mapping[str, JsonValue]) -> bool:
    """Return whether two prompts are equal, apart from cache marks."""
    return _without_marks(one) == _without_marks(other)


def _without_marks(prompt: Mapping[str, JsonValue]) -> JsonObject:
    return {
        name: [
            {key: item[key] for key in item if key not in _CACHE_MARKS} or None
            if isinstance(item, dict)
            else item
            for item in value
        ]
        if isinstance(value, list)
        else value
        for name, value in prompt.items()
    }


async def join_lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield lines of JSON values as the chunks of one JSON array.

    Strings in JSON have no line breaks, so every line break separates values. Line breaks are
    kept, so that an error has the right line number.
    """
    yield b"["
    is_at_start, has_values = True, False
    async for chunk in chunks:
        for index, piece in enumerate(chunk.split(b"\n")):
            if index > 0:
                yield b"\n"
                is_at_start = True
            if is_at_start and not piece.strip():
                continue
            yield b"," + piece if is_at_start and has_values else piece
            is_at_start, has_values = False, True
    yield b"]"


_ENTRIES_AT_ONCE = 200
_QUICK_ENTRIES = 8
MAX_UNITS = 100_000
"""The maximum of units in the cache, about 200 bytes each."""


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """A stored conversation: its prompt, and its units in the order of `seq`.

    If `exists` is false, all other members are empty.
    """

    incarnation: str | None = None
    last_seq: int = 0
    units: Sequence[Unit] = ()
    prompt: SessionPrompt | None = None
    exists: bool = False

    def up_to(self, seq: int) -> "StoredConversation":
        """Return the conversation of a fork that ends with an entry."""
        units = tuple(unit for unit in self.units if unit.position <= seq)
        return StoredConversation(None, seq, units, self.prompt, exists=True)


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
            part.incarnation, part.last_seq, tuple(units), part.prompt, exists=True
        )
        self._add_to_cache(key, stored)
        return stored

    async def _units(self, part: _Part) -> Sequence[Unit]:
        if len(part.entries) <= _QUICK_ENTRIES:
            return _units_of(part)
        return await anyio.to_thread.run_sync(_units_of, part)

    def _add_to_cache(self, key: tuple[str, str], stored: StoredConversation) -> None:
        self._cache.pop(key, None)
        if stored.incarnation is None or len(stored.units) > MAX_UNITS:
            return
        self._cache[key] = stored
        while sum(len(item.units) for item in self._cache.values()) > MAX_UNITS:
            self._cache.popitem(last=False)


def _read(unit: UnitOfWork, session_id: str, after_seq: int) -> _Part | None:
    head = unit[SessionHistory].history_head(session_id)
    if head is None:
        return None
    entries = unit[SessionHistory].entries(session_id, after_seq=after_seq, limit=_ENTRIES_AT_ONCE)
    ids = find_referenced_ids(entries, TurnCache())
    resources = unit[ResourceRecords].find_in_session(ids, session_id) if ids else {}
    prompt = unit[SessionPromptRecords].find(session_id)
    # Entries that were appended since the head was read are part of the conversation.
    last_seq = max(head.last_seq, entries[-1].seq if entries else 0)
    return _Part(head.incarnation, last_seq, prompt, entries, resources)


def _units_of(part: _Part) -> Sequence[Unit]:
    return [unit for entry in part.entries for unit in make_entry_units(entry, part.resources)]


def make_entry_units(entry: StoredEntry, resources: Mapping[str, Resource]) -> Sequence[Unit]:
    """Return the units of an entry: one for a tool result or page fault, none for interactions."""
    if isinstance(entry, StoredMessage):
        return [record_unit(entry.tool_call_id, entry.seq)]
    if not isinstance(entry, StoredHistoryMessage):
        return []
    if entry.is_page_fault:
        return [record_unit(entry.tool_call_id or "", entry.seq)]
    turns = read_message_turns(entry, resources, audience="everyone", origin="", finds_media=True)
    return split_into_units(turns, entry.seq)
