"""What is known of the calls of a history, in layers: one that has grown shares what it was."""

from collections import ChainMap
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypeAlias, TypeVar

from pagefault_dialects.model.conversation import TurnCall

_Value = TypeVar("_Value")
_ById: TypeAlias = ChainMap[str, _Value]


class CallFacts(NamedTuple):
    """What is known of the calls of one id."""

    name: str = ""
    """The tool that was called last."""
    number: int = 1
    """How many calls have the id."""
    answered_by: tuple[str, ...] = ()
    """The tools whose answers have come."""
    is_taken: bool = False
    """Whether a call stands under this id."""
    is_denied: bool = False
    """Whether a call was denied."""
    is_early: bool = False
    """Whether an answer has no call and keeps its place."""


_NOTHING = CallFacts()


@dataclass(frozen=True, slots=True)
class KnownCalls:
    """The calls of a history."""

    facts: _ById[CallFacts] = field(default_factory=ChainMap)
    """By the ids of calls."""
    closed: _ById[TurnCall | None] = field(default_factory=ChainMap)
    """Calls without an answer that are no longer waited for, by id; `None` once it has come."""

    @property
    def count(self) -> int:
        """About how many ids are remembered."""
        return sum(map(len, self.facts.maps))

    def of(self, call_id: str) -> CallFacts:
        """Return what is known of an id."""
        for layer in self.facts.maps:
            if (facts := layer.get(call_id)) is not None:
                return facts
        return _NOTHING

    def note(self, call_id: str, facts: CallFacts) -> None:
        """Replace what is known of an id."""
        self.facts[call_id] = facts

    def fork(self) -> "KnownCalls":
        """Return the same, to be changed without a change here."""
        return KnownCalls(self.facts.new_child(), self.closed.new_child())

    def compacted(self) -> "KnownCalls":
        """Return the same in few layers; none is changed, since others may share it."""
        new = {call_id: _shared(facts) for call_id, facts in self.facts.maps[0].items()}
        facts = ChainMap(new, *self.facts.maps[1:])
        return KnownCalls(_compacted(facts), _compacted(self.closed))


@lru_cache(4_096)
def _shared(facts: CallFacts) -> CallFacts:
    """Return the first of equal facts: there are few that differ."""
    return facts


def _compacted(layers: _ById[_Value]) -> _ById[_Value]:
    """Return a map whose layers are each less than half as large as the one below.

    A key is copied as often as the map has doubled since it came.
    """
    maps = [layer for layer in layers.maps if layer]
    at = 0
    while at < len(maps) - 1:
        upper, lower = maps[at : at + 2]
        if 2 * len(upper) >= len(lower):
            maps[at : at + 2] = [{**lower, **upper}]
            at = max(0, at - 1)
        else:
            at += 1
    return ChainMap(*maps)
