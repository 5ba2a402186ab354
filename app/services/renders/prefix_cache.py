"""A cache of facts about the beginnings of sessions, so that renderings can continue from there.

A prefix is a beginning of a session that later entries do not change. The cache has no messages,
only facts: ids of calls, a hash of the messages, counts for limits. Each process caches the
prefixes of the sessions that it rendered last, and computes missing ones from the history. A
deleted session and a new session of the same name have different keys.
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
# The number of newest prefixes of a rendering that are all kept; older ones are thinned out.
_NEWEST_KEPT = 4


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
        """Its position among the prefixes of its session, from 1."""

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

    def put(self, rendered_as: RenderedAs, prefix: _Prefix) -> None:
        """Add a prefix, and remove some older ones: the shorter they are, the fewer are kept."""
        paired = self.paired.setdefault(prefix.seq, prefix.paired)
        older = (item for item in self.rendered.get(rendered_as, ()) if item.seq != prefix.seq)
        prefixes = sorted([prefix.with_paired(paired), *older], key=lambda item: -item.seq)
        newest = prefixes[0].number
        # A prefix is kept longer, the higher the power of two that divides its number.
        self.rendered[rendered_as] = tuple(
            item
            for item in prefixes
            if newest - item.number < _NEWEST_KEPT * (item.number & -item.number)
        )
        used = {item.seq for prefixes in self.rendered.values() for item in prefixes}
        self.paired = {seq: value for seq, value in self.paired.items() if seq in used}

    @property
    def size_bytes(self) -> int:
        """The approximate size; prefixes share most facts of calls."""
        calls = max((item.calls.count for item in self.paired.values()), default=0)
        prefixes = [item for listed in self.rendered.values() for item in listed]
        facts = sum(prefix.fact_count for prefix in prefixes)
        return (calls + facts) * _BYTES_OF_KEY + len(prefixes) * _BYTES_OF_PREFIX


@dataclass(slots=True)
class PrefixCache(Generic[_Prefix]):
    """A cache of prefixes of all projects that evicts those of the least recently used sessions.

    Of one rendering it keeps the newest few prefixes, and fewer of the shorter ones. The
    longest prefix before an entry is at most about twice as far from the end as the entry.
    """

    max_bytes: int = MAX_BYTES
    """The approximate limit of memory."""
    _sessions: OrderedDict[SessionKey, _SessionPrefixes[_Prefix]] = field(
        default_factory=OrderedDict
    )
    _size_bytes: int = 0
    _lock: Lock = field(default_factory=Lock)

    def find(self, key: SessionKey, rendered_as: RenderedAs, *, up_to: int) -> _Prefix | None:
        """Return the longest prefix that ends at a `seq` or before it."""
        with self._lock:
            session = self._sessions.get(key)
            if session is None:
                return None
            self._sessions.move_to_end(key)
            prefixes = session.rendered.get(rendered_as, ())
        return next((prefix for prefix in prefixes if prefix.seq <= up_to), None)

    def put(self, key: SessionKey, rendered_as: RenderedAs, prefix: _Prefix) -> None:
        """Add a prefix."""
        with self._lock:
            session = self._remove(key) or _SessionPrefixes[_Prefix]()
            session.put(rendered_as, prefix)
            if session.size_bytes > self.max_bytes:
                session = _SessionPrefixes[_Prefix]()
                session.put(rendered_as, prefix)
            self._sessions[key] = session
            self._size_bytes += session.size_bytes
            while self._size_bytes > self.max_bytes:
                self._remove(next(iter(self._sessions)))

    def remove(self, key: SessionKey) -> None:
        """Remove all prefixes of a session."""
        with self._lock:
            self._remove(key)

    def _remove(self, key: SessionKey) -> _SessionPrefixes[_Prefix] | None:
        session = self._sessions.pop(key, None)
        self._size_bytes -= session.size_bytes if session else 0
        return session
