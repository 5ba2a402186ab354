"""A cache of final beginnings of sessions, from which renderings of new entries go on.

No message is kept, only facts: ids of calls, a hash of the messages, counts against limits. Each
process keeps those of the sessions that it rendered last, and makes missing ones again from the
history. A session that was deleted and one that was made again under its name have separate keys.
"""

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TypeAlias

from pagefault_dialects.model.render_options import Audience, RenderOptions
from pagefault_dialects.rendered_prefixes import RenderedPrefix
from pagefault_dialects.turns.pairing import PairedPrefix

MOST_BYTES = 16 * 1024 * 1024
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


@dataclass(slots=True)
class _SessionPrefixes:
    """What is known of a session: its beginnings, the longest first, by how they are rendered."""

    paired: dict[int, PairedPrefix] = field(default_factory=dict)
    """Of all renderings alike, by the last entry."""
    rendered: dict[RenderedAs, tuple[RenderedPrefix, ...]] = field(default_factory=dict)

    def put(self, how: RenderedAs, prefix: RenderedPrefix) -> None:
        """Remember a beginning; older ones are forgotten, the more the further back they are."""
        paired = self.paired.setdefault(prefix.seq, prefix.paired)
        others = (each for each in self.rendered.get(how, ()) if each.seq != prefix.seq)
        known = sorted([replace(prefix, paired=paired), *others], key=lambda each: -each.seq)
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
        resources = sum(len(each.resources) + len(each.apart) for each in prefixes)
        return (2 * calls + resources) * _BYTES_OF_KEY + len(prefixes) * _BYTES_AROUND


@dataclass(slots=True)
class PrefixCache:
    """Remembers beginnings of sessions, for all projects, of those that were used last.

    Of one rendering it keeps the newest few, and before them the fewer the further back they are:
    behind any entry begins one that is at most about twice as far from the end.
    """

    most_bytes: int = MOST_BYTES
    """About how much memory they may take."""
    _sessions: OrderedDict[SessionKey, _SessionPrefixes] = field(default_factory=OrderedDict)
    _size_bytes: int = 0
    _lock: Lock = field(default_factory=Lock)

    def find(self, key: SessionKey, how: RenderedAs, *, up_to: int) -> RenderedPrefix | None:
        """Return the longest beginning that has no entry behind a `seq`."""
        with self._lock:
            known = self._sessions.get(key)
            if known is None:
                return None
            self._sessions.move_to_end(key)
            prefixes = known.rendered.get(how, ())
        return next((each for each in prefixes if each.seq <= up_to), None)

    def put(self, key: SessionKey, how: RenderedAs, prefix: RenderedPrefix) -> None:
        """Remember a beginning."""
        with self._lock:
            known = self._remove(key) or _SessionPrefixes()
            known.put(how, prefix)
            self._sessions[key] = known
            self._size_bytes += known.size_bytes
            while self._size_bytes > self.most_bytes:
                self._remove(next(iter(self._sessions)))

    def remove(self, key: SessionKey) -> None:
        """Forget all beginnings of a session."""
        with self._lock:
            self._remove(key)

    def _remove(self, key: SessionKey) -> _SessionPrefixes | None:
        known = self._sessions.pop(key, None)
        self._size_bytes -= known.size_bytes if known else 0
        return known
