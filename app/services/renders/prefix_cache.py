"""A cache of final beginnings of sessions, from which renderings of new entries go on.

No message is kept, only facts: ids of calls, a hash of the messages, counts against limits. Each
process keeps those of the sessions that it rendered last, and makes missing ones again from the
history. A session that was deleted and one that was made again under its name have separate keys.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, Protocol, Self, TypeAlias, TypeVar

from pagefault_dialects.model.render_options import Audience, RenderOptions
from pagefault_dialects.turns.pairing import PairedPrefix

MOST_BYTES = 8 * 1024 * 1024
"""Of each of the two kinds of facts, those of renderings and those of folds."""
# About what one takes of memory, and a call or a resource in it.
_BYTES_AROUND = 2_048
_BYTES_OF_KEY = 200
# So many of the newest of a rendering are kept, and of older ones ever fewer.
_KEPT = 4


@dataclass(frozen=True, slots=True)
class SessionKey:
    """A session, as its messages are for an audience."""

    project_id: str
    session_id: str
    incarnation: str
    audience: Audience
    prompt: bytes | None
    """What stands around the messages."""


RenderedAs: TypeAlias = tuple[str, RenderOptions]
"""How a session is rendered: the target with its version, and the options."""


class Prefix(Protocol):
    """The facts of a final beginning."""

    @property
    def seq(self) -> int:
        """The last entry of it."""

    @property
    def paired(self) -> PairedPrefix:
        """Its calls."""

    @property
    def number(self) -> int:
        """Its place among the beginnings of its session, from 1."""

    @property
    def fact_count(self) -> int:
        """How many facts it has besides those of calls."""

    def with_paired(self, paired: PairedPrefix) -> Self:
        """Return the same with equal facts of its calls, which others share."""


_Prefix = TypeVar("_Prefix", bound=Prefix)


@dataclass(slots=True)
class _SessionPrefixes(Generic[_Prefix]):
    """What is known of a session: its beginnings, the longest first, by how they are rendered."""

    paired: dict[int, PairedPrefix] = field(default_factory=dict)
    """Of all renderings alike, by the last entry."""
    rendered: dict[RenderedAs, tuple[_Prefix, ...]] = field(default_factory=dict)

    def put(self, how: RenderedAs, prefix: _Prefix) -> None:
        """Remember a beginning; older ones are forgotten, the more the further back they are."""
        paired = self.paired.setdefault(prefix.seq, prefix.paired)
        others = (each for each in self.rendered.get(how, ()) if each.seq != prefix.seq)
        known = sorted([prefix.with_paired(paired), *others], key=lambda each: -each.seq)
        newest = known[0].number
        self.rendered[how] = tuple(
            each for each in known if newest - each.number < _KEPT * (each.number & -each.number)
        )
        used = {each.seq for prefixes in self.rendered.values() for each in prefixes}
        self.paired = {seq: each for seq, each in self.paired.items() if seq in used}

    @property
    def size_bytes(self) -> int:
        """About how much memory it takes: beginnings share most of what they know of calls."""
        calls = max((each.calls.count for each in self.paired.values()), default=0)
        prefixes = [each for known in self.rendered.values() for each in known]
        facts = sum(each.fact_count for each in prefixes)
        return (calls + facts) * _BYTES_OF_KEY + len(prefixes) * _BYTES_AROUND


@dataclass(slots=True)
class PrefixCache(Generic[_Prefix]):
    """Remembers beginnings of sessions, for all projects, of those that were used last.

    Of one rendering it keeps the newest few, and before them the fewer the further back they are:
    behind any entry begins one that is at most about twice as far from the end.
    """

    most_bytes: int = MOST_BYTES
    """About how much memory they may take."""
    _sessions: OrderedDict[SessionKey, _SessionPrefixes[_Prefix]] = field(
        default_factory=OrderedDict
    )
    _size_bytes: int = 0
    _lock: Lock = field(default_factory=Lock)

    def find(self, key: SessionKey, how: RenderedAs, *, up_to: int) -> _Prefix | None:
        """Return the longest beginning that has no entry behind a `seq`."""
        with self._lock:
            known = self._sessions.get(key)
            if known is None:
                return None
            self._sessions.move_to_end(key)
            prefixes = known.rendered.get(how, ())
        return next((each for each in prefixes if each.seq <= up_to), None)

    def put(self, key: SessionKey, how: RenderedAs, prefix: _Prefix) -> None:
        """Remember a beginning."""
        with self._lock:
            known = self._remove(key) or _SessionPrefixes[_Prefix]()
            known.put(how, prefix)
            if known.size_bytes > self.most_bytes:
                known = _SessionPrefixes[_Prefix]()
                known.put(how, prefix)
            self._sessions[key] = known
            self._size_bytes += known.size_bytes
            while self._size_bytes > self.most_bytes:
                self._remove(next(iter(self._sessions)))

    def remove(self, key: SessionKey) -> None:
        """Forget all beginnings of a session."""
        with self._lock:
            self._remove(key)

    def _remove(self, key: SessionKey) -> _SessionPrefixes[_Prefix] | None:
        known = self._sessions.pop(key, None)
        self._size_bytes -= known.size_bytes if known else 0
        return known
