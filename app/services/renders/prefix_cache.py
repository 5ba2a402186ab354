"""A cache of facts about the beginnings of sessions, so that they are not read for each rendering.

A *prefix* is a beginning of a session whose turns do not change if entries are appended. The cache
has no messages, only facts that are needed to render the entries after a prefix: the ids of calls,
a hash of the messages, counts for limits. Each process caches the prefixes of the sessions that it
has rendered last. Missing prefixes are computed from the history.
"""

from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, Protocol, Self, TypeAlias, TypeVar

from cachetools import LRUCache

from pagefault_dialects.model.render_options import Audience, RenderOptions
from pagefault_dialects.turns.pairing import PairingState

MAX_BYTES = 8 * 1024 * 1024
"""The approximate memory of a cache. `NewEntries` and `SessionWindows` have a cache each."""
# The approximate memory of a prefix, and of one fact in it, such as the id of a call.
_PREFIX_BYTES = 2_048
_FACT_BYTES = 200
# The number of longest prefixes of a rendering that are all kept. Of the shorter ones, some are.
_ALWAYS_KEPT = 4


@dataclass(frozen=True, slots=True)
class SessionKey:
    """The key of a session in the cache."""

    project_id: str
    session_id: str
    incarnation: str
    """An id that distinguishes the session from a later session with the same id."""
    audience: Audience
    """The reader of the turns."""
    prompt: bytes | None
    """The members of a model request that are not messages, as a JSON object."""


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
        """The number of times that the prefix was extended, from 1."""

    @property
    def fact_count(self) -> int:
        """The number of facts, without those about calls."""

    def with_pairing_state(self, pairing_state: PairingState) -> Self:
        """Return a copy with another object for its pairing state, which is equal.

        Prefixes of several renderings share the object, to save memory.
        """


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
        max_number = prefixes[0].number
        # `number & -number` is the highest power of two that divides the number. The higher this
        # power is, the longer the prefix is kept.
        self.rendered[rendering_key] = tuple(
            item
            for item in prefixes
            if max_number - item.number < _ALWAYS_KEPT * (item.number & -item.number)
        )
        used_seqs = {item.seq for prefixes in self.rendered.values() for item in prefixes}
        self.pairing_states = {
            seq: state for seq, state in self.pairing_states.items() if seq in used_seqs
        }

    @property
    def size_bytes(self) -> int:
        """The approximate memory. Prefixes share most facts about calls, so these count once."""
        call_count = max((state.calls.count for state in self.pairing_states.values()), default=0)
        prefixes = [item for prefixes in self.rendered.values() for item in prefixes]
        fact_count = sum(prefix.fact_count for prefix in prefixes)
        return (call_count + fact_count) * _FACT_BYTES + len(prefixes) * _PREFIX_BYTES


class PrefixCache(Generic[_Prefix]):
    """A cache of the prefixes of all projects. It evicts the least recently used sessions.

    The four longest prefixes of a rendering are kept. The shorter prefixes are, the fewer of them
    are kept. So a request for the last `n` entries of a session reads at most about `2 * n`.

    Args:
        max_bytes: The approximate limit of memory.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._sessions = LRUCache[SessionKey, _SessionPrefixes[_Prefix]](
            max_bytes, lambda session: session.size_bytes
        )
        self._lock = Lock()

    def find(self, key: SessionKey, rendering_key: RenderingKey, *, up_to: int) -> _Prefix | None:
        """Return the longest cached prefix that ends with the entry `up_to` or before it.

        Args:
            key: The session.
            rendering_key: The target and the options.
            up_to: The `seq` of the last entry that the prefix may have.
        """
        with self._lock:
            session = self._sessions.get(key)
            prefixes = session.rendered.get(rendering_key, ()) if session else ()
        return next((prefix for prefix in prefixes if prefix.seq <= up_to), None)

    def put(self, key: SessionKey, rendering_key: RenderingKey, prefix: _Prefix) -> None:
        """Add a prefix, and evict sessions until the cache is within its limit."""
        with self._lock:
            session = self._sessions.pop(key, None) or _SessionPrefixes[_Prefix]()
            session.put(rendering_key, prefix)
            if session.size_bytes > self._sessions.maxsize:
                # The prefixes of this session alone exceed the limit. Keep only the new prefix.
                session = _SessionPrefixes[_Prefix]()
                session.put(rendering_key, prefix)
            if session.size_bytes <= self._sessions.maxsize:
                self._sessions[key] = session

    def remove(self, key: SessionKey) -> None:
        """Remove all prefixes of a session."""
        with self._lock:
            self._sessions.pop(key, None)
