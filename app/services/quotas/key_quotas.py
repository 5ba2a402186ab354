"""Quotas of a key: requests in a minute, and bytes of request bodies in a day.

Each process counts for itself. What a request may still need is reserved before it is done, and
settled when it is over: bytes that did not come, and those of a request that was refused, are given
back. Nothing here waits between looking and counting, so that requests at the same time never get
more than there is. All of it is used by the event loop alone, so that nothing is locked.
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
    """A quota, and how much of it a caller has left.

    `reset_seconds` is when it is whole again, rounded up; `None` if it is whole now.
    """

    name: str
    quota: int
    window_seconds: int
    remaining: int
    reset_seconds: int | None


@dataclass(slots=True)
class _Window:
    """The count so far, and the end of the window by the monotonic clock."""

    count: int
    ends_at: float


class _Quota:
    """One quota, counted for many callers, each in windows of its own.

    A window begins with what is counted first. A caller has one at most, and callers are keys of
    the service: none has to be removed.
    """

    def __init__(self, name: str, amount: int, *, window_seconds: int) -> None:
        self.name = name
        self.amount = amount
        self._window_seconds = window_seconds
        self._windows: dict[str, _Window] = {}

    def take(self, caller: str, amount: int) -> float:
        """Count so much for a caller; returns when the window is over that it counts in.

        Raises:
            QuotaExceededError: It is more than there is; nothing was counted.
        """
        window = self._open(caller)
        if amount > self.amount - (window.count if window else 0):
            seconds = math.ceil(window.ends_at - time.monotonic()) if window else 0
            raise QuotaExceededError(self.name, retry_after_seconds=max(seconds, 1))
        if window is None:
            window = self._windows[caller] = _Window(0, time.monotonic() + self._window_seconds)
        window.count += amount
        return window.ends_at

    def give_back(self, caller: str, amount: int, ends_at: float) -> None:
        """Count so much less for a caller, unless the window it was taken in is over."""
        window = self._open(caller)
        if window is not None and window.ends_at == ends_at:
            window.count -= amount

    def state(self, caller: str) -> QuotaState:
        """Return what a caller has left."""
        window = self._open(caller)
        return QuotaState(
            name=self.name,
            quota=self.amount,
            window_seconds=self._window_seconds,
            remaining=self.amount - (window.count if window else 0),
            reset_seconds=math.ceil(window.ends_at - time.monotonic()) if window else None,
        )

    def _open(self, caller: str) -> _Window | None:
        window = self._windows.get(caller)
        return window if window is not None and window.ends_at > time.monotonic() else None


class Allowance:
    """The use that one request makes of its caller's quotas."""

    def __init__(self, caller: str, requests: _Quota | None, sent: _Quota | None) -> None:
        self._caller = caller
        self._requests = requests
        self._sent = sent
        # By the end of the window it is counted in: a slow body may outlive a day.
        self._reserved: dict[float, int] = {}
        self._reserved_bytes = 0
        self._received_bytes = 0
        self._is_in_pieces = False

    def take_request(self) -> None:
        """Count the request.

        Raises:
            QuotaExceededError: There were as many in this minute as there may be.
        """
        if self._requests is not None:
            self._requests.take(self._caller, 1)

    async def metered(
        self, chunks: AsyncIterator[bytes], *, announced: int | None, in_pieces: bool
    ) -> AsyncGenerator[bytes, None]:
        """Yield the chunks of the body, each of them handed on when it is reserved.

        Args:
            chunks: The body.
            announced: How long it is said to be. So much is reserved before any of it is taken.
            in_pieces: Whether what has come is kept although the request is refused.

        Raises:
            PayloadTooLargeError: No day has so many bytes.
            QuotaExceededError: The day has not so many left.
        """
        self._is_in_pieces = in_pieces
        self._reserve(announced or 0)
        async for chunk in chunks:
            self._received_bytes += len(chunk)
            self._reserve(self._received_bytes - self._reserved_bytes)
            yield chunk

    def settle(self, *, is_refused: bool) -> None:
        """Give back what the request has reserved and not used; it is over."""
        if self._sent is None:
            return
        used = 0 if is_refused and not self._is_in_pieces else self._received_bytes
        for ends_at, amount in self._reserved.items():
            kept = min(used, amount)
            used -= kept
            self._sent.give_back(self._caller, amount - kept, ends_at)
        self._reserved = {}

    def states(self) -> list[QuotaState]:
        """Return what the caller has left of each quota there is."""
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
    """Counts for all callers.

    Args:
        requests_per_minute: How many requests a key may send; 0 for any number.
        body_bytes_per_day: How many bytes of bodies a key may send; 0 for any number.
    """

    def __init__(self, *, requests_per_minute: int, body_bytes_per_day: int) -> None:
        requests = _Quota(REQUESTS, requests_per_minute, window_seconds=_MINUTE)
        sent = _Quota(BYTES, body_bytes_per_day, window_seconds=_DAY)
        self._requests = requests if requests.amount else None
        self._sent = sent if sent.amount else None
        self.is_counting = bool(requests.amount or sent.amount)

    def allowance(self, caller: Caller) -> Allowance:
        """Return what a caller's request may take. Without keys, all requests are one caller's."""
        return Allowance(caller.key_id or "", self._requests, self._sent)
