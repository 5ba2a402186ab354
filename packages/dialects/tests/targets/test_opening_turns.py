"""Lines that a target requires are inserted between turns, each with a note for the loss."""

from collections.abc import Sequence
from dataclasses import replace

from packages.dialects.tests.targets.composed import medium, profile
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    DataItem,
    Item,
    Omission,
    ProviderBlock,
    ResolvedItem,
    ResolvedTurn,
    SyntheticNote,
    TextItem,
    Turn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.targets.opening_turns import (
    BEGINNING,
    FROM_THE_SYSTEM,
    NO_REPLY,
    NOTHING_SAID,
    insert_required_lines,
    split_system_text,
)
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.targets.rules import RULES

PLAIN = profile()
STRICT = replace(PLAIN, allows_blank_texts=False)
SYSTEM_APART = replace(PLAIN, has_separate_system=True)
SYSTEM_FIRST = replace(PLAIN, has_system_first=True)
USER_FIRST = replace(PLAIN, starts_with_user=True)
REPLYING = replace(PLAIN, has_assistant_after_results=True)
THINKING = replace(
    PLAIN,
    continues_thoughts=True,
    dialect="anthropic",
    accepts_block=lambda form, role: form["type"] != "refused" and role == "assistant",
)

HI = TextItem("/content", "Hi.")
BLANK = TextItem("/content", " \n")
EMPTY = TextItem("/content", "")
LEFT_OUT = Omission("/content", "text", "other-audience", "")
SEARCH = ProviderBlock("/0", {"anthropic": {"type": "search"}}, "search", "no-place", "")
TEXT_AND_SEARCH = replace(SEARCH, forms={}, words="A search.")
THOUGHT = ProviderBlock("/0", {"anthropic": {"type": "thinking"}}, "thought", "reasoning", "")
DROPPED = replace(THOUGHT, forms={})
CALL = TurnCall("c", "look", {})


def make_turn(role: TurnRole, *items: Item, seq: int = 7) -> ComposedTurn:
    return Turn(role, items, f"/m/{seq}", seq)


def calling(*items: Item) -> ComposedTurn:
    return Turn("assistant", items, "/m/7", 7, calls=(CALL,))


def note(code: str, seq: int | None = 7) -> SyntheticNote:
    return SyntheticNote("line", code, RULES[code].reason, seq)


def insert(target: Profile, *turns: ComposedTurn, is_whole: bool = True) -> Sequence[ComposedTurn]:
    return insert_required_lines(turns, target, is_whole=is_whole)


def test_nothing_is_inserted_where_nothing_is_required() -> None:
    turns = [
        make_turn("system", HI),
        calling(),
        make_turn("tool"),
        make_turn("user", HI),
        make_turn("system", HI),
    ]
    assert insert(PLAIN, *turns) == turns
    assert insert(USER_FIRST) == []


def test_late_system_text_has_a_note_where_it_becomes_a_turn_of_the_user() -> None:
    turns = [
        make_turn("system", HI),
        make_turn("user", HI),
        make_turn("system", HI),
        make_turn("system", LEFT_OUT),
    ]
    noted = [*turns[:2], make_turn("system", note("late-system"), HI), turns[3]]
    assert [insert(target, *turns) for target in (SYSTEM_APART, SYSTEM_FIRST)] == [noted, noted]


def test_empty_turn_of_the_user_after_the_assistant_gets_a_line() -> None:
    line = (note("empty-content"), TextItem("", NOTHING_SAID))
    user, filled = make_turn("user", LEFT_OUT), make_turn("user", LEFT_OUT, *line)
    assistant, empty = make_turn("assistant", HI), make_turn("assistant")
    cases = [
        (PLAIN, [assistant, user], [assistant, filled]),
        (PLAIN, [user, assistant, user], [user, assistant, filled]),
        (PLAIN, [assistant, empty, user], [assistant, empty, filled]),
        (PLAIN, [assistant, make_turn("system"), user], [assistant, make_turn("system"), filled]),
        (PLAIN, [assistant, user, user], [assistant, filled, user]),
        (PLAIN, [assistant, make_turn("tool"), user], [assistant, make_turn("tool"), user]),
        (PLAIN, [empty, user], [empty, user]),
        (PLAIN, [calling(), user], [calling(), filled]),
        (PLAIN, [assistant, make_turn("user", BLANK)], [assistant, make_turn("user", BLANK)]),
        (
            PLAIN,
            [assistant, make_turn("user", EMPTY)],
            [assistant, make_turn("user", EMPTY, *line)],
        ),
        (
            STRICT,
            [assistant, make_turn("user", BLANK)],
            [assistant, make_turn("user", BLANK, *line)],
        ),
        (STRICT, [make_turn("assistant", BLANK), user], [make_turn("assistant", BLANK), user]),
        (PLAIN, [assistant, make_turn("user", medium())], [assistant, make_turn("user", medium())]),
        (
            PLAIN,
            [assistant, make_turn("user", TEXT_AND_SEARCH)],
            [assistant, make_turn("user", TEXT_AND_SEARCH)],
        ),
        (
            THINKING,
            [make_turn("assistant", SEARCH), user],
            [make_turn("assistant", SEARCH), filled],
        ),
        (PLAIN, [make_turn("assistant", SEARCH), user], [make_turn("assistant", SEARCH), user]),
    ]
    assert [insert(target, *turns) for target, turns, _ in cases] == [
        expected for _, _, expected in cases
    ]


