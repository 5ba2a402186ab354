"""A cache of facts about the beginnings of sessions, so that renderings can continue from there.

A *prefix* is a beginning of a session that later entries do not change. The cache has no messages,
only facts: ids of calls, a hash of the messages, counts for limits. Each process caches the
prefixes of the sessions that it rendered last. Missing prefixes are computed from the history. A
deleted session and a new session with the same id have different keys.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, Protocol, Self, TypeAlias, TypeVar

from pagefault_dialects.model.render_options import Audience, RenderOptions
from pagefault_dialects.turns.pairing import PairingState

MAX_BYTES = 8 * 1024 * 1024
"""The limit of each of the two caches: that of `NewEntries`, and that of `SessionWindows`."""
# The approximate memory of a prefix, and of one fact in it, such as the id of a call.
_BYTES_OF_PREFIX = 2_048
_BYTES_OF_FACT = 200
# The number of newest prefixes that are all kept. Of the older ones, only some are kept.
_NEWEST_KEPT = 4


@dataclass(frozen=True, slots=True)
class SessionKey:
    """The key of a session in the cache."""

    project_id: str
    session_id: str
    incarnation: str
    """An id that distinguishes the session from later ones with the same id."""
    audience: Audience
    """The audience of the messages."""
    prompt: bytes | None
    """The members of a model request beside its messages, as a JSON object."""


RenderingKey: TypeAlias = tuple[str, RenderOptions]
"""The target of a rendering with the version of its profile, and the options."""


class Prefix(Protocol):
    """The facts of a prefix."""

    @property
    def seq(self) -> int:
        """The `seq` of the last entry of the prefix."""

    @property
    def pairing_state(self) -> PairingState:
        """The state of pairing calls and answers at the end of the prefix."""

    @property
    def number(self) -> int:
        """The position among the prefixes of the session, from 1."""

    @property
    def fact_count(self) -> int:
        """The number of facts besides those of calls."""

    def with_pairing_state(self, pairing_state: PairingState) -> Self:
        """Return a copy with an equal state that other prefixes share, to save memory."""


_Prefix = TypeVar("_Prefix", bound=Prefix)


@dataclass(slots=True)
class _SessionPrefixes(Generic[_Prefix]):
    """The prefixes of one session."""

    pairing_states: dict[int, PairingState] = field(default_factory=dict)
    """The states of pairing, which the prefixes of all renderings share, by `Prefix.seq`."""
    rendered: dict[RenderingKey, tuple[_Prefix, ...]] = field(default_factory=dict)
    """The prefixes of each rendering, the longest first."""

    def put(self, rendering_key: RenderingKey, prefix: _Prefix) -> None:
        """Add a prefix, and remove some of the shorter ones; see `PrefixCache`."""
        pairing_state = self.pairing_states.setdefault(prefix.seq, prefix.pairing_state)
        older = (item for item in self.rendered.get(rendering_key, ()) if item.seq != prefix.seq)
        prefixes = sorted(
            [prefix.with_pairing_state(pairing_state), *older], key=lambda item: -item.seq
        )
        newest = prefixes[0].number
        # `number & -number` is the highest power of two that divides the number. The higher this
        # power is, the longer the prefix is kept.
        self.rendered[rendering_key] = tuple(
            item
            for item in prefixes
            if newest - item.number < _NEWEST_KEPT * (item.number & -item.number)
        )
        used = {item.seq for prefixes in self.rendered.values() for item in prefixes}
        self.pairing_states = {
            seq: value for seq, value in self.pairing_states.items() if seq in used
        }

    @property
    def size_bytes(self) -> int:
        """The approximate memory. Prefixes share most facts of calls, so these count once."""
        calls = max((item.calls.count for item in self.pairing_states.values()), default=0)
        prefixes = [item for listed in self.rendered.values() for item in listed]
        facts = sum(prefix.fact_count for prefix in prefixes)
        return (calls + facts) * _BYTES_OF_FACT + len(prefixes) * _BYTES_OF_PREFIX


@dataclass(slots=True)
class PrefixCache(Generic[_Prefix]):
    """A cache of prefixes of all projects that evicts those of the least recently used sessions.

    The last four prefixes of a rendering are all kept. Of the earlier ones, fewer are kept the
    shorter they are. So a request for entries `n` before the end of a session has to read at most
    about `2 * n` entries.
    """

    max_bytes: int = MAX_BYTES
    """The approximate limit of memory."""
    _sessions: OrderedDict[SessionKey, _SessionPrefixes[_Prefix]] = field(
        default_factory=OrderedDict
    )
    _size_bytes: int = 0
    _lock: Lock = field(default_factory=Lock)

    def find(self, key: SessionKey, rendering_key: RenderingKey, *, up_to: int) -> _Prefix | None:
        """Return the longest prefix that ends at the entry `up_to` or before it."""
        with self._lock:
            session = self._sessions.get(key)
            if session is None:
                return None
            self._sessions.move_to_end(key)
            prefixes = session.rendered.get(rendering_key, ())
        return next((prefix for prefix in prefixes if prefix.seq <= up_to), None)

    def put(self, key: SessionKey, rendering_key: RenderingKey, prefix: _Prefix) -> None:
        """Add a prefix, and evict sessions until the cache is within its limit."""
        with self._lock:
            session = self._remove(key) or _SessionPrefixes[_Prefix]()
            session.put(rendering_key, prefix)
            if session.size_bytes > self.max_bytes:
                # Keep only the new prefix.
                session = _SessionPrefixes[_Prefix]()
                session.put(rendering_key, prefix)
            self._sessions[key] = session
            self._size_bytes += session.size_bytes
            while self._size_bytes > self.max_bytes:
                self._remove(next(iter(self._sessions)))

    def remove(self, key: SessionKey) -> None:
        """Remove all prefixes of a session."""
        with self._lock:
            self._remove(key)

    def _remove(self, key: SessionKey) -> _SessionPrefixes[_Prefix] | None:
        """Remove and return the prefixes of a session, if there are any."""
        session = self._sessions.pop(key, None)
        self._size_bytes -= session.size_bytes if session else 0
        return session
