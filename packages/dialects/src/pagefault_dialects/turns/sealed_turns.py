"""The longest beginning of a history that later entries do not change.

`Pairing.can_seal_before` decides where a history may be split.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pagefault_dialects.model.conversation import ComposedTurn
from pagefault_dialects.turns.pairing import Pairing, PairingState


@dataclass(frozen=True, slots=True)
class SealedTurns:
    """The beginning of a history. Later entries do not change its turns."""

    turns: Sequence[ComposedTurn]
    """The turns, with their calls and results paired."""
    pairing_state: PairingState
    """The state of the pairing after the turns."""
    next_seq: int
    """The `seq` of the first entry after the turns."""


def seal_turns(
    turns: Sequence[ComposedTurn],
    separate_seqs: Collection[int],
    prefix: PairingState | None,
    *,
    freezes_turns: bool = False,
) -> SealedTurns | None:
    """Return the longest beginning of a history that is final, and that has only whole entries.

    Args:
        turns: A history as it was recorded, or the turns after a prefix.
        separate_seqs: The `seq` of entries whose first turn does not continue the turn before it.
        prefix: The state of the pairing after the prefix, if there is one.
        freezes_turns: The option of `Pairing`.

    Returns:
        The final turns; `None` if there are none.
    """
    pairing, end = Pairing((), prefix, freezes_turns=freezes_turns), 0
    for index, turn in enumerate(turns):
        begins_entry = index > 0 and turns[index - 1].seq != turn.seq
        if begins_entry and turn.seq in separate_seqs and pairing.can_seal_before(turn):
            end = index
        pairing.add(turn)
    next_seq = turns[end].seq if end else None
    if next_seq is None:
        return None
    # The pairing above has the later turns as well, so the final turns are paired again.
    pairing = Pairing((), prefix, freezes_turns=freezes_turns)
    for turn in turns[:end]:
        pairing.add(turn)
    return SealedTurns(*pairing.seal(), next_seq)
