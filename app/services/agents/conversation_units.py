"""Splits conversations into *units*, by which sent messages are compared with stored messages.

A unit is a part of a message, such as a text or an answer
(`pagefault_dialects.messages.comparison`). A history only grows, and each step of an agent sends
all messages again. So units are cached, and each step only reads new entries and new messages.
"""

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from threading import Lock

import anyio.to_thread
from cachetools import LRUCache

from app.models.message import StoredEntry, StoredHistoryMessage, StoredMessage
from app.services.calls.stored_message_turns import find_moved_media_ids, read_message_turns
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
from pagefault_dialects.messages.comparison import (
    Unit,
    digest_bytes,
    make_record_unit,
    split_into_units,
)
from pagefault_dialects.messages.conversation_reading import read_conversation
from pagefault_dialects.messages.entry_reading import EntryReading, read_entry, read_entry_turns
from pagefault_dialects.model.resource import Resource

MESSAGES = "messages"
"""The member of a prompt with the leading system messages of a conversation."""
# The maximum number of sent messages in the cache, which take about ten megabytes.
_MAX_CACHED_MESSAGES = 20_000
# A message with more units is not cached.
_MAX_CACHED_UNITS = 8
# Members that mark the end of a prefix for the cache of a provider.
_CACHE_MARKS = ("cache_control", "cachePoint", "cache_point")


@dataclass(frozen=True)
class SentMessage:
    """A message of a sent conversation. Its properties are computed on first access."""

    pointer: str
    """The JSON pointer to the message in the body."""
    value: JsonObject
    """The message as JSON."""
    reading: EntryReading
    """The message as it was read in its dialect."""

    @cached_property
    def parsed(self) -> ParsedMessage:
        """The message in the form in which new messages are stored."""
        return build_parsed_message(self.value, self.reading)

    @cached_property
    def digest(self) -> bytes:
        """The SHA-256 of the JSON of the message."""
        return hashlib.sha256(json_text(self.value).encode()).digest()


@dataclass(frozen=True, slots=True)
class SentConversation:
    """A conversation in the body of a request."""

    messages: Sequence[SentMessage]
    """The messages without leading system messages."""
    dialect: str | None
    """The dialect of the whole body, if it could be told."""
    prompt: JsonObject
    """The members of the body that are not messages, and `messages` with the leading system
    messages."""
    continues: bool
    """True if the messages follow the stored messages, instead of repeating them."""
    end: str
    """The JSON pointer that a message after the last one would have."""
    skipped_count: int = 0
    """The number of elements that are not messages, and are not stored."""


def read_sent(value: JsonValue) -> SentConversation:
    """Read a body with a conversation in any dialect.

    Args:
        value: The body, a list of messages or a request or response with messages.

    Raises:
        InvalidPayloadError: A part of the body belongs to no dialect, or the body has no message.
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
        messages, reading.dialect, prompt, reading.continues, end, reading.skipped_count
    )


class SentUnits:
    """Makes the units of sent messages, with a cache for messages without media.

    The units of a message depend only on its JSON, so the digest of the JSON is the key of the
    cache. The methods may take long, so call them in a thread if the request is long.
    """

    def __init__(self) -> None:
        self._cache = LRUCache[bytes, Sequence[Unit]](_MAX_CACHED_MESSAGES)
        self._lock = Lock()

    def find_media_strings(self, conversation: SentConversation) -> Sequence[MovableString]:
        """Return the strings with media in the messages of a conversation.

        Messages with cached units are skipped, because they have no media.
        """
        return [
            string
            for message in conversation.messages
            if self._find(message.digest) is None
            for string in message.parsed.media_strings
        ]

    def make(self, conversation: SentConversation, media: StreamedMedia) -> Sequence[Unit]:
        """Return the units of a conversation. `Unit.position` is the index of the message.

        Args:
            conversation: The sent conversation.
            media: The media of the request that are in temporary files.
        """
        return [
            unit._replace(position=index)
            for index, message in enumerate(conversation.messages)
            for unit in self._make_message_units(message, media)
        ]

    def _make_message_units(self, message: SentMessage, media: StreamedMedia) -> Sequence[Unit]:
        cached = self._find(message.digest)
        if cached is not None:
            return cached
        units = make_units(message.reading, media)
        if len(units) <= _MAX_CACHED_UNITS and not message.parsed.media_strings:
            with self._lock:
                self._cache[message.digest] = units
        return units

    def _find(self, digest: bytes) -> Sequence[Unit] | None:
        """Return the cached units of a message, by the digest of its JSON."""
        with self._lock:
            return self._cache.get(digest)


def make_units(reading: EntryReading, media: StreamedMedia) -> list[Unit]:
    """Return the units of a sent message, with the position 0. This may take long.

    Args:
        reading: The message.
        media: The media of the request that are in temporary files.
    """

    def get_digest(data: bytes) -> str:
        string = media.get(data)
        return digest_bytes(data) if string is None else string.draft.digest()

    turns = read_entry_turns(
        reading, 0, "", {}, audience="everyone", moved_media_ids=frozenset(), finds_media=True
    )
    return split_into_units(turns, 0, get_digest)


def make_message_units(message: JsonObject, media: StreamedMedia) -> Sequence[Unit]:
    """Return the units of a message as JSON, which may belong to no dialect. This may take long.

    Returns:
        An empty list if the message has no content, or belongs to no dialect.
    """
    try:
        return make_units(read_entry(message), media)
    except InvalidPayloadError:
        return []


def is_same_prompt(one: Mapping[str, JsonValue], other: Mapping[str, JsonValue]) -> bool:
    """Return True if two prompts are equal, apart from marks for the cache of a provider."""
    return _without_cache_marks(one) == _without_cache_marks(other)


def _without_cache_marks(prompt: Mapping[str, JsonValue]) -> JsonObject:
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
    """Convert a body with a JSON value on each line (JSON Lines) to a JSON array, in chunks.

    A string in JSON has no line break, so every line break separates two values. The array has the
    same line breaks, so that the line number in an error is right.
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


