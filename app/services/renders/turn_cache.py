"""Turns of entries that were rendered before: a history is rendered again and again, and grows.

An entry never changes, and what it is as turns follows from it and from the resources it refers to.
So each process remembers the entries that it read last, by the incarnation of their session and
their `seq`, and their turns. Turns count only for an entry that is equal, byte for byte, with equal
resources: a session may be deleted, and another one imported with the same ids.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TypeAlias

from app.models.message import StoredHistoryMessage, StoredMessage
from app.services.calls.stored_message_turns import moved_out_of
from pagefault_dialects.json.values import parse_stored_json
from pagefault_dialects.messages.message_references import references_in
from pagefault_dialects.model.conversation import ComposedTurn
from pagefault_dialects.model.render_options import Audience
from pagefault_dialects.model.resource import Resource

CachedEntry: TypeAlias = StoredMessage | StoredHistoryMessage

# An entry is held as bytes, and as the texts of its turns.
_BYTES_FOR_A_BYTE = 3
_BYTES_AROUND = 2_048
_LARGEST_BYTES = 1024 * 1024
MOST_BYTES = 16 * 1024 * 1024


@dataclass(slots=True)
class _Known:
    """What is known of an entry: what it refers to, and the turns that it last was."""

    entry: CachedEntry
    place: tuple[str, int] | None = None
    referred: frozenset[str] | None = None
    asked: tuple[str, Audience] | None = None
    resources: tuple[Resource | None, ...] = ()
    turns: Sequence[ComposedTurn] = ()

    @property
    def size_bytes(self) -> int:
        return _size_bytes(self.entry) * _BYTES_FOR_A_BYTE + _BYTES_AROUND


class TurnCache:
    """Remembers the turns of entries, for all projects, those that were used last.

    Args:
        most_bytes: About how much memory they may take.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._size_bytes = 0
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._places: dict[tuple[str, int] | None, CachedEntry] = {}
        self._lock = Lock()

    def entries(self, incarnation: str, *, after_seq: int, to_seq: int) -> Sequence[CachedEntry]:
        """Return the entries of a session behind a `seq`, as many as follow each other here.

        Args:
            incarnation: That of the session: in it, the entry with a `seq` never changes.
            after_seq: The `seq` before the first one.
            to_seq: The `seq` of the last one.
        """
        found: list[CachedEntry] = []
        with self._lock:
            for seq in range(after_seq + 1, to_seq + 1):
                entry = self._places.get((incarnation, seq))
                if entry is None:
                    break
                found.append(entry)
        return found

    def put(self, incarnation: str, entry: CachedEntry) -> None:
        """Remember an entry of a session as the one with its `seq`."""
        known = self._of(entry)
        with self._lock:
            if self._known.get(entry.message_id) is known:
                self._places.pop(known.place, None)
                known.place = (incarnation, entry.seq)
                self._places[known.place] = known.entry

    def referred(self, entry: StoredHistoryMessage) -> frozenset[str]:
        """Return the ids of the resources that a message refers to."""
        known = self._of(entry)
        if known.referred is None:
            found = references_in(parse_stored_json(entry.message)) | moved_out_of(entry)
            known.referred = frozenset(found)
        return known.referred

    def turns(
        self,
        entry: CachedEntry,
        resources: Mapping[str, Resource],
        read: Callable[[], Sequence[ComposedTurn]],
        *,
        origin: str,
        audience: Audience,
    ) -> Sequence[ComposedTurn]:
        """Return the turns of an entry.

        Args:
            entry: A message, or a tool result all of whose content is in its record.
            resources: At least those that it refers to, as far as they are there.
            read: Reads the turns, if they are not known.
            origin: The path that they name as their origin.
            audience: For whom they are.
        """
        known = self._of(entry)
        ids = sorted(self.referred(entry)) if isinstance(entry, StoredHistoryMessage) else []
        used, asked = tuple(map(resources.get, ids)), (origin, audience)
        with self._lock:
            if known.asked == asked and known.resources == used:
                return known.turns
        turns = read()
        with self._lock:
            known.asked, known.resources, known.turns = asked, used, turns
        return turns

    def _of(self, entry: CachedEntry) -> _Known:
        """Return what is known of an entry; what is too large is not remembered."""
        with self._lock:
            known = self._known.get(entry.message_id)
            if known is not None and (known.entry is entry or known.entry == entry):
                self._known.move_to_end(entry.message_id)
                return known
            new = _Known(entry)
            if _size_bytes(entry) > _LARGEST_BYTES:
                return new
            if known is not None:
                self._remove(entry.message_id)
            self._known[entry.message_id] = new
            self._size_bytes += new.size_bytes
            while self._size_bytes > self._most_bytes:
                self._remove(next(iter(self._known)))
            return new

    def _remove(self, message_id: str) -> None:
        known = self._known.pop(message_id)
        self._size_bytes -= known.size_bytes
        self._places.pop(known.place, None)


def _size_bytes(entry: CachedEntry) -> int:
    return len(entry.sanitized if isinstance(entry, StoredMessage) else entry.message)
