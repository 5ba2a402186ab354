"""Compares a sent conversation with the stored one, to find the messages that are new.

Both conversations are split into units: a text or a medium with its role; a call with its id, name
and arguments; a result with the id of its call. Ids of messages, times, usage, reasoning, cache
marks and the borders between messages are not compared.

Texts and media are compared in their order, and calls in theirs. A result is compared with the
stored result of the same call, whatever their positions.

The service may have stored a *record* of a tool result, which differs from the message of the
client. Then any sent result of the call is equal to it.
"""

import hashlib
import re
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

from pagefault_dialects.json.values import (
    JsonObject,
    JsonValue,
    json_text,
    parse_stored_json,
)
from pagefault_dialects.media.embedded_data_uris import MovableString, put_member
from pagefault_dialects.messages.message_media import find_media
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

UnitKind: TypeAlias = Literal["said", "call", "result"]
"""The kind of a unit: a text or a medium, a call, or the result of a call."""
GetDigest: TypeAlias = Callable[[bytes], str]
"""A function that returns the SHA-256 of a medium in hex, given its bytes in the message.

The bytes in the message may be a placeholder of a medium that is in a temporary file.
"""

_ANY_RESULT = b""
"""The digest in the unit of a record, which is equal to any sent result of the call."""
_DIGEST_BYTES = 16
# The ids that `message_calls` gives to calls without one. They contain the position of the message,
# which changes when the message is stored.
_GENERATED_ID = re.compile(r"^call_[0-9]{1,19}_[0-9]{1,9}$")
_CONTENT_NAMES = ("content", "parts")
_REFERENCE = re.compile("@blob:[0-9a-f]{32}")
_NONE_MOVED: Mapping[str, str] = {}


class Unit(NamedTuple):
    """A part of a conversation that is compared with one other unit."""

    kind: UnitKind
    digest: bytes
    """The digest of all that is compared: units with equal digests are equal."""
    position: int
    """The `seq` of a stored entry, or the index of a sent message."""
    call_id: str = ""
    is_system: bool = False
    """True if the unit is of a system prompt."""
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
    """The indexes of the sent messages that are not stored, and are to be appended."""
    partly_stored: int | None = None
    """The index of the first message in `new` whose beginning is stored already."""
    difference: Difference | None = None
    stored_results: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """The ids of the calls whose results are stored, by the index of a message in `new` that has
    such results beside new content. An id that several of these results have is repeated."""


def digest_bytes(data: bytes) -> str:
    """Return the SHA-256 of bytes in hex."""
    return hashlib.sha256(data).hexdigest()


def split_into_units(
    turns: Iterable[ComposedTurn],
    position: int,
    get_digest: GetDigest = digest_bytes,
    *,
    moved_digests: Mapping[str, str] = _NONE_MOVED,
) -> list[Unit]:
    """Return the units of the turns of one message.

    Args:
        turns: The turns.
        position: The `seq` of the stored entry, or the index of the sent message.
        get_digest: Returns the digest of a medium in the message.
        moved_digests: The digests of the media that were moved out of a stored message, by the
            references that replace them.
    """

    def describe(value: JsonValue) -> str:
        return _describe_value(value, get_digest, moved_digests)

    units: list[Unit] = []
    for turn in turns:
        contents = [
            value for item in turn.items for value in _describe_item(item, get_digest, describe)
        ]
        if turn.role == "tool":
            digest = _compute_digest("result", turn.call_id, *(content for _, content in contents))
            units.append(Unit("result", digest, position, turn.call_id))
            continue
        is_system = turn.role == "system"
        for pointer, content in contents:
            digest = _compute_digest(turn.role, content)
            units.append(Unit("said", digest, position, is_system=is_system, pointer=pointer))
        for call in turn.calls:
            # The digest leaves out every generated id. `call_id` leaves out only the one that was
            # generated for this call: any other is in the message, and results may have it.
            sent_id = _GENERATED_ID.sub("", call.call_id)
            digest = _compute_digest("call", sent_id, call.name, describe(call.arguments))
            is_generated = call.call_id.startswith(f"call_{position}_")
            units.append(Unit("call", digest, position, "" if is_generated else call.call_id))
    return units


