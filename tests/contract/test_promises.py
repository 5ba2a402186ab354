"""`docs/security.md` and `docs/durability.md` name a test for every promise, and it is there."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.contract.test_requirements import missing
from tests.process import ROOT


@dataclass(frozen=True)
class Row:
    """A line of a table: what is promised, where it is held, what shows it, and how much."""

    promise: str
    mechanism: str
    test: str
    figure: str


def promises(page: str) -> Iterator[Row]:
    """The rows of the tables of promises of a page; it has others, too."""
    is_one = False
    for line in (ROOT / "docs" / page).read_text().splitlines():
        if not line.startswith("|"):
            is_one = False
        elif line.startswith("| promise |"):
            is_one = True
        elif is_one and not line.startswith("|-"):
            yield Row(*(cell.strip() for cell in line.strip("|").split("|")))


ROWS = [*promises("security.md"), *promises("durability.md")]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.promise)
def test_promise_is_held_by_a_module_and_shown_by_a_test(row: Row) -> None:
    assert min(map(len, (row.promise, row.figure))) > 0
    assert (ROOT / row.mechanism.strip("`")).exists()
    assert not missing(row.test.strip("`"))


def test_no_promise_is_made_twice() -> None:
    assert len({row.promise for row in ROWS}) == len(ROWS) > 0
