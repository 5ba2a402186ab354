"""The prefix of a history is indexed as runs of steps, and as references to what may be read."""

from collections.abc import Sequence
from dataclasses import replace

from pagefault_dialects.context.prefix_index import (
    FoldedRun,
    PrefixIndex,
    PrefixMessage,
    PrefixPassage,
    ReferencedStep,
    TurnReference,
    UnansweredStep,
    make_run_turns,
)
from pagefault_dialects.context.recalls import RecalledObject
from pagefault_dialects.context.steps import FoldSummary
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    SyntheticNote,
    TextItem,
    Turn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.model.frontier import NOTHING_EVICTED, Frontier

EMPTY = PrefixIndex()
ADDED = SyntheticNote("answer", "no-answer", "", None)


def message(seq: int, role: TurnRole = "user", words: str = "Hello.") -> ComposedTurn:
    return Turn(role, (TextItem("", words),), f"/m/{seq}", seq)


def calling(seq: int, name: str = "look", **arguments: str) -> ComposedTurn:
    call = TurnCall(f"c{seq}", name, dict(arguments))
    return Turn("assistant", (), f"/m/{seq}", seq, calls=(call,))


def result(seq: int, call: int | None = None, *, is_error: bool = False) -> ComposedTurn:
    call_id = f"c{call or seq - 1}"
    return Turn("tool", (), f"/m/{seq}", seq, call_id=call_id, tool_name="look", is_error=is_error)


def added_result(seq: int) -> ComposedTurn:
    return replace(result(seq, seq), items=(ADDED,))


def step(seq: int, page: str | None = None) -> tuple[ComposedTurn, ComposedTurn]:
    call = calling(seq) if page is None else calling(seq, "page_fault", page_id=page)
    return call, result(seq + 1)


def index_of(*turns: ComposedTurn, prefix: PrefixIndex = EMPTY) -> PrefixIndex:
    recorded: dict[int, list[ComposedTurn]] = {}
    for turn in turns:
        recorded.setdefault(turn.seq or 0, []).append(turn)
    return prefix.extend(turns, recorded)


def describe(passages: Sequence[PrefixPassage]) -> list[str]:
    """Return the kind of each passage, its position, and its line in a fold."""
    return [
        f"{type(item).__name__} {item.position}: {item.summary.text.partition(' read_text')[0]}"
        for item in passages
    ]


def test_steps_are_joined_into_runs_except_the_newest_and_those_with_pages() -> None:
    index = index_of(
        message(1, "system"),
        message(2),
        *step(3),
        *step(5),
        *step(7, "p"),
        *step(9),
        message(11, "assistant"),
        *step(12, "q"),
        *step(14, "q"),
        *step(16),
        *step(18),
    )
    assert describe(index.passages) == [
        "PrefixMessage 1: 1 message.",
        "PrefixMessage 2: 1 message.",
        "FoldedRun 5: Steps 1 to 2: look 2.",
        "ReferencedStep 7: Step 3: page_fault 1.",
        "FoldedRun 9: Step 4: look 1.",
        "PrefixMessage 11: 1 message.",
        "FoldedRun 12: Step 5: page_fault 1.",
        "ReferencedStep 14: Step 6: page_fault 1.",
        "FoldedRun 16: Step 7: look 1.",
        "ReferencedStep 18: Step 8: look 1.",
    ]
    assert (index.steps, index.pages, index.page_results) == (8, {"p", "q"}, {"p": 8, "q": 15})


def test_index_of_a_longer_prefix_is_the_same_in_one_piece_and_in_two() -> None:
    turns = [message(1), *step(2, "p"), *step(4), message(6), *step(7, "p"), *step(9)]
    whole = index_of(*turns)
    for cut in (0, 1, 3, 5, 6, 8, len(turns)):
        assert index_of(*turns[cut:], prefix=index_of(*turns[:cut])) == whole, cut


