"""Pairing of calls and answers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault_dialects.context.evicted_forms import with_previews
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    InlineBytes,
    Item,
    Medium,
    Omission,
    SyntheticNote,
    TextItem,
    Turn,
    TurnCall,
)
from pagefault_dialects.model.resource import MediaHints
from pagefault_dialects.targets.base64_leaves import text_of
from pagefault_dialects.turns.handles import add_handles
from pagefault_dialects.turns.pairing import NO_RESULT, UNKNOWN_TOOL, find_position_seqs, pair_calls

NO_CALL = "The history has no call that this answers; one without arguments stands before it."
LATE = "The answer came when the conversation had gone on; its call stands before it once more."
ENTRY = "/api/sessions/s/messages/1"
NO_ANSWER = (
    "No answer to a call was recorded before the conversation went on; a line stands for it."
)


def message(role: str, seq: int, text: str = "…") -> ComposedTurn:
    return Turn(
        "assistant" if role == "assistant" else "user", (TextItem("/content", text),), seq=seq
    )


def calling(seq: int, *call_ids: str) -> ComposedTurn:
    return Turn(
        "assistant",
        (),
        origin=f"/{seq}",
        seq=seq,
        calls=tuple(TurnCall(call_id, "f", {}) for call_id in call_ids),
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


def written(seq: int, call: TurnCall, code: str = "no-call", reason: str = NO_CALL) -> ComposedTurn:
    """Return the turn that is added for a missing call."""
    note = SyntheticNote("call", code, reason, seq)
    return Turn("assistant", (note,), f"/{seq}", seq, calls=(call,))


def repeat_note(seq: int) -> Omission:
    """Return the note of an answer that repeats an earlier one."""
    return Omission(
        *("/content", "answer", "duplicate-answer"),
        "The call has its result already, which is told once.",
        restore=f"GET /{seq}",
        seq=seq,
    )


def add_note(turn: ComposedTurn, *notes: Item) -> ComposedTurn:
    return replace(turn, items=(*notes, *turn.items))


def missing(call_id: str, seq: int, origin: str) -> ComposedTurn:
    note = SyntheticNote("answer", "no-answer", NO_ANSWER, int(origin.removeprefix("/")))
    return Turn(
        "tool",
        (note, TextItem("", NO_RESULT)),
        origin,
        seq,
        call_id=call_id,
        tool_name="f",
        is_error=True,
    )


def test_answers_behind_their_calls_stay_in_place() -> None:
    turns = (
        message("user", 1),
        calling(2, "a", "b"),
        answer(3, "a"),
        answer(4, "b"),
        message("user", 5),
    )
    assert pair_calls(turns) == turns


def test_answer_without_a_call_gets_one() -> None:
    turns = pair_calls([answer(1, "a"), answer(2, "b")])
    assert turns == (
        written(1, TurnCall("a", "f", {})),
        answer(1, "a"),
        written(2, TurnCall("b", "f", {})),
        answer(2, "b"),
    )


def test_call_that_is_still_open_waits_for_its_answer() -> None:
    turns = (calling(1, "a", "b"), answer(2, "b"))
    assert pair_calls(turns) == turns


def test_call_without_an_answer_gets_one_before_the_next_message() -> None:
    assert pair_calls([calling(1, "a", "b"), answer(2, "b"), message("user", 3)]) == (
        calling(1, "a", "b"),
        answer(2, "b"),
        missing("a", 3, "/1"),
        message("user", 3),
    )


def test_late_answer_gets_its_call_again_with_another_id() -> None:
    call = TurnCall("a", "read", {"path": "x"})
    called: ComposedTurn = Turn("assistant", (), "/1", 1, calls=(call,))
    unanswered = replace(missing("a", 2, "/1"), tool_name="read")
    assert pair_calls([called, message("user", 2), answer(3, "a", name="")]) == (
        called,
        unanswered,
        message("user", 2),
        written(3, replace(call, call_id="a-2"), "late-answer", LATE),
        Turn("tool", (TextItem("/content", "a!"),), "/3", 3, call_id="a-2", tool_name="read"),
    )


def test_answers_stored_before_their_calls_are_moved_behind_them() -> None:
    turns = [
        message("user", 1),
        answer(2, "b"),
        answer(3, "a"),
        calling(4, "a", "b"),
        message("user", 5),
    ]
    for end in (4, 5):
        assert pair_calls(turns[:end]) == (
            message("user", 1),
            calling(4, "a", "b"),
            answer(3, "a"),
            answer(2, "b"),
            *turns[4:end],
        )


def test_early_answers_precede_later_answers_behind_the_calls() -> None:
    turns = [answer(1, "b"), calling(2, "a", "b", "c"), answer(3, "a"), message("user", 4)]
    assert pair_calls(turns) == (
        calling(2, "a", "b", "c"),
        answer(1, "b"),
        answer(3, "a"),
        missing("c", 4, "/2"),
        message("user", 4),
    )


def test_early_answer_is_paired_across_messages_of_any_role() -> None:
    turns = [answer(1, "a"), message("user", 2), calling(3, "x"), answer(4, "x"), calling(5, "a")]
    assert pair_calls(turns) == (*turns[1:], turns[0])


def test_early_answer_of_another_tool_is_not_paired() -> None:
    other, own = answer(1, "call_0", name="search"), answer(2, "call_0")
    rest = (
        written(1, TurnCall("call_0", "search", {})),
        other,
        replace(calling(3, "call_0"), calls=(TurnCall("call_0-2", "f", {}),)),
    )
    assert pair_calls([other, calling(3, "call_0"), message("user", 4)]) == (
        *rest,
        replace(missing("call_0", 4, "/3"), call_id="call_0-2"),
        message("user", 4),
    )
    assert pair_calls([other, own, calling(3, "call_0"), message("user", 4)]) == (
        *rest,
        replace(own, call_id="call_0-2"),
        message("user", 4),
    )


def test_early_answer_finds_its_call_if_one_of_them_names_no_tool() -> None:
    unnamed: ComposedTurn = replace(calling(2, "a"), calls=(TurnCall("a", "", {}),))
    for early, call in ((answer(1, "a", name=""), calling(2, "a")), (answer(1, "a"), unnamed)):
        assert pair_calls([early, call]) == (calling(2, "a"), replace(early, tool_name="f"))


def test_late_answer_of_another_tool_is_not_paired() -> None:
    turns = [calling(1, "call_0"), message("user", 2), answer(3, "call_0", name="search")]
    assert pair_calls(turns) == (
        calling(1, "call_0"),
        missing("call_0", 2, "/1"),
        message("user", 2),
        written(3, TurnCall("call_0-2", "search", {})),
        replace(turns[2], call_id="call_0-2"),
    )


def test_early_answer_without_an_id_finds_the_call_of_its_name_in_the_same_turn_only() -> None:
    assert pair_calls([answer(1, ""), calling(2, "a")]) == (
        calling(2, "a"),
        replace(answer(1, ""), call_id="a"),
    )
    turns = [answer(1, ""), message("user", 2), calling(3, "a"), message("user", 4)]
    assert missing("a", 4, "/3") in pair_calls(turns)


def test_call_takes_what_was_stored_before_it_and_what_comes_behind_is_left_out() -> None:
    first, second = answer(1, "a"), replace(answer(3, "a"), items=(TextItem("/content", "new"),))
    assert pair_calls([first, calling(2, "a"), second, message("user", 3)]) == (
        calling(2, "a"),
        first,
        add_note(message("user", 3), repeat_note(3)),
    )


def test_second_answer_to_a_call_is_left_out() -> None:
    turns = [calling(1, "a"), answer(2, "a"), answer(3, "a")]
    assert pair_calls([*turns, message("user", 4)]) == (
        *turns[:2],
        add_note(message("user", 4), repeat_note(3)),
    )
    last = replace(turns[1], items=(*turns[1].items, repeat_note(3)))
    assert pair_calls(turns) == (turns[0], last)


def test_second_answer_of_one_id_is_that_of_a_later_call_if_it_is_counted_so() -> None:
    second = replace(answer(2, "a"), answer_number=2)
    assert pair_calls([answer(1, "a"), second]) == (
        written(1, TurnCall("a", "f", {})),
        answer(1, "a"),
        written(2, TurnCall("a-2", "f", {})),
        replace(second, call_id="a-2"),
    )
    assert pair_calls(
        [calling(1, "a"), answer(2, "a"), replace(second, seq=3), calling(4, "a")]
    ) == (
        calling(1, "a"),
        answer(2, "a"),
        replace(calling(4, "a"), calls=(TurnCall("a-2", "f", {}),)),
        replace(second, seq=3, call_id="a-2"),
    )


def test_call_that_is_repeated_before_its_answer_is_one_call() -> None:
    assert pair_calls([calling(1, "a", "b", "a")]) == (calling(1, "a", "b"),)
    assert pair_calls([calling(1, "a"), calling(2, "a"), answer(3, "a")]) == (
        calling(1, "a"),
        answer(3, "a"),
    )


def test_calls_that_are_repeated_with_others_are_one_turn_at_its_later_place() -> None:
    first = replace(calling(1, "a"), items=(TextItem("/content", "I look."),))
    again = replace(calling(2, "a", "b"), items=(*first.items, TextItem("/content/1", "More.")))
    assert pair_calls([first, again, answer(3, "b"), answer(4, "a")]) == (
        replace(again, origin="/1"),
        answer(3, "b"),
        answer(4, "a"),
    )


def test_medium_of_a_repeated_turn_keeps_the_handle_of_its_own_entry() -> None:
    shot = Medium("/content/0", InlineBytes(b"a"), "image", "image/png", None, 1, MediaHints())
    first = replace(calling(1, "a"), items=(shot,), origin=ENTRY)
    second = replace(calling(2, "a", "b"), items=(shot, TextItem("/content/1", "More.")))
    third = replace(calling(3, "a", "b"), items=(*second.items, replace(shot, filename="c.png")))
    (turn, *_) = pair_calls([first, second, third, answer(4, "a"), answer(5, "b")])
    assert turn.items == (replace(shot, seq=1), *second.items[1:], *third.items[2:])
    (named, *_) = add_handles([turn])
    lines = [item.text for item in named.items if isinstance(item, TextItem)]
    assert lines == [
        "[image @entry:1/ca978112ca1b]",
        "More.",
        "[image @entry:3/ca978112ca1b c.png]",
    ]


def test_long_text_of_a_repeated_turn_keeps_the_handle_of_its_own_entry() -> None:
    long = TextItem("/content/0", "Long. " * 2_000)
    first = replace(calling(1, "a"), items=(long,), origin=ENTRY)
    second = replace(calling(2, "a", "b"), items=(long, TextItem("/content/1", long.text + "?")))
    (turn, *_) = pair_calls([first, second, answer(3, "a"), answer(4, "b")])
    (named, *_) = add_handles([turn])
    lines = [item for item in named.items if item not in turn.items]
    assert [text_of(item) for item in lines] == [
        "[text @entry:1 12,000 characters]",
        "[text @entry:2 12,001 characters]",
    ]
    shortened = with_previews(turn, None)
    assert [item.seq for item in shortened.items if isinstance(item, Omission)] == [1, None]
    handle_lines = [
        item.text.rpartition("\n")[2] for item in shortened.items if isinstance(item, TextItem)
    ]
    assert handle_lines == [
        '[… shortened from 12000 characters; read_text("@entry:1") shows all of it]',
        '[… shortened from 12001 characters; read_text("@entry:2") shows all of it]',
    ]


def test_call_of_the_same_id_with_other_arguments_is_another_call() -> None:
    other = replace(calling(1, "a"), calls=(TurnCall("a", "f", {}), TurnCall("a", "f", {"n": 2})))
    turns = pair_calls([other, answer(2, "a"), answer(3, "a")])
    assert [call.call_id for call in turns[0].calls] == ["a", "a-2"]
    assert [turn.call_id for turn in turns[1:]] == ["a", "a-2"]


def test_call_behind_its_answer_is_a_new_one_though_all_of_it_is_equal() -> None:
    turns = pair_calls([calling(1, "a"), answer(2, "a"), calling(3, "a"), answer(4, "a")])
    assert [turn.call_id or turn.calls[0].call_id for turn in turns] == ["a", "a", "a-2", "a-2"]


def test_results_stored_by_themselves_stand_in_the_order_of_their_calls() -> None:
    results = [
        replace(answer(seq, item), is_stored_alone=True) for seq, item in enumerate("abc", 2)
    ]
    calls = calling(1, "a", "b", "c")
    for order in permutations(results):
        assert pair_calls([calls, *order]) == (calls, *results)
    # In messages they keep the order of their host.
    answers = (answer(2, "c"), answer(3, "a"))
    for sent in ([*answers, results[1]], [results[1], *answers], [answers[0], *results[1:2]]):
        in_order = [item for item in sent if not item.is_stored_alone]
        assert pair_calls([calls, *sent]) == (calls, results[1], *in_order)


def test_call_that_names_no_tool_has_the_name_that_its_answer_has() -> None:
    unnamed: ComposedTurn = replace(calling(1, "a"), calls=(TurnCall("a", "", {}),))
    assert pair_calls([unnamed, answer(2, "a")]) == (calling(1, "a"), answer(2, "a"))
    assert pair_calls([unnamed, answer(2, "a", name="")])[0].calls[0].name == UNKNOWN_TOOL


def test_denial_answers_the_call_whose_approval_was_asked_for() -> None:
    calls = (TurnCall("a", "f", {}, approval_id="ask-1"), TurnCall("b", "f", {}, "ask-2"))
    call_turn: ComposedTurn = replace(calling(1), calls=calls)
    denial = replace(answer(2, "", name=""), approval_id="ask-2", is_error=True)
    assert pair_calls([call_turn, denial, answer(3, "a")]) == (
        call_turn,
        replace(denial, call_id="b", tool_name="f"),
        answer(3, "a"),
    )
    assert pair_calls([message("user", 1), denial, message("user", 3)]) == (
        message("user", 1),
        add_note(message("user", 3), repeat_note(2)),
    )


def tail(turns: Sequence[ComposedTurn], since: int) -> tuple[ComposedTurn, ...]:
    """Return the turns of a conversation whose place is behind a `seq`."""
    conversation = pair_calls(turns)
    return tuple(
        turn
        for turn, place in zip(conversation, find_position_seqs(conversation), strict=True)
        if place > since
    )


def test_tail_begins_with_the_call_of_an_answer_that_was_stored_before_it() -> None:
    turns = [answer(1, "a"), calling(2, "a"), message("user", 3)]
    assert [tail(turns, since) for since in range(4)] == [
        (turns[1], turns[0], turns[2]),
        (turns[1], turns[0], turns[2]),
        (turns[2],),
        (),
    ]


def test_tail_behind_a_call_continues_with_its_answer() -> None:
    turns = [calling(1, "a", "b"), answer(2, "a"), message("user", 3)]
    assert tail(turns, 1) == (answer(2, "a"), missing("b", 3, "/1"), message("user", 3))
    assert tail(turns, 2) == (missing("b", 3, "/1"), message("user", 3))


_IDS = st.sampled_from(["a", "b", "c", "d", ""])


@st.composite
def _histories(draw: st.DrawFn) -> list[ComposedTurn]:
    """Return histories in any order, whose ids are used once, twice, or never."""
    turns = []
    for seq in range(1, draw(st.integers(0, 14)) + 1):
        kind = draw(st.sampled_from(["user", "assistant", "calls", "answer", "answer"]))
        if kind == "calls":
            turns.append(calling(seq, *draw(st.lists(_IDS.filter(bool), min_size=1, max_size=3))))
            if draw(st.booleans()):
                # Hosts that number their calls again in each turn.
                calls = (replace(call, arguments={"n": seq}) for call in turns[-1].calls)
                turns[-1] = replace(turns[-1], calls=tuple(calls))
        elif kind == "answer":
            turns.append(answer(seq, draw(_IDS)))
        else:
            turns.append(message(kind, seq))
    return turns


def _notes(turns: Sequence[ComposedTurn]) -> list[SyntheticNote]:
    return [item for turn in turns for item in turn.items if isinstance(item, SyntheticNote)]


@given(_histories())
def test_every_history_is_paired_once_and_added_turns_are_noted(turns: list[ComposedTurn]) -> None:
    # Calls of the last turn may be open, so the user continues.
    turns = [*turns, message("user", 15)]
    conversation = pair_calls(turns)
    notes = Counter(note.what for note in _notes(conversation))
    recorded = [turn for turn in conversation if not _notes([turn])]
    items = [item for turn in conversation for item in turn.items]
    left_out = [item.seq for item in items if isinstance(item, Omission)]
    spoken = [turn.seq for turn in recorded if not turn.calls]
    sent = [turn.seq for turn in turns if not turn.calls]
    assert Counter(spoken) + Counter(left_out) == Counter(sent)
    called = [call.call_id for turn in conversation for call in turn.calls]
    answered = [turn.call_id for turn in conversation if turn.role == "tool"]
    assert len(set(called)) == len(called)
    assert sorted(answered) == sorted(called)
    answers = sum(turn.role == "tool" for turn in turns) - len(left_out)
    assert notes["answer"] == len(answered) - answers
    waiting: set[str] = set()
    for turn in conversation:
        if turn.role == "tool":
            waiting.remove(turn.call_id)
            continue
        assert not waiting
        waiting = {call.call_id for call in turn.calls}


def _is_left_out(item: Item) -> bool:
    return isinstance(item, Omission)


def _without_notes(turns: Sequence[ComposedTurn]) -> list[ComposedTurn]:
    """Return the turns without notes about left out answers, which are not written."""
    return [
        replace(turn, items=tuple(item for item in turn.items if not _is_left_out(item)))
        for turn in turns
    ]


@given(_histories(), st.integers(0, 14))
def test_any_tail_is_the_end_of_the_conversation(turns: list[ComposedTurn], since: int) -> None:
    conversation, end = pair_calls(turns), tail(turns, since)
    following = iter(conversation)
    assert all(turn in following for turn in end)
    known = {turn.seq for turn in conversation}
    new = {turn.seq for turn in turns if (turn.seq or 0) > since}
    assert new & known <= {turn.seq for turn in end}
    called = {call.call_id for turn in end for call in turn.calls}
    answered = {turn.call_id for turn in conversation if turn.role == "tool"}
    assert called & answered <= {turn.call_id for turn in end}


@given(_histories())
def test_continued_history_keeps_the_rendered_turns(turns: list[ComposedTurn]) -> None:
    # If no answer precedes its call, earlier turns stay in place.
    answered: set[str] = set()
    kept: list[ComposedTurn] = []
    for turn in turns:
        if answered.isdisjoint(call.call_id for call in turn.calls):
            kept.append(turn)
        answered |= {turn.call_id} if turn.role == "tool" else set()
    ends = [number for number, turn in enumerate(kept) if turn.role == "user"]
    whole = _without_notes(pair_calls(kept))
    for end in ends:
        before = _without_notes(pair_calls(kept[: end + 1]))
        assert whole[: len(before)] == before


def test_system_message_follows_the_answers_of_open_calls() -> None:
    system: ComposedTurn = Turn("system", (TextItem("/content", "Be quick."),), seq=2)
    assert pair_calls([calling(1, "a"), system, answer(3, "a")]) == (
        calling(1, "a"),
        answer(3, "a"),
        system,
    )


@pytest.mark.slow
def test_pairing_of_many_calls_takes_linear_time() -> None:
    calls = [calling(2 * number, "call_0") for number in range(10_000)]
    answers = [answer(2 * number + 1, "call_0") for number in range(10_000)]
    turns = pair_calls([turn for pair in zip(calls, answers, strict=True) for turn in pair])
    assert len({turn.call_id for turn in turns if turn.role == "tool"}) == 10_000


def test_answer_finds_its_call_although_another_result_came_in_between() -> None:
    assert pair_calls([calling(1, "a"), answer(2, "other"), answer(3, "a")]) == (
        calling(1, "a"),
        answer(3, "a"),
        written(2, TurnCall("other", "f", {})),
        answer(2, "other"),
    )


def test_answer_without_an_id_takes_the_open_call_of_its_name() -> None:
    turns = pair_calls([calling(1, "a"), answer(2, "")])
    assert [turn.call_id for turn in turns] == ["", "a"]


def test_answer_without_a_name_takes_that_of_its_call() -> None:
    assert pair_calls([calling(1, "a"), answer(2, "a", name="")])[1].tool_name == "f"


def test_empty_history_has_no_turns() -> None:
    assert pair_calls([]) == ()


def test_call_of_a_pinned_answer_is_left_out_with_a_note() -> None:
    early = answer(1, "a")
    paired = pair_calls([early, calling(2, "a", "b"), answer(3, "b")], pinned_results=[1])
    reason = (
        "Its answer was shown before it, behind a call that was written for it, and stays there."
    )
    note = Omission("", "call", "answered-before", reason)
    assert paired == (
        written(1, TurnCall("a", "f", {})),
        early,
        replace(calling(2, "b"), items=(note,)),
        answer(3, "b"),
    )
    # The other call keeps its position in the entry.
    assert [call.entry_position for call in paired[2].calls] == [(2, 1)]


def test_calls_of_one_entry_in_several_turns_keep_their_positions_in_it() -> None:
    turns = [calling(1, "a"), answer(1, "a"), calling(1, "b", "c"), answer(1, "b"), answer(1, "c")]
    positions = [call.entry_position for turn in pair_calls(turns) for call in turn.calls]
    assert positions == [None, (1, 1), (1, 2)]


def test_positions_of_turns_are_those_of_their_calls_if_these_came_later() -> None:
    turns = [answer(2, "z"), calling(5, "a"), answer(3, "a"), answer(7, "a"), message("user", 6)]
    assert [*find_position_seqs(turns)] == [2, 5, 5, 7, 6]
    assert [*find_position_seqs([Turn("tool", ()), Turn("user", ())])] == [0, 0]
