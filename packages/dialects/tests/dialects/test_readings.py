"""Every member, pointer and flag of the readings of dumps of real packages."""

from collections.abc import Callable, Iterable

import pytest

from packages.dialects.tests.dialects.member_changes import (
    change_bodies,
    change_messages,
    change_results,
)
from packages.dialects.tests.dialects.readings import (
    Readings,
    read_bodies,
    read_messages,
    read_results,
)
from packages.dialects.tests.dialects.reviewed_readings import load

REVIEWED = load()


@pytest.mark.parametrize("read", [read_messages, read_bodies, read_results])
def test_dumps_of_real_packages_are_read_as_reviewed(read: Callable[[], Readings]) -> None:
    readings = read()
    reviewed = {name: reading for name, reading in REVIEWED.items() if name in readings}
    assert readings.items() ^ reviewed.items() == set()


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("changed-messages", change_messages),
        ("changed-bodies", change_bodies),
        ("changed-results", change_results),
    ],
)
def test_dumps_that_lack_a_member_or_have_a_number_there_are_read_as_reviewed(
    kind: str, change: Callable[[Iterable[str]], Readings]
) -> None:
    reviewed = {name: reading for name, reading in REVIEWED.items() if name.startswith(kind)}
    found = change(name.removeprefix(f"{kind} ") for name in reviewed)
    assert found.items() ^ reviewed.items() == set()