def test_passages_refer_to_their_entries() -> None:
    page = RecalledObject("page", "p")
    prefix = PrefixIndex(recall_totals={page: 4}, steps=6)
    call = TurnCall("c2", "page_fault", {"page_id": "p"})
    calls = replace(calling(2), calls=(replace(call, entry_position=(2, 0)),))
    paired = message(1), calls, replace(result(3), call_id="c2")
    index = prefix.extend(
        paired,
        {
            1: [message(1, "assistant"), message(1)],
            2: [message(2), replace(calls, calls=(replace(call, call_id="x", name="y"),))],
            3: [replace(result(3), call_id="x")],
        },
    )
    assert index == PrefixIndex(
        passages=(
            PrefixMessage(
                seq=1,
                index=1,
                is_recorded=True,
                position=1,
                role="user",
                origin="/m/1",
                summary=FoldSummary(messages=1, from_seq=1, to_seq=1),
                chars=6,
            ),
            ReferencedStep(
                position=2,
                origin="/m/2",
                summary=FoldSummary(7, 7, 0, 1, 0, 2, 3, {"page_fault": 1}),
                turns=(
                    TurnReference(2, 1, "", "", (("c2", "page_fault", (2, 0)),)),  # type: ignore[arg-type]
                    TurnReference(3, 0, "c2", "look", ()),
                ),
                pages={"p": 3},
                recall_counts={"c2": 5},
                is_late=False,
            ),
        ),
        recall_totals={page: 5},
        steps=7,
        unanswered_steps={},
    )


def test_reference_restores_the_turn_from_its_record() -> None:
    turn = replace(calling(2), calls=(TurnCall("c2-2", "look", {"n": 1}, entry_position=(2, 0)),))
    recorded = replace(calling(2), calls=(TurnCall("c2", "look", {"n": 1}),))
    [passage] = EMPTY.extend([turn], {2: [message(2), recorded]}).passages
    assert isinstance(passage, ReferencedStep)
    [reference] = passage.turns
    assert isinstance(reference, TurnReference)
    restored = reference.restore([message(2), recorded])
    assert (restored, restored.calls[0].entry_position) == (turn, (2, 0))


def test_step_that_differs_from_its_record_has_no_references() -> None:
    changed = replace(result(3), items=(TextItem("", "Changed."),))
    passages = [
        EMPTY.extend([calling(2), result(3)], records).passages
        for records in (
            {2: [calling(2)], 3: [changed]},
            {2: [calling(2)]},
            {2: [calling(2)], 3: [result(3)]},
        )
    ]
    assert [len(item.turns) for [item] in passages if isinstance(item, ReferencedStep)] == [0, 0, 2]


def test_message_that_differs_from_its_record_is_found_by_its_role() -> None:
    noted = replace(message(2), items=(ADDED, TextItem("", "Hello.")))
    records = [
        [message(2, "assistant"), message(2)],
        [message(2, "assistant")],
        [],
        [message(2, "assistant"), noted],
    ]
    indexed = [EMPTY.extend([noted], {2: turns}).passages for turns in records]
    assert [
        (item.index, item.is_recorded, item.chars)
        for [item] in indexed
        if isinstance(item, PrefixMessage)
    ] == [(1, False, 6), (0, False, 6), (0, False, 6), (1, True, 6)]


def test_added_result_is_kept_and_its_step_is_unanswered() -> None:
    index = index_of(*step(1), calling(3, "run"), added_result(3), *step(4), message(6))
    assert index.unanswered_steps == {3: [UnansweredStep(2, frozenset({"run"}))]}
    index = index_of(calling(3), added_result(3), prefix=index)
    assert index.unanswered_steps == {3: [UnansweredStep(4, frozenset({"look"}))]}
    assert isinstance(step_at_end := index.passages[-1], ReferencedStep)
    assert step_at_end.turns[1] == added_result(3)


