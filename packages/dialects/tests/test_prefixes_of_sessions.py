"""Prefixes of sessions that are kept between renderings: folded ones, and rendered ones."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from pagefault_dialects.context.prefix_index import (
    FoldedRun,
    PrefixPassage,
    PrefixSummary,
    ReferencedStep,
    make_run_turns,
)
from pagefault_dialects.folded_prefixes import NO_PREFIX, FoldedPrefix
from pagefault_dialects.model.conversation import ComposedTurn, TextItem, Turn, TurnCall
from pagefault_dialects.model.frontier import NOTHING_EVICTED
from pagefault_dialects.model.resource import Damage
from pagefault_dialects.rendered_documents import WrittenPrefix
from pagefault_dialects.rendered_prefixes import RenderedPrefix, find_link_damages
from pagefault_dialects.targets.part_sizes import PartSize
from pagefault_dialects.turns.call_results import PrefixChangedError
from pagefault_dialects.turns.pairing import PairingState, pair_calls
from pagefault_dialects.turns.sealed_turns import seal_turns

Json = Any


def user_turn(seq: int) -> ComposedTurn:
    return Turn("user", (TextItem("/content", f"Hi {seq}."),), f"/{seq}", seq)


def call(seq: int, call_id: str, *others: str) -> ComposedTurn:
    calls = tuple(TurnCall(name, "look", {}) for name in (call_id, *others))
    return Turn("assistant", (), f"/{seq}", seq, calls)


def result(seq: int, call_id: str, **more: Json) -> ComposedTurn:
    return Turn("tool", (TextItem("/x", "A cat."),), f"/{seq}", seq, call_id=call_id, **more)


def page(seq: int, page_id: str) -> ComposedTurn:
    call = TurnCall(f"p{seq}", "page_fault", {"page_id": page_id, "target_level": 1})
    return Turn("assistant", (), f"/{seq}", seq, (call,))


# Three steps, of which the second one was not answered, and messages between them.
HISTORY = [
    user_turn(1),
    call(2, "a"),
    result(3, "a"),
    call(4, "b"),
    user_turn(5),
    call(6, "c"),
    result(7, "c"),
    result(8, "orphan"),
    user_turn(9),
]
LATER = [call(10, "d"), result(11, "d"), user_turn(12)]


def record(turns: Sequence[ComposedTurn]) -> dict[int, list[ComposedTurn]]:
    return {turn.seq: [turn] for turn in turns if turn.seq is not None}


def seal(
    turns: Sequence[ComposedTurn],
    following: Sequence[ComposedTurn],
    prefix: FoldedPrefix = NO_PREFIX,
) -> FoldedPrefix:
    """Return a prefix that is longer by some turns, before the turns that follow them."""
    every = [*turns, *following]
    separate = {turn.seq for turn in every if turn.seq is not None}
    sealed = seal_turns([*turns, following[0]], separate, prefix.pairing_state)
    assert sealed is not None
    assert sealed.next_seq == following[0].seq
    return prefix.extend(sealed, record(turns), {f"d{turns[0].seq}": 9})


PREFIX = seal(HISTORY, LATER)


def passages_of(prefix: FoldedPrefix) -> Sequence[PrefixPassage]:
    return prefix.index.passages_at(NOTHING_EVICTED)


def test_prefix_has_its_orphans_sizes_and_facts() -> None:
    assert (PREFIX.seq, PREFIX.number, PREFIX.orphans, PREFIX.structured_sizes) == (
        *(9, 1, (8,), {"d1": 9}),
    )
    index = PREFIX.index
    # Two of the facts are the orphan and the size.
    assert PREFIX.fact_count == (
        len(index.passages) + len(index.recall_totals) + len(index.unanswered_steps) + 2
    )
    assert (len(index.unanswered_steps), NO_PREFIX.fact_count) == (1, 0)
    state = PairingState()
    assert PREFIX.with_pairing_state(state).pairing_state is state
    assert (NO_PREFIX.seq, NO_PREFIX.number) == (0, 0)


def test_prefix_that_grows_is_that_of_the_whole() -> None:
    first = seal(HISTORY[:3], HISTORY[3:4])
    grown = seal(HISTORY[3:], LATER, first)
    assert (grown.seq, grown.number, grown.orphans) == (9, 2, (8,))
    assert grown.structured_sizes == {"d1": 9, "d4": 9}
    assert grown.index.steps == PREFIX.index.steps == 4


def test_history_behind_a_prefix_is_that_of_the_whole_with_runs_in_place_of_steps() -> None:
    passages = passages_of(PREFIX)
    conversation = PREFIX.build_turns(passages, record(HISTORY), LATER, ())
    whole = pair_calls([*HISTORY, *LATER])
    runs = [
        (number, passage)
        for number, passage in enumerate(passages)
        if isinstance(passage, FoldedRun) and not getattr(passage, "turns", ())
    ]
    folded = {f"\0folded {number}" for number, _ in runs}
    rest = [
        turn
        for turn in conversation
        if turn.call_id not in folded and not {item.call_id for item in turn.calls} & folded
    ]
    assert len(runs) > 0
    assert [turn for turn in rest if turn.role == "user"] == [
        turn for turn in whole if turn.role == "user"
    ]
    assert conversation[-3:] == [*whole[-3:]]
    for number, run in runs:
        made = make_run_turns(run, number)
        start = conversation.index(made[0])
        assert conversation[start : start + 2] == [*made]
    summary = PREFIX.summarize(passages)
    assert summary == PrefixSummary(
        runs={f"\0folded {number}": run.summary for number, run in runs},
        recall_totals=PREFIX.index.recall_totals,
        recall_counts={},
        unanswered_steps=PREFIX.index.unanswered_steps,
        page_results=PREFIX.index.page_results,
        last_seq=9,
    )


def test_steps_that_are_not_folded_are_read_again() -> None:
    history = [
        user_turn(1),
        page(2, "p"),
        result(3, "p2"),
        page(4, "p"),
        result(5, "p4"),
        user_turn(6),
    ]
    prefix = seal(history, [call(7, "d"), result(8, "d")])
    passages = passages_of(prefix)
    steps = [item for item in passages if isinstance(item, ReferencedStep) and item.turns]
    assert len(steps) == 1
    later = [call(7, "d"), result(8, "d")]
    conversation = prefix.build_turns(passages, record(history), later, ())
    whole = pair_calls([*history, *later])
    assert conversation[-2:] == [*whole[-2:]]
    assert [turn for turn in whole if turn.seq in (4, 5)] == [
        turn for turn in conversation if turn.seq in (4, 5) and "\0" not in str(turn)
    ]
    assert prefix.summarize(passages).recall_counts == steps[0].recall_counts


def test_recalls_of_all_steps_that_are_not_folded_are_counted() -> None:
    history = [user_turn(1), page(2, "p"), result(3, "p2"), page(4, "q"), result(5, "p4")]
    prefix = seal([*history, call(6, "a"), result(7, "a"), user_turn(8)], LATER)
    passages = prefix.index.passages_at(NOTHING_EVICTED, pinned=("p", "q"))
    assert {*prefix.summarize(passages).recall_counts} == {"p2", "p4"}


def test_pinned_result_behind_a_prefix_stays_after_its_added_call() -> None:
    passages = passages_of(PREFIX)
    later = [*LATER[:2], result(12, "z"), user_turn(13), call(14, "z"), user_turn(15)]
    for pinned in ((), (12,)):
        conversation = PREFIX.build_turns(passages, record(HISTORY), later, pinned)
        whole = pair_calls([*HISTORY, *later], pinned_results=pinned)
        assert conversation[-5:] == [*whole[-5:]]


def test_prefix_that_later_turns_change_is_read_again() -> None:
    passages = passages_of(PREFIX)
    runs = [passage for passage in passages if not getattr(passage, "turns", ())]

    def build(
        following: Sequence[ComposedTurn],
        pinned: Sequence[int] = (),
        at: Sequence[PrefixPassage] = runs,
        *,
        freezes: bool = False,
    ) -> int:
        return len(
            PREFIX.build_turns(at, record(HISTORY), following, pinned, freezes_turns=freezes)
        )

    step = LATER[:2]
    count = build(step)
    assert build(step, [8]) == build(step, [8, 10]) == count
    late, later_call = result(13, "b"), call(14, "e")
    assert build([*step, late, later_call]) > count
    changed: Sequence[tuple[Sequence[ComposedTurn], Sequence[int], Sequence[PrefixPassage]]] = [
        (step, [3], passages),
        (step, [9], passages),
        ((), (), passages),
        (LATER[2:], (), runs),
        # A late answer repeats its call, which is no new step.
        ([late], (), runs),
        # The call of an orphan.
        ([call(13, "orphan")], (), passages),
    ]
    for following, pinned, at in changed:
        with pytest.raises(PrefixChangedError):
            build(following, pinned, at)
    assert build((), at=runs, freezes=True) > 0


def test_late_answer_of_a_step_that_the_prefix_does_not_know_changes_it() -> None:
    history = [user_turn(1), call(2, "a"), result(3, "a"), user_turn(4)]
    later = [call(5, "b"), user_turn(6), call(7, "c"), result(8, "b")]
    prefix = seal(history, later)
    passages = passages_of(prefix)
    # The newest step of this prefix is read again, so none has to follow it.
    assert (
        len(prefix.build_turns(passages, record(history), [user_turn(5)], ())) == len(history) + 1
    )
    # The call of the late answer follows the prefix, so the prefix need not know it.
    assert len(prefix.build_turns(passages, record(history), later, ())) > 0
    unknown = FoldedPrefix(9, PREFIX.pairing_state, prefix.index, (), {})
    with pytest.raises(PrefixChangedError):
        unknown.build_turns(passages, record(history), [*LATER[:2], result(13, "b")], ())


ENDED = "https://bucket.s3.amazonaws.com/a.png?X-Amz-Date=20240101T000000Z&X-Amz-Expires=3600"
OPEN = "https://a.example/b.png"


def test_rendered_prefixes_are_joined_and_end_with_their_links() -> None:
    before = datetime(2024, 1, 1, tzinfo=UTC)
    after = datetime(2024, 1, 2, tzinfo=UTC)

    def prefix(seq: int, *links: str, number: int = 1, **sizes: int) -> RenderedPrefix:
        size = PartSize(links=links)
        written = WrittenPrefix("", b"", None)
        damages = find_link_damages(size, before)
        resources = {f"r{seq}": None}
        return RenderedPrefix(seq, PairingState(), written, size, resources, sizes, damages, number)

    one, two = prefix(3, ENDED, a=1, b=1), prefix(7, OPEN, number=2, b=2, c=2)
    [damage] = find_link_damages(one.size, after)
    assert isinstance(damage, Damage)
    assert damage.code == "expired-link"
    assert (find_link_damages(one.size, before), find_link_damages(two.size, after)) == (
        *((None,), (None,)),
    )
    links = [
        (item.has_unchanged_links(before), item.has_unchanged_links(after)) for item in (one, two)
    ]
    assert links == [(True, False), (True, True)]
    joined = two.prepend(one)
    assert joined == RenderedPrefix(
        7,
        two.pairing_state,
        two.written,
        PartSize(links=(ENDED, OPEN)),
        {"r3": None, "r7": None},
        {"a": 1, "b": 2, "c": 2},
        (None, None),
        2,
    )
    assert (one.fact_count, joined.fact_count) == (4, 7)
    state = PairingState()
    assert one.with_pairing_state(state).pairing_state is state
