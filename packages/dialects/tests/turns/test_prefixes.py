"""Pairing behind a prefix of turns that are final."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault_dialects.model.conversation import (
    ComposedTurn,
    TextItem,
    Turn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.turns.call_results import PrefixChangedError
from pagefault_dialects.turns.pairing import Pairing, PairingState, find_position_seqs, pair_calls

_IDS = st.sampled_from(["", "a", "b", "c"])
_NAMES = st.sampled_from(["", "f", "g"])
_ROLES: Sequence[TurnRole] = (
    *("user", "user", "system"),
    *("assistant", "assistant", "assistant", "tool", "tool"),
)
_TEXTS = st.sampled_from([(), (TextItem("/content", "said"),), (TextItem("/content", " "),)])


@st.composite
def _turns(draw: st.DrawFn) -> ComposedTurn:
    role = draw(st.sampled_from(_ROLES))
    turn: ComposedTurn = Turn("user", draw(_TEXTS))
    if role == "assistant":
        calls = st.builds(
            TurnCall, _IDS, _NAMES, st.sampled_from([{}, {"n": 1}]), st.sampled_from(["", "", "p"])
        )
        called = draw(st.lists(calls, max_size=2))
        return replace(
            turn, role="assistant", calls=tuple(called), continues_turn=draw(st.booleans())
        )
    if role == "tool":
        return replace(
            turn,
            role="tool",
            call_id=draw(_IDS),
            tool_name=draw(_NAMES),
            is_error=draw(st.booleans()),
            approval_id=draw(st.sampled_from(["", "", "", "p"])),
            is_stored_alone=draw(st.booleans()),
            answer_number=draw(st.integers(1, 2)),
            recorded_call=draw(st.sampled_from([None, None, TurnCall("a", "f", {"n": 2})])),
        )
    return replace(turn, role=role)


_HISTORIES = st.lists(_turns(), max_size=14).map(
    lambda turns: [replace(turn, seq=seq, origin=f"/{seq}") for seq, turn in enumerate(turns, 1)]
)


def _in_parts(
    history: Sequence[ComposedTurn], pinned: Sequence[int]
) -> tuple[list[ComposedTurn], list[ComposedTurn]]:
    """Pair a history part by part; return the sealed turns and the others."""
    prefix, sealed = PairingState(), list[ComposedTurn]()
    pairing = Pairing(pinned, prefix)
    for turn in history:
        if pairing.can_seal_before(turn):
            turns, prefix = pairing.seal()
            sealed += turns
            assert all(seq < (turn.seq or 0) for seq in find_position_seqs(sealed))
            pairing = Pairing(pinned, prefix)
        pairing.add(turn)
    return sealed, [*pairing.take_turns()]


@pytest.mark.slow
@given(_HISTORIES, st.sets(st.integers(1, 14), max_size=2))
def test_history_is_the_same_in_parts(history: list[ComposedTurn], pinned: set[int]) -> None:
    try:
        sealed, behind = _in_parts(history, sorted(pinned))
    except PrefixChangedError:
        # Its answer is in the prefix, so the whole history is paired again.
        return
    assert (*sealed, *behind) == pair_calls(history, pinned_results=pinned)


def test_prefix_can_be_continued_more_than_once() -> None:
    call = TurnCall("a", "f", {})
    step: list[ComposedTurn] = [
        Turn("assistant", (), seq=1, calls=(call,)),
        Turn("tool", (), seq=2, call_id="a", tool_name="f"),
    ]
    pairing = Pairing()
    for turn in step:
        pairing.add(turn)
    _, prefix = pairing.seal()

    def behind() -> Sequence[ComposedTurn]:
        going_on = Pairing((), prefix)
        going_on.add(Turn("assistant", (), seq=3, calls=(call,)))
        going_on.add(Turn("tool", (), seq=4, call_id="a", tool_name="f", answer_number=2))
        return going_on.take_turns()

    first = behind()
    assert [call.call_id for call in first[0].calls] == ["a-2"]
    assert behind() == first


def test_call_whose_answer_is_in_the_prefix_changes_it() -> None:
    pairing = Pairing()
    pairing.add(Turn("tool", (TextItem("", "early"),), seq=1, call_id="a", tool_name="f"))
    following: ComposedTurn = Turn("assistant", (TextItem("", "said"),), seq=2)
    assert pairing.can_seal_before(following)
    sealed, prefix = pairing.seal()
    assert [turn.role for turn in sealed] == ["assistant", "tool"]
    going_on = Pairing((), prefix)
    going_on.add(following)
    with pytest.raises(PrefixChangedError):
        going_on.add(Turn("assistant", (), seq=3, calls=(TurnCall("a", "f", {}),)))
