"""A cache of entries and their turns.

It exists because an agent renders its whole history again for each step.
An entry never changes, and its turns depend only on the entry and the resources that it refers to.
So each process caches the entries that it has read last, with their turns. Two indexes find them:
by the incarnation of the session and the `seq`, and by the id of the entry. A session may be
deleted, and another session imported with the same ids. So cached turns are only used for an entry
with equal bytes and equal resources.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TypeAlias

from cachetools import LRUCache

from app.models.message import StoredHistoryMessage, StoredMessage
from app.services.calls.stored_message_turns import find_moved_media_ids
from pagefault_dialects.json.values import parse_stored_json
from pagefault_dialects.messages.message_references import find_references
from pagefault_dialects.model.conversation import ComposedTurn
from pagefault_dialects.model.render_options import Audience
from pagefault_dialects.model.resource import Resource

CachedEntry: TypeAlias = StoredMessage | StoredHistoryMessage

# The memory of a cached entry is estimated: three times its bytes, for the bytes and the texts of
# its turns, and the memory of the objects.
_MEMORY_PER_BYTE = 3
_OBJECT_BYTES = 2_048
_MAX_ENTRY_BYTES = 1024 * 1024
MAX_BYTES = 16 * 1024 * 1024
"""The approximate memory of the cache."""


@dataclass(slots=True)
class _CachedTurns:
    """An entry with its turns, as they were read last."""

    entry: CachedEntry
    position: tuple[str, int] | None = None
    """The incarnation of the session, and the `seq`; `None` if `put` was not called."""
    referenced_ids: frozenset[str] | None = None
    """The ids of the resources that a message refers to; `None` if they were not read."""
    rendered_for: tuple[str, Audience] | None = None
    """The origin and the audience of the turns; `None` if there are no turns yet."""
    resources: tuple[Resource | None, ...] = ()
    """The resources from which the turns were made, in order of `referenced_ids`."""
    turns: Sequence[ComposedTurn] = ()

    @property
    def size_bytes(self) -> int:
        return _size_bytes(self.entry) * _MEMORY_PER_BYTE + _OBJECT_BYTES


class _CachedEntries(LRUCache[str, _CachedTurns]):
    """Cached entries by their ids, with an index by their positions.

    Args:
        max_bytes: The approximate limit of memory.
    """

    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes, lambda cached: cached.size_bytes)
        self.by_position: dict[tuple[str, int] | None, CachedEntry] = {}

    def __delitem__(self, message_id: str) -> None:
        self.by_position.pop(self[message_id].position, None)
        super().__delitem__(message_id)


class TurnCache:
    """A cache of entries of all projects, which evicts the least recently used entries.

    Args:
        max_bytes: The approximate limit of memory.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._cached = _CachedEntries(max_bytes)
        self._lock = Lock()

    def entries(self, incarnation: str, *, after_seq: int, to_seq: int) -> Sequence[CachedEntry]:
        """Return the cached entries of a session after a `seq`, up to the first missing entry.

        Args:
            incarnation: The incarnation of the session.
            after_seq: The `seq` before the first entry.
            to_seq: The `seq` of the last entry.
        """
        found: list[CachedEntry] = []
        with self._lock:
            for seq in range(after_seq + 1, to_seq + 1):
                entry = self._cached.by_position.get((incarnation, seq))
                if entry is None:
                    break
                found.append(entry)
        return found

    def put(self, incarnation: str, entry: CachedEntry) -> None:
        """Add an entry that was read from a session, so that `entries` returns it.

        Args:
            incarnation: The incarnation of the session.
            entry: The entry.
        """
        cached = self._find_or_add(entry)
        with self._lock:
            if self._cached.get(entry.message_id) is cached:
                self._cached.by_position.pop(cached.position, None)
                cached.position = (incarnation, entry.seq)
                self._cached.by_position[cached.position] = cached.entry

    def referenced_ids(self, entry: StoredHistoryMessage) -> frozenset[str]:
        """Return the ids of the resources that a message refers to."""
        cached = self._find_or_add(entry)
        if cached.referenced_ids is None:
            found = find_references(parse_stored_json(entry.message)) | find_moved_media_ids(entry)
            cached.referenced_ids = frozenset(found)
        return cached.referenced_ids

    def turns(
        self,
        entry: CachedEntry,
        resources: Mapping[str, Resource],
        read: Callable[[], Sequence[ComposedTurn]],
        *,
        origin: str,
        audience: Audience,
    ) -> Sequence[ComposedTurn]:
        """Return the turns of an entry, from the cache if possible.

        Args:
            entry: A message, or a tool result whose structured content is in its record.
            resources: Resources by id; at least those that the entry refers to.
            read: Reads the turns of the entry. It is called if they are not cached.
            origin: The path of the entry, which is part of the turns.
            audience: The reader of the turns.
        """
        cached = self._find_or_add(entry)
        ids = sorted(self.referenced_ids(entry)) if isinstance(entry, StoredHistoryMessage) else []
        referenced = tuple(map(resources.get, ids))
        rendered_for = (origin, audience)
        with self._lock:
            if cached.rendered_for == rendered_for and cached.resources == referenced:
                return cached.turns
        turns = read()
        with self._lock:
            cached.rendered_for, cached.resources, cached.turns = rendered_for, referenced, turns
        return turns

    def _find_or_add(self, entry: CachedEntry) -> _CachedTurns:
        """Return the cached turns of an entry. Add the entry if it is new and not too large."""
        with self._lock:
            cached = self._cached.get(entry.message_id)
            if cached is not None and (cached.entry is entry or cached.entry == entry):
                return cached
            new = _CachedTurns(entry)
            if _size_bytes(entry) > _MAX_ENTRY_BYTES or new.size_bytes > self._cached.maxsize:
                return new
            self._cached.pop(entry.message_id, None)
            self._cached[entry.message_id] = new
            return new


def _size_bytes(entry: CachedEntry) -> int:
    return len(entry.sanitized if isinstance(entry, StoredMessage) else entry.message)
