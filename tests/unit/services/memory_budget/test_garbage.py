"""Garbage among old objects is collected while there are few objects."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from app.services.memory_budget.garbage import GarbageCollector


class Ring:
    """An object that only a collection frees."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def old_garbage() -> Iterator[weakref.ref[Ring]]:
    """A ring that has survived the collections of young objects, and is of no use any more."""
    gc.disable()
    gc.collect()
    ring = Ring()
    for _ in range(12):
        gc.collect(1)
    found = weakref.ref(ring)
    del ring
    yield found
    gc.enable()


@pytest.mark.slow
def test_old_garbage_is_collected_while_there_are_few_objects(
    old_garbage: weakref.ref[Ring],
) -> None:
    GarbageCollector().collect_if_due()
    assert old_garbage() is None


@pytest.mark.slow
def test_old_garbage_is_left_while_there_are_many_objects(old_garbage: weakref.ref[Ring]) -> None:
    collector = GarbageCollector()
    many = [[number] for number in range(400_000)]
    collector.collect_if_due()
    assert old_garbage() is not None
    many.clear()
    collector.collect_if_due()
    assert old_garbage() is None


@pytest.mark.slow
def test_old_garbage_is_collected_in_the_end_if_there_are_always_many_objects(
    old_garbage: weakref.ref[Ring],
) -> None:
    collector = GarbageCollector()
    many = [[number] for number in range(400_000)]
    for _ in range(10_000):
        gc.collect(1)
    collector.collect_if_due()
    assert old_garbage() is None
    assert many


@pytest.mark.slow
@pytest.mark.usefixtures("old_garbage")
def test_nothing_is_looked_through_soon_after_a_collection() -> None:
    gc.collect()
    before = gc.get_stats()[2]["collections"]
    GarbageCollector().collect_if_due()
    assert gc.get_stats()[2]["collections"] == before
