"""The floor: the turns of a history that a rendering within a budget never leaves out.

`floor.py` shortens these turns to their shares of the budget.

Source: design document `context.md`, "Budget".
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pagefault_dialects.context.recalls import Recall
from pagefault_dialects.model.conversation import ComposedTurn


@dataclass(frozen=True, slots=True)
class FloorTurns:
    """The indexes of the turns that are never left out, by kind."""

    system: Sequence[int]
    """The system messages before the first message of the user."""
    messages: Sequence[int]
    """The messages of `find_protected_messages`."""
    pinned: Sequence[int]
    """The newest result with each pinned page."""
    newest: Sequence[int]
    """The newest step, also if it has pinned pages, and every step with an unanswered call."""

    @property
    def indexes(self) -> frozenset[int]:
        """The indexes of all kinds together."""
        return frozenset((*self.system, *self.messages, *self.pinned, *self.newest))


def find_opening_turns(turns: Sequence[ComposedTurn]) -> Sequence[int]:
    """Return the indexes of the system messages before the first message of the user."""
    first = next((index for index, turn in enumerate(turns) if turn.role == "user"), None)
    if first is None:
        first = next(
            (index for index, turn in enumerate(turns) if turn.role != "system"), len(turns)
        )
    return [index for index in range(first) if turns[index].role == "system"]


def find_protected_messages(turns: Sequence[ComposedTurn]) -> Sequence[int]:
    """Return the indexes of the messages that are never left out.

    These are the first and the newest message of the user. The first and the last turn that is not
    a message of the system are protected too, if they are messages of the assistant without calls.
    """
    users = [index for index, turn in enumerate(turns) if turn.role == "user"]
    others = [index for index, turn in enumerate(turns) if turn.role != "system"]
    first_and_last = (
        index
        for index in {*others[:1], *others[-1:]}
        if turns[index].role == "assistant" and not turns[index].calls
    )
    return sorted({*users[:1], *users[-1:], *first_and_last})


def find_newest_page_results(
    turns: Sequence[ComposedTurn], recalls: Mapping[str, Recall], pinned: Collection[str]
) -> Sequence[int]:
    """Return the index of the newest result with each pinned page, in the order of the turns.

    Args:
        turns: The conversation.
        recalls: Its recalls, by the ids of their calls.
        pinned: The ids of the pinned pages.
    """
    newest: dict[str, int] = {}
    for index, turn in enumerate(turns):
        recall = recalls.get(turn.call_id) if turn.role == "tool" else None
        if recall is None or recall.target.kind != "page" or turn.is_error:
            continue
        if recall.target.name in pinned:
            newest[recall.target.name] = index
    return sorted(newest.values())
