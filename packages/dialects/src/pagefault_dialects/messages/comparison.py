"""Comparison of a sent conversation with the stored one, by their readings.

A conversation is split into units: texts and media by role, calls by id, name and arguments, and
answers by their calls. Ids of messages, times, usage, reasoning, cache marks and the limits of
messages are no part of units. Content and calls are each compared in order. An answer is compared
with the stored one for its call at any position. The record of a tool result matches any answer.
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
"""Function that returns the SHA-256 of a medium in hex, for its bytes in the message."""

RECORD = b""
"""The digest of the unit of a stored tool result."""
_DIGEST_BYTES = 16
# The ids that we give to calls without one. They have the position of the message, which changes
# when the message is stored.
_MADE_ID = re.compile(r"^call_[0-9]{1,19}_[0-9]{1,9}$")
_BLOCKS = ("content", "parts")
_NOTHING: Sequence["Unit"] = ()


class Unit(NamedTuple):
    """A unit of a conversation."""

    kind: UnitKind
    digest: bytes
    position: int
    """The `seq` of a stored entry, or the index of a sent message."""
    call_id: str = ""
    is_system: bool = False
    pointer: str = ""
    """The JSON pointer in the message."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference between a sent and a stored conversation."""

    position: int
    """The index of the sent message, or the number of messages if too few were sent."""
    pointer: str
    """The JSON pointer in the message."""
    seq: int
    """The `seq` of the stored entry."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The new messages of a conversation, or its difference from the stored one."""

    new: Sequence[int] = ()
    """The indexes of messages to append."""
    grown: int | None = None
    """The index of the first message in `new` whose beginning is stored already."""
    difference: Difference | None = None


def digest_bytes(data: bytes) -> str:
    """Return the SHA-256 of bytes in hex."""
    return hashlib.sha256(data).hexdigest()


