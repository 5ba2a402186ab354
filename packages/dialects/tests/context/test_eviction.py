"""Eviction: its order, and the lines that replace evicted content."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest

from packages.dialects.tests.targets.composed import ID, medium
from pagefault_dialects.context.eviction import EvictableTurns, prepare_eviction
from pagefault_dialects.context.frontier_moves import advance_frontier
from pagefault_dialects.context.load_meter import Load, LoadMeter
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
