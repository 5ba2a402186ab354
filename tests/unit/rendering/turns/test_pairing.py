"""Calls and answers brought together."""

from dataclasses import replace

from app.models.conversation import Call, ComposedTurn, TextItem, Turn
from app.rendering.turns.pairing import NO_RESULT, paired


def said(role: str, seq: int, text: str = "…") -> ComposedTurn:
    return Turn(
        "assistant" if role == "assistant" else "user", (TextItem("/content", text),), seq=seq
    )


def calling(seq: int, *call_ids: str) -> ComposedTurn:
    return Turn(
        "assistant",
        (),
        origin=f"/{seq}",
        seq=seq,
        calls=tuple(Call(each, "f", {}) for each in call_ids),
    )


def answer(seq: int, call_id: str, name: str = "f") -> ComposedTurn:
    return Turn(
        "tool",
        (TextItem("/content", f"{call_id}!"),),
        f"/{seq}",
        seq,
        call_id=call_id,
        tool_name=name,
    )


def missing(call_id: str, seq: int, origin: str) -> ComposedTurn:
    return Turn(
        "tool",
        (TextItem("", NO_RESULT),),
        origin,
        seq,
        call_id=call_id,
        tool_name="f",
        is_error=True,
    )


def test_answers_stand_behind_their_calls_already() -> None:
    turns = (said("user", 1), calling(2, "a", "b"), answer(3, "a"), answer(4, "b"), said("user", 5))
    assert paired(turns) == turns


def test_an_answer_without_a_call_gets_one() -> None:
    turns = paired([answer(1, "a"), answer(2, "b")])
    assert turns == (
        Turn("assistant", (), "/1", 1, calls=(Call("a", "f", {}),)),
        answer(1, "a"),
        Turn("assistant", (), "/2", 2, calls=(Call("b", "f", {}),)),
        answer(2, "b"),
    )


def test_a_call_that_is_still_open_waits_for_its_answer() -> None:
    turns = (calling(1, "a", "b"), answer(2, "b"))
    assert paired(turns) == turns


def test_a_call_without_an_answer_gets_one_when_somebody_goes_on() -> None:
    assert paired([calling(1, "a", "b"), answer(2, "b"), said("user", 3)]) == (
        calling(1, "a", "b"),
        answer(2, "b"),
        missing("a", 3, "/1"),
        said("user", 3),
    )


def test_a_late_answer_gets_its_call_again_with_another_id() -> None:
    call = Call("a", "read", {"path": "x"})
    called: ComposedTurn = Turn("assistant", (), "/1", 1, calls=(call,))
    unanswered = replace(missing("a", 2, "/1"), tool_name="read")
    assert paired([called, said("user", 2), answer(3, "a", name="")]) == (
        called,
        unanswered,
        said("user", 2),
        Turn("assistant", (), "/3", 3, calls=(replace(call, call_id="a-2"),)),
        Turn("tool", (TextItem("/content", "a!"),), "/3", 3, call_id="a-2", tool_name="read"),
    )


def test_what_the_system_says_stands_behind_the_answers_of_open_calls() -> None:
    system: ComposedTurn = Turn("system", (TextItem("/content", "Be quick."),), seq=2)
    assert paired([calling(1, "a"), system, answer(3, "a")]) == (
        calling(1, "a"),
        answer(3, "a"),
        system,
    )


def test_calls_of_one_id_in_one_turn_are_answered_in_order() -> None:
    turns = paired([calling(1, "d", "d"), answer(2, "d"), answer(3, "d")])
    assert [call.call_id for call in turns[0].calls] == ["d", "d-2"]
    assert [turn.call_id for turn in turns[1:]] == ["d", "d-2"]


def test_many_calls_take_no_longer_than_their_number() -> None:
    calls = [calling(2 * number, "call_0") for number in range(10_000)]
    answers = [answer(2 * number + 1, "call_0") for number in range(10_000)]
    turns = paired([turn for pair in zip(calls, answers, strict=True) for turn in pair])
    assert len({turn.call_id for turn in turns if turn.role == "tool"}) == 10_000


def test_an_answer_finds_its_call_although_another_result_came_in_between() -> None:
    assert paired([calling(1, "a"), answer(2, "other"), answer(3, "a")]) == (
        calling(1, "a"),
        answer(3, "a"),
        Turn("assistant", (), "/2", 2, calls=(Call("other", "f", {}),)),
        answer(2, "other"),
    )


def test_a_call_id_that_was_used_before_is_told_apart() -> None:
    turns = paired([calling(1, "a"), answer(2, "a"), calling(3, "a"), answer(4, "a")])
    assert [turn.call_id or turn.calls[0].call_id for turn in turns] == ["a", "a", "a-2", "a-2"]


def test_an_answer_without_an_id_takes_the_open_call_of_its_name() -> None:
    turns = paired([calling(1, "a"), answer(2, "")])
    assert [turn.call_id for turn in turns] == ["", "a"]


def test_an_answer_without_a_name_takes_that_of_its_call() -> None:
    assert paired([calling(1, "a"), answer(2, "a", name="")])[1].tool_name == "f"


def test_nothing_is_nothing() -> None:
    assert paired([]) == ()