def test_step_with_a_late_result_is_not_counted_as_a_call_or_as_the_newest() -> None:
    late = replace(result(9, 9), late_call_seq=2)
    index = index_of(message(1), *step(2), message(4), calling(9), late)
    assert describe(index.passages) == [
        "PrefixMessage 1: 1 message.",
        "ReferencedStep 2: Step 1: look 1.",
        "PrefixMessage 4: 1 message.",
        "FoldedRun 9: Step 2.",
    ]
    page_late = replace(result(9, 9), late_call_seq=2)
    index = index_of(*step(2), calling(9, "page_fault", page_id="p"), page_late)
    assert [
        (item.is_late, item.pages) for item in index.passages if isinstance(item, ReferencedStep)
    ] == [(False, {}), (True, {"p": 9})]


def test_failed_result_has_no_page() -> None:
    call = calling(2, "page_fault", page_id="p")
    index = index_of(call, result(3, is_error=True), *step(4))
    assert (index.pages, index.page_results) == ({"p"}, {})


def test_turns_without_entries_are_no_messages() -> None:
    alone: ComposedTurn = Turn("user", (), "/m/1")
    [passage] = EMPTY.extend([alone, message(2)], {2: [message(2)]}).passages
    assert isinstance(passage, PrefixMessage)
    assert (passage.seq, passage.is_recorded) == (2, True)


def test_messages_between_are_folded_and_join_the_runs_beside_them() -> None:
    turns = [
        message(1, "system"),
        message(2),
        *step(3),
        message(5, "assistant"),
        *step(6, "p"),
        message(8, "system"),
        *step(9),
        message(11),
        *step(12),
    ]
    index = index_of(*turns)
    assert describe(index.passages_at(NOTHING_EVICTED)) == [
        "PrefixMessage 1: 1 message.",
        "PrefixMessage 2: 1 message.",
        "FoldedRun 3: Step 1: look 1.",
        "PrefixMessage 5: 1 message.",
        "FoldedRun 6: Step 2: page_fault 1.",
        "PrefixMessage 8: 1 message.",
        "FoldedRun 9: Step 3: look 1.",
        "PrefixMessage 11: 1 message.",
        "ReferencedStep 12: Step 4: look 1.",
    ]
    folded = Frontier(said_folded=99)
    assert describe(index.passages_at(folded)) == [
        "PrefixMessage 1: 1 message.",
        "PrefixMessage 2: 1 message.",
        "FoldedRun 9: Steps 1 to 3 and 2 messages: look 2, page_fault 1.",
        "PrefixMessage 11: 1 message.",
        "ReferencedStep 12: Step 4: look 1.",
    ]
    assert describe(index.passages_at(folded, {"p"}))[2:5] == [
        "FoldedRun 5: Step 1 and 1 message: look 1.",
        "ReferencedStep 6: Step 2: page_fault 1.",
        "FoldedRun 9: Step 3 and 1 message: look 1.",
    ]
    run = index.passages_at(Frontier(said_folded=5))[2]
    assert isinstance(run, FoldedRun)
    assert (run.position, run.origin) == (6, "/m/3")


def test_without_a_message_of_the_user_the_first_and_the_system_are_not_folded() -> None:
    turns = [message(1, "assistant"), message(2, "system"), message(3, "assistant"), *step(4)]
    assert describe(index_of(*turns).passages_at(Frontier(said_folded=99))) == [
        "PrefixMessage 1: 1 message.",
        "PrefixMessage 2: 1 message.",
        "FoldedRun 3: 1 message.",
        "ReferencedStep 4: Step 1: look 1.",
    ]
    assert EMPTY.passages_at(Frontier(said_folded=99)) == []


def test_messages_are_folded_until_the_newer_ones_have_few_characters() -> None:
    index = index_of(message(1, words="a" * 5), *step(2), message(4, words="b" * 3), message(5))
    limits = (14, 13, 9, 8, 6, 5, 0)
    assert [index.find_message_fold(limit) for limit in limits] == [0, 1, 1, 4, 4, 5, 5]


def test_run_is_replaced_by_a_call_and_its_result() -> None:
    run = FoldedRun(7, "/m/3", FoldSummary())
    call = TurnCall("\0folded 2", "", {})
    assert make_run_turns(run, 2) == (
        Turn("assistant", (), "/m/3", 7, calls=(call,)),
        Turn("tool", (), "/m/3", 7, call_id="\0folded 2"),
    )
