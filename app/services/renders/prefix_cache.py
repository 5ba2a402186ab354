"""A cache of the facts of final prefixes of sessions, from which renderings of new entries go on.

It has no messages, only facts: ids of calls, a hash of the messages, counts against limits. Each
process caches those of the sessions that it rendered last, and rebuilds missing ones from the
history. A deleted session and a new one of the same name have different keys.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, Protocol, Self, TypeAlias, TypeVar

from pagefault_dialects.model.render_options import Audience, RenderOptions
from pagefault_dialects.turns.pairing import PairedPrefix

MAX_BYTES = 8 * 1024 * 1024
"""The limit of each of the two caches, that of renderings and that of folds."""
# The approximate size of a prefix, and of a call or resource in it.
_BYTES_OF_PREFIX = 2_048
_BYTES_OF_KEY = 200
# The number of newest prefixes of a rendering that are kept; of older ones there are fewer.
_KEPT = 4


@dataclass(frozen=True, slots=True)
class SessionKey:
    """A session and the audience of its messages."""

    project_id: str
    session_id: str
    incarnation: str
    audience: Audience
    prompt: bytes | None
    """The members of a request beside its messages."""


RenderedAs: TypeAlias = tuple[str, RenderOptions]
"""The target of a rendering with its version, and the options."""


class Prefix(Protocol):
    """The facts of a final prefix."""

    @property
    def seq(self) -> int:
        """The `seq` of its last entry."""

    @property
    def paired(self) -> PairedPrefix:
        """The state of pairing calls and answers."""

    @property
    def number(self) -> int:
        """Its place among the prefixes of its session, from 1."""

    @property
    def fact_count(self) -> int:
        """The number of facts besides those of calls."""

    def with_paired(self, paired: PairedPrefix) -> Self:
        """Return a copy with equal facts of calls, which it shares with other prefixes."""


_Prefix = TypeVar("_Prefix", bound=Prefix)


@dataclass(slots=True)
class _SessionPrefixes(Generic[_Prefix]):
    """The prefixes of a session by rendering, the longest first."""

    paired: dict[int, PairedPrefix] = field(default_factory=dict)
    """The facts of calls, which all renderings share, by the last entry."""
    rendered: dict[RenderedAs, tuple[_Prefix, ...]] = field(default_factory=dict)

    def put(self, how: RenderedAs, prefix: _Prefix) -> None:
        """Add a prefix; of older ones, fewer are kept the shorter they are."""
        paired = self.paired.setdefault(prefix.seq, prefix.paired)
        older = (item for item in self.rendered.get(how, ()) if item.seq != prefix.seq)
        known = sorted([prefix.with_paired(paired), *older], key=lambda item: -item.seq)
        newest = known[0].number
        self.rendered[how] = tuple(
            item for item in known if newest - item.number < _KEPT * (item.number & -item.number)
        )
        used = {item.seq for prefixes in self.rendered.values() for item in prefixes}
        self.paired = {seq: value for seq, value in self.paired.items() if seq in used}

    @property
    def size_bytes(self) -> int:
        """The approximate size; prefixes share most facts of calls."""
        calls = max((item.calls.count for item in self.paired.values()), default=0)
        prefixes = [item for known in self.rendered.values() for item in known]
        facts = sum(prefix.fact_count for prefix in prefixes)
        return (calls + facts) * _BYTES_OF_KEY + len(prefixes) * _BYTES_OF_PREFIX


@dataclass(slots=True)
class PrefixCache(Generic[_Prefix]):
    """A cache of prefixes of all projects that evicts those of the least recently used sessions.

    Of one rendering it keeps the newest few, and fewer of the shorter ones: for any entry there is
    a prefix that is at most about twice as far from the end.
    """

    max_bytes: int = MAX_BYTES
    """The approximate limit of memory."""
    _sessions: OrderedDict[SessionKey, _SessionPrefixes[_Prefix]] = field(
        default_factory=OrderedDict
    )
    _size_bytes: int = 0
    _lock: Lock = field(default_factory=Lock)

    def find(self, key: SessionKey, how: RenderedAs, *, up_to: int) -> _Prefix | None:
        """Return the longest prefix that ends at a `seq` or before it."""
        with self._lock:
            known = self._sessions.get(key)
            if known is None:
                return None
            self._sessions.move_to_end(key)
            prefixes = known.rendered.get(how, ())
        return next((prefix for prefix in prefixes if prefix.seq <= up_to), None)

    def put(self, key: SessionKey, how: RenderedAs, prefix: _Prefix) -> None:
        """Add a prefix."""
        with self._lock:
            known = self._remove(key) or _SessionPrefixes[_Prefix]()
            known.put(how, prefix)
            if known.size_bytes > self.max_bytes:
                known = _SessionPrefixes[_Prefix]()
                known.put(how, prefix)
            self._sessions[key] = known
            self._size_bytes += known.size_bytes
            while self._size_bytes > self.max_bytes:
                self._remove(next(iter(self._sessions)))

    def remove(self, key: SessionKey) -> None:
        """Remove all prefixes of a session."""
        with self._lock:
            self._remove(key)

    def _remove(self, key: SessionKey) -> _SessionPrefixes[_Prefix] | None:
        known = self._sessions.pop(key, None)
        self._size_bytes -= known.size_bytes if known else 0
        return known
