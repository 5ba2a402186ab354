"""Windows of time in which something is counted, in the memory of this process.

A window begins with what is counted first and is over after its length. All of this is used by the
event loop alone, so that nothing is locked.
"""

import time
from dataclasses import dataclass

from limits.storage import Storage


@dataclass(slots=True)
class _Window:
    """What was counted by now, and when the window is over, by the monotonic clock."""

    count: int
    ends_at: float


class QuotaWindows(Storage):
    """What the strategies of `limits` count in. See `limits.storage.Storage`.

    The package's own `MemoryStorage` starts a thread a hundred times a second while it counts, and
    goes by a clock that somebody may set. There is one window for each key of the service at most,
    so that none has to be removed by time.
    """

    # It is not to be had by a URL.
    STORAGE_SCHEME = None

    def __init__(self) -> None:
        super().__init__()
        self._windows: dict[str, _Window] = {}

    @property
    def base_exceptions(self) -> tuple[type[Exception], ...]:
        """What can go wrong: nothing."""
        return ()

    def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        """Count something; returns what the window has then. Without a window, one begins."""
        window = self._open(key)
        if window is None:
            window = self._windows[key] = _Window(0, time.monotonic() + expiry)
        window.count += amount
        return window.count

    def take_back(self, key: str, amount: int, ends_at: float) -> None:
        """Count so much less, if the window that ends then is not over yet."""
        window = self._open(key)
        if window is not None and window.ends_at == ends_at:
            window.count -= amount

    def get(self, key: str) -> int:
        """What was counted in the window; 0 without one."""
        window = self._open(key)
        return 0 if window is None else window.count

    def get_expiry(self, key: str) -> float:
        """When the window is over, by the monotonic clock; now without one."""
        window = self._open(key)
        return time.monotonic() if window is None else window.ends_at

    def seconds_left(self, key: str) -> float | None:
        """How long the window goes on; `None` without one."""
        window = self._open(key)
        return None if window is None else window.ends_at - time.monotonic()

    def check(self) -> bool:
        """Whether it works."""
        return True

    def reset(self) -> int:
        """Forget all windows; says how many there were."""
        count = len(self._windows)
        self._windows.clear()
        return count

    def clear(self, key: str) -> None:
        """Forget a window."""
        self._windows.pop(key, None)

    def _open(self, key: str) -> _Window | None:
        window = self._windows.get(key)
        return window if window is not None and window.ends_at > time.monotonic() else None
