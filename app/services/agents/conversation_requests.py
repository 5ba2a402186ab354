"""Reads the body of a request with a conversation, and splits it into units."""

import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

from app.services.sessions.message_requests import ReadMessage, describe_message
from app.stores.blobs.draft_media import StreamedMedia
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import JsonObject, JsonValue, json_text
from pagefault_dialects.media.embedded_data_uris import Movable
from pagefault_dialects.messages.comparison import Unit, digest_bytes, units_of
from pagefault_dialects.messages.conversation_reading import read_conversation
from pagefault_dialects.messages.entry_reading import EntryReading, entry_turns, read_entry

MESSAGES = "messages"
"""The member of a prompt with the system messages at the beginning."""
# About ten megabytes of memory.
_MOST_MESSAGES = 20_000
_MOST_UNITS_EACH = 8
_MARKS = ("cache_control", "cachePoint", "cache_point")


@dataclass(frozen=True)
class SentMessage:
    """A message of a conversation, with its pointer into the body.

    Both properties are computed on first access. `read` is only used for new messages.
    """

    pointer: str
    value: JsonObject
    reading: EntryReading

    @cached_property
    def read(self) -> ReadMessage:
        """The message as it is stored."""
        return describe_message(self.value, self.reading)

    @cached_property
    def digest(self) -> bytes:
        """The digest of its JSON."""
        return hashlib.sha256(json_text(self.value).encode()).digest()


@dataclass(frozen=True, slots=True)
class SentConversation:
    """A sent conversation. `end` is the pointer of the next message."""

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
            "There is no message in this. Send the list of messages as your SDK has it, the "
            "request with it, or a response.",
            faults=[Fault("", "holds nothing that is said")],
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

    def movable(self, conversation: SentConversation) -> Sequence[Movable]:
        """Return the media that are moved out of new messages; blocks."""
        return [
            medium
            for each in conversation.messages
            if self._find(each.digest) is None
            for medium in each.read.movable
        ]

    def units(self, conversation: SentConversation, media: StreamedMedia) -> Sequence[Unit]:
        """Return the units of the messages; blocks.

        Args:
            conversation: The sent conversation.
            media: The media in drafts.
        """
        return [
            unit._replace(place=index)
            for index, each in enumerate(conversation.messages)
            for unit in self._units_of(each, media)
        ]

    def _units_of(self, message: SentMessage, media: StreamedMedia) -> Sequence[Unit]:
        cached = self._find(message.digest)
        if cached is not None:
            return cached
        units = units_of_reading(message.reading, 0, media)
        if len(units) <= _MOST_UNITS_EACH and not message.read.movable:
            with self._lock:
                self._cache[message.digest] = units
                if len(self._cache) > _MOST_MESSAGES:
                    self._cache.popitem(last=False)
        return units

    def _find(self, digest: bytes) -> Sequence[Unit] | None:
        """Return the cached units of a message."""
        with self._lock:
            units = self._cache.get(digest)
            if units is not None:
                self._cache.move_to_end(digest)
        return units


def units_of_reading(reading: EntryReading, place: int, media: StreamedMedia) -> list[Unit]:
    """Return the units of one message; blocks."""

    def digest_of(data: bytes) -> str:
        string = media.get(data)
        return digest_bytes(data) if string is None else string.draft.digest()

    turns = entry_turns(
        reading, 0, "", {}, audience="everyone", moved_out=frozenset(), finds_media=True
    )
    return units_of(turns, place, digest_of)


def units_of_message(message: JsonObject, media: StreamedMedia) -> Sequence[Unit]:
    """Return the units of a message; an empty list if it has no content; blocks."""
    try:
        return units_of_reading(read_entry(message), 0, media)
    except InvalidPayloadError:
        return []


def is_same_prompt(one: Mapping[str, JsonValue], other: Mapping[str, JsonValue]) -> bool:
    """Return whether two prompts are equal, apart from cache marks."""
    return _without_marks(one) == _without_marks(other)


def _without_marks(prompt: Mapping[str, JsonValue]) -> JsonObject:
    return {
        name: [
            {key: each[key] for key in each if key not in _MARKS} or None
            if isinstance(each, dict)
            else each
            for each in value
        ]
        if isinstance(value, list)
        else value
        for name, value in prompt.items()
    }


async def lines_as_array(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield lines of JSON as one JSON array.

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
