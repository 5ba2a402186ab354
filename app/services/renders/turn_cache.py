"""A cache of entries and their turns, since a history is rendered again and again.

An entry never changes, and its turns follow from it and the resources that it refers to. So each
process caches the entries that it read last, by the incarnation of their session and their `seq`,
and their turns. Turns are only used for an entry that is equal, byte for byte, with equal
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

# An entry is cached as bytes, and as the texts of its turns.
_BYTES_FOR_A_BYTE = 3
_BYTES_OF_ENTRY = 2_048
_LARGEST_BYTES = 1024 * 1024
MAX_BYTES = 16 * 1024 * 1024


@dataclass(slots=True)
class _Known:
    """An entry, the resources that it refers to, and its last turns."""

    entry: CachedEntry
    place: tuple[str, int] | None = None
    referred: frozenset[str] | None = None
    read_for: tuple[str, Audience] | None = None
    """The origin and audience of the turns."""
    resources: tuple[Resource | None, ...] = ()
    turns: Sequence[ComposedTurn] = ()

    @property
    def size_bytes(self) -> int:
        return _size_bytes(self.entry) * _BYTES_FOR_A_BYTE + _BYTES_OF_ENTRY


class TurnCache:
    """A cache of entries of all projects that evicts the least recently used ones.

    Args:
        max_bytes: The approximate limit of memory.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._size_bytes = 0
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._places: dict[tuple[str, int] | None, CachedEntry] = {}
        self._lock = Lock()

    def entries(self, incarnation: str, *, after_seq: int, to_seq: int) -> Sequence[CachedEntry]:
        """Return cached entries of a session behind a `seq`, up to the first missing one.

        Args:
            incarnation: The incarnation of the session.
            after_seq: The `seq` before the first entry.
            to_seq: The `seq` of the last entry.
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
        """Add an entry of a session."""
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
            resources: At least the stored ones that the entry refers to.
            read: Reads the turns, if they are not cached.
            origin: The origin of the turns.
            audience: The audience of the turns.
        """
        known = self._of(entry)
        ids = sorted(self.referred(entry)) if isinstance(entry, StoredHistoryMessage) else []
        used, read_for = tuple(map(resources.get, ids)), (origin, audience)
        with self._lock:
            if known.read_for == read_for and known.resources == used:
                return known.turns
        turns = read()
        with self._lock:
            known.read_for, known.resources, known.turns = read_for, used, turns
        return turns

    def _of(self, entry: CachedEntry) -> _Known:
        """Return the cached facts of an entry, or new ones; large entries are not cached."""
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
            while self._size_bytes > self._max_bytes:
                self._remove(next(iter(self._known)))
            return new

    def _remove(self, message_id: str) -> None:
        known = self._known.pop(message_id)
        self._size_bytes -= known.size_bytes
        self._places.pop(known.place, None)


def _size_bytes(entry: CachedEntry) -> int:
    return len(entry.sanitized if isinstance(entry, StoredMessage) else entry.message)
