"""Raw results: kept for who listens now, once, few and small ones only."""

import pytest

from app.services.events.raw_results import RawResults

MIB = 1024 * 1024


def raw_results(*, is_enabled: bool = True) -> RawResults:
    kept = RawResults(is_enabled=is_enabled)
    kept.has_listeners = {"p"}.__contains__
    return kept


def test_result_is_handed_out_once() -> None:
    kept = raw_results()
    kept.offer("p", "r", {"a": [1, None]}, size_bytes=10)
    assert [kept.take("other"), kept.take("r"), kept.take("r")] == [None, b'{"a":[1,null]}', None]


@pytest.mark.parametrize(
    ("is_enabled", "project_id", "size_bytes", "is_kept"),
    [
        (True, "p", MIB, True),
        (True, "p", MIB + 1, False),
        (True, "unheard", 1, False),
        (False, "p", 1, False),
    ],
)
def test_result_is_kept_only_where_it_may_be_shown(
    is_enabled: bool,
    project_id: str,
    size_bytes: int,
    is_kept: bool,
) -> None:
    kept = raw_results(is_enabled=is_enabled)
    kept.offer(project_id, "r", None, size_bytes=size_bytes)
    assert kept.take("r") == (b"null" if is_kept else None)


def test_nobody_is_taken_for_a_listener() -> None:
    kept = RawResults(is_enabled=True)
    kept.offer("p", "r", 1, size_bytes=1)
    assert kept.take("r") is None


def test_what_nobody_asks_for_makes_room() -> None:
    kept = raw_results()
    for number in range(70):
        kept.offer("p", f"r{number}", number, size_bytes=1)
    assert [kept.take(f"r{number}") for number in (0, 5, 6, 69)] == [None, None, b"6", b"69"]