def test_assistant_answers_results_before_anybody_else_where_the_target_wants_it() -> None:
    line = Turn("assistant", (note("no-reply", 9), TextItem("", NO_REPLY)), "/m/9", 9)
    tool, user, reply = (
        make_turn("tool", HI),
        make_turn("user", HI, seq=9),
        make_turn("assistant", HI),
    )
    system, empty = make_turn("system", HI, seq=9), make_turn("user", LEFT_OUT)
    cases = [
        ([calling(), tool, user], [calling(), tool, line, user]),
        ([calling(), tool, tool, user, user], [calling(), tool, tool, line, user, user]),
        ([calling(), tool, reply, user], [calling(), tool, reply, user]),
        ([calling(), tool, calling(), user], [calling(), tool, calling(), user]),
        ([calling(), tool, system, user], [calling(), tool, line, system, user]),
        ([calling(), tool, empty, user], [calling(), tool, empty, line, user]),
        ([calling(), make_turn("tool"), user], [calling(), make_turn("tool"), line, user]),
        ([calling(), tool], [calling(), tool]),
        ([user, user], [user, user]),
    ]
    assert [insert(REPLYING, *turns) for turns, _ in cases] == [expected for _, expected in cases]
    assert insert(PLAIN, calling(), tool, user) == [calling(), tool, user]


def test_line_begins_a_conversation_in_which_the_user_does_not_speak_first() -> None:
    line = Turn("user", (note("no-beginning"), TextItem("", BEGINNING)), "/m/7", 7)
    fold = make_turn("user", Omission("", "original", "folded", "", run=(1, 2, 2)), HI)
    silent = make_turn("user", LEFT_OUT)
    turns = [make_turn("assistant", HI), make_turn("tool", HI), fold, silent, make_turn("user", HI)]
    apart = replace(USER_FIRST, has_separate_system=True)
    assert [insert(USER_FIRST, turn) for turn in turns] == [
        *([line, turn] for turn in turns[:-1]),
        [turns[-1]],
    ]
    assert [
        insert(target, make_turn("system", HI), turns[0]) for target in (apart, USER_FIRST)
    ] == [
        [make_turn("system", HI), line, turns[0]],
        [line, make_turn("system", HI), turns[0]],
    ]
    assert insert(USER_FIRST, turns[0], is_whole=False) == [turns[0]]
    assert insert(apart, make_turn("system", HI)) == [make_turn("system", HI)]


def test_thoughts_at_the_end_of_a_finished_turn_are_dropped() -> None:
    user = make_turn("user", HI)
    refused = replace(THOUGHT, forms={"anthropic": {"type": "refused"}})
    cases = [
        ([make_turn("assistant", HI, THOUGHT), user], [make_turn("assistant", HI, DROPPED), user]),
        (
            [make_turn("assistant", THOUGHT, HI, THOUGHT, LEFT_OUT, THOUGHT), user],
            [make_turn("assistant", THOUGHT, HI, DROPPED, LEFT_OUT, DROPPED), user],
        ),
        (
            [make_turn("assistant", THOUGHT, SEARCH), user],
            [make_turn("assistant", THOUGHT, SEARCH), user],
        ),
        ([make_turn("assistant", THOUGHT)], [make_turn("assistant", THOUGHT)]),
        ([calling(THOUGHT), user], [calling(THOUGHT), user]),
        (
            [make_turn("assistant", THOUGHT), make_turn("assistant", HI), user],
            [make_turn("assistant", THOUGHT), make_turn("assistant", HI), user],
        ),
        (
            [make_turn("assistant", THOUGHT), make_turn("assistant", THOUGHT), user],
            [make_turn("assistant", DROPPED), make_turn("assistant", DROPPED), user],
        ),
        (
            [make_turn("assistant", THOUGHT), calling(), user],
            [make_turn("assistant", THOUGHT), calling(), user],
        ),
        (
            [make_turn("assistant", THOUGHT), make_turn("user", LEFT_OUT)],
            [
                make_turn("assistant", DROPPED),
                make_turn("user", LEFT_OUT, note("empty-content"), TextItem("", NOTHING_SAID)),
            ],
        ),
        ([make_turn("user", THOUGHT), user], [make_turn("user", THOUGHT), user]),
        ([make_turn("assistant", refused), user], [make_turn("assistant", DROPPED), user]),
    ]
    assert [insert(THINKING, *turns) for turns, _ in cases] == [expected for _, expected in cases]
    assert insert(PLAIN, *cases[0][0]) == cases[0][0]


def resolved(role: TurnRole, *items: ResolvedItem) -> ResolvedTurn:
    return Turn(role, items, copied_messages=())


def test_system_text_at_the_beginning_is_split_from_the_turns() -> None:
    data = DataItem("/x", {"n": 1})
    turns = [
        resolved("system", HI, EMPTY),
        resolved("system", data),
        resolved("user", HI),
        resolved("system", HI),
        resolved("system", BLANK),
    ]
    mark = TextItem("", FROM_THE_SYSTEM)
    moved: tuple[ResolvedTurn, ...] = (
        turns[2],
        Turn("user", (mark, HI), copied_messages=None),
        Turn("user", (BLANK,), copied_messages=None),
    )

    def split(target: Profile) -> tuple[str, list[tuple[ResolvedTurn, object]]]:
        system, following = split_system_text(turns, target)
        # The sent messages are not compared with the turns.
        return system, [(turn, turn.copied_messages) for turn in following]

    def with_messages(*expected: ResolvedTurn) -> list[tuple[ResolvedTurn, object]]:
        return [(turn, turn.copied_messages) for turn in expected]

    assert [split(target) for target in (PLAIN, SYSTEM_APART, SYSTEM_FIRST)] == [
        ("", with_messages(*turns)),
        ('Hi.\n\n{"n":1}', with_messages(*moved)),
        ("", with_messages(*turns[:2], *moved)),
    ]
    assert split_system_text(turns[:2], SYSTEM_APART) == ('Hi.\n\n{"n":1}', ())
