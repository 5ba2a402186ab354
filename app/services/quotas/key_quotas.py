"""Quotas of a key: requests in a minute, and bytes of request bodies in a day.

Each process counts separately. Bytes are reserved before they are read. At the end of the request,
bytes that were not received, and the bytes of a refused request, are released. There is no `await`
between a check and its count, so concurrent requests cannot exceed a quota. Only the event loop
uses this module, so it needs no locks.
"""

import math
import time
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Final

from app.errors import QuotaExceededError
from app.services.access.callers import Caller
from pagefault_dialects.errors import PayloadTooLargeError

REQUESTS: Final = "requests"
BYTES: Final = "bytes"
_MINUTE = 60
_DAY = 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class QuotaState:
    """The state of a quota for one caller."""

    name: str
    quota: int
    window_seconds: int
    remaining: int
    """The amount that is left in the current window."""
    reset_seconds: int | None
    """The time until the end of the window, rounded up; `None` if nothing is used."""


@dataclass(slots=True)
class _Window:
    """A period in which the use of a quota is counted."""

    count: int
    ends_at: float
    """The end of the period by the monotonic clock."""


class _Quota:
    """One quota, with a window for each caller.

    A window begins with its first count. Windows are not removed: each caller has at most one, and
    the number of callers is limited by the number of keys.
    """

    def __init__(self, name: str, amount: int, *, window_seconds: int) -> None:
        self.name = name
        self.amount = amount
        self._window_seconds = window_seconds
        self._windows: dict[str, _Window] = {}

    def take(self, caller: str, amount: int) -> float:
        """Count an amount for a caller; return the end of the window in which it counts.

        Raises:
            QuotaExceededError: The amount exceeds the quota. Nothing is counted.
        """
        window = self._find_window(caller)
        if amount > self.amount - (window.count if window else 0):
            seconds = math.ceil(window.ends_at - time.monotonic()) if window else 0
            raise QuotaExceededError(self.name, retry_after_seconds=max(seconds, 1))
        if window is None:
            window = self._windows[caller] = _Window(0, time.monotonic() + self._window_seconds)
        window.count += amount
        return window.ends_at

    def give_back(self, caller: str, amount: int, ends_at: float) -> None:
        """Subtract an amount of a caller, unless its window has ended."""
        window = self._find_window(caller)
        if window is not None and window.ends_at == ends_at:
            window.count -= amount

    def state(self, caller: str) -> QuotaState:
        """Return the state of a caller's quota."""
        window = self._find_window(caller)
        return QuotaState(
            name=self.name,
            quota=self.amount,
            window_seconds=self._window_seconds,
            remaining=self.amount - (window.count if window else 0),
            reset_seconds=math.ceil(window.ends_at - time.monotonic()) if window else None,
        )

    def _find_window(self, caller: str) -> _Window | None:
        """Return the current window of a caller, if it has one."""
        window = self._windows.get(caller)
        return window if window is not None and window.ends_at > time.monotonic() else None


class Allowance:
    """Counts what one request uses of the quotas of its caller."""

    def __init__(self, caller: str, requests: _Quota | None, sent: _Quota | None) -> None:
        self._caller = caller
        self._requests = requests
        self._sent = sent
        # The reserved amounts by the end of their window. A slow body may have several windows.
        self._reserved: dict[float, int] = {}
        self._reserved_bytes = 0
        self._received_bytes = 0
        self._keeps_received = False

    def take_request(self) -> None:
        """Count the request.

        Raises:
            QuotaExceededError: The limit of requests in this minute is reached.
        """
        if self._requests is not None:
            self._requests.take(self._caller, 1)

    async def meter_body(
        self, chunks: AsyncIterator[bytes], *, content_length: int | None, keeps_received: bool
    ) -> AsyncGenerator[bytes, None]:
        """Yield the chunks of the body, and reserve each chunk before that.

        Args:
            chunks: The body.
            content_length: The declared length, which is reserved before the first chunk.
            keeps_received: True if received bytes count even if the request is refused.

        Raises:
            PayloadTooLargeError: The body is larger than the quota.
            QuotaExceededError: The body is larger than the remaining quota.
        """
        self._keeps_received = keeps_received
        self._reserve(content_length or 0)
        async for chunk in chunks:
            self._received_bytes += len(chunk)
            self._reserve(self._received_bytes - self._reserved_bytes)
            yield chunk

    def finish(self, *, is_refused: bool) -> None:
        """Release unused bytes at the end of the request."""
        if self._sent is None:
            return
        used_bytes = 0 if is_refused and not self._keeps_received else self._received_bytes
        for ends_at, amount in self._reserved.items():
            counted = min(used_bytes, amount)
            used_bytes -= counted
            self._sent.give_back(self._caller, amount - counted, ends_at)
        self._reserved = {}

    def states(self) -> list[QuotaState]:
        """Return the state of each quota of the caller."""
        quotas = (self._requests, self._sent)
        return [quota.state(self._caller) for quota in quotas if quota is not None]

    def _reserve(self, amount: int) -> None:
        if self._sent is None or amount <= 0:
            return
        if self._reserved_bytes + amount > self._sent.amount:
            raise PayloadTooLargeError(
                f"A key may send {self._sent.amount} bytes in a day, and this body alone has more."
            )
        ends_at = self._sent.take(self._caller, amount)
        self._reserved[ends_at] = self._reserved.get(ends_at, 0) + amount
        self._reserved_bytes += amount


class Quotas:
    """The quotas of all callers.

    Args:
        requests_per_minute: The maximum number of requests of a key; 0 for no limit.
        body_bytes_per_day: The maximum number of bytes in bodies of a key; 0 for no limit.
    """

    def __init__(self, *, requests_per_minute: int, body_bytes_per_day: int) -> None:
        requests = _Quota(REQUESTS, requests_per_minute, window_seconds=_MINUTE)
        sent = _Quota(BYTES, body_bytes_per_day, window_seconds=_DAY)
        self._requests = requests if requests.amount else None
        self._sent = sent if sent.amount else None
        self.is_counting = bool(requests.amount or sent.amount)

    def allowance(self, caller: Caller) -> Allowance:
        """Return the allowance of a request. Without keys, all requests count for one caller."""
        return Allowance(caller.key_id or "", self._requests, self._sent)
