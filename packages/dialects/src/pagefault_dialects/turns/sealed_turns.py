"""The longest beginning of a history that is final: see `Pairing.is_sealed_by`."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pagefault_dialects.model.conversation import ComposedTurn
from pagefault_dialects.turns.pairing import PairedPrefix, Pairing


@dataclass(frozen=True, slots=True)
class SealedTurns:
    """Turns of a history that are final."""

    turns: Sequence[ComposedTurn]
    """The turns, with calls and answers paired."""
    paired: PairedPrefix
    """The state to continue behind them."""
    next_seq: int
    """The first entry behind them."""


def seal_turns(
    turns: Sequence[ComposedTurn],
    begins: Collection[int],
    before: PairedPrefix | None,
    *,
    settles: bool = False,
) -> SealedTurns | None:
    """Return as many turns as are final, those up to the beginning of an entry.

    Args:
        turns: A history as it was recorded, or the part behind a prefix.
        begins: The `seq` of entries whose first turn belongs to no turn before it.
        before: The state behind the prefix.
        settles: See `Pairing`.

    Returns:
        The turns that are final; `None` if there are none.
    """
    pairing, last = Pairing((), before, settles=settles), 0
    for index, turn in enumerate(turns):
        is_first = index > 0 and turns[index - 1].seq != turn.seq
        if is_first and turn.seq in begins and pairing.is_sealed_by(turn):
            last = index
        pairing.add(turn)
    next_seq = turns[last].seq if last else None
    if next_seq is None:
        return None
    pairing = Pairing((), before, settles=settles)
    for turn in turns[:last]:
        pairing.add(turn)
    return SealedTurns(*pairing.seal(), next_seq)
