"""Comparison of conversations by their turns."""

import pytest

from pagefault_dialects.json.values import JsonObject
from pagefault_dialects.messages.comparison import (
    Comparison,
    Difference,
    Unit,
    compare,
    keep_new_blocks,
    make_record_unit,
    split_into_units,
)
from pagefault_dialects.messages.conversation_reading import read_conversation
from pagefault_dialects.messages.entry_reading import (
    READER_VERSION,
    EntryReading,
    read_entry,
    read_entry_turns,
    read_stored,
)

USER: JsonObject = {"role": "user", "content": "What time is it?"}
CALL: JsonObject = {
    "id": "c1",
    "type": "function",
    "function": {"name": "clock", "arguments": '{"a": 1}'},
}
CALLING: JsonObject = {"role": "assistant", "content": None, "tool_calls": [CALL]}
ANSWER: JsonObject = {"role": "tool", "tool_call_id": "c1", "content": "Ten."}
SAID: JsonObject = {"role": "assistant", "content": "It is ten."}
LIST: list[JsonObject] = [USER, CALLING, ANSWER, SAID]


def units(*messages: JsonObject, first: int = 0) -> list[Unit]:
    """Return the units of messages, which have the places `first`, `first + 1` …"""
    found: list[Unit] = []
    for position, (_, _, entry) in enumerate(read_conversation([*messages]).entries, first):
        turns = read_entry_turns(
            entry, 0, "", {}, audience="everyone", moved_media_ids=frozenset(), finds_media=True
        )
        found += split_into_units(turns, position)
    return found


def compared(stored: list[Unit], *sent: JsonObject, continues: bool = False) -> Comparison:
    return compare(stored, units(*sent), len(sent), continues=continues)


def test_everything_is_new_where_nothing_is_stored() -> None:
    assert compared([], *LIST) == Comparison((0, 1, 2, 3))


def test_nothing_is_new_in_the_same_list() -> None:
    assert compared(units(*LIST, first=1), *LIST) == Comparison()


def test_only_the_end_is_new_in_a_longer_list() -> None:
    assert compared(units(*LIST[:2], first=1), *LIST) == Comparison((2, 3))


@pytest.mark.parametrize(
    "same",
    [
        {"role": "user", "content": [{"type": "text", "text": "What time is it?"}], "id": "m"},
        {"role": "user", "parts": [{"text": "What time is it?"}]},
        {
            "role": "user",
            "content": [
                {
                    "type": "text",
                    "text": "What time is it?",
                    "cache_control": {"type": "ephemeral"},
                }
            ],
        },
    ],
)
def test_form_ids_and_marks_are_not_compared(same: JsonObject) -> None:
    assert compared(units(*LIST, first=1), same, *LIST[1:]) == Comparison()


def test_arguments_are_compared_as_json() -> None:
    spelled = {**CALL, "function": {"name": "clock", "arguments": '{"a":1}'}}
    calling = {**CALLING, "tool_calls": [spelled]}
    assert compared(units(*LIST, first=1), USER, calling, ANSWER, SAID) == Comparison()


def test_other_text_is_a_difference_with_seq_and_pointer() -> None:
    found = compared(units(*LIST, first=1), {**USER, "content": "How late is it?"}, *LIST[1:])
    assert found == Comparison(difference=Difference(0, "/content", 1))


def test_other_arguments_are_a_difference() -> None:
    other = {**CALL, "function": {"name": "clock", "arguments": "{}"}}
    found = compared(units(*LIST, first=1), USER, {**CALLING, "tool_calls": [other]})
    assert found == Comparison(difference=Difference(1, "", 2))


def test_shorter_list_differs_at_its_first_missing_entry() -> None:
    found = compared(units(*LIST, first=1), *LIST[:3])
    assert found == Comparison(difference=Difference(3, "", 4))


def test_first_difference_may_be_a_text_or_a_call() -> None:
    found = compared(units(*LIST, first=1), USER, {"role": "assistant", "content": "Nothing."})
    assert found == Comparison(difference=Difference(1, "/content", 2))


def test_list_that_lacks_only_results_is_the_same() -> None:
    assert compared(units(*LIST[:3], first=1), *LIST[:2]) == Comparison()


