"""Facts about the calls of a history, in layers that longer histories share."""

from collections import ChainMap
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypeAlias, TypeVar

from pagefault_dialects.model.conversation import TurnCall

_Value = TypeVar("_Value")
_ById: TypeAlias = ChainMap[str, _Value]


class CallFacts(NamedTuple):
    """Facts about the calls of one id."""

    name: str = ""
    """The tool of the last call."""
    number: int = 1
    """The number of calls with the id."""
    answered_by: tuple[str, ...] = ()
    """The tools that have answered."""
    is_taken: bool = False
    """True if a rendered call has exactly this id."""
    is_denied: bool = False
    """True if a call was denied."""
    is_early: bool = False
    """True if an answer has no call, and does not move any more."""


_NOTHING = CallFacts()


@dataclass(frozen=True, slots=True)
class KnownCalls:
    """The calls of a history."""

    facts: _ById[CallFacts] = field(default_factory=ChainMap)
    """The facts, by the ids of calls."""
    closed: _ById[TurnCall | None] = field(default_factory=ChainMap)
    """Calls that were closed without an answer, by id; `None` after a late answer."""

    @property
    def count(self) -> int:
        """The approximate number of ids."""
        return sum(map(len, self.facts.maps))

    def of(self, call_id: str) -> CallFacts:
        """Return the facts about an id."""
        for layer in self.facts.maps:
            if (facts := layer.get(call_id)) is not None:
                return facts
        return _NOTHING

    def note(self, call_id: str, facts: CallFacts) -> None:
        """Replace the facts about an id."""
        self.facts[call_id] = facts

    def fork(self) -> "KnownCalls":
        """Return a copy whose changes are not visible here."""
        return KnownCalls(self.facts.new_child(), self.closed.new_child())

    def compacted(self) -> "KnownCalls":
        """Return a copy with few layers. Existing layers are shared, so none is changed."""
        new = {call_id: _intern(facts) for call_id, facts in self.facts.maps[0].items()}
        facts = ChainMap(new, *self.facts.maps[1:])
        return KnownCalls(_merge_layers(facts), _merge_layers(self.closed))


@lru_cache(4_096)
def _intern(facts: CallFacts) -> CallFacts:
    """Return the first of equal facts, so that equal facts are one object; few differ."""
    return facts


def _merge_layers(layers: _ById[_Value]) -> _ById[_Value]:
    """Return a map in which each layer is less than half as large as the layer below it.

    So a key is copied only each time that the map has doubled.
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
