"""Frontiers that a rendering needs to fit its limits, and the error if it never fits."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from packages.dialects.tests.targets.composed import medium, profile, rule
from pagefault_dialects.context.eviction import EvictableTurns, prepare_eviction
from pagefault_dialects.context.token_budget import next_frontier
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    Item,
    Medium,
    TextItem,
    Turn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.model.frontier import NOTHING_EVICTED, Frontier
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.targets.fitting import LoadedMedia
from pagefault_dialects.targets.ladder import Ladder, ResolvedTurns
from pagefault_dialects.targets.tokens import TokenRule

# A text has a token for each of these words, and a medium has a hundred tokens.
WORD = " word"
TARGET = replace(
    profile(image=rule("image/*")), tokens=TokenRule(lambda *_: 100), has_separate_system=True
)
PICTURE = medium()
STORED = RenderOptions(frontier="main")


def make_turn(seq: int, words: int, role: TurnRole = "user") -> ComposedTurn:
    return Turn(role, (TextItem("/0", WORD * words),), f"/m/{seq}", seq)


def step(seq: int, words: int, *media: Medium) -> list[ComposedTurn]:
    calls = (TurnCall(f"c{seq}", "look", {}),)
    result: tuple[Item, ...] = (TextItem("/0", WORD * words), *media)
    return [
        Turn("assistant", (), f"/m/{seq}", seq, calls=calls),
        Turn("tool", result, f"/m/{seq + 1}", seq + 1, call_id=f"c{seq}", tool_name="look"),
    ]


def steps(words: int, *media: Medium) -> list[ComposedTurn]:
    """Return a message, four steps, a message, and a step in progress."""
    old = [turn for seq in (2, 4, 6, 8) for turn in step(seq, words, *media)]
    return [make_turn(1, 9), *old, make_turn(11, 9), *step(20, 9)]


def resolve(history: EvictableTurns, frontier: Frontier, max_base64: int) -> ResolvedTurns:
    ladder = Ladder(TARGET, history.options, max_base64=max_base64, sign=None)
    return ladder.resolve(history.turns_at(frontier), LoadedMedia())


def list_frontiers(
    turns: Sequence[ComposedTurn], options: RenderOptions, max_base64: int = 1_000_000
) -> list[dict[str, object]]:
    """Return the changes of the frontier until the turns fit."""
    history = prepare_eviction(turns, TARGET, options)
    changes: list[dict[str, object]] = []
    last = NOTHING_EVICTED
    while True:
        frontier = next_frontier(history, last, resolve(history, last, max_base64))
        if frontier == last:
            return changes
        changes.append({name: at for name, at in frontier if at != getattr(last, name)})
        last = frontier


def test_tokens_over_the_limit_are_evicted_with_room_if_the_frontier_is_stored() -> None:
    # The steps have 885 tokens, and a preview saves 111 of them.
    cases = [
        RenderOptions(),
        STORED,
        RenderOptions(max_tokens=885),
        RenderOptions(max_tokens=884, evict_batch=400),
        replace(STORED, max_tokens=884),
        replace(STORED, max_tokens=884, evict_batch=0),
        replace(STORED, max_tokens=884, evict_batch=110),
        replace(STORED, max_tokens=884, evict_batch=111),
    ]
    assert [list_frontiers(steps(200), options) for options in cases] == [
        *([], [], []),
        [{"tool_media": 2, "tool_texts": 2}],
        [{"tool_media": 4, "tool_texts": 4}],
        [{"tool_media": 2, "tool_texts": 2}],
        [{"tool_media": 2, "tool_texts": 2}],
        [{"tool_media": 4, "tool_texts": 4}],
    ]


def test_media_over_a_limit_are_evicted_with_a_quarter_of_the_others() -> None:
    # The media have 4,000 characters of base64 each, and their lines more tokens than those that
    # replace media over a limit. No texts are evicted for these tokens.
    pictures = steps(9, PICTURE, replace(PICTURE, pointer="/parts/1"))

    def reach(options: RenderOptions, max_base64: int = 1_000_000) -> list[dict[str, object]]:
        return list_frontiers(pictures, options, max_base64)

    def media(*positions: int) -> list[list[dict[str, int]]]:
        return [[{"tool_media": at}] if at else [] for at in positions]

    images = [replace(STORED, max_images=most) for most in (8, 7, 4, 2, 1, 0)]
    assert [reach(options) for options in images] == media(0, 4, 6, 8, 0, 0)
    chars = (32_000, 31_999, 28_000, 16_000, 8_000, 4_000, 0)
    assert [reach(STORED, most) for most in chars] == media(0, 4, 4, 6, 8, 0, 0)
    assert reach(RenderOptions(max_images=2), 4_000) == []


def test_media_that_are_too_large_alone_evict_no_others() -> None:
    first, *others = steps(9, PICTURE)
    large = replace(PICTURE, pointer="/1", size_bytes=30_000)
    turns = [replace(first, items=(*first.items, large)), *others]
    # Without the large one, the pictures have 16,000 characters of base64.
    assert [list_frontiers(turns, STORED, most) for most in (39_999, 16_000, 15_999)] == [
        [],
        [],
        [{"tool_media": 4}],
    ]


def test_protected_turns_are_shortened_first_if_they_alone_exceed_the_limit() -> None:
    turns = [make_turn(1, 500), *step(2, 200), *step(4, 200), make_turn(11, 9), *step(20, 300)]
    budgets = (1_000, 900, 800, 600, 400)
    assert [list_frontiers(turns, RenderOptions(max_tokens=most)) for most in budgets] == [
        [{"tool_media": 4, "tool_texts": 4, "tool_results": 2}],
        [{"tool_media": 4, "tool_texts": 4, "tool_results": 4}],
        [{"floor": 20}],
        [{"floor": 20}, {"tool_media": 2, "tool_texts": 2, "tool_results": 2}],
        [{"floor": 20}],
    ]


def test_budget_that_is_too_small_is_refused_with_one_that_is_sufficient() -> None:
    turns = [make_turn(1, 40, "system"), *steps(200)]

    def refuse(max_tokens: int) -> tuple[str, str, tuple[Fault, ...]]:
        with pytest.raises(InvalidPayloadError) as refused:
            list_frontiers(turns, RenderOptions(max_tokens=max_tokens))
        return refused.value.problem_code, refused.value.detail, refused.value.faults

    parts = (
        "the system message 44, the first user message 13, the newest user message 13, "
        "the newest step 19"
    )
    assert [refuse(most) for most in (99, 90, 1)] == [
        (
            "budget-too-small",
            f"`maxTokens` is {most}, and what is never left out takes about 100 tokens even at its "
            f"shortest: {parts}. Raise the limit, shorten the system message, or unpin pages.",
            (Fault("/maxTokens", f"must be {least} or more for this history"),),
        )
        for most, least in ((99, 165), (90, 174), (1, 263))
    ]
    reached = {"tool_media": 8, "tool_texts": 8, "tool_results": 8, "arguments": 8, "folded": 6}
    assert list_frontiers(turns, RenderOptions(max_tokens=165)) == [reached]


def test_sufficient_budget_is_twice_a_long_system_message() -> None:
    # Half of the budget is left for the other turns, which are shortened to their shares of it.
    long = [
        make_turn(1, 400, "system"),
        make_turn(2, 500),
        make_turn(5, 500),
        *step(6, 900),
        *step(20, 900),
    ]
    with pytest.raises(InvalidPayloadError) as refused:
        list_frontiers(long, RenderOptions(max_tokens=420))
    assert refused.value.faults == (Fault("/maxTokens", "must be 872 or more for this history"),)
    assert list_frontiers(long, RenderOptions(max_tokens=872)) == [{"floor": 20}]
