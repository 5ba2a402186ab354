"""Steps of turns, and the line that summarises a run of steps."""

from functools import reduce
from operator import add

from pagefault_dialects.context.steps import (
    FoldSummary,
    Step,
    find_turn_positions,
    split_passages,
    summarize_turns,
)
from pagefault_dialects.model.conversation import ComposedTurn, TextItem, Turn, TurnCall
from pagefault_dialects.turns.pairing import pair_calls


def message(seq: int | None, role: str = "user") -> ComposedTurn:
    return Turn(role, (TextItem("", "Hello."),), "/", seq)  # type: ignore[arg-type]


def calling(seq: int | None, *names: str) -> ComposedTurn:
    calls = tuple(TurnCall(f"c{seq}.{at}", name, {}) for at, name in enumerate(names))
    return Turn("assistant", (), "/", seq, calls=calls)


def answer(seq: int | None, call_id: str, *, is_error: bool = False) -> ComposedTurn:
    items = (TextItem("", "Done."),)
    return Turn("tool", items, "/", seq, call_id=call_id, tool_name="bash", is_error=is_error)


def step_text(number: int, *turns: ComposedTurn) -> str:
    return summarize_turns(turns, number).text


def test_step_is_a_call_and_its_answers() -> None:
    turns = [
        message(1),
        calling(2, "bash", "bash"),
        answer(3, "c2.0"),
        answer(4, "c2.1"),
        message(5, "assistant"),
        calling(6, "bash"),
    ]
    assert [item for item in split_passages(turns) if isinstance(item, Step)] == [
        Step(1, 1, 4, 2),
        Step(2, 5, 6, 6),
    ]
    assert find_turn_positions(turns) == [1, 2, 2, 2, 5, 6]


def test_answer_that_came_first_is_of_the_step_of_its_call() -> None:
    turns = pair_calls([message(1), answer(2, "c3.0"), calling(3, "bash"), message(4)])
    assert Step(1, 1, 3, 3) in split_passages(turns)


def test_turns_outside_of_a_session_have_the_places_of_their_order() -> None:
    assert find_turn_positions([message(None), calling(None, "bash")]) == range(1, 3)


def test_system_message_has_the_place_of_the_first_entry() -> None:
    assert find_turn_positions([message(None, "system"), message(1), message(2)]) == [1, 1, 2]


def test_answer_without_a_call_before_it_is_a_step() -> None:
    assert list(split_passages([answer(7, "c")])) == [Step(1, 0, 1, 7)]


def test_fold_of_one_step_names_its_tools_and_entries() -> None:
    text = step_text(3, calling(5, "bash"), answer(6, "c5.0"))
    assert text == "Step 3: bash 1. read_text @entries:5-6 lists it."


def test_fold_names_the_six_most_frequent_tools_and_counts_the_others() -> None:
    often = ["bash"] * 5 + ["b", "a", "c", "d", "e", "f", "g"]
    text = step_text(1, calling(2, *often), answer(3, "c2.0", is_error=True))
    assert text == (
        "Step 1: bash 5, a 1, b 1, c 1, d 1, e 1, others 2, 1 failed. "
        "read_text @entries:2-3 lists it."
    )


def test_fold_of_two_runs_is_their_sum() -> None:
    runs = [
        summarize_turns([calling(2, "bash"), answer(3, "c2.0")], 1),
        summarize_turns([message(4, "assistant")], 0),
        summarize_turns([calling(5, "look", "bash"), answer(6, "c5.0", is_error=True)], 2),
    ]
    assert reduce(add, runs) == FoldSummary(
        first_step=1,
        last_step=2,
        messages=1,
        steps=2,
        failed=1,
        from_seq=2,
        to_seq=6,
        tools={"bash": 2, "look": 1},
    )
    assert reduce(add, runs).text == (
        "Steps 1 to 2 and 1 message: bash 2, look 1, 1 failed. read_text @entries:2-6 lists them."
    )


def test_fold_of_messages_alone_counts_them() -> None:
    run = summarize_turns([message(2, "assistant")], 0) + summarize_turns([message(9)], 0)
    assert run.text == "2 messages. read_text @entries:2-9 lists them."
    assert summarize_turns([message(2)], 0).text == "1 message. read_text @entries:2-2 lists it."


def test_fold_outside_of_a_session_names_no_entries() -> None:
    assert step_text(1, calling(None, "bash")) == "Step 1: bash 1."


def test_answer_that_was_not_recorded_is_not_a_failure() -> None:
    turns = pair_calls([calling(2, "bash"), message(3)])
    assert step_text(1, *turns[:2]) == "Step 1: bash 1. read_text @entries:2-2 lists it."


def test_repeated_call_is_counted_once() -> None:
    turns = [calling(8, "bash"), answer(8, "c8.0")]
    assert summarize_turns(turns, 4, is_late=True).text == (
        "Step 4. read_text @entries:8-8 lists it."
    )


def test_name_of_a_tool_is_one_line_of_at_most_forty_characters() -> None:
    text = step_text(1, calling(2, "a\nb", "x" * 50))
    assert text == (f"Step 1: a\\nb 1, {'x' * 39}… 1. read_text @entries:2-2 lists it.")
