"""The turns of a history that are never left out.

Source: `context`, "Budget", the floor.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pagefault_dialects.context.recalls import Recall
from pagefault_dialects.model.conversation import ComposedTurn


@dataclass(frozen=True, slots=True)
class FloorTurns:
    """Which turns the floor has, by their indexes."""

    system: Sequence[int]
    """What the system says before the user speaks."""
    said: Sequence[int]
    """The first and the newest message of the user, and other turns that have a share as those."""
    pinned: Sequence[int]
    """The newest showing of each pinned page."""
    newest: Sequence[int]
    """The newest step, and the showings of pinned pages in it."""

    @property
    def indexes(self) -> frozenset[int]:
        """The indexes of all of them."""
        return frozenset((*self.system, *self.said, *self.pinned, *self.newest))


def opening_turns(turns: Sequence[ComposedTurn]) -> Sequence[int]:
    """Return the indexes of what the system says before the user first speaks."""
    first = next((at for at, turn in enumerate(turns) if turn.role == "user"), None)
    if first is None:
        first = next((at for at, turn in enumerate(turns) if turn.role != "system"), len(turns))
    return [at for at in range(first) if turns[at].role == "system"]


def said_that_stays(turns: Sequence[ComposedTurn]) -> Sequence[int]:
    """Return the indexes of the user's first and newest messages.

    What the assistant says before all others, or behind all others, stays as those do.
    """
    users = [at for at, turn in enumerate(turns) if turn.role == "user"]
    spoken = [at for at, turn in enumerate(turns) if turn.role != "system"]
    said = (
        at
        for at in {*spoken[:1], *spoken[-1:]}
        if turns[at].role == "assistant" and not turns[at].calls
    )
    return sorted({*users[:1], *users[-1:], *said})


def newest_showings(
    turns: Sequence[ComposedTurn], recalls: Mapping[str, Recall], pinned: Collection[str]
) -> Sequence[int]:
    """Return the index of the newest answer that shows each pinned page."""
    newest: dict[str, int] = {}
    for at, turn in enumerate(turns):
        recall = recalls.get(turn.call_id) if turn.role == "tool" else None
        if recall is None or recall.what.kind != "page" or turn.is_error:
            continue
        if recall.what.name in pinned:
            newest[recall.what.name] = at
    return sorted(newest.values())
