"""An index of calls is extended without a copy, and merged into few layers."""

from collections import ChainMap

import pytest

from pagefault_dialects.model.conversation import TurnCall
from pagefault_dialects.turns.call_index import CallFacts, CallIndex


def make_layers(*sizes: int) -> CallIndex:
    """Return an index whose layers have so many ids, the newest layer first."""
    layers, number = [], 0
    for size in sizes:
        layers.append({f"c{number + i}": CallFacts(f"t{number + i}") for i in range(size)})
        number += size
    return CallIndex(ChainMap(*layers))


def test_changes_of_a_fork_are_not_visible_in_its_origin() -> None:
    index = CallIndex()
    index.set_facts("a", CallFacts("f"))
    fork = index.fork()
    fork.set_facts("a", CallFacts("g", call_count=2))
    fork.closed_calls["a"] = TurnCall("a", "g", {})
    assert (index.get_facts("a"), index.count, dict(index.closed_calls)) == (CallFacts("f"), 1, {})
    assert (fork.get_facts("a"), fork.count) == (CallFacts("g", call_count=2), 2)
    assert fork.get_facts("new") == CallFacts()


@pytest.mark.parametrize(
    ("sizes", "merged"),
    [
        ((), []),
        ((0,), []),
        ((3,), [3]),
        ((1, 2), [3]),
        ((1, 3), [1, 3]),
        ((2, 4), [6]),
        ((1, 3, 9), [1, 3, 9]),
        ((1, 2, 6), [9]),
        ((1, 2, 7), [3, 7]),
        ((1, 0, 5, 10), [1, 15]),
        ((1, 4, 4, 30), [1, 8, 30]),
        ((3, 4, 4, 30), [11, 30]),
    ],
)
def test_layers_are_merged_until_each_is_less_than_half_of_the_next(
    sizes: tuple[int, ...], merged: list[int]
) -> None:
    index = make_layers(*sizes)
    before = [dict(layer) for layer in index.facts.maps]
    compact = index.compact()
    assert [len(layer) for layer in compact.facts.maps if layer] == merged
    assert dict(compact.facts) == dict(index.facts)
    assert index.facts.maps == before


def test_newer_layer_wins_when_layers_are_merged() -> None:
    index = CallIndex()
    index.set_facts("a", CallFacts("old"))
    fork = index.fork()
    fork.set_facts("a", CallFacts("new"))
    compact = fork.compact()
    assert (compact.get_facts("a"), compact.count) == (CallFacts("new"), 1)
    # Equal facts are one object.
    again = CallIndex()
    again.set_facts("b", CallFacts("new"))
    assert again.compact().get_facts("b") is compact.get_facts("a")