def make_record_unit(call_id: str, seq: int) -> Unit:
    """Return the unit of a record of a tool result."""
    return Unit("result", _ANY_RESULT, seq, call_id)


def _describe_item(
    item: Item, get_digest: GetDigest, describe: Callable[[JsonValue], str]
) -> Iterator[tuple[str, str]]:
    """Yield the pointer of an item and what is compared of it.

    Omissions, notes of the service, and provider blocks such as reasoning are not compared.
    """
    match item:
        case TextItem(pointer, text):
            if text:
                yield pointer, f"text {text}"
        case DataItem(pointer, value):
            yield pointer, f"data {describe(value)}"
        case Medium(pointer, StoredBytes(digest=digest)):
            yield pointer, f"medium {digest}"
        case Medium(pointer, InlineBytes(data)):
            yield pointer, f"medium {get_digest(data)}"
        case Medium(pointer, Address(url)):
            yield pointer, f"address {url}"
        case _:
            return


def _describe_value(
    value: JsonValue, get_digest: GetDigest, moved_digests: Mapping[str, str]
) -> str:
    """Return the digest of a JSON value, such as arguments, with digests in place of its media."""
    if moved_digests:
        text = _REFERENCE.sub(lambda found: moved_digests.get(found[0], found[0]), json_text(value))
        value = parse_stored_json(text.encode())
    if strings := find_media(value):
        value = parse_stored_json(json_text(value).encode())
        for string in strings:
            value = put_member(value, string.pointer, _replace_media(string, get_digest))
    return json_digest(value)


def _replace_media(string: MovableString, get_digest: GetDigest) -> str:
    """Return a string with the digests of its media in their places."""
    if string.uri is not None:
        return get_digest(string.uri.data or b"")
    pieces: list[str] = []
    position = 0
    for span in string.spans:
        pieces += [string.text[position : span.start], get_digest(span.data)]
        position = span.end
    return "".join((*pieces, string.text[position:]))


def _compute_digest(*texts: str) -> bytes:
    sha256 = hashlib.sha256()
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        sha256.update(b"%d:" % len(encoded))
        sha256.update(encoded)
    return sha256.digest()[:_DIGEST_BYTES]


def compare(
    stored: Sequence[Unit], sent: Sequence[Unit], message_count: int, *, continues: bool = False
) -> Comparison:
    """Compare sent messages with stored ones.

    Args:
        stored: The units of all stored messages and tool results, in the order of `seq`.
        sent: The units of the sent messages.
        message_count: The number of sent messages, some of which may have no units.
        continues: Whether the sent messages follow the stored ones. Otherwise they are the whole
            conversation.
    """
    return _Comparer(stored, sent, message_count).run(continues=continues)


