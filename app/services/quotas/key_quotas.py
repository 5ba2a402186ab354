"""Quotas of an API key: its requests in a minute, and the bytes of its request bodies in a day.

Each process counts separately. Bytes of a body are counted before they are read. At the end of the
request, bytes that were counted but not received are subtracted, and so are all bytes of a refused
request. There is no `await` between a check and its count, so concurrent requests cannot exceed a
quota. Only the event loop uses this module, so it needs no locks.
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
    """The state of a quota for one caller, for the `RateLimit` header fields."""

    name: str
    quota: int
    """The maximum amount in one window."""
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
    """The end of the period, as a time of `time.monotonic`."""


class _Quota:
    """One quota, with a window for each caller.

    A window begins when something is counted and the caller has no current window. Ended windows
    are replaced, not removed: there is at most one for each key.

    Args:
        name: The name of the quota in errors and header fields.
        amount: The maximum amount in one window.
        window_seconds: The length of a window.
    """

    def __init__(self, name: str, amount: int, *, window_seconds: int) -> None:
        self.name = name
        self.amount = amount
        self._window_seconds = window_seconds
        self._windows: dict[str, _Window] = {}

    def take(self, caller: str, amount: int) -> float:
        """Count an amount for a caller, and return the end of the window in which it is counted.

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
        """Subtract an amount that was counted, unless the window has ended.

        Args:
            caller: The caller.
            amount: The amount.
            ends_at: The end of the window in which the amount was counted.
        """
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
    """Counts one request against the quotas of its caller.

    Args:
        caller: The id of the caller's key.
        requests: The quota of requests; `None` for no limit.
        sent_bytes: The quota of bytes in request bodies; `None` for no limit.
    """

    def __init__(self, caller: str, requests: _Quota | None, sent_bytes: _Quota | None) -> None:
        self._caller = caller
        self._requests = requests
        self._sent_bytes = sent_bytes
        # The counted bytes by the end of the window. A slow body may need several windows.
        self._counted_by_window: dict[float, int] = {}
        self._counted_bytes = 0
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
        """Yield the chunks of the body, and count each of them before it is yielded.

        Args:
            chunks: The body.
            content_length: The declared length, which is counted before the first chunk is read.
            keeps_received: True to count the received bytes even if the request is refused.

        Raises:
            PayloadTooLargeError: The body is larger than the quota.
            QuotaExceededError: The body is larger than the remaining quota.
        """
        self._keeps_received = keeps_received
        self._count_bytes(content_length or 0)
        async for chunk in chunks:
            self._received_bytes += len(chunk)
            self._count_bytes(self._received_bytes - self._counted_bytes)
            yield chunk

    def finish(self, *, is_refused: bool) -> None:
        """Subtract the bytes that were not used. Call this at the end of the request.

        Args:
            is_refused: True if the response is an error, so that the body does not count.
        """
        if self._sent_bytes is None:
            return
        remaining_bytes = 0 if is_refused and not self._keeps_received else self._received_bytes
        for ends_at, counted in self._counted_by_window.items():
            used = min(remaining_bytes, counted)
            remaining_bytes -= used
            self._sent_bytes.give_back(self._caller, counted - used, ends_at)
        self._counted_by_window = {}

    def states(self) -> list[QuotaState]:
        """Return the state of each quota of the caller."""
        quotas = (self._requests, self._sent_bytes)
        return [quota.state(self._caller) for quota in quotas if quota is not None]

    def _count_bytes(self, amount: int) -> None:
        """Count bytes of the body; see `meter_body` for the errors."""
        if self._sent_bytes is None or amount <= 0:
            return
        if self._counted_bytes + amount > self._sent_bytes.amount:
            raise PayloadTooLargeError(
                f"A key may send {self._sent_bytes.amount} bytes in a day, and this body alone has "
                "more."
            )
        ends_at = self._sent_bytes.take(self._caller, amount)
        self._counted_by_window[ends_at] = self._counted_by_window.get(ends_at, 0) + amount
        self._counted_bytes += amount


class Quotas:
    """The quotas of all callers.

    Args:
        requests_per_minute: The maximum number of requests of a key; 0 for no limit.
        body_bytes_per_day: The maximum number of bytes in bodies of a key; 0 for no limit.
    """

    def __init__(self, *, requests_per_minute: int, body_bytes_per_day: int) -> None:
        requests = _Quota(REQUESTS, requests_per_minute, window_seconds=_MINUTE)
        sent_bytes = _Quota(BYTES, body_bytes_per_day, window_seconds=_DAY)
        self._requests = requests if requests.amount else None
        self._sent_bytes = sent_bytes if sent_bytes.amount else None
        self.is_counting = bool(requests.amount or sent_bytes.amount)
        """True if there is at least one limit."""

    def allowance(self, caller: Caller) -> Allowance:
        """Return the object that counts one request of a caller.

        If the service has no keys, all requests are counted for the same caller.
        """
        return Allowance(caller.key_id or "", self._requests, self._sent_bytes)