def units_of(
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
            given_id = _MADE_ID.sub("", call.call_id)
            digest = _digest("call", given_id, call.name, json_digest(call.arguments))
            is_made_id = call.call_id.startswith(f"call_{position}_")
            units.append(Unit("call", digest, position, "" if is_made_id else call.call_id))
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
        continues: Whether they follow the stored messages. Otherwise they are the whole
            conversation.
    """
    return _Comparer(stored, sent, messages).run(continues=continues)


class _Stream:
    """The stored units of one kind, with a position."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self.units = units
        self.position = 0
        self.has_differed = False

    @property
    def next(self) -> Unit | None:
        return self.units[self.position] if self.position < len(self.units) else None


@dataclass(slots=True)
class _Message:
    """The numbers of stored and of new units of a message."""

    stored: int = 0
    answered: int = 0
    new: int = 0
    new_answers: int = 0
    first_seq: int | None = None


@dataclass(slots=True)
class _Comparer:
    """One comparison of sent units with stored ones."""

    stored: Sequence[Unit]
    sent: Sequence[Unit]
    count: int
    messages: dict[int, _Message] = field(default_factory=lambda: defaultdict(_Message))

    def run(self, *, continues: bool) -> Comparison:
        stored = [*without_repeated_calls(_without_prompt(self.stored))]
        sent = [*without_repeated_calls(self.sent)]
        kinds: Sequence[UnitKind] = ("said", "call")
        streams = {kind: _Stream([item for item in stored if item.kind == kind]) for kind in kinds}
        if continues:
            start = _find_tail(stored, sent)
            for kind, stream in streams.items():
                stream.position = sum(item.kind == kind for item in stored[:start])
        answers: dict[str, deque[Unit]] = defaultdict(deque)
        for item in stored:
            if item.kind == "answer":
                answers[item.call_id].append(item)
        if continues:
            self._drop_answered(streams["call"], sent, answers)
        differences = [
            found
            for unit in sent
            if (found := self._compare_unit(unit, streams, answers)) is not None
        ]
        missing = (stream.next for stream in streams.values())
        differences += (Difference(self.count, "", item.position) for item in missing if item)
        if differences:
            # Content and calls are compared separately, and either may differ first.
            first = min(differences, key=lambda difference: difference.position)
            seq = min(difference.seq for difference in differences)
            return Comparison(difference=replace(first, seq=seq))
        return self._find_new_messages()

    def _drop_answered(
        self, calls: _Stream, sent: Sequence[Unit], answers: dict[str, deque[Unit]]
    ) -> None:
        """Drop a stored answer for each stored call whose id a new call has.

        An answer with that id is then that of the new call.
        """
        repeated = len(calls.units) - calls.position
        new = {item.call_id for item in [item for item in sent if item.kind == "call"][repeated:]}
        for call in calls.units:
            if call.call_id in new and answers[call.call_id]:
                answers[call.call_id].popleft()

    def _compare_unit(
        self, unit: Unit, streams: dict[UnitKind, _Stream], answers: dict[str, deque[Unit]]
    ) -> Difference | None:
        """Compare a unit with the next stored one of its kind; return the difference, if any."""
        message = self.messages[unit.position]
        if unit.kind == "answer":
            return self._compare_answer(unit, answers[unit.call_id])
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

    def _compare_answer(self, unit: Unit, waiting: deque[Unit]) -> Difference | None:
        message = self.messages[unit.position]
        if not waiting:
            message.new_answers += 1
            return None
        stored = waiting.popleft()
        message.answered += 1
        is_same = stored.digest in (RECORD, unit.digest)
        return None if is_same else Difference(unit.position, unit.pointer, stored.position)

    def _find_new_messages(self) -> Comparison:
        """Return the new messages, or a difference if stored ones follow them."""
        matched = [index for index, value in self.messages.items() if value.stored]
        last_stored = max(matched, default=-1)
        new: list[int] = []
        for index in sorted(self.messages):
            message = self.messages[index]
            if not (message.new or message.new_answers):
                continue
            is_before = index < last_stored
            if is_before and (message.new or message.stored):
                later = min(item for item in matched if item > index)
                seq = self.messages[later].first_seq or 0
                return Comparison(difference=Difference(index, "", seq))
            new.append(index)
        grown = next((index for index in new if self.messages[index].stored), None)
        first_new = min(new, default=0)
        stored = [
            index
            for index, value in self.messages.items()
            if value.stored or (value.answered and index < first_new)
        ]
        # Messages without units, such as reasoning, are new if the message after them is.
        before_newest = range(max(stored, default=-1) + 1, max(new, default=-1))
        new += (index for index in before_newest if index not in self.messages)
        return Comparison(tuple(sorted(new)), grown)


def _find_tail(stored: Sequence[Unit], sent: Sequence[Unit]) -> int:
    """Return where the sent units begin at the end of the stored ones; the end if they do not.

    Answers are not compared, and neither is the order between content and calls.
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


def _without_prompt(stored: Sequence[Unit]) -> Sequence[Unit]:
    """Return the stored units without a system prompt at the beginning, which is not compared."""
    start = next((i for i, item in enumerate(stored) if not item.is_system), len(stored))
    return stored[start:]


def without_repeated_calls(units: Iterable[Unit]) -> Iterator[Unit]:
    """Yield units without calls that are repeated before their answers."""
    open_calls: dict[str, bytes] = {}
    for unit in units:
        if unit.kind == "answer":
            open_calls.pop(unit.call_id, None)
        elif unit.kind == "call":
            if unit.call_id and open_calls.get(unit.call_id) == unit.digest:
                continue
            open_calls[unit.call_id] = unit.digest
        yield unit


def further_blocks(
    message: JsonObject, units: Callable[[JsonObject], Sequence[Unit]], stored: Sequence[Unit]
) -> JsonObject | None:
    """Return a message with only its new blocks; `None` if they cannot be separated.

    Args:
        message: A message whose beginning is stored.
        units: Function that returns the units of a part of the message.
        stored: The units of the stored beginning, and stored answers.
    """
    known = {(call.kind, call.call_id or call.digest) for call in stored}

    def is_stored(head: JsonObject) -> bool:
        return all((unit.kind, unit.call_id or unit.digest) in known for unit in units(head))

    for name in _BLOCKS:
        blocks = message.get(name)
        if not isinstance(blocks, list):
            continue
        # Any beginning with a new block is followed by others with it, so bisection is possible.
        heads = range(1, len(blocks))
        stored_heads = bisect_left(
            heads, True, key=lambda count: not is_stored({**message, name: blocks[:count]})
        )
        return {**message, name: blocks[stored_heads:]} if stored_heads else None
    if isinstance(message.get("content"), str):
        # The text is stored, and the calls beside it are new.
        return {**message, "content": None}
    return None
