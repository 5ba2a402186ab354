"""Every member, pointer and flag of the readings of dumps of real packages."""

from collections.abc import Callable

import pytest

from packages.dialects.tests.dialects.readings import (
    Readings,
    load,
    read_bodies,
    read_messages,
    read_results,
)

REVIEWED = load()


@pytest.mark.parametrize("read", [read_messages, read_bodies, read_results])
def test_dumps_of_real_packages_are_read_as_reviewed(read: Callable[[], Readings]) -> None:
    readings = read()
    reviewed = {name: reading for name, reading in REVIEWED.items() if name in readings}
    assert readings.items() ^ reviewed.items() == set()