def test_record_of_a_result_matches_any_text_at_any_place() -> None:
    stored = [make_record_unit("c1", 1), *units(USER, CALLING, first=2)]
    preview = {**ANSWER, "content": "Te…"}
    assert compared(stored, USER, CALLING, preview, SAID) == Comparison((3,))


def test_record_without_its_call_in_the_list_is_no_difference() -> None:
    stored = [*units(USER, first=1), make_record_unit("c9", 2)]
    assert compared(stored, USER, SAID) == Comparison((1,))


def test_answer_in_a_message_is_compared_by_its_text() -> None:
    found = compared(units(*LIST, first=1), USER, CALLING, {**ANSWER, "content": "Nine."}, SAID)
    assert found == Comparison(difference=Difference(2, "", 3))


def test_new_text_before_stored_texts_is_a_difference() -> None:
    found = compared(units(USER, SAID, first=1), USER, CALLING, SAID)
    assert found == Comparison(difference=Difference(1, "", 2))


def test_answer_that_comes_late_is_new() -> None:
    stored = units(USER, CALLING, SAID, first=1)
    assert compared(stored, *LIST) == Comparison((2,))


def test_call_that_is_repeated_before_its_answer_is_one_call() -> None:
    stored = units(USER, CALLING, CALLING, ANSWER, first=1)
    assert compared(stored, USER, CALLING, ANSWER) == Comparison()


def test_call_behind_its_answer_is_another_one() -> None:
    again: list[JsonObject] = [USER, CALLING, ANSWER, CALLING, ANSWER]
    assert compared(units(*again[:3], first=1), *again) == Comparison((3, 4))


def test_first_system_message_is_not_compared() -> None:
    stored = units({"role": "system", "content": "Be brief."}, *LIST, first=1)
    assert compared(stored, *LIST) == Comparison()


def test_continuation_follows_the_stored_entries() -> None:
    stored = units(*LIST[:3], first=1)
    assert compared(stored, SAID, continues=True) == Comparison((0,))
    assert compared(units(*LIST, first=1), SAID, continues=True) == Comparison()


def test_last_message_may_grow() -> None:
    part = {"type": "tool-clock", "toolCallId": "c1", "input": {"a": 1}}
    text = {"type": "text", "text": "Let me look."}
    begun = {"id": "m", "role": "assistant", "parts": [text, {**part, "state": "input-available"}]}
    done = {**part, "state": "output-available", "output": "Ten."}
    grown = {**begun, "parts": [text, done, {"type": "text", "text": "It is ten."}]}
    user = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "What time is it?"}]}
    stored = units(user, begun, first=1)
    assert compared(stored, user, grown) == Comparison((1,), partly_stored=1)
    rest = keep_new_blocks(grown, _units_of_one, stored)
    assert rest == {**begun, "parts": [done, {"type": "text", "text": "It is ten."}]}
    assert compared([*stored, *units(rest, first=3)], user, grown) == Comparison()


def _units_of_one(message: JsonObject) -> list[Unit]:
    return _units_of_entry(read_entry(message))


def _units_of_entry(entry: EntryReading) -> list[Unit]:
    turns = read_entry_turns(
        entry,
        0,
        "",
        {},
        audience="everyone",
        moved_media_ids=frozenset(),
        finds_media=True,
    )
    return split_into_units(turns, 0)


@pytest.mark.parametrize(
    "kind", ["function_call", "computer_call", "shell_call", "apply_patch_call"]
)
def test_call_of_the_agents_sdk_equals_one_that_was_stored_before_its_dialect_was_known(
    kind: str,
) -> None:
    call = {"type": kind, "id": "i1", "callId": "c1", "name": "t", "status": "completed"}
    stored = read_stored(call, "openai-responses", READER_VERSION)
    assert _units_of_entry(stored) == _units_of_one(call) != []


def test_calls_beside_a_text_grow() -> None:
    begun = {"role": "assistant", "content": "Let me look."}
    grown = {**begun, "tool_calls": [CALL]}
    stored = units(USER, begun, first=1)
    assert compared(stored, USER, grown) == Comparison((1,), partly_stored=1)
    assert keep_new_blocks(grown, _units_of_one, stored) == {**grown, "content": None}
