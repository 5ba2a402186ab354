"""Moves of a frontier: the order of levels, and how far each of them goes."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise

from packages.dialects.tests.targets.composed import medium, original, profile, rule
from pagefault_dialects.context.eviction import EvictableTurns, Levels, prepare_eviction
from pagefault_dialects.context.frontier_moves import (
    advance_frontier,
    estimate_tokens,
    shorten_protected,
)
from pagefault_dialects.context.load_meter import Load, LoadMeter
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    Item,
    Medium,
    ResolvedTurn,
    TextItem,
    Turn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.model.frontier import NOTHING_EVICTED, Frontier
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.targets.tokens import TokenRule
from pagefault_dialects.turns.pairing import pair_calls

# A text has a token for each of these words, and a medium has a hundred tokens.
WORD = " word"
TARGET = replace(profile(image=rule("image/*")), tokens=TokenRule(lambda *_: 100))
METER = LoadMeter(TARGET)
PICTURE = medium()
# Neither reduced results nor lines exceed a fifth of this budget.
AMPLE = 90_000


def make_turn(seq: int, words: int, *media: Medium, role: TurnRole = "user") -> ComposedTurn:
    return Turn(role, (TextItem("/0", WORD * words), *media), f"/m/{seq}", seq)


def calling(seq: int, name: str = "look", **arguments: str) -> ComposedTurn:
    calls = (TurnCall(f"c{seq}", name, dict(arguments)),)
    return Turn("assistant", (), f"/m/{seq}", seq, calls=calls)


def answer(seq: int, words: int, *media: Medium, call: int, name: str = "look") -> ComposedTurn:
    items: tuple[Item, ...] = (TextItem("/0", WORD * words), *media)
    return Turn("tool", items, f"/m/{seq}", seq, call_id=f"c{call}", tool_name=name)


def step(seq: int, words: int, *media: Medium, **arguments: str) -> list[ComposedTurn]:
    return [calling(seq, **arguments), answer(seq + 1, words, *media, call=seq)]


def fault(seq: int, words: int) -> list[ComposedTurn]:
    name = "page_fault"
    return [calling(seq, name, page_id="p"), answer(seq + 1, words, call=seq, name=name)]


def prepare(
    turns: Sequence[ComposedTurn],
    max_tokens: int = AMPLE,
    *,
    pinned: Collection[str] = (),
    adaptive: bool = True,
) -> EvictableTurns:
    """Prepare turns between a first message and a step in progress."""
    options = RenderOptions(max_tokens=max_tokens, adaptive=adaptive)
    turns = pair_calls([make_turn(1, 9), *turns, *step(20, 9)])
    return prepare_eviction(turns, TARGET, options, pinned)


def list_moves(
    history: EvictableTurns, start: Frontier = NOTHING_EVICTED
) -> list[dict[str, object]]:
    """Return the changes of the frontier, as more and more tokens have to be saved.

    Each move ends exactly when its tokens are saved.
    """
    whole = estimate_tokens(history, start, METER)
    moves: list[dict[str, object]] = []
    last, saved = start, 0
    while True:
        moved = advance_frontier(history, start, Load(saved + 1), METER)
        if moved == last:
            return moves
        moves.append({name: at for name, at in moved if at != getattr(last, name)})
        last, saved = moved, whole - estimate_tokens(history, moved, METER)
        assert advance_frontier(history, start, Load(saved), METER) == moved


def test_each_level_is_applied_from_the_oldest_on_before_the_next_level() -> None:
    turns = [
        *step(2, 200, PICTURE, text=WORD * 100),
        *(make_turn(4, 700, PICTURE), *step(5, 200)),
        *(make_turn(7, 700, role="assistant"), *step(8, 5), make_turn(10, 9)),
    ]
    assert list_moves(prepare(turns)) == [
        {"tool_media": 2},
        {"said_media": 4},
        {"tool_texts": 2},
        {"tool_media": 5, "tool_texts": 5},
        *({"tool_results": 2}, {"tool_results": 5}),
        {"arguments": 2},
        {"folded": 2},
        *({"said_texts": 4}, {"said_texts": 7}),
        *({"said_folded": 4}, {"said_folded": 7}),
    ]


def describe_moves(history: EvictableTurns, start: Frontier = NOTHING_EVICTED) -> str:
    """Return the moves, such as `texts 2, folded 2`; media are evicted with texts."""
    moves = list_moves(history, start)
    changes = [f"{name} {at}" for move in moves for name, at in move.items()]
    return ", ".join(
        change[5:] if change[:5] == "tool_" else change
        for change in changes
        if "media" not in change
    )


def test_oldest_are_reduced_further_while_reduced_steps_exceed_a_fifth_of_the_budget() -> None:
    turns = [turn for seq in (2, 4, 6) for turn in step(seq, 200, text=WORD * 60)]
    history = prepare(turns)
    previews = history.shorten_passage(1, Levels(media=True, texts=True))
    two_previews = 10 * METER.measure_turns(previews).tokens
    lines = history.shorten_passage(1, Levels(results=True))
    two_lines = 10 * METER.measure_turns(lines).tokens
    budgets = (two_previews, two_previews - 1, two_lines, two_lines - 1, 0)
    assert [describe_moves(prepare(turns, budget)) for budget in budgets] == [
        "texts 2, texts 4, texts 6, results 2, results 4, results 6, "
        "arguments 2, arguments 4, arguments 6, folded 2, folded 4, folded 6",
        *[
            "texts 2, texts 4, results 2, texts 6, results 4, results 6, "
            "arguments 2, arguments 4, arguments 6, folded 2, folded 4, folded 6"
        ]
        * 2,
        "texts 2, texts 4, results 2, texts 6, results 4, arguments 2, results 6, "
        "arguments 4, arguments 6, folded 2, folded 4, folded 6",
        "texts 2, results 2, arguments 2, folded 2, texts 4, results 4, arguments 4, folded 4, "
        "texts 6, results 6, arguments 6, folded 6",
    ]


def test_passage_that_saves_nothing_alone_is_reduced_with_the_next_one() -> None:
    turns = [*step(2, 9), *step(4, 200), *step(6, 9), *step(8, 9, text=WORD * 200), *step(10, 9)]
    assert list_moves(prepare(turns)) == [
        {"tool_media": 4, "tool_texts": 4},
        {"tool_results": 4},
        {"tool_media": 8, "tool_texts": 8, "tool_results": 8, "arguments": 8},
        *({"folded": 6}, {"folded": 8}),
        {"tool_media": 10, "tool_texts": 10, "tool_results": 10, "arguments": 10, "folded": 10},
    ]


def test_passages_that_would_save_nothing_do_not_count_as_folded() -> None:
    # The lines of the steps are shorter than folds. Each message is folded alone.
    turns = [
        make_turn(2, 150),
        *step(3, 200),
        make_turn(5, 150, role="assistant"),
        *step(6, 5),
        make_turn(8, 9),
    ]
    assert describe_moves(prepare(turns)) == (
        "texts 3, results 3, said_texts 2, said_folded 2, said_texts 5, said_folded 5"
    )


def test_results_that_were_recalled_often_are_evicted_after_the_others() -> None:
    turns = [*fault(2, 200), *fault(4, 200), *step(6, 200), *fault(8, 200)]
    assert [list_moves(prepare(turns, adaptive=adaptive)) for adaptive in (True, False)] == [
        [
            *({"tool_media": at, "tool_texts": at} for at in (2, 4, 6)),
            *({"tool_results": at} for at in (2, 4, 6)),
            {"recalled": 8},
            {"arguments": 4, "folded": 4},
            {"arguments": 6, "folded": 6},
            {"tool_media": 8, "tool_texts": 8, "tool_results": 8, "arguments": 8, "folded": 8},
        ],
        [
            *({"tool_media": at, "tool_texts": at} for at in (2, 4, 6, 8)),
            *({"tool_results": at} for at in (2, 4, 6, 8)),
            *({"arguments": at, "folded": at} for at in (4, 6, 8)),
        ],
    ]


def test_step_with_a_pinned_page_is_not_folded() -> None:
    turns = [*step(2, 200), *step(4, 200), *fault(6, 200), *step(8, 200), *step(10, 200)]
    assert describe_moves(prepare(turns, pinned=["p"])) == (
        "texts 2, texts 4, texts 8, texts 10, results 2, results 4, results 8, results 10, "
        "arguments 4, folded 4, arguments 10, folded 10"
    )
    assert describe_moves(prepare(turns, 0, pinned=["p"])) == (
        "texts 2, results 2, texts 4, arguments 2, folded 2, results 4, arguments 4, folded 4, "
        "texts 8, results 8, texts 10, arguments 8, folded 8, results 10, arguments 10, folded 10"
    )


def test_late_result_is_reduced_at_its_own_position() -> None:
    turns = [calling(2), make_turn(4, 9), *step(6, 200), answer(10, 200, call=2), make_turn(12, 9)]
    assert describe_moves(prepare(turns)) == "texts 6, texts 10, results 6, results 10"


def test_move_goes_on_from_an_earlier_frontier() -> None:
    seqs = (2, 4, 6, 8, 10, 12)
    turns = [turn for seq in seqs for turn in step(seq, 200, text=WORD * 60)]
    reached = Frontier(tool_media=8, tool_texts=8, tool_results=6, arguments=4, folded=2)
    assert [describe_moves(prepare(turns, budget), reached) for budget in (AMPLE, 600, 0)] == [
        "texts 10, texts 12, results 8, results 10, results 12, arguments 6, arguments 8, "
        "arguments 10, arguments 12, folded 4, folded 6, folded 8, folded 10, folded 12",
        "texts 10, results 8, results 10, arguments 6, arguments 8, arguments 10, folded 4, "
        "folded 6, folded 8, texts 12, results 12, arguments 12, folded 10, folded 12",
        "texts 10, results 8, results 10, arguments 6, arguments 8, arguments 10, folded 4, "
        "folded 6, folded 8, folded 10, texts 12, results 12, arguments 12, folded 12",
    ]
    orphans = reached.with_orphans([9])
    moved = advance_frontier(prepare(turns), orphans, Load(1), METER)
    assert moved == orphans.model_copy(update={"tool_media": 10, "tool_texts": 10})


def test_media_are_evicted_alone_if_no_tokens_are_missing() -> None:
    turns = [
        *step(2, 200, PICTURE),
        make_turn(4, 9, PICTURE),
        *step(5, 200, PICTURE),
        make_turn(7, 9),
    ]
    history = prepare(turns)
    resolved: list[ResolvedTurn] = [
        Turn(
            turn.role,
            tuple(original(item) for item in turn.items if isinstance(item, Medium)),
            *(turn.origin, turn.seq),
            call_id=turn.call_id,
        )
        for turn in history.turns
    ]
    meter = LoadMeter(TARGET, resolved)

    def advance(excess: Load) -> Frontier:
        return advance_frontier(history, NOTHING_EVICTED, excess, meter)

    frontiers = [
        NOTHING_EVICTED,
        Frontier(tool_media=2),
        Frontier(tool_media=2, said_media=4),
        Frontier(tool_media=5, said_media=4),
    ]
    assert [advance(Load(media=media)) for media in (0, 1, 2, 3, 9)] == [*frontiers, frontiers[-1]]
    chars = (1, 4_000, 4_001, 8_001, 12_001)
    assert [advance(Load(base64_chars=number)) for number in chars] == [
        *(frontiers[1], *frontiers[1:], frontiers[-1]),
    ]
    assert [advance(Load(80, media)) for media in (0, 1, 3)] == [*(frontiers[2],) * 2, frontiers[3]]
    assert advance(Load(tokens=200)) == Frontier(tool_media=5, said_media=4, tool_texts=2)


def test_estimate_counts_forty_tokens_for_a_fold_and_a_late_result_as_a_result() -> None:
    turns = [calling(2), make_turn(4, 9), *step(5, 9), answer(10, 9, call=2), make_turn(12, 9)]
    history = prepare(turns)
    frontiers = [
        NOTHING_EVICTED,
        Frontier(folded=2),
        Frontier(folded=5),
        Frontier(folded=5, said_folded=4),
        Frontier(folded=10, said_folded=4),
    ]
    assert [estimate_tokens(history, frontier, METER) for frontier in frontiers] == [
        *(120, 136, 157, 104, 85),
    ]


def test_turns_that_are_never_left_out_are_shortened_by_one_level_after_the_other() -> None:
    history = prepare([*step(2, 9), make_turn(5, 9)])
    frontiers = [NOTHING_EVICTED]
    for _ in range(8):
        frontiers.append(shorten_protected(history, frontiers[-1]))
    assert frontiers.pop() == frontiers[-1]
    names = [
        [name for name, at in after if (getattr(before, name), at) == (0, 20)]
        for before, after in pairwise(frontiers)
    ]
    assert names == [
        ["floor"],
        ["tool_media", "said_media"],
        ["said_texts", "said_folded"],
        ["tool_texts"],
        ["tool_results", "recalled"],
        ["arguments"],
        ["folded"],
    ]
    beyond = Frontier(floor=30, tool_media=30, said_media=3)
    assert shorten_protected(history, beyond) == beyond.model_copy(update={"said_media": 20})
    empty = prepare_eviction([], TARGET, RenderOptions())
    assert shorten_protected(empty, NOTHING_EVICTED) == NOTHING_EVICTED


def test_results_that_stay_whole_do_not_count_among_the_reduced_ones() -> None:
    others = [*step(8, 200), *step(10, 200)]
    pinned = [*fault(2, 400), *others]
    assert [describe_moves(prepare(pinned, budget, pinned=["p"])) for budget in (AMPLE, 700)] == [
        "texts 8, texts 10, results 8, results 10, arguments 10, folded 10"
    ] * 2
    recalled = [*fault(2, 9), *fault(4, 9), *fault(6, 400), *others]
    assert [describe_moves(prepare(recalled, budget)) for budget in (AMPLE, 1_000)] == [
        "texts 8, texts 10, results 8, results 10, recalled 6, arguments 4, folded 4, "
        "arguments 6, folded 6, arguments 8, folded 8, arguments 10, folded 10"
    ] * 2