class _StoredUnits:
    """The stored units of one kind, and the index of the next one to compare."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self.units = units
        self.next_index = 0
        self.has_differed = False
        """True after the first unit that differed from the sent one."""

    @property
    def next_unit(self) -> Unit | None:
        """The next unit to compare; `None` after the last one."""
        return self.units[self.next_index] if self.next_index < len(self.units) else None


@dataclass(slots=True)
class _UnitCounts:
    """The stored and the new units of a sent message."""

    stored: int = 0
    """The number of texts, media and calls that are stored."""
    stored_results: list[str] = field(default_factory=list)
    """The ids of the calls of results that are stored."""
    new: int = 0
    """The number of texts, media and calls that are not stored."""
    new_results: int = 0
    """The number of results that are not stored."""
    first_seq: int | None = None
    """The `seq` of the entry with the first stored unit."""


@dataclass(slots=True)
class _Comparer:
    """One comparison of sent units with stored ones."""

    stored: Sequence[Unit]
    sent: Sequence[Unit]
    message_count: int
    """The number of sent messages."""
    counts: dict[int, _UnitCounts] = field(default_factory=lambda: defaultdict(_UnitCounts))
    """The numbers of units, by the index of the sent message."""

    def run(self, *, continues: bool) -> Comparison:
        """Return the result of the comparison. May be called once."""
        stored = [*_remove_repeated_calls(_remove_prompt(self.stored))]
        sent = [*_remove_repeated_calls(_remove_prompt(self.sent))]
        kinds: Sequence[UnitKind] = ("said", "call")
        stored_by_kind = {
            kind: _StoredUnits([item for item in stored if item.kind == kind]) for kind in kinds
        }
        if continues:
            # A client may send the last stored messages once more.
            start = _find_resent_start(stored, sent)
            for kind, units in stored_by_kind.items():
                units.next_index = sum(item.kind == kind for item in stored[:start])
        results: dict[str, deque[Unit]] = defaultdict(deque)
        for item in stored:
            if item.kind == "result":
                results[item.call_id].append(item)
        if continues:
            _drop_results_of_repeated_ids(stored_by_kind["call"], sent, results)
        differences = [
            difference
            for unit in sent
            if (difference := self._compare_unit(unit, stored_by_kind, results)) is not None
        ]
        # Stored units that are left over were not sent.
        unsent = (units.next_unit for units in stored_by_kind.values())
        differences += (
            Difference(self.message_count, "", item.position) for item in unsent if item
        )
        if differences:
            # Report the first sent message that differs, and the first stored entry that differs.
            # They may belong to two differences, since content and calls are compared separately.
            first = min(differences, key=lambda difference: difference.position)
            seq = min(difference.seq for difference in differences)
            return Comparison(difference=replace(first, seq=seq))
        return self._find_new_messages()

    def _compare_unit(
        self,
        unit: Unit,
        stored_by_kind: dict[UnitKind, _StoredUnits],
        results: dict[str, deque[Unit]],
    ) -> Difference | None:
        """Compare a sent unit with the next stored one of its kind; return the difference, if any.

        After the first difference of a kind, its other units are not compared.
        """
        counts = self.counts[unit.position]
        if unit.kind == "result":
            return self._compare_result(unit, results[unit.call_id])
        stored_units = stored_by_kind[unit.kind]
        stored = stored_units.next_unit
        if stored is None:
            counts.new += 1
        elif stored_units.has_differed:
            return None
        elif stored.digest == unit.digest:
            stored_units.next_index += 1
            counts.stored += 1
            counts.first_seq = counts.first_seq or stored.position
        else:
            stored_units.has_differed = True
            return Difference(unit.position, unit.pointer, stored.position)
        return None

    def _compare_result(self, unit: Unit, stored_results: deque[Unit]) -> Difference | None:
        """Compare a result with the stored results of its call, the oldest first."""
        counts = self.counts[unit.position]
        if not stored_results:
            counts.new_results += 1
            return None
        stored = stored_results.popleft()
        counts.stored_results.append(unit.call_id)
        is_same = stored.digest in (_ANY_RESULT, unit.digest)
        return None if is_same else Difference(unit.position, unit.pointer, stored.position)

    def _find_new_messages(self) -> Comparison:
        """Return the new messages, or a difference if a stored message follows a new one."""
        with_stored = [index for index, counts in self.counts.items() if counts.stored]
        last_stored = max(with_stored, default=-1)
        new: list[int] = []
        for index in sorted(self.counts):
            counts = self.counts[index]
            if not (counts.new or counts.new_results):
                continue
            # New texts or calls, or a partly stored message, may not precede stored ones. A message
            # with only new results may.
            if index < last_stored and (counts.new or counts.stored):
                later = min(item for item in with_stored if item > index)
                seq = self.counts[later].first_seq or 0
                return Comparison(difference=Difference(index, "", seq))
            new.append(index)
        partly_stored = next((index for index in new if self.counts[index].stored), None)
        stored_results = {
            index: tuple(call_ids)
            for index in new
            if (call_ids := self.counts[index].stored_results) and index != partly_stored
        }
        first_new = min(new, default=0)
        stored = [
            index
            for index, counts in self.counts.items()
            if counts.stored or (counts.stored_results and index < first_new)
        ]
        # A message without units, such as reasoning, is new if it is after the last stored message
        # and before the last new one.
        before_newest = range(max(stored, default=-1) + 1, max(new, default=-1))
        new += (index for index in before_newest if index not in self.counts)
        return Comparison(tuple(sorted(new)), partly_stored, stored_results=stored_results)


def _drop_results_of_repeated_ids(
    calls: _StoredUnits, sent: Sequence[Unit], results: dict[str, deque[Unit]]
) -> None:
    """Remove the stored result of each stored call whose id a new call uses again.

    A sent result with the id then belongs to the new call.

    Args:
        calls: The stored calls. Those from `next_index` on are repeated at the beginning of `sent`.
        sent: The sent units.
        results: The stored results by the ids of their calls. Results are removed from it.
    """
    resent_count = len(calls.units) - calls.next_index
    sent_calls = [item for item in sent if item.kind == "call"]
    new_ids = {item.call_id for item in sent_calls[resent_count:]}
    for call in calls.units:
        if call.call_id in new_ids and results[call.call_id]:
            results[call.call_id].popleft()


def _find_resent_start(stored: Sequence[Unit], sent: Sequence[Unit]) -> int:
    """Return the index of the first stored unit that the sent units repeat.

    The sent units have to equal the last stored ones. Otherwise return the number of stored units.
    Results are not compared, and the order between content and calls does not count.
    """
    count = sum(item.kind != "result" for item in sent)
    indexes = [index for index, item in enumerate(stored) if item.kind != "result"]
    start = indexes[-count] if 0 < count <= len(indexes) else len(stored)

    def list_digests(units: Sequence[Unit], kind: UnitKind) -> list[bytes]:
        return [item.digest for item in units if item.kind == kind]

    end = stored[start:]
    kinds: Sequence[UnitKind] = ("said", "call")
    is_same = all(list_digests(end, kind) == list_digests(sent, kind) for kind in kinds)
    return start if is_same else len(stored)


def _remove_prompt(units: Sequence[Unit]) -> Sequence[Unit]:
    """Return the units without a system prompt at the beginning, which is not compared."""
    start = next((index for index, item in enumerate(units) if not item.is_system), len(units))
    return units[start:]


def _remove_repeated_calls(units: Iterable[Unit]) -> Iterator[Unit]:
    """Yield the units, except calls that repeat an earlier call which has no result yet.

    Cumulative streams and some proxies send calls twice.
    """
    open_calls: dict[str, bytes] = {}
    for unit in units:
        if unit.kind == "result":
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
        split: Returns the units of a message.
        stored: The units of the stored beginning, and of stored results.
    """
    stored_units = {(unit.kind, unit.call_id or unit.digest) for unit in stored}

    def is_stored(beginning: JsonObject) -> bool:
        units = split(beginning)
        return all((unit.kind, unit.call_id or unit.digest) in stored_units for unit in units)

    for name in _CONTENT_NAMES:
        blocks = message.get(name)
        if not isinstance(blocks, list):
            continue
        # The stored blocks come before the new ones, so their number is found by bisection.
        counts = range(1, len(blocks))
        stored_count = bisect_left(
            counts, True, key=lambda count: not is_stored({**message, name: blocks[:count]})
        )
        return {**message, name: blocks[stored_count:]} if stored_count else None
    if isinstance(message.get("content"), str):
        # The text is stored, and the calls beside the text are new.
        return {**message, "content": None}
    return None


def drop_stored_results(
    message: JsonObject, split: Callable[[JsonObject], Sequence[Unit]], call_ids: Iterable[str]
) -> JsonObject:
    """Return a message without the blocks that are only stored results.

    Args:
        message: A message with stored results and new content.
        split: Returns the units of a message.
        call_ids: The ids of the calls whose results are stored, one for each result. Of several
            results with the same id, or without one, the first are the stored ones.

    Returns:
        `message` itself, if no block can be left out.
    """
    counts = Counter(call_ids)

    def take_stored(units: Sequence[Unit]) -> bool:
        """Return whether units are stored results; if so, these do not count any more."""
        needed = Counter(unit.call_id for unit in units)
        are_stored = bool(units) and all(
            unit.kind == "result" and counts[unit.call_id] >= needed[unit.call_id] for unit in units
        )
        if are_stored:
            counts.subtract(needed)
        return are_stored

    for name in _CONTENT_NAMES:
        blocks = message.get(name)
        if isinstance(blocks, list):
            kept = [block for block in blocks if not take_stored(split({**message, name: [block]}))]
            return {**message, name: kept} if 0 < len(kept) < len(blocks) else message
    return message
