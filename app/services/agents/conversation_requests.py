"""Requests that put a whole conversation: the body, read and taken apart into units."""

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
"""The member of a prompt with what the system says first among the messages."""
# Some ten megabytes of memory.
_MOST_MESSAGES = 20_000
_MOST_UNITS_EACH = 8
_MARKS = ("cache_control", "cachePoint", "cache_point")


@dataclass(frozen=True)
class SentMessage:
    """A message of a conversation, and where it stands in the body.

    Both properties are computed on first access. `read` is only needed of new messages.
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
    """A conversation that was sent. `end` is where a further message would stand."""

    messages: Sequence[SentMessage]
    dialect: str | None
    prompt: JsonObject
    continues: bool
    end: str
    passed_over: int = 0


def read_sent(value: JsonValue) -> SentConversation:
    """Read a body with a conversation.

    What the system says before all others is no message: it is part of the prompt.

    Raises:
        InvalidPayloadError: Nothing in it is known by any dialect.
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
    around, _, index = last.rpartition("/")
    end = f"{around}/{int(index) + 1}" if index.isdigit() else last
    return SentConversation(
        messages, reading.dialect, prompt, reading.continues, end, reading.passed_over
    )


class SentUnits:
    """Units of sent messages, with a cache of those of messages without media.

    Each step of an agent sends the messages of all steps before it. The units of a message, and
    whether it has media, follow from its JSON, so the digest of that JSON is the key.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, Sequence[Unit]] = OrderedDict()
        self._lock = Lock()

    def movable(self, conversation: SentConversation) -> Sequence[Movable]:
        """Return the media that are moved out of the messages that were sent; blocks."""
        return [
            medium
            for each in conversation.messages
            if self._find(each.digest) is None
            for medium in each.read.movable
        ]

    def units(self, conversation: SentConversation, media: StreamedMedia) -> Sequence[Unit]:
        """Return the units of the messages that were sent; blocks.

        Args:
            conversation: What was sent.
            media: The media that are in drafts already.
        """
        return [
            unit._replace(place=index)
            for index, each in enumerate(conversation.messages)
            for unit in self._units_of(each, media)
        ]

    def _units_of(self, message: SentMessage, media: StreamedMedia) -> Sequence[Unit]:
        known = self._find(message.digest)
        if known is not None:
            return known
        units = units_of_reading(message.reading, 0, media)
        if len(units) <= _MOST_UNITS_EACH and not message.read.movable:
            with self._lock:
                self._known[message.digest] = units
                if len(self._known) > _MOST_MESSAGES:
                    self._known.popitem(last=False)
        return units

    def _find(self, digest: bytes) -> Sequence[Unit] | None:
        """Return the units of a message without media, if they are known."""
        with self._lock:
            known = self._known.get(digest)
            if known is not None:
                self._known.move_to_end(digest)
        return known


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
    """Return the units of a message, none if it says nothing; blocks."""
    try:
        return units_of_reading(read_entry(message), 0, media)
    except InvalidPayloadError:
        return []


def is_same_prompt(one: Mapping[str, JsonValue], other: Mapping[str, JsonValue]) -> bool:
    """Return whether two prompts are equal but for marks for a cache."""
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

    A line break separates values; inside of strings, JSON has none. It is kept, so that an error
    names the line.
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
