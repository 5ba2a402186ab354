"""The turns of a history that are never left out.

Source: `context`, "Budget", the floor.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pagefault_dialects.context.recalls import Recall
from pagefault_dialects.model.conversation import ComposedTurn


@dataclass(frozen=True, slots=True)
class FloorTurns:
    """The indexes of protected turns, by their kind."""

    system: Sequence[int]
    """The system messages before the first message of the user."""
    messages: Sequence[int]
    """The first and the newest message of the user, and other messages with the same share."""
    pinned: Sequence[int]
    """The newest answer with each pinned page."""
    newest: Sequence[int]
    """The newest step, including pinned pages in it."""

    @property
    def indexes(self) -> frozenset[int]:
        """All indexes."""
        return frozenset((*self.system, *self.messages, *self.pinned, *self.newest))


def opening_turns(turns: Sequence[ComposedTurn]) -> Sequence[int]:
    """Return the indexes of the system messages before the first message of the user."""
    first = next((at for at, turn in enumerate(turns) if turn.role == "user"), None)
    if first is None:
        first = next((at for at, turn in enumerate(turns) if turn.role != "system"), len(turns))
    return [at for at in range(first) if turns[at].role == "system"]


def protected_messages(turns: Sequence[ComposedTurn]) -> Sequence[int]:
    """Return the indexes of protected messages.

    These are the first and newest messages of the user, and a message of the assistant without
    calls that begins or ends the conversation.
    """
    users = [at for at, turn in enumerate(turns) if turn.role == "user"]
    spoken = [at for at, turn in enumerate(turns) if turn.role != "system"]
    outer = (
        at
        for at in {*spoken[:1], *spoken[-1:]}
        if turns[at].role == "assistant" and not turns[at].calls
    )
    return sorted({*users[:1], *users[-1:], *outer})


def newest_page_answers(
    turns: Sequence[ComposedTurn], recalls: Mapping[str, Recall], pinned: Collection[str]
) -> Sequence[int]:
    """Return the indexes of the newest answers with each pinned page."""
    newest: dict[str, int] = {}
    for at, turn in enumerate(turns):
        recall = recalls.get(turn.call_id) if turn.role == "tool" else None
        if recall is None or recall.target.kind != "page" or turn.is_error:
            continue
        if recall.target.name in pinned:
            newest[recall.target.name] = at
    return sorted(newest.values())
