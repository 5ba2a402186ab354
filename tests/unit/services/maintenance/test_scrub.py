"""Order and rate of the reads of a scrub."""

from datetime import UTC, datetime, timedelta

import pytest

from app.services.maintenance.scrub import ReadingPace, SlicedPeriod

pytestmark = pytest.mark.anyio

HOUR, DAY, MONTH = 3_600.0, 24 * 3_600.0, 30 * 24 * 3_600.0
NOON = datetime(2026, 3, 4, 12, 30, tzinfo=UTC)


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        assert seconds >= 0
        self.now += seconds


@pytest.mark.parametrize("sizes", [[1_000] * 50, [1, 49_999], [50_000]])
async def test_no_more_is_read_in_a_second_than_may_be(sizes: list[int]) -> None:
    clock = Clock()
    pace = ReadingPace(5_000, clock=clock, sleep=clock.sleep)
    for size in sizes:
        await pace.keep(size)
    assert clock.now == pytest.approx(10.0)


async def test_time_in_which_nothing_was_read_is_not_made_up() -> None:
    clock = Clock()
    pace = ReadingPace(5_000, clock=clock, sleep=clock.sleep)
    await pace.keep(5_000)
    clock.now += 1_000
    await pace.keep(50_000)
    assert clock.now == pytest.approx(1_011.0)


async def test_reading_that_takes_longer_than_it_may_is_not_held_up() -> None:
    clock = Clock()
    pace = ReadingPace(5_000, clock=clock, sleep=clock.sleep)
    for _ in range(10):
        clock.now += 1
        await pace.keep(1_000)
    assert clock.now == pytest.approx(12.0)


@pytest.mark.parametrize("seconds", [MONTH, 7 * DAY, DAY, 5_000.0, HOUR, 1.0])
def test_slices_of_a_period_are_all_digests_and_each_once(seconds: float) -> None:
    period = SlicedPeriod(seconds)
    moments = [NOON + timedelta(seconds=period.slice_seconds * i) for i in range(period.count)]
    slices = [list(period.due(moment))[-1] for moment in moments]
    ranges = sorted((span.first, span.end or "g") for span in slices)
    assert ranges[0][0] == "0" * 16
    assert [end for _, end in ranges] == [*(first for first, _ in ranges[1:]), "g"]
    assert len({item.key for item in slices}) == period.count


@pytest.mark.parametrize(
    ("seconds", "at_once"), [(MONTH, 24), (7 * DAY, 24), (DAY, 24), (2 * HOUR, 2), (60.0, 1)]
)
def test_what_was_left_out_for_a_day_is_still_due(seconds: float, at_once: int) -> None:
    period = SlicedPeriod(seconds)
    due = list(period.due(NOON))
    before = list(period.due(NOON - timedelta(seconds=period.slice_seconds)))
    assert len({item.first for item in due}) == len(due) == at_once
    assert due[:-1] == before[1:]


def test_another_period_has_other_slices() -> None:
    keys = {item.key for item in SlicedPeriod(MONTH).due(NOON)}
    assert keys.isdisjoint(item.key for item in SlicedPeriod(MONTH + 1).due(NOON))