_QUERY_ENTRIES = 200
# The number of entries up to which their units are made in the event loop.
_QUICK_ENTRIES = 8
MAX_UNITS = 100_000
"""The maximum number of units of stored conversations in the cache, each of about 200 bytes."""
# The memory that a conversation takes besides its units, as a number of units.
_OWN_UNITS = 5


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """The conversation in a session."""

    incarnation: str | None = None
    """An id that distinguishes the session from a later session with the same id."""
    last_seq: int = 0
    """The `seq` of the last entry of the session."""
    units: Sequence[Unit] = ()
    """The units of the messages. `Unit.position` is the `seq` of the entry."""
    prompt: SessionPrompt | None = None
    exists: bool = False
    """True if the session exists. Otherwise, all other fields are empty."""

    def up_to(self, seq: int) -> "StoredConversation":
        """Return the conversation up to the entry with a `seq`, as a fork would copy it."""
        units = tuple(unit for unit in self.units if unit.position <= seq)
        return StoredConversation(None, seq, units, self.prompt, exists=True)


@dataclass(frozen=True, slots=True)
class _Batch:
    """The next entries of a history, with their resources, and the state of the session."""

    incarnation: str | None
    last_seq: int
    prompt: SessionPrompt | None
    entries: Sequence[StoredEntry]
    resources: Mapping[str, Resource]


@dataclass(frozen=True, slots=True, eq=False)
class StoredConversations:
    """Reads stored conversations, and caches them in each process."""

    records: Records
    _cache: LRUCache[tuple[str, str], StoredConversation] = field(
        init=False,
        default_factory=lambda: LRUCache(MAX_UNITS, lambda stored: len(stored.units) + _OWN_UNITS),
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
            read = partial(_read_batch, session_id=session_id, after_seq=after_seq)
            batch = await self.records.read(project_id, read)
            if batch is None:
                return StoredConversation()
            if cached is not None and (
                batch.incarnation is None or batch.incarnation != cached.incarnation
            ):
                # The session was deleted, and another session has its id now.
                cached, units, after_seq = None, [], 0
                continue
            units += await self._make_units(batch)
            after_seq = batch.entries[-1].seq if batch.entries else batch.last_seq
            if len(batch.entries) < _QUERY_ENTRIES and after_seq >= batch.last_seq:
                break
            if not batch.entries:
                break
        stored = StoredConversation(
            batch.incarnation, batch.last_seq, tuple(units), batch.prompt, exists=True
        )
        if stored.incarnation is not None and len(stored.units) + _OWN_UNITS <= MAX_UNITS:
            self._cache[key] = stored
        else:
            self._cache.pop(key, None)
        return stored

    async def _make_units(self, batch: _Batch) -> Sequence[Unit]:
        if len(batch.entries) <= _QUICK_ENTRIES:
            return _make_batch_units(batch)
        return await anyio.to_thread.run_sync(_make_batch_units, batch)


def _read_batch(unit: UnitOfWork, session_id: str, after_seq: int) -> _Batch | None:
    """Return the entries of a history after `after_seq`; `None` if there is no such session."""
    head = unit[SessionHistory].find_head(session_id)
    if head is None:
        return None
    entries = unit[SessionHistory].entries(session_id, after_seq=after_seq, limit=_QUERY_ENTRIES)
    ids = find_referenced_ids(entries, TurnCache())
    resources = unit[ResourceRecords].find_in_session(ids, session_id) if ids else {}
    prompt = unit[SessionPromptRecords].find(session_id)
    # Without a snapshot, entries may be appended after the head was read. They count too.
    last_seq = max(head.last_seq, entries[-1].seq if entries else 0)
    return _Batch(head.incarnation, last_seq, prompt, entries, resources)


def _make_batch_units(batch: _Batch) -> Sequence[Unit]:
    return [unit for entry in batch.entries for unit in make_entry_units(entry, batch.resources)]


def make_entry_units(entry: StoredEntry, resources: Mapping[str, Resource]) -> Sequence[Unit]:
    """Return the units of a stored entry.

    A tool result or a page fault is one unit. An interaction has no units.

    Args:
        entry: The entry.
        resources: The resources that the entry refers to, by id.
    """
    if isinstance(entry, StoredMessage):
        return [make_record_unit(entry.tool_call_id, entry.seq)]
    if not isinstance(entry, StoredHistoryMessage):
        return []
    if entry.is_page_fault:
        return [make_record_unit(entry.tool_call_id or "", entry.seq)]
    turns = read_message_turns(entry, resources, audience="everyone", origin="", finds_media=True)
    moved_digests = {
        f"@blob:{resource_id}": resources[resource_id].digest
        for resource_id in find_moved_media_ids(entry) & resources.keys()
    }
    return split_into_units(turns, entry.seq, moved_digests=moved_digests)
