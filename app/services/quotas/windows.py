"""Windows of time in which something is counted, in the memory of this process.

A window begins with what is counted first and is over after its length, by the monotonic clock: the
other one may be set by somebody. All of this is used by the event loop alone, so that nothing is
locked.
"""

import time
from dataclasses import dataclass


@dataclass(slots=True)
class _Window:
    """What was counted by now, and when the window is over, by the monotonic clock."""

    count: int
    ends_at: float


class QuotaWindows:
    """Counts for many callers, each in windows of its own.

    A caller has one window at most, and callers are keys of the service: none has to be removed.

    Args:
        seconds: How long a window is.
    """

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds
        self._windows: dict[str, _Window] = {}

    def add(self, caller: str, amount: int) -> float:
        """Count so much, and return when the window is over. Without a window, one begins."""
        window = self._open(caller)
        if window is None:
            window = self._windows[caller] = _Window(0, time.monotonic() + self._seconds)
        window.count += amount
        return window.ends_at

    def take_back(self, caller: str, amount: int, ends_at: float) -> None:
        """Count so much less, if the window that ends then is not over yet."""
        window = self._open(caller)
        if window is not None and window.ends_at == ends_at:
            window.count -= amount

    def count(self, caller: str) -> int:
        """Return what was counted in the window; 0 without one."""
        window = self._open(caller)
        return 0 if window is None else window.count

    def seconds_left(self, caller: str) -> float | None:
        """Return how long the window goes on; `None` without one."""
        window = self._open(caller)
        return None if window is None else window.ends_at - time.monotonic()

    def _open(self, caller: str) -> _Window | None:
        window = self._windows.get(caller)
        return window if window is not None and window.ends_at > time.monotonic() else None
