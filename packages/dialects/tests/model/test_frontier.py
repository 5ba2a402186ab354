"""Frontiers as they are stored."""

from pagefault_dialects.model.frontier import MAX_ORPHANS, Frontier


def test_frontier_of_many_results_without_calls_is_read_back() -> None:
    orphans = range(1, MAX_ORPHANS + 3)
    frontier = Frontier(folded=5).with_orphans(orphans)
    assert frontier == Frontier(folded=5, orphans=tuple(orphans[2:]))
    assert Frontier.model_validate_json(frontier.model_dump_json(by_alias=True)) == frontier
