"""The age of the search backlog, and the time that indexing takes for it."""

import pytest

from app.models.search_entry import EntryQueue
from app.services.search.backlog import BacklogClock, choose_pause

EMPTY = EntryQueue(waiting=0, oldest=None, newest=100)


@pytest.mark.parametrize(
    ("queues", "ages"),
    [
        pytest.param([EMPTY, EMPTY], [0, 0], id="nothing waits"),
        pytest.param(
            [EMPTY, EntryQueue(50, 101, 150), EntryQueue(50, 101, 200), EntryQueue(60, 180, 240)],
            [0, 5, 10, 10],
            id="entries are as old as the last note before them",
        ),
        pytest.param(
            [EntryQueue(50, 51, 100), EntryQueue(10, 91, 100), EntryQueue(10, 101, 110)],
            [0, 5, 5],
            id="ages begin with the process",
        ),
        pytest.param(
            [EntryQueue(50, 51, 100), EMPTY, EntryQueue(1, 7, 100)],
            [0, 0, 5],
            id="an old entry that changed waits since the queue was empty",
        ),
    ],
)
def test_age_is_the_time_since_the_last_smaller_number(
    queues: list[EntryQueue], ages: list[float]
) -> None:
    clock = BacklogClock()
    assert [clock.age_seconds(queue, 5.0 * place) for place, queue in enumerate(queues)] == ages


@pytest.mark.parametrize(
    ("age", "is_busy", "pause"),
    [
        (0, False, 4),
        (30, False, 2.5),
        (60, False, 1),
        (86_400, False, 1),
        (0, True, 24),
        (30, True, 17),
        (60, True, 10),
        (86_400, True, 10),
    ],
)
def test_pauses_become_shorter_as_the_backlog_grows_older(
    age: float, is_busy: bool, pause: float
) -> None:
    assert choose_pause(0.5, age, is_busy=is_busy) == 0.5 * pause
