"""Counting for callers: windows that end, and what is given back into them."""

from collections.abc import AsyncIterator

import pytest

from app.errors import QuotaExceededError
from app.services.access.callers import Caller
from app.services.quotas import key_quotas
from app.services.quotas.key_quotas import Allowance, Quotas, QuotaState

pytestmark = pytest.mark.anyio

DAY = 86_400
ANYONE = Caller("p", "k")


class Clock:
    def __init__(self) -> None:
        self.moment = 0.0

    def monotonic(self) -> float:
        return self.moment


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(key_quotas, "time", clock)
    return clock


def of_bytes(remaining: int, reset_seconds: int | None) -> list[QuotaState]:
    return [QuotaState("bytes", 100, DAY, remaining, reset_seconds)]


async def body(*sizes: int) -> AsyncIterator[bytes]:
    for size in sizes:
        yield b"x" * size


async def sent(allowance: Allowance, *sizes: int, content_length: int | None = None) -> int:
    """Return the bytes of a body that are passed on."""
    chunks = allowance.meter_body(body(*sizes), content_length=content_length, keeps_received=False)
    return sum([len(chunk) async for chunk in chunks])


async def test_body_without_a_length_is_counted_as_it_comes(clock: Clock) -> None:
    quotas = Quotas(requests_per_minute=0, body_bytes_per_day=100)
    allowance = quotas.allowance(ANYONE)
    assert allowance.states() == of_bytes(100, None)
    assert await sent(allowance, 10, 20) == 30
    clock.moment += 0.5
    assert allowance.states() == of_bytes(70, DAY)
    allowance.finish(is_refused=False)
    assert allowance.states() == of_bytes(70, DAY)


async def test_bytes_that_were_announced_and_did_not_come_are_given_back(clock: Clock) -> None:
    allowance = Quotas(requests_per_minute=0, body_bytes_per_day=100).allowance(ANYONE)
    assert await sent(allowance, 10, content_length=60) == 10
    assert allowance.states() == of_bytes(40, DAY)
    allowance.finish(is_refused=False)
    assert allowance.states() == of_bytes(90, DAY)
    # Whoever settles twice gives nothing back twice.
    allowance.finish(is_refused=True)
    assert allowance.states() == of_bytes(90, DAY)


async def test_nothing_of_yesterday_is_given_back_today(clock: Clock) -> None:
    quotas = Quotas(requests_per_minute=0, body_bytes_per_day=100)
    slow, other = quotas.allowance(ANYONE), quotas.allowance(ANYONE)
    chunks = slow.meter_body(body(50, 10), content_length=50, keeps_received=False)
    await anext(chunks)
    clock.moment += DAY
    assert await sent(other, 30) == 30
    await anext(chunks)
    assert other.states() == of_bytes(60, DAY)
    slow.finish(is_refused=True)
    assert other.states() == of_bytes(70, DAY)


async def test_chunk_too_many_is_not_handed_on(clock: Clock) -> None:
    quotas = Quotas(requests_per_minute=0, body_bytes_per_day=100)
    await sent(quotas.allowance(ANYONE), 80)
    clock.moment += 1
    allowance = quotas.allowance(ANYONE)
    with pytest.raises(QuotaExceededError) as refused:
        await sent(allowance, 20, 1)
    assert refused.value.retry_after_seconds == DAY - 1
    allowance.finish(is_refused=True)
    assert allowance.states() == of_bytes(20, DAY - 1)


async def test_refused_requests_do_not_make_the_wait_longer(clock: Clock) -> None:
    quotas = Quotas(requests_per_minute=1, body_bytes_per_day=0)
    quotas.allowance(ANYONE).take_request()
    for _ in range(3):
        clock.moment += 19
        with pytest.raises(QuotaExceededError):
            quotas.allowance(ANYONE).take_request()
    clock.moment += 3
    quotas.allowance(ANYONE).take_request()


async def test_without_keys_all_requests_are_counted_together(clock: Clock) -> None:
    quotas = Quotas(requests_per_minute=2, body_bytes_per_day=0)
    for _ in range(2):
        quotas.allowance(Caller("default")).take_request()
    clock.moment += 59
    assert quotas.allowance(Caller("default")).states() == [QuotaState("requests", 2, 60, 0, 1)]
