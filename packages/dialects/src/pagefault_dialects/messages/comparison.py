"""Comparison of a sent conversation with the stored one, to find the messages that are new.

Both conversations are split into units: a text or a medium with its role; a call with its id, name
and arguments; a result with the id of its call. Units do not contain ids of messages, times, usage,
reasoning and cache marks, nor where a message ends.

Texts and media are compared in order, and calls are, too. A result is compared with the stored
result of the same call, whatever their positions. If the service stored the result itself, as a
record, any sent result of the call is equal.
"""

import hashlib
import re
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

from pagefault_dialects.json.values import JsonObject
from pagefault_dialects.model.conversation import (
    Address,
    ComposedTurn,
    DataItem,
    InlineBytes,
    Item,
    Medium,
    StoredBytes,
    TextItem,
)
from pagefault_dialects.streams.json_digests import json_digest

UnitKind: TypeAlias = Literal["said", "call", "answer"]
DigestOf: TypeAlias = Callable[[bytes], str]
"""A function that returns the SHA-256 of a medium in hex, given its bytes in the message."""

RECORD = b""
"""The digest in the unit of a stored tool result, which is equal to any sent result."""
_DIGEST_BYTES = 16
# The ids that `message_calls` gives to calls without one. They contain the position of the message,
# which changes when the message is stored.
_GENERATED_ID = re.compile(r"^call_[0-9]{1,19}_[0-9]{1,9}$")
_BLOCKS = ("content", "parts")


class Unit(NamedTuple):
    """A part of a conversation that is compared with one other unit."""

    kind: UnitKind
    """`said` for a text or a medium."""
    digest: bytes
    """The digest of everything that is compared."""
    position: int
    """The `seq` of a stored entry, or the index of a sent message."""
    call_id: str = ""
    is_system: bool = False
    pointer: str = ""
    """The JSON pointer to the text or the medium in the message."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference between a sent and a stored conversation."""

    position: int
    """The index of the sent message, or the number of messages if too few were sent."""
    pointer: str
    """The JSON pointer to the difference in the message; empty for the message as a whole."""
    seq: int
    """The `seq` of the stored entry that differs."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The new messages of a conversation, or its first difference from the stored one."""

    new: Sequence[int] = ()
    """The indexes of the sent messages that are to be appended."""
    grown: int | None = None
    """The index of the first message in `new` of which the beginning is stored already."""
    difference: Difference | None = None


def digest_bytes(data: bytes) -> str:
    """Return the SHA-256 of bytes in hex."""
    return hashlib.sha256(data).hexdigest()


def split_into_units(
    turns: Iterable[ComposedTurn], position: int, digest_of: DigestOf = digest_bytes
) -> list[Unit]:
    """Return the units of the turns of one message.

    Args:
        turns: The turns.
        position: The `seq` of the stored entry, or the index of the sent message.
        digest_of: Returns the digest of a medium in the message.
    """
    units: list[Unit] = []
    for turn in turns:
        contents = [value for item in turn.items for value in _describe_item(item, digest_of)]
        if turn.role == "tool":
            digest = _digest("answer", turn.call_id, *(content for _, content in contents))
            units.append(Unit("answer", digest, position, turn.call_id))
            continue
        is_system = turn.role == "system"
        for pointer, content in contents:
            digest = _digest(turn.role, content)
            units.append(Unit("said", digest, position, is_system=is_system, pointer=pointer))
        for call in turn.calls:
            sent_id = _GENERATED_ID.sub("", call.call_id)
            digest = _digest("call", sent_id, call.name, json_digest(call.arguments))
            is_generated = call.call_id.startswith(f"call_{position}_")
            units.append(Unit("call", digest, position, "" if is_generated else call.call_id))
    return units


def record_unit(call_id: str, seq: int) -> Unit:
    """Return the unit of a stored tool result."""
    return Unit("answer", RECORD, seq, call_id)


def _describe_item(item: Item, digest_of: DigestOf) -> Iterator[tuple[str, str]]:
    """Yield the pointer of an item and its content, if it has any."""
    match item:
        case TextItem(pointer, text):
            if text:
                yield pointer, f"text {text}"
        case DataItem(pointer, value):
            yield pointer, f"data {json_digest(value)}"
        case Medium(pointer, StoredBytes(digest=digest)):
            yield pointer, f"medium {digest}"
        case Medium(pointer, InlineBytes(data)):
            yield pointer, f"medium {digest_of(data)}"
        case Medium(pointer, Address(url)):
            yield pointer, f"address {url}"
        case _:
            return


