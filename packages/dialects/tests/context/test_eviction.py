"""Eviction: its order, and the lines that replace evicted content."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest

from packages.dialects.tests.targets.composed import ID, medium
from pagefault_dialects.context.eviction import (
    EvictableTurns,
    LateStep,
    Levels,
    RenderedPassage,
    chain_levels,
    find_faulted_pages,
    prepare_eviction,
)
from pagefault_dialects.context.floor_turns import FloorTurns
from pagefault_dialects.context.frontier_moves import advance_frontier
from pagefault_dialects.context.load_meter import Load, LoadMeter
from pagefault_dialects.context.prefix_index import PrefixSummary, UnansweredStep
from pagefault_dialects.context.steps import FoldSummary
from pagefault_dialects.context.token_budget import count_excess_tokens
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.messages.entry_reading import join_turns
from pagefault_dialects.model.conversation import (
    AlternativeText,
    ComposedTurn,
    DataItem,
    InlineBytes,
    Medium,
    Omission,
    TextItem,
    Turn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.model.frontier import NOTHING_EVICTED, Frontier
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.targets.table import TARGETS
from pagefault_dialects.texts.cuts import make_preview
from pagefault_dialects.turns.pairing import pair_calls
from pagefault_dialects.turns.text_limits import shorten_texts

# All results are lines, and messages are short.
LINES = Frontier(tool_results=49, recalled=49, said_media=9, said_texts=49)
LONG = "a word " * 500
PICTURE = medium(size_bytes=2_520_000)
REASON = "The conversation has to fit its limits; the oldest gives way."


def message(seq: int, *items: TextItem | Medium, role: str = "user") -> ComposedTurn:
    whose: TurnRole = "assistant" if role == "assistant" else "user"
    return Turn(whose, items, f"/api/messages/{seq}", seq)


def calling(seq: int, name: str = "look", **arguments: JsonValue) -> ComposedTurn:
    return Turn(
        "assistant", (), f"/api/messages/{seq}", seq, calls=(TurnCall(f"c{seq}", name, arguments),)
    )


def result(
    seq: int, *items: TextItem | DataItem | Medium, name: str = "look", call: int | None = None
) -> ComposedTurn:
    call_id = f"c{call or seq - 1}"
    return Turn("tool", items, f"/api/messages/{seq}", seq, call_id=call_id, tool_name=name)


def text(words: str) -> TextItem:
    return TextItem("/parts/0", words)


FIRST = message(1, text("Begin."), PICTURE)
IN_PROGRESS = (calling(50), result(51, text(LONG), PICTURE))


def history_from(
    turns: Sequence[ComposedTurn], pinned: Collection[str] = (), most: int | None = None
) -> EvictableTurns:
    return prepare_eviction(turns, TARGETS["text"], RenderOptions(max_tokens=most), pinned)


def reduce_turn(
    turn: ComposedTurn, *before: ComposedTurn, frontier: Frontier = LINES
) -> ComposedTurn:
    """Return an old turn as a frontier reduces it."""
    history = history_from([FIRST, *before, turn, *IN_PROGRESS])
    return history.turns_at(frontier)[1 + len(before)]


def items_of(turn: ComposedTurn, *before: ComposedTurn, **more: int) -> list[object]:
    frontier = Frontier.model_validate(more) if more else LINES
    return list(reduce_turn(turn, *before, frontier=frontier).items)


def test_medium_of_a_result_is_replaced_by_a_line_that_says_how_to_read_it() -> None:
    line = f'[Image: a.png (2.5 MB), left out to make room: view_media("@blob:{ID}") shows it]'
    assert items_of(result(3, PICTURE), calling(2), tool_media=3) == [
        replace(PICTURE, instead=line, is_evicted=True)
    ]


def test_medium_is_replaced_by_its_caption() -> None:
    captioned = replace(PICTURE, words=AlternativeText("caption", "A red door."))
    line = f'[Image: a.png (2.5 MB), left out to make room: view_media("@blob:{ID}") shows it]'
    assert items_of(result(3, captioned), calling(2), tool_media=3) == [
        replace(captioned, instead=f"{line}\nA red door.", is_evicted=True)
    ]


def test_medium_that_is_not_stored_apart_is_replaced_by_a_line() -> None:
    inline = replace(PICTURE, source=InlineBytes(b"x"), words=AlternativeText("transcript", LONG))
    assert items_of(result(3, inline), calling(2), tool_media=3) == [
        replace(
            inline,
            words=None,
            instead="[Image: a.png (2.5 MB), left out to make room]",
            is_evicted=True,
        )
    ]


def test_medium_of_the_user_is_evicted_after_a_newer_message() -> None:
    history = history_from([FIRST, message(3, PICTURE), message(4, text("And?")), *IN_PROGRESS])
    [item] = history.turns_at(Frontier(said_media=3))[1].items
    assert isinstance(item, Medium)
    assert item.is_evicted


def test_long_text_of_a_result_is_cut_to_its_beginning() -> None:
    turn = result(3, text(LONG))
    assert items_of(turn, calling(2), tool_texts=3) == [
        Omission("/parts/0", "text", "evicted", REASON, to="preview"),
        TextItem(
            "/parts/0",
            f"{LONG[:399]}…\n"
            '[… shortened from 3500 characters; read_text("@entry:3") shows all of it]',
        ),
    ]


def test_preview_is_shortened_and_names_the_same_blob() -> None:
    preview = (
        f"{'x' * 4_000}\n[… 90 characters left out; the whole text is blob:{ID} …]\n{'y' * 1_000}"
    )
    [_, item] = items_of(result(3, text(preview)), calling(2), tool_texts=3)
    assert isinstance(item, TextItem)
    assert item.text.endswith(
        f'\n[… shortened from 5090 characters; read_text("@blob:{ID}") shows all of it]'
    )


def test_shortened_preview_gives_the_length_of_the_stored_text() -> None:
    stored = "a word " * 8_127
    [_, item] = items_of(
        result(3, text(make_preview(stored, f"blob:{ID}"))), calling(2), tool_texts=3
    )
    assert isinstance(item, TextItem)
    assert f"[… shortened from {len(stored)} characters; read_text(" in item.text


@pytest.mark.parametrize("many", [500, 1_200])
def test_shortened_text_within_a_limit_gives_the_length_of_the_whole(many: int) -> None:
    [turn] = shorten_texts([result(3, text("a word " * many))], 2_000)
    [item] = [
        value for value in items_of(turn, calling(2), tool_texts=3) if isinstance(value, TextItem)
    ]
    notice = f'shortened from {7 * many} characters; read_text("@entry:3") shows all of it]'
    assert item.text.endswith(notice)


def test_shortened_piece_of_a_page_gives_the_length_of_the_page() -> None:
    fault = calling(2, "page_fault", page_id="p")
    piece = "  [truncated: characters 0 to 3500 of 56889; go on with offset=3500]"
    answer = result(3, text(f"{LONG}\n{piece}"), name="page_fault")
    [_, item] = items_of(answer, fault, tool_texts=3)
    assert isinstance(item, TextItem)
    assert item.text.endswith(
        'shortened from 56889 characters; page_fault("p", 0) shows all of it]'
    )


def test_long_structured_content_is_evicted_with_the_texts() -> None:
    turn = replace(result(3, DataItem("/meta/structuredContent", [LONG])), structured=([LONG],))
    evicted = reduce_turn(turn, calling(2), frontier=Frontier(tool_texts=3))
    assert evicted.structured is None
    assert isinstance(evicted.items[1], TextItem)


def test_structured_content_of_800_characters_is_kept_as_its_text_is() -> None:
    # With its brackets and quotation marks, the JSON has 800 characters, which is not long.
    value: JsonValue = ["x" * 796]
    turn = replace(result(3, DataItem("/meta/structuredContent", value)), structured=(value,))
    assert reduce_turn(turn, calling(2), frontier=Frontier(tool_texts=3)) == turn


def test_old_result_is_replaced_by_a_line_that_names_its_media() -> None:
    turn = result(3, text(LONG), PICTURE)
    line = (
        '[The result of "look" was left out: read_text("@entry:3") shows it; '
        f"its media: @blob:{ID}]"
    )
    assert items_of(turn, calling(2)) == [
        Omission("", "result", "evicted", REASON, to="line"),
        TextItem("", line),
    ]


def test_line_of_a_page_names_the_page_fault() -> None:
    turn = result(3, text(LONG), name="page_fault")
    fault = calling(2, "page_fault", page_id="img_001")
    assert items_of(turn, fault) == [
        Omission("", "result", "evicted", REASON, to="line"),
        TextItem(
            "",
            '[The result of "page_fault" was left out: page_fault("img_001", 0) shows it]',
        ),
    ]


def test_newest_rendering_of_a_pinned_page_stays_with_its_step() -> None:
    fault = calling(2, "page_fault", page_id="img_001")
    again = [calling(4, "page_fault", page_id="img_001"), result(5, text(LONG), name="page_fault")]
    turns = [FIRST, fault, result(3, text(LONG), name="page_fault"), *again, *IN_PROGRESS]
    history = history_from(turns, {"img_001"})
    older, newest = history.turns_at(LINES)[2], history.turns_at(LINES)[4]
    assert words(older) == [
        '[The result of "page_fault" was left out: page_fault("img_001", 0) shows it]'
    ]
    assert newest == again[1]
    folded = history.turns_at(LINES.model_copy(update={"folded": 49}))
    assert [turn.seq for turn in folded] == [1, 3, 4, 5, 50, 51]


def test_short_result_stays() -> None:
    turn = result(3, text("It is ten."))
    assert items_of(turn, calling(2)) == [text("It is ten.")]


def test_long_messages_are_cut_to_their_beginning() -> None:
    long_answer = message(3, text(LONG), role="assistant")
    history = history_from([FIRST, long_answer, message(4, text("Go on.")), *IN_PROGRESS])
    [_, item] = history.turns_at(LINES)[1].items
    assert isinstance(item, TextItem)
    assert item.text.endswith('read_text("@entry:3") shows all of it]')


def test_first_message_and_steps_in_progress_are_never_folded() -> None:
    system: ComposedTurn = Turn("system", (text(LONG),), "/api/messages/1", 1)
    first = message(2, text(LONG))
    turns = [system, first, message(9, text("So?")), message(10, text(LONG), PICTURE), *IN_PROGRESS]
    folded = history_from(turns).turns_at(Frontier(folded=49, said_folded=49))
    assert [turn.seq for turn in folded] == [1, 2, 9, 10, 50, 51]
    assert words(folded[2]) == ["1 message. read_text @entries:9-9 lists it."]
    assert folded[:2] + folded[3:] == turns[:2] + turns[3:]


def test_line_that_the_assistant_begins_with_is_never_folded() -> None:
    greeting = message(1, text("Hello."), role="assistant")
    turns = [greeting, calling(2), result(3, text("Ten.")), message(4, text("So?")), *IN_PROGRESS]
    folded = history_from(turns).turns_at(Frontier(folded=49, said_folded=49))
    assert [turn.seq for turn in folded] == [1, 3, 4, 50, 51]


def test_fold_is_one_message_of_the_user_and_one_entry_of_the_loss() -> None:
    turns = [FIRST, calling(2), result(3, text(LONG)), calling(4, "bash"), result(5), *IN_PROGRESS]
    folded = history_from(turns).turns_at(Frontier(folded=4))
    reason = "The conversation has to fit its limits; a line stands for its oldest steps."
    note = Omission(
        "",
        "original",
        "folded",
        reason,
        restore="GET /api/messages?after=1",
        to="line",
        run=(2, 5, 2),
    )
    line = "Steps 1 to 2: bash 1, look 1. read_text @entries:2-5 lists them."
    fold: ComposedTurn = Turn("user", (note, TextItem("", line)), "/api/messages/2", 5)
    assert folded == [FIRST, fold, *IN_PROGRESS]


def test_folded_messages_and_steps_between_them_are_one_run() -> None:
    steps = [calling(2), result(3), message(4, text("Good.")), calling(5), result(6)]
    turns = [FIRST, *steps, message(9, text("And?")), *IN_PROGRESS]
    history = history_from(turns)
    assert [words(turn) for turn in history.turns_at(Frontier(folded=5))[1:4]] == [
        ["Step 1: look 1. read_text @entries:2-3 lists it."],
        ["Good."],
        ["Step 2: look 1. read_text @entries:5-6 lists it."],
    ]
    assert words(history.turns_at(Frontier(folded=5, said_folded=4))[1]) == [
        "Steps 1 to 2 and 1 message: look 2. read_text @entries:2-6 lists them."
    ]


def test_late_result_of_a_folded_call_is_a_message_of_the_user() -> None:
    late = result(9, text("Forty-two."), name="bash", call=2)
    turns = pair_calls([FIRST, calling(2, "bash"), message(4, text("Go on.")), late, *IN_PROGRESS])
    history = history_from(turns)
    assert [turn.seq for turn in history.turns_at(NOTHING_EVICTED)] == [1, 2, 4, 4, 9, 9, 50, 51]
    rendered = history.turns_at(Frontier(folded=2))
    assert [turn.role for turn in rendered[1:4]] == ["user", "user", "user"]
    assert words(rendered[3]) == ["Result of bash, step 1: Forty-two."]
    later = history.turns_at(Frontier(folded=9))
    assert words(later[3]) == ["Step 2. read_text @entries:9-9 lists it."]


def test_long_strings_in_arguments_are_cut_behind_their_results() -> None:
    turns = [FIRST, calling(2, "write", content=LONG, path="a.txt"), result(3), *IN_PROGRESS]
    [_, turn, *_] = history_from(turns).turns_at(Frontier(arguments=2))
    [call] = turn.calls
    mark = (
        "[... 3300 characters left out; read_text @entry:2/arguments/0/content shows all of it ...]"
    )
    assert call.arguments == {"content": LONG[:200] + mark, "path": "a.txt"}
    assert turn.items == (Omission("", "arguments", "evicted", REASON, to="preview", seq=2),)


def test_cut_call_stays_cut_where_it_is_repeated_before_its_late_result() -> None:
    late = result(9, text("Done."), name="write", call=2)
    turns = [
        FIRST,
        calling(2, "write", content=LONG),
        message(4, text("Go on.")),
        late,
        *IN_PROGRESS,
    ]
    rendered = history_from(pair_calls(turns)).turns_at(Frontier(arguments=2))
    calls = [turn.calls[0] for turn in rendered if turn.seq in (2, 9) and turn.calls]
    assert [call.call_id for call in calls] == ["c2", "c2-2"]
    assert calls[0].arguments == calls[1].arguments
    assert "@entry:2/arguments/0/content" in str(calls[0].arguments["content"])


def test_step_with_signed_thoughts_keeps_its_arguments() -> None:
    call = TurnCall("c2", "write", {"content": LONG}, thought_signature="s")
    signed = replace(calling(2), calls=(call,))
    turns = [FIRST, signed, result(3), *IN_PROGRESS]
    assert history_from(turns).turns_at(Frontier(arguments=2)) == turns


def test_call_that_was_joined_from_another_entry_names_that_entry() -> None:
    text_first = message(2, text("I write."), role="assistant")
    [_, turn] = [FIRST, *join_turns([(text_first, False), (calling(3, content=LONG), True)])]
    history = history_from([FIRST, turn, result(4, call=3), *IN_PROGRESS])
    [call] = history.turns_at(Frontier(arguments=2))[1].calls
    assert "read_text @entry:3/arguments/0/content shows" in str(call.arguments["content"])


def frontier_after(target_load: Load, *turns: ComposedTurn, most: int | None = None) -> Frontier:
    history = history_from([FIRST, *turns, *IN_PROGRESS], most=most)
    # No media: the weight of a medium is known only if it is attached.
    meter = LoadMeter(TARGETS["text"], [])
    return advance_frontier(history, NOTHING_EVICTED, target_load, meter)


def test_frontier_moves_no_further_than_it_has_to_oldest_first() -> None:
    results = [calling(2), result(3, text(LONG)), calling(4), result(5, text(LONG))]
    assert [
        frontier_after(Load(tokens=number), *results, most=9_000)
        for number in (100, 1_200, 1_800, 1_900)
    ] == [
        Frontier(tool_media=2, tool_texts=2),
        Frontier(tool_media=4, tool_texts=4),
        Frontier(tool_media=4, tool_texts=4, tool_results=2),
        Frontier(tool_media=4, tool_texts=4, tool_results=4),
    ]


def test_old_lines_are_folded_before_a_newer_result_becomes_one() -> None:
    steps = [
        turn
        for seq in range(2, 42, 2)
        for turn in (calling(seq), result(seq + 1, text("a word " * 60)))
    ]
    whole = frontier_after(Load(tokens=1_200), *steps, most=9_000)
    assert whole.folded == 0
    moved_frontier = frontier_after(Load(tokens=1_200), *steps, most=200)
    assert moved_frontier.tool_results >= moved_frontier.arguments >= moved_frontier.folded > 0
    assert moved_frontier.tool_results < whole.tool_results


def test_texts_are_not_evicted_for_media() -> None:
    results = [calling(2), result(3, text(LONG))]
    assert frontier_after(Load(media=3, base64_chars=9), *results) == NOTHING_EVICTED


def test_messages_after_the_newest_of_the_user_stay() -> None:
    turns = [message(2, text(LONG)), message(3, text(LONG), role="assistant")]
    assert frontier_after(Load(tokens=9_999), *turns) == NOTHING_EVICTED
    spoken = [*turns, message(6, text("And?"))]
    moved_to = frontier_after(Load(tokens=9_999), *spoken)
    assert moved_to == Frontier(said_texts=3, said_folded=3)


def words(turn: ComposedTurn) -> list[str]:
    return [item.text for item in turn.items if isinstance(item, TextItem)]


def test_batch_brings_a_load_below_its_limit() -> None:
    assert [
        count_excess_tokens(100, None, None),
        count_excess_tokens(100, 100, None),
        count_excess_tokens(101, 100, None),
        count_excess_tokens(101, 100, 0),
        count_excess_tokens(101, 100, 40),
        count_excess_tokens(101, 100, 400),
    ] == [0, 0, 26, 1, 41, 101]


def spoken(seq: int, words: str = "Hi.", role: TurnRole = "user") -> ComposedTurn:
    return Turn(role, (text(words),), f"/api/messages/{seq}", seq)


def prepared(history: EvictableTurns) -> dict[str, object]:
    """Return the indexes of turns and of passages that the preparation found."""
    return {
        "floor": history.floor,
        "in_progress": sorted(history.in_progress),
        "late": dict(history.late),
        "pinned_steps": sorted(history.pinned_steps),
        "old_steps": history.old_steps,
        "old_messages": history.old_messages,
        "old_media": history.old_media,
    }


def test_turns_are_old_protected_or_in_progress() -> None:
    turns = [
        *(spoken(1, role="system"), spoken(2), spoken(3, role="assistant")),
        *(calling(4, "page_fault", page_id="p"), result(5, text("a"), name="page_fault")),
        *(spoken(6, role="system"), calling(7), result(8, text("b"))),
        *(calling(9, "page_fault", page_id="p"), result(10, text("c"), name="page_fault")),
        *(spoken(11), calling(12), calling(13), result(14), spoken(15, role="assistant")),
    ]
    assert prepared(history_from(turns, {"p"})) == {
        "floor": FloorTurns([0], [1, 10, 14], [9], [11, 12, 13]),
        "in_progress": [8, 9],
        "late": {},
        "pinned_steps": [6],
        "old_steps": [3, 5, 6],
        "old_messages": [2, 4],
        "old_media": [1, 2],
    }


def test_step_in_progress_with_a_pinned_page_is_not_pinned_besides() -> None:
    turns = [spoken(1), calling(2, "page_fault", page_id="p"), result(3, name="page_fault")]
    assert prepared(history_from(turns, {"p"})) == {
        "floor": FloorTurns([], [0], [], [1, 2]),
        "in_progress": [1],
        "late": {},
        "pinned_steps": [],
        "old_steps": [],
        "old_messages": [],
        "old_media": [],
    }


def test_conversation_may_have_no_message_of_the_user_or_no_turn() -> None:
    turns = [spoken(1, role="assistant"), calling(2), result(3), spoken(4, role="assistant")]
    turns = [*turns, spoken(5, role="assistant")]
    assert prepared(history_from(turns)) == {
        "floor": FloorTurns([], [0, 4], [], [1, 2]),
        "in_progress": [1],
        "late": {},
        "pinned_steps": [],
        "old_steps": [],
        "old_messages": [2],
        "old_media": [0, 2, 3],
    }
    assert prepared(history_from([])) == {
        "floor": FloorTurns([], [], [], []),
        "in_progress": [],
        "late": {},
        "pinned_steps": [],
        "old_steps": [],
        "old_messages": [],
        "old_media": [],
    }
    assert history_from([]).turns_at(LINES) == []


def late_turns(*later: ComposedTurn) -> Sequence[ComposedTurn]:
    """Return a step with two calls, of which one has a late result after another step."""
    calls = (TurnCall("c2", "bash", {}), TurnCall("c3", "look", {}))
    both = replace(calling(2), calls=calls)
    done = result(3, text("Now."), call=3)
    late = result(8, text("Late."), name="bash", call=2)
    return pair_calls([FIRST, both, done, spoken(4), calling(5), result(6), late, *later])


def test_late_result_belongs_to_the_step_of_its_call() -> None:
    found = prepared(history_from(late_turns()))
    assert (found["late"], found["in_progress"], found["old_steps"]) == (
        {4: LateStep(1, 1)},
        [3, 4],
        [1],
    )
    found = prepared(history_from(late_turns(*IN_PROGRESS)))
    assert (found["late"], found["in_progress"], found["old_steps"]) == (
        {4: LateStep(1, 1)},
        [5],
        [1, 3, 4],
    )


def test_step_before_the_prefix_has_its_number_and_is_found_by_its_tool() -> None:
    run = [
        replace(calling(2), calls=(TurnCall("run", "", {}),)),
        replace(result(2), call_id="run"),
    ]
    again = replace(calling(9), calls=(TurnCall("c7", "bash", {}),))
    late = replace(result(9, text("Late."), name="bash", call=7), late_call_seq=2)
    turns = [FIRST, *run, calling(4), result(5), again, late, *IN_PROGRESS]
    steps = [UnansweredStep(2, frozenset({"look"})), UnansweredStep(3, frozenset({"bash", "b"}))]
    counts = FoldSummary(1, 4, 0, 4, from_seq=2, to_seq=3)

    def prepare(*unanswered: UnansweredStep) -> EvictableTurns:
        prefix = PrefixSummary({"run": counts}, unanswered_steps={2: unanswered})
        return prepare_eviction(turns, TARGETS["text"], RenderOptions(), (), prefix)

    history = prepare(*steps)
    assert [dict(prepare(*unanswered).late) for unanswered in (steps, steps[:1], ())] == [
        {3: LateStep(1, 3)},
        {3: LateStep(1, 2)},
        {},
    ]
    assert (history.old_steps, sorted(history.in_progress)) == ([2, 3], [4])
    assert [history.summarize(index) for index in (0, 1, 2, 3)] == [
        FoldSummary(messages=1, from_seq=1, to_seq=1),
        counts,
        FoldSummary(5, 5, steps=1, from_seq=4, to_seq=5, tools={"look": 1}),
        FoldSummary(6, 6, steps=1, from_seq=9, to_seq=9),
    ]
    folded = history.turns_at(Frontier(folded=4))
    assert [words(turn) for turn in folded[1:3]] == [
        ["Steps 1 to 5: look 1. read_text @entries:2-5 lists them."],
        ["Result of bash, step 3: Late."],
    ]


def test_levels_of_a_passage_are_those_that_the_frontier_has_passed() -> None:
    turns = [
        *(spoken(1), calling(2), result(3), spoken(4, role="assistant"), spoken(5)),
        *(calling(6), result(7)),
    ]
    history = history_from(turns)
    everything = {name: 9 for name in Frontier.model_fields if name not in ("orphans", "floor")}
    names = [*everything, "floor"]
    reached = {
        name: [history.levels_at(index, Frontier.model_validate({name: 9})) for index in range(5)]
        for name in names
    }
    nothing = Levels()
    media, texts, folded = Levels(media=True), Levels(texts=True), Levels(folded=True)

    def of_steps(old: Levels, newest: Levels | None = None) -> list[Levels]:
        return [nothing, old, nothing, nothing, old if newest is None else newest]

    assert reached == {
        "tool_media": of_steps(media),
        "said_media": [media, nothing, media, media, nothing],
        "tool_texts": of_steps(texts),
        "tool_results": of_steps(Levels(results=True)),
        "recalled": of_steps(Levels(recalled=True)),
        "said_texts": [nothing, nothing, texts, nothing, nothing],
        "arguments": of_steps(Levels(arguments=True)),
        "folded": of_steps(folded, nothing),
        "said_folded": [nothing, nothing, folded, nothing, nothing],
        "floor": of_steps(Levels(texts=True, arguments=True), nothing),
    }
    # Passages up to the position have the level, and their positions are 2 and 4.
    for name in names:
        for index, position in ((1, 2), (2, 4)):
            before, at = (
                history.levels_at(index, Frontier.model_validate({name: reached_position}))
                for reached_position in (position - 1, position)
            )
            assert (before, at) == (nothing, reached[name][index])


def test_stronger_levels_move_the_weaker_ones() -> None:
    def chain(**positions: int) -> dict[str, object]:
        moved = chain_levels(Frontier.model_validate(positions))
        return {name: at for name, at in moved if at and at != positions.get(name)}

    weaker = ("tool_results", "tool_texts", "tool_media")
    assert [
        chain(folded=3),
        chain(arguments=3),
        chain(tool_results=3),
        chain(tool_texts=3),
        chain(tool_media=3, recalled=3, floor=3, said_media=3),
        chain(said_folded=3),
        chain(folded=2, tool_results=3, tool_media=9),
    ] == [
        dict.fromkeys(("arguments", *weaker), 3),
        dict.fromkeys(weaker, 3),
        dict.fromkeys(weaker[1:], 3),
        {"tool_media": 3},
        {},
        {"said_texts": 3},
        {"arguments": 2, "tool_texts": 3},
    ]
    chained = Frontier(tool_media=3, tool_texts=2, orphans=(7,))
    assert chain_levels(chained) is chained


def test_passages_have_their_indexes_levels_and_folds() -> None:
    turns = [FIRST, calling(2), result(3), calling(4), result(5), spoken(9), *IN_PROGRESS]
    history = history_from(turns)
    counts = FoldSummary(1, 2, steps=2, from_seq=2, to_seq=5, tools={"look": 2})
    first, fold, *others = history.passages_at(Frontier(folded=4, said_media=1))
    assert (first.first, first.stop, first.levels, first.fold) == (0, 1, Levels(media=True), None)
    assert fold == RenderedPassage(1, 3, fold.turns, Levels(folded=True), counts)
    assert others == [
        RenderedPassage(3, 4, (turns[5],), Levels()),
        RenderedPassage(4, 5, IN_PROGRESS, history.levels_at(4, Frontier())),
    ]


def test_floor_is_shortened_up_to_the_frontier() -> None:
    turns = [spoken(1, LONG), calling(2), result(3, text(LONG)), spoken(4, LONG), *IN_PROGRESS]
    history = history_from(turns, most=1_000)
    protected = history.floor_turns(NOTHING_EVICTED)
    assert protected == {0: turns[0], 3: turns[3], 4: turns[4], 5: turns[5]}

    def changed(frontier: Frontier, history: EvictableTurns = history) -> list[int]:
        pairs = zip(turns, history.turns_at(frontier), strict=True)
        return [index for index, (old, new) in enumerate(pairs) if old != new]

    assert [changed(Frontier(floor=at)) for at in (0, 1, 3, 4, 50)] == [
        *([], [0], [0, 2], [0, 2, 3], [0, 2, 3, 5]),
    ]
    assert changed(Frontier(floor=50), history_from(turns)) == [2]


def test_pages_of_calls_are_those_that_they_name() -> None:
    turns = [calling(2, "page_fault", page_id="p"), calling(4, "mcp__x__page_fault", page_id="q")]
    entry = calling(6, "read_text", ref="@entry:3")
    assert find_faulted_pages([*turns, entry, calling(8)]) == {"p", "q"}
