"""An index of the calls of a history by their ids. A longer history extends it without a copy.

`pairing.Pairing` reads and writes the index. The index has layers: the index of a longer history
shares the layers of the shorter one, and has a layer of its own for the changes.
"""

from collections import ChainMap
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypeAlias, TypeVar

from pagefault_dialects.model.conversation import TurnCall

_Value = TypeVar("_Value")
_ById: TypeAlias = ChainMap[str, _Value]


class CallFacts(NamedTuple):
    """Facts about the calls with one id; hosts may use an id again."""

    tool_name: str = ""
    """The tool of the last call with the id."""
    call_count: int = 1
    """The number of calls with the id."""
    tools_with_results: tuple[str, ...] = ()
    """The tools of the results with the id; an empty text for results that name no tool."""
    is_taken: bool = False
    """True if a call in the paired conversation has this id, so that no other call can get it."""
    is_denied: bool = False
    """True if the user denied a call with the id."""
    has_fixed_result: bool = False
    """True if a result with the id has no call, and can no longer move to a later call."""


_NO_FACTS = CallFacts()


@dataclass(frozen=True, slots=True)
class CallIndex:
    """Facts about the calls of a history, and its calls without a result, by id."""

    facts: _ById[CallFacts] = field(default_factory=ChainMap)
    """The facts, by the ids of calls."""
    closed_calls: _ById[TurnCall | None] = field(default_factory=ChainMap)
    """The calls that got a note in place of a result, by id; `None` after a late result came."""

    @property
    def count(self) -> int:
        """The number of entries in all layers, a measure of memory; an id may have several."""
        return sum(map(len, self.facts.maps))

    def get_facts(self, call_id: str) -> CallFacts:
        """Return the facts about an id; the default facts if it is new."""
        # Faster than `ChainMap.get`, which searches all layers twice.
        for layer in self.facts.maps:
            if (facts := layer.get(call_id)) is not None:
                return facts
        return _NO_FACTS

    def set_facts(self, call_id: str, facts: CallFacts) -> None:
        """Replace the facts about an id."""
        self.facts[call_id] = facts

    def fork(self) -> "CallIndex":
        """Return a copy whose changes are not visible here."""
        return CallIndex(self.facts.new_child(), self.closed_calls.new_child())

    def compact(self) -> "CallIndex":
        """Return a copy with fewer layers. This index and its layers are not changed."""
        top_layer = {call_id: _intern(facts) for call_id, facts in self.facts.maps[0].items()}
        facts = ChainMap(top_layer, *self.facts.maps[1:])
        return CallIndex(_merge_layers(facts), _merge_layers(self.closed_calls))


@lru_cache(4_096)
def _intern(facts: CallFacts) -> CallFacts:
    """Return one object for all equal facts, which saves memory: most calls have equal facts."""
    return facts


def _merge_layers(layers: _ById[_Value]) -> _ById[_Value]:
    """Merge layers until each layer is less than half as large as the layer below it.

    While the map grows to `n` keys, each key is thus copied only O(log n) times.
    """
    maps = [layer for layer in layers.maps if layer]
    index = 0
    while index < len(maps) - 1:
        upper, lower = maps[index : index + 2]
        if 2 * len(upper) >= len(lower):
            maps[index : index + 2] = [{**lower, **upper}]
            index = max(0, index - 1)
        else:
            index += 1
    return ChainMap(*maps)