def _digest(*words: str) -> bytes:
    sha256 = hashlib.sha256()
    for word in words:
        encoded = word.encode("utf-8", "surrogatepass")
        sha256.update(b"%d:" % len(encoded))
        sha256.update(encoded)
    return sha256.digest()[:_DIGEST_BYTES]


def compare(
    stored: Sequence[Unit], sent: Sequence[Unit], messages: int, *, continues: bool = False
) -> Comparison:
    """Compare sent messages with stored ones.

    Args:
        stored: The units of all stored messages and tool results, in the order of `seq`.
        sent: The units of the sent messages.
        messages: The number of sent messages, some of which may have no units.
        continues: Whether the sent messages follow the stored ones. Otherwise they are the whole
            conversation.
    """
    return _Comparer(stored, sent, messages).run(continues=continues)


class _Stream:
    """The stored units of one kind, and the position of the next one to compare."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self.units = units
        self.position = 0
        self.has_differed = False

    @property
    def next(self) -> Unit | None:
        return self.units[self.position] if self.position < len(self.units) else None


@dataclass(slots=True)
class _Message:
    """The numbers of stored and of new units of a sent message."""

    stored: int = 0
    """Texts, media and calls that are stored."""
    stored_results: int = 0
    new: int = 0
    """Texts, media and calls that are not stored."""
    new_results: int = 0
    first_seq: int | None = None
    """The `seq` of the entry with the first stored unit."""


@dataclass(slots=True)
class _Comparer:
    """One comparison of sent units with stored ones."""

    stored: Sequence[Unit]
    sent: Sequence[Unit]
    count: int
    """The number of sent messages."""
    messages: dict[int, _Message] = field(default_factory=lambda: defaultdict(_Message))

    def run(self, *, continues: bool) -> Comparison:
        stored = [*remove_repeated_calls(_remove_prompt(self.stored))]
        sent = [*remove_repeated_calls(self.sent)]
        kinds: Sequence[UnitKind] = ("said", "call")
        streams = {kind: _Stream([item for item in stored if item.kind == kind]) for kind in kinds}
        if continues:
            start = _find_tail(stored, sent)
            for kind, stream in streams.items():
                stream.position = sum(item.kind == kind for item in stored[:start])
        results: dict[str, deque[Unit]] = defaultdict(deque)
        for item in stored:
            if item.kind == "answer":
                results[item.call_id].append(item)
        if continues:
            _drop_results_of_repeated_ids(streams["call"], sent, results)
        differences = [
            difference
            for unit in sent
            if (difference := self._compare_unit(unit, streams, results)) is not None
        ]
        missing = (stream.next for stream in streams.values())
        differences += (Difference(self.count, "", item.position) for item in missing if item)
        if differences:
            # Content and calls are compared separately, and either may differ first.
            first = min(differences, key=lambda difference: difference.position)
            seq = min(difference.seq for difference in differences)
            return Comparison(difference=replace(first, seq=seq))
        return self._find_new_messages()

    def _compare_unit(
        self, unit: Unit, streams: dict[UnitKind, _Stream], results: dict[str, deque[Unit]]
    ) -> Difference | None:
        """Compare a unit with the next stored one of its kind; return the difference, if any.

        After the first difference of a kind, its other units are not compared.
        """
        message = self.messages[unit.position]
        if unit.kind == "answer":
            return self._compare_result(unit, results[unit.call_id])
        stream = streams[unit.kind]
        stored = stream.next
        if stored is None:
            message.new += 1
        elif stream.has_differed:
            return None
        elif stored.digest == unit.digest:
            stream.position += 1
            message.stored += 1
            message.first_seq = message.first_seq or stored.position
        else:
            stream.has_differed = True
            return Difference(unit.position, unit.pointer, stored.position)
        return None

    def _compare_result(self, unit: Unit, stored_results: deque[Unit]) -> Difference | None:
        message = self.messages[unit.position]
        if not stored_results:
            message.new_results += 1
            return None
        stored = stored_results.popleft()
        message.stored_results += 1
        is_same = stored.digest in (RECORD, unit.digest)
        return None if is_same else Difference(unit.position, unit.pointer, stored.position)

    def _find_new_messages(self) -> Comparison:
        """Return the new messages, or a difference if a stored message follows a new one."""
        with_stored = [index for index, value in self.messages.items() if value.stored]
        last_stored = max(with_stored, default=-1)
        new: list[int] = []
        for index in sorted(self.messages):
            message = self.messages[index]
            if not (message.new or message.new_results):
                continue
            # A message with only new results may precede stored ones.
            if index < last_stored and (message.new or message.stored):
                later = min(item for item in with_stored if item > index)
                seq = self.messages[later].first_seq or 0
                return Comparison(difference=Difference(index, "", seq))
            new.append(index)
        grown = next((index for index in new if self.messages[index].stored), None)
        first_new = min(new, default=0)
        stored = [
            index
            for index, value in self.messages.items()
            if value.stored or (value.stored_results and index < first_new)
        ]
        # A message without units, such as reasoning, is new if the message after it is new.
        before_newest = range(max(stored, default=-1) + 1, max(new, default=-1))
        new += (index for index in before_newest if index not in self.messages)
        return Comparison(tuple(sorted(new)), grown)


def _drop_results_of_repeated_ids(
    calls: _Stream, sent: Sequence[Unit], results: dict[str, deque[Unit]]
) -> None:
    """Remove the stored result of each stored call whose id a new call uses again.

    A sent result with the id then belongs to the new call.

    Args:
        calls: The stored calls. Those from its position on are sent once more.
        sent: The sent units.
        results: The stored results by the ids of their calls.
    """
    resent_count = len(calls.units) - calls.position
    sent_calls = [item for item in sent if item.kind == "call"]
    new_ids = {item.call_id for item in sent_calls[resent_count:]}
    for call in calls.units:
        if call.call_id in new_ids and results[call.call_id]:
            results[call.call_id].popleft()


def _find_tail(stored: Sequence[Unit], sent: Sequence[Unit]) -> int:
    """Return the index of the stored units from which on they equal all sent units.

    If the sent units do not repeat the end of the stored ones, the index is their number. Results
    are not compared, and neither is the order between content and calls.
    """
    count = sum(item.kind != "answer" for item in sent)
    indexes = [index for index, item in enumerate(stored) if item.kind != "answer"]
    start = indexes[-count] if 0 < count <= len(indexes) else len(stored)

    def digests(units: Sequence[Unit], kind: UnitKind) -> list[bytes]:
        return [item.digest for item in units if item.kind == kind]

    tail = stored[start:]
    kinds: Sequence[UnitKind] = ("said", "call")
    is_same = all(digests(tail, kind) == digests(sent, kind) for kind in kinds)
    return start if is_same else len(stored)


def _remove_prompt(stored: Sequence[Unit]) -> Sequence[Unit]:
    """Return the stored units without a system prompt at the beginning, which is not compared."""
    start = next((index for index, item in enumerate(stored) if not item.is_system), len(stored))
    return stored[start:]


def remove_repeated_calls(units: Iterable[Unit]) -> Iterator[Unit]:
    """Yield units without the calls that are repeated before their result."""
    open_calls: dict[str, bytes] = {}
    for unit in units:
        if unit.kind == "answer":
            open_calls.pop(unit.call_id, None)
        elif unit.kind == "call":
            if unit.call_id and open_calls.get(unit.call_id) == unit.digest:
                continue
            open_calls[unit.call_id] = unit.digest
        yield unit


def keep_new_blocks(
    message: JsonObject, split: Callable[[JsonObject], Sequence[Unit]], stored: Sequence[Unit]
) -> JsonObject | None:
    """Return a message with only its new blocks; `None` if the new blocks cannot be separated.

    Args:
        message: A message whose beginning is stored.
        split: A function that returns the units of a message.
        stored: The units of the stored beginning, and stored results.
    """
    stored_units = {(unit.kind, unit.call_id or unit.digest) for unit in stored}

    def is_stored(head: JsonObject) -> bool:
        return all((unit.kind, unit.call_id or unit.digest) in stored_units for unit in split(head))

    for name in _BLOCKS:
        blocks = message.get(name)
        if not isinstance(blocks, list):
            continue
        # If the first blocks up to a number are not all stored, neither are those up to a larger
        # number, so the largest stored number is found by bisection.
        counts = range(1, len(blocks))
        stored_count = bisect_left(
            counts, True, key=lambda count: not is_stored({**message, name: blocks[:count]})
        )
        return {**message, name: blocks[stored_count:]} if stored_count else None
    if isinstance(message.get("content"), str):
        # The text is stored, and the calls beside the text are new.
        return {**message, "content": None}
    return None
