"""Turns that are never left out are shortened to their shares of a budget."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from packages.dialects.tests.targets.composed import medium, profile, rule
from pagefault_dialects.context.evicted_forms import REASON
from pagefault_dialects.context.floor import Floor
from pagefault_dialects.context.floor_turns import FloorTurns
from pagefault_dialects.context.load_meter import LoadMeter
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    DataItem,
    Item,
    Omission,
    TextItem,
    Turn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.targets.tokens import TokenRule

# A text has a token for each of these words, and a medium has a hundred tokens.
WORD = " word"
TARGET = replace(profile(image=rule("image/*")), tokens=TokenRule(lambda *_: 100))
METER = LoadMeter(TARGET)


def make_turn(role: TurnRole, words: int, *items: Item, **more: object) -> ComposedTurn:
    return Turn(role, (TextItem("/0", WORD * words), *items), "/api/m/7", 7, **more)  # type: ignore[arg-type]


def floor(
    turns: Sequence[ComposedTurn],
    max_tokens: int = 1_000,
    *,
    system: Sequence[int] = (),
    messages: Sequence[int] = (),
    pinned: Sequence[int] = (),
    newest: Sequence[int] = (),
    shortened: Collection[int] | None = None,
    has_older: bool = False,
) -> Floor:
    """Return the floor of turns, all of which may be shortened by default."""
    by_index: Mapping[int, ComposedTurn] = dict(enumerate(turns))
    indexes = FloorTurns(system, messages, pinned, newest)
    return Floor(
        *(by_index, indexes, by_index.keys() if shortened is None else shortened),
        *(METER, max_tokens, lambda turn: turn.meta.get("page") and "p"),
        has_older=has_older,
    )


def tokens(turn: ComposedTurn) -> int:
    return METER.measure_turn(turn).tokens


def test_message_is_cut_to_a_quarter_of_the_budget_around_a_line() -> None:
    user = make_turn("user", 1_000)
    budgets = (100, 400, 1_000, 1_500, 2_000, 6_000)
    floors = [floor([user], budget, messages=[0]) for budget in budgets]
    assert [tokens(item.shorten_message(0, user)) for item in floors] == [
        *(25, 51, 193, 309, 446),
        1_004,
    ]
    assert floors[1].shorten_message(0, user).items == (
        Omission("/0", "text", "evicted", REASON, to="preview"),
        TextItem(
            "/0",
            f"{WORD * 19} wo\n"
            '[… 4878 characters left out; read_text("@entry:7") shows all of it …]\n'
            f"word{WORD * 4}",
        ),
    )
    assert floors[-1].shorten_message(0, user) is user


def test_share_is_smaller_if_the_newest_step_or_the_system_message_needs_the_rest() -> None:
    user, result = make_turn("user", 1_000), make_turn("tool", 900, call_id="c")
    calling: ComposedTurn = Turn("assistant", (), calls=(TurnCall("c", "look", {"a": WORD * 300}),))
    turns = [user, user, user, make_turn("system", 500), calling, *[result] * 10]

    def user_tokens(
        messages: Sequence[int],
        newest: Sequence[int] = (),
        pinned: Sequence[int] = (),
        system: Sequence[int] = (),
    ) -> int:
        parts = floor(turns, messages=messages, newest=newest, pinned=pinned, system=system)
        return tokens(parts.shorten_message(0, user))

    results = range(5, 15)
    assert [
        user_tokens(messages=[0], newest=results[:2]),
        user_tokens(messages=[0], newest=results),
        user_tokens(messages=[0], newest=range(4, 15)),
        user_tokens(messages=[0, 1, 2], newest=results),
        user_tokens(messages=[0, 1, 2], newest=results, pinned=[5]),
        user_tokens(messages=[0], system=[3]),
    ] == [193, 104, 25, 104, 71, 74]
    assert floor(turns, system=[3], messages=[0]).system_tokens == 504


def test_short_message_and_message_that_may_not_be_shortened_are_whole() -> None:
    short, long = make_turn("user", 9), make_turn("user", 1_000)
    assert floor([short], messages=[0]).shorten_message(0, short) is short
    kept = floor([long, long], messages=[0], shortened=[1])
    assert kept.shorten_message(0, long) is long
    assert tokens(kept.shorten_message(1, long)) == 193


def test_last_words_of_the_assistant_get_the_share_of_a_step_if_there_is_none() -> None:
    user, reply = make_turn("user", 1_000), make_turn("assistant", 1_000)
    step = make_turn("tool", 9, call_id="c")

    def reply_tokens(
        *, messages: Sequence[int] = (0, 1), newest: Sequence[int] = (), has_older: bool = False
    ) -> int:
        parts = floor([user, reply, step], messages=messages, newest=newest, has_older=has_older)
        return tokens(parts.shorten_message(1, reply))

    assert [
        reply_tokens(),
        reply_tokens(has_older=True),
        reply_tokens(newest=[2]),
        reply_tokens(messages=[1, 2]),
        tokens(floor([user, reply], messages=[0, 1]).shorten_message(0, user)),
    ] == [651, 416, 193, 193, 193]


def test_pinned_pages_have_one_share_together() -> None:
    page = make_turn("tool", 150, call_id="c", meta={"page": True})
    alone, two = floor([page, page], pinned=[0]), floor([page, page], pinned=[0, 1])
    assert alone.shorten_pinned(0) is page
    assert floor([page, page], pinned=[0, 1], shortened=[0]).shorten_pinned(1) is page
    assert [tokens(two.shorten_pinned(index)) for index in (0, 1)] == [86, 86]
    [_, text] = two.shorten_pinned(0).items
    assert isinstance(text, TextItem)
    assert text.text == (
        f'{WORD * 47} w\n[… 454 characters left out; page_fault("p", 0) shows all of it …]\n'
        f"word{WORD * 11}"
    )


def step_of(words: int, *results: ComposedTurn, **arguments: str) -> list[ComposedTurn]:
    call = TurnCall("c", "look", dict(arguments))
    calling: ComposedTurn = Turn("assistant", (), "/api/m/6", 6, calls=(call,))
    return [make_turn("user", words), calling, *results]


def step_tokens(turns: Sequence[ComposedTurn], *, has_older: bool = False) -> list[int]:
    parts = floor(turns, messages=[0], newest=range(1, len(turns)), has_older=has_older)
    step = parts.shorten_newest_step()
    assert [*step] == [*range(1, len(turns))]
    return [tokens(turn) for turn in step.values()]


def test_newest_step_gets_what_the_other_turns_leave() -> None:
    long, short = make_turn("tool", 1_000, call_id="c"), make_turn("tool", 9, call_id="d")
    picture = make_turn("tool", 1_000, medium(), call_id="e")
    line = replace(long, items=(Omission("", "result", "evicted", ""), *long.items))
    cases = [
        step_of(9, short, short),
        step_of(9, long),
        step_of(9, long, long),
        step_of(9, long, short),
        step_of(9, long, picture),
        step_of(1_000, long, long),
        step_of(9, long, line),
        step_of(9, long, a=WORD * 300),
        step_of(9, long, a=WORD * 500),
        step_of(9, long, **dict.fromkeys("abcdefghijkl", WORD * 300)),
    ]
    assert [step_tokens(turns) for turns in cases] == [
        [6, 13, 13],
        [6, 651],
        [6, 415, 415],
        [6, 651, 13],
        [6, 415, 402],
        [6, 311, 311],
        [6, 415, 1_004],
        [309, 546],
        [75, 651],
        [834, 25],
    ]
    # If there are older turns, they get three eighths.
    assert [step_tokens(turns, has_older=True) for turns in cases] == [
        [6, 13, 13],
        [6, 516],
        [6, 239, 239],
        [6, 504, 13],
        [6, 239, 245],
        [6, 186, 186],
        [6, 239, 1_004],
        [75, 451],
        [75, 451],
        [34, 490],
    ]
    fixed = floor(cases[1], messages=[0], newest=[1, 2], shortened=[1])
    assert fixed.shorten_newest_step() == {1: cases[1][1], 2: cases[1][2]}


def test_arguments_of_the_newest_step_are_cut_or_replaced_by_a_mark() -> None:
    result = make_turn("tool", 1_000, call_id="c")
    few = step_of(9, result, a=WORD * 500, b="short")
    many = step_of(9, result, **dict.fromkeys("abcdefghijkl", WORD * 300))

    def arguments_of(turns: Sequence[ComposedTurn], *, has_older: bool = False) -> object:
        parts = floor(turns, messages=[0], newest=[1, 2], has_older=has_older)
        return parts.shorten_newest_step()[1].calls[0].arguments

    end = "shows all of it ...]"
    assert arguments_of(few) == {
        "a": f"{WORD * 40}[... 2300 characters left out; read_text @entry:6/arguments/0/a {end}",
        "b": "short",
    }
    assert arguments_of(many, has_older=True) == {
        "a": f"[... 18085 characters left out; read_text @entry:6/arguments/0 {end}"
    }


def test_parts_are_named_with_their_tokens() -> None:
    turns = [
        make_turn("system", 9),
        make_turn("user", 20),
        make_turn("assistant", 30),
        make_turn("user", 40),
        make_turn("tool", 50, call_id="c"),
        make_turn("tool", 60, call_id="d"),
        make_turn("assistant", 70),
    ]
    parts = floor(turns, system=[0], messages=[1, 3, 6], pinned=[4], newest=[5])
    assert parts.count_parts() == [
        ("the system message", 13),
        ("the first user message", 24),
        ("the newest user message", 44),
        ("the newest other message", 74),
        ("pinned pages", 54),
        ("the newest step", 64),
    ]
    assert floor(turns, messages=[2]).count_parts() == [("the newest other message", 34)]


def test_texts_of_the_user_keep_half_of_the_share_beside_large_media() -> None:
    turns = [make_turn(role, 1_000, medium(), medium()) for role in ("user", "assistant")]
    parts = floor([*turns, make_turn("tool", 9, call_id="c")], messages=[0, 1], newest=[2])
    assert [tokens(parts.shorten_message(index, turns[index])) - 200 for index in (0, 1)] == [
        *(115, 25),
    ]


def test_texts_of_a_turn_share_what_the_short_ones_leave() -> None:
    value = DataItem("/1", [WORD * 300])
    turn = make_turn("tool", 300, value, TextItem("/2", WORD * 9), call_id="c")
    parts = floor([turn], newest=[0], max_tokens=600)
    shortened = parts.shorten_newest_step()[0]
    texts = [item.text for item in shortened.items if isinstance(item, TextItem)]
    assert [METER.count_text_tokens(text) for text in texts] == [209, 210, 9]
