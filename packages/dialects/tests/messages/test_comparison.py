"""Comparison of conversations by their turns."""

import hashlib
from collections.abc import Sequence
from typing import Any

import pytest

from pagefault_dialects.json.values import JsonObject
from pagefault_dialects.messages.comparison import (
    Comparison,
    Difference,
    Unit,
    compare,
    digest_bytes,
    drop_stored_results,
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
from pagefault_dialects.model.conversation import (
    Address,
    ComposedTurn,
    DataItem,
    InlineBytes,
    Medium,
    Omission,
    StoredBytes,
    TextItem,
    Turn,
    TurnCall,
)
from tests.kit.media import b64, png

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


def test_stored_results_are_left_out_of_a_message_with_new_content() -> None:
    calls: list[JsonObject] = [
        {"type": "tool_use", "id": name, "name": "clock", "input": {}} for name in ("c1", "c2")
    ]
    first, second = (
        {"type": "tool_result", "tool_use_id": name, "content": "Ten."} for name in ("c1", "c2")
    )
    text = {"type": "text", "text": "Go on."}
    calling: JsonObject = {"role": "assistant", "content": calls}
    begun: JsonObject = {"role": "user", "content": [first]}
    stored = units(USER, calling, begun, first=1)
    rows: list[tuple[list[JsonObject], list[JsonObject]]] = [
        ([first, second], [second]),
        ([second, first], [second]),
        ([first, text], [text]),
        ([first, second, text], [second, text]),
    ]
    for blocks, new_blocks in rows:
        grown: JsonObject = {**begun, "content": blocks}
        known = ("c1",)
        assert compared(stored, USER, calling, grown) == Comparison((2,), stored_results={2: known})
        rest = drop_stored_results(grown, _units_of_one, known)
        assert rest == {**begun, "content": new_blocks}
        both = [*stored, *units(rest, first=4)]
        assert compared(both, USER, calling, grown) == Comparison()


def test_only_the_first_of_several_results_with_one_id_or_without_one_are_stored() -> None:
    def result(call_id: str, text: str) -> JsonObject:
        return {"type": "tool_result", "tool_use_id": call_id, "content": text}

    def response(name: str) -> JsonObject:
        return {"functionResponse": {"name": name, "response": {"time": 10}}}

    ten, eleven, other = result("c1", "Ten."), result("c1", "Eleven."), result("c2", "Ten.")
    rows: list[tuple[str, list[JsonObject], list[JsonObject], tuple[str, ...]]] = [
        ("content", [ten], [eleven, other], ("c1",)),
        ("content", [ten], [ten], ("c1",)),
        ("content", [ten, ten], [other, ten], ("c1", "c1")),
        ("parts", [response("clock")], [response("date")], ("",)),
    ]
    for name, first, new, known in rows:
        stored = units(USER, {"role": "user", name: first}, first=1)
        grown: JsonObject = {"role": "user", name: [*first, *new]}
        assert compared(stored, USER, grown) == Comparison((1,), stored_results={1: known})
        rest = drop_stored_results(grown, _units_of_one, known)
        assert rest == {"role": "user", name: new}
        both = [*stored, *units(rest, first=3)]
        assert compared(both, USER, grown) == Comparison()


def test_results_stay_in_a_message_where_they_cannot_be_told_apart() -> None:
    invocation = {"toolCallId": "c1", "toolName": "clock", "state": "result", "result": "Ten."}
    part: JsonObject = {"type": "tool-invocation", "toolInvocation": {"args": {}, **invocation}}
    result = {"type": "tool_result", "content": "Ten."}
    rows: list[tuple[JsonObject, str]] = [
        ({"role": "assistant", "parts": [part, {"type": "text", "text": "It is ten."}]}, "c1"),
        ({"role": "user", "content": [{**result, "tool_use_id": "c1"}]}, "c1"),
        (ANSWER, "c1"),
    ]
    for message, call_id in rows:
        assert drop_stored_results(message, _units_of_one, (call_id,)) is message


def test_calls_beside_a_text_grow() -> None:
    begun = {"role": "assistant", "content": "Let me look."}
    grown = {**begun, "tool_calls": [CALL]}
    stored = units(USER, begun, first=1)
    assert compared(stored, USER, grown) == Comparison((1,), partly_stored=1)
    assert keep_new_blocks(grown, _units_of_one, stored) == {**grown, "content": None}


DATA = png(70, 64, noise=True)
BLOB = f"@blob:{'a1' * 16}"


def split(*turns: ComposedTurn, **more: Any) -> list[Unit]:  # noqa: ANN401
    """Return the units of turns at position 5."""
    return split_into_units(turns, 5, **more)


def make_turn(*items: Any, role: Any = "user") -> ComposedTurn:  # noqa: ANN401
    return Turn(role, items)


def medium(source: Any) -> Medium:  # noqa: ANN401
    return Medium("/content/1", source, "image", "image/png", None, 9)


def test_units_are_texts_media_and_data_with_their_role_calls_and_results() -> None:
    omission = Omission("/x", "x", "no-place", "")
    items = (
        *(TextItem("/content/0", "A"), TextItem("/content/0", ""), omission),
        *(medium(Address("a:b")), DataItem("/content/2", {"a": 1})),
    )
    call = TurnCall("c1", "look", {})
    answer: ComposedTurn = Turn("tool", items, call_id="c1")
    empty: ComposedTurn = Turn("tool", (), call_id="c1")
    units = split(
        make_turn(*items), make_turn(items[0], role="system"), make_turn(items[0], role="assistant")
    )
    places = ["/content/0", "/content/1", "/content/2", "/content/0", "/content/0"]
    assert [unit._replace(digest=b"") for unit in units] == [
        Unit("said", b"", 5, is_system=index == 3, pointer=pointer)
        for index, pointer in enumerate(places)
    ]
    others = split(Turn("assistant", (), calls=(call,)), answer, empty)
    assert [unit._replace(digest=b"") for unit in others] == [
        Unit("call", b"", 5, "c1"),
        Unit("result", b"", 5, "c1"),
        Unit("result", b"", 5, "c1"),
    ]
    digests = [unit.digest for unit in (*units, *others)]
    assert {len(digest) for digest in digests} == {16}
    assert len({*digests}) == len(digests)


def test_units_are_equal_if_all_that_is_compared_is_equal() -> None:
    digest = digest_bytes(DATA)
    assert digest == hashlib.sha256(DATA).hexdigest()
    inline, stored = medium(InlineBytes(DATA)), medium(StoredBytes("a1" * 16, digest))
    uri = f"data:image/png;base64,{b64(DATA)}"
    text = f"See {uri} here."

    def calls(arguments: JsonObject, **more: Any) -> bytes:  # noqa: ANN401
        turn: ComposedTurn = Turn("assistant", (), calls=(TurnCall("c1", "look", arguments),))
        [unit] = split(turn, **more)
        return unit.digest

    moved = {"moved_digests": {BLOB: digest}}
    equal: Sequence[tuple[object, object]] = [
        (split(make_turn(inline)), split(make_turn(stored))),
        (
            split(make_turn(inline), get_digest=lambda _: "x"),
            split(make_turn(medium(StoredBytes("", "x")))),
        ),
        (
            split(make_turn(DataItem("/x", {"a": 1, "b": 2}))),
            split(make_turn(DataItem("/x", {"b": 2, "a": 1}))),
        ),
        # Media in arguments, which are references in the stored message.
        (calls({"image": uri}), calls({"image": BLOB}, **moved)),
        (calls({"text": text}), calls({"text": f"See {BLOB} here."}, **moved)),
        (calls({"image": uri}), calls({"image": digest})),
        (calls({"image": uri}, get_digest=lambda _: "x"), calls({"image": "x"})),
        (calls({"text": text}, get_digest=lambda _: "x"), calls({"text": "See x here."})),
        (calls({"image": BLOB}, moved_digests={"@blob:": digest}), calls({"image": BLOB})),
    ]
    for one, other in equal:
        assert one == other
    assert calls({"image": BLOB}, **moved) != calls({"image": BLOB})
    assert split(make_turn(inline)) != split(make_turn(medium(StoredBytes("", "x"))))


def test_generated_ids_of_calls_are_not_compared() -> None:
    def unit_of(call_id: str) -> Unit:
        [unit] = split(Turn("assistant", (), calls=(TurnCall(call_id, "look", {}),)))
        return unit

    generated, copied, sent = map(unit_of, ("call_5_1", "call_7_1", "call_7_x"))
    assert generated.digest == copied.digest != sent.digest
    # An id of another position was sent, so results may have it.
    assert [unit.call_id for unit in (generated, copied, sent)] == ["", "call_7_1", "call_7_x"]


def unit(kind: Any, text: str, position: int, call_id: str = "", **more: Any) -> Unit:  # noqa: ANN401
    return Unit(kind, text.encode(), position, call_id, **more)


def test_messages_without_units_are_new_between_stored_and_new_ones() -> None:
    a, b = unit("said", "a", 1), unit("said", "b", 4)
    # Messages 0, 2, 3 and 5 have no units, such as reasoning.
    assert compare([a], [unit("said", "a", 1), b], 6) == Comparison((2, 3, 4))
    assert compare([], [b], 6) == Comparison((0, 1, 2, 3, 4))
    assert compare([a], [unit("said", "a", 1)], 6) == Comparison()
    result = unit("result", "r", 2, "c")
    assert compare([a, result], [a, result, b], 6) == Comparison((3, 4))


def test_first_message_and_first_stored_entry_that_differ_are_reported() -> None:
    stored = [unit("call", "c", 7, "c"), unit("said", "a", 8), unit("said", "b", 9)]
    sent = [
        unit("said", "x", 0, pointer="/content"),
        unit("said", "b", 1, pointer="/content"),
        unit("call", "y", 2, "c"),
    ]
    assert compare(stored, sent, 3) == Comparison(difference=Difference(0, "/content", 7))
    missing = compare([*stored, unit("said", "z", 10)], [stored[1], stored[2]], 4)
    assert missing == Comparison(difference=Difference(4, "", 7))


def test_result_differs_from_the_oldest_stored_one_of_its_call() -> None:
    stored = [
        unit("call", "c", 1, "c"),
        unit("result", "r", 2, "c"),
        unit("call", "c", 3, "c"),
        unit("result", "s", 4, "c"),
    ]
    other = unit("result", "x", 3, "c", pointer="/x")
    sent = [stored[0]._replace(position=0), stored[1]._replace(position=1)]
    sent += [stored[2]._replace(position=2), stored[3]._replace(position=3)]
    assert compare(stored, sent, 4) == Comparison()
    assert compare(stored, [*sent[:3], other], 4) == Comparison(difference=Difference(3, "/x", 4))
    third = unit("result", "t", 4, "c")
    assert compare(stored, [*sent, third], 5) == Comparison((4,))


def test_system_prompt_at_the_beginning_is_not_compared_but_a_later_one_is() -> None:
    prompt = unit("said", "p", 0, is_system=True)
    a, b = unit("said", "a", 1), unit("said", "b", 3)
    late = unit("said", "q", 2, is_system=True)
    assert compare([prompt], [], 0) == Comparison()
    assert compare([prompt, a], [a], 2) == Comparison()
    assert compare([a], [prompt, a, late], 3) == Comparison((2,))
    assert compare([a, late], [a, b], 4) == Comparison(difference=Difference(3, "", 2))


def test_new_text_in_a_message_before_a_stored_one_is_a_difference_at_the_stored_entry() -> None:
    stored = [unit("said", "a", 7), unit("call", "c", 8, "c")]
    sent = [unit("said", "a", 0), unit("said", "new", 1), unit("call", "c", 2, "c")]
    assert compare(stored, sent, 3) == Comparison(difference=Difference(1, "", 8))
    # New results, or new texts of the last stored message, may come before its end.
    results = [unit("said", "a", 0), unit("result", "r", 1, "z"), unit("call", "c", 2, "c")]
    assert compare(stored, results, 3) == Comparison((1,))
    grown = [unit("said", "a", 0), unit("call", "c", 1, "c"), unit("said", "new", 1)]
    assert compare(stored, grown, 2) == Comparison((1,), partly_stored=1)


def test_continuation_may_repeat_the_last_stored_messages() -> None:
    stored = [
        unit("said", "a", 1),
        unit("call", "c", 2, "c"),
        unit("result", "r", 3, "c"),
        unit("said", "b", 4),
    ]
    b, c, new = unit("said", "b", 0), unit("call", "c", 0, "c"), unit("said", "n", 1)
    rows: Sequence[tuple[list[Unit], Comparison]] = [
        ([b], Comparison()),
        ([c, b], Comparison()),
        ([b, c], Comparison()),
        ([new], Comparison((0, 1))),
        # The repetition has to be the whole of what was sent.
        ([b, new], Comparison((0, 1))),
        ([unit("said", "a", 0), c._replace(position=1)], Comparison((0, 1))),
        ([], Comparison()),
        # A call with the id of a stored one is another call, whose result is new.
        ([c, unit("result", "s", 1, "c")], Comparison((0, 1))),
        ([unit("result", "r", 0, "c")], Comparison()),
    ]
    assert [compare(stored, sent, 2, continues=True) for sent, _ in rows] == [
        expected for _, expected in rows
    ]


def test_call_is_repeated_only_until_its_result() -> None:
    call, result = unit("call", "c", 0, "c"), unit("result", "r", 1, "c")
    again, other = call._replace(position=2), unit("call", "d", 2, "c")
    assert compare([call], [call, again], 3) == Comparison()
    assert compare([call, result], [call, result, again], 3) == Comparison((2,))
    assert compare([call], [call, other], 3) == Comparison((1, 2))
    unnamed = call._replace(call_id="")
    assert compare([unnamed], [unnamed, unnamed._replace(position=2)], 3) == Comparison((1, 2))


def test_new_blocks_are_those_after_the_stored_beginning() -> None:
    def split_texts(message: JsonObject) -> list[Unit]:
        blocks: Any = message.get("content") or message.get("parts") or ()
        return [unit("said", str(block), 0) for block in blocks]

    def rest(message: JsonObject, *stored: str) -> JsonObject | None:
        return keep_new_blocks(message, split_texts, [unit("said", text, 1) for text in stored])

    blocks: Any = ["a", "b", "c"]
    assert rest({"x": 1, "content": blocks}, "a") == {"x": 1, "content": ["b", "c"]}
    assert rest({"parts": blocks}, "a", "b") == {"parts": ["c"]}
    # The last block is new in any case.
    assert rest({"content": blocks}, "a", "b", "c") == {"content": ["c"]}
    assert rest({"content": blocks}) is None
    assert rest({"content": ["a"]}, "a") is None
    assert rest({"x": 1, "content": "Hi."}, "Hi.") == {"x": 1, "content": None}
    assert rest({"content": None, "parts": "Hi."}) is None
    # Calls are found by their ids.
    call = {"content": [{"id": "c"}, "b"]}

    def split_calls(message: JsonObject) -> list[Unit]:
        found: Any = message["content"]
        return [unit("call", str(message), 0, block["id"]) for block in found if block != "b"]

    assert keep_new_blocks(call, split_calls, [unit("call", "x", 1, "c")]) == {"content": ["b"]}
    assert keep_new_blocks(call, split_calls, [unit("result", "x", 1, "c")]) is None
