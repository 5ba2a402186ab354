"""A history is sealed before the last step that later entries may change."""

from pagefault_dialects.model.conversation import ComposedTurn, TextItem, Turn, TurnCall, TurnRole
from pagefault_dialects.turns.pairing import Pairing
from pagefault_dialects.turns.sealed_turns import seal_turns


def text(seq: int | None, role: TurnRole = "user") -> ComposedTurn:
    return Turn(role, (TextItem("", f"text {seq}"),), "/api/sessions/s", seq)


def call(seq: int, call_id: str) -> ComposedTurn:
    calls = (TurnCall(call_id, "f", {}),)
    return Turn("assistant", (), "/api/sessions/s", seq, calls)


def result(seq: int, call_id: str) -> ComposedTurn:
    return Turn("tool", (TextItem("", "r"),), "/api/sessions/s", seq, call_id=call_id)


def seal(turns: list[ComposedTurn], separate: set[int]) -> tuple[int, int] | None:
    """Return how many turns are sealed, and the number of the next entry."""
    sealed = seal_turns(turns, separate, None)
    return None if sealed is None else (len(sealed.turns), sealed.next_seq)


STEPS = [text(1), call(2, "a"), result(3, "a"), call(4, "b"), result(5, "b"), text(6)]
ALL = {turn.seq for turn in STEPS if turn.seq is not None}


def test_history_is_sealed_before_the_last_step_of_the_assistant() -> None:
    assert seal(STEPS, ALL) == (3, 4)
    assert seal(STEPS[:4], ALL) == (3, 4)
    assert seal(STEPS[:3], ALL) == (1, 2)


def test_history_without_a_final_step_is_not_sealed() -> None:
    assert seal([], ALL) is None
    assert seal(STEPS[:1], ALL) is None
    assert seal([text(1), text(2)], ALL) is None
    assert seal([call(1, "a"), call(2, "b"), result(3, "b")], ALL) is None


def test_history_is_sealed_only_before_an_entry_that_is_separate() -> None:
    assert seal(STEPS, ALL - {4}) == (1, 2)
    assert seal(STEPS, {1, 3}) is None


def test_history_is_sealed_only_between_entries() -> None:
    joined = [text(1), call(1, "a"), result(2, "a"), call(2, "b"), result(3, "b")]
    assert seal(joined, {1, 2, 3}) is None
    assert seal([*joined, call(4, "c")], {1, 2, 3, 4}) == (5, 4)


def test_turns_outside_of_a_session_are_not_sealed() -> None:
    assert seal([text(1), text(None, "assistant")], {1}) is None


def test_frozen_turns_are_sealed_where_no_call_waits() -> None:
    turns = [text(1), text(2), call(3, "a"), text(4)]
    frozen = seal_turns(turns, {1, 2, 3, 4}, None, freezes_turns=True)
    assert frozen is not None
    assert (len(frozen.turns), frozen.next_seq) == (2, 3)


def test_later_turns_are_sealed_after_a_prefix_as_in_one_history() -> None:
    first = seal_turns(STEPS[:4], ALL, None)
    assert first is not None
    rest = seal_turns([*STEPS[3:], call(7, "c")], {*ALL, 7}, first.pairing_state)
    whole = seal_turns([*STEPS, call(7, "c")], {*ALL, 7}, None)
    assert rest is not None
    assert whole is not None
    assert [*first.turns, *rest.turns] == [*whole.turns]
    assert rest.next_seq == whole.next_seq == 7
    expected = Pairing((), None)
    for turn in STEPS:
        expected.add(turn)
    assert whole.pairing_state == expected.seal()[1]
