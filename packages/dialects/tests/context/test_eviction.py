"""What of a history gives way, in which order, and what stands in its place."""

from dataclasses import replace

import pytest

from packages.dialects.tests.targets.composed import ID, medium
from pagefault_dialects.context.eviction import ORDER, history_of
from pagefault_dialects.context.token_budget import Load, Weighing, moved, to_be_saved
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    DataItem,
    InlineBytes,
    LeftOut,
    Medium,
    TextItem,
    Turn,
    TurnCall,
    TurnRole,
    Words,
)
from pagefault_dialects.model.frontier import NOTHING_EVICTED, Frontier
from pagefault_dialects.targets.table import TARGETS
from pagefault_dialects.texts.cuts import preview
from pagefault_dialects.turns.text_limits import with_texts_within

EVERYTHING = Frontier.model_validate(dict.fromkeys(ORDER, 1_000))
LONG = "a word " * 500
PICTURE = medium(size_bytes=2_520_000)
REASON = "The conversation has to fit its limits; the oldest gives way."


def said(seq: int, *items: TextItem | Medium, role: str = "user") -> ComposedTurn:
    whose: TurnRole = "assistant" if role == "assistant" else "user"
    return Turn(whose, items, f"/{seq}", seq)


def calling(seq: int, name: str = "look", **arguments: JsonValue) -> ComposedTurn:
    return Turn("assistant", (), f"/{seq}", seq, calls=(TurnCall(f"c{seq}", name, arguments),))


def result(
    seq: int, *items: TextItem | DataItem | Medium, name: str = "look", call: int | None = None
) -> ComposedTurn:
    call_id = f"c{call or seq - 1}"
    return Turn("tool", items, f"/{seq}", seq, call_id=call_id, tool_name=name)


def text(words: str) -> TextItem:
    return TextItem("/parts/0", words)


FIRST = said(1, text("Begin."), PICTURE)
IN_PROGRESS = (calling(50), result(51, text(LONG), PICTURE))


def shown(
    turn: ComposedTurn, *before: ComposedTurn, frontier: Frontier = EVERYTHING
) -> ComposedTurn:
    """An old turn as a frontier has it."""
    history = history_of([FIRST, *before, turn, *IN_PROGRESS])
    return history.evicted(frontier)[1 + len(before)]


def items_of(turn: ComposedTurn, *before: ComposedTurn, **more: int) -> list[object]:
    frontier = Frontier.model_validate(more) if more else EVERYTHING
    return list(shown(turn, *before, frontier=frontier).items)


def test_medium_of_a_result_gives_way_to_a_line_with_the_way_back() -> None:
    line = f'[Image: a.png (2.5 MB), left out to make room: view_media("@blob:{ID}") shows it]'
    assert items_of(result(3, PICTURE), calling(2), tool_media=3) == [
        replace(PICTURE, instead=line, is_evicted=True)
    ]


def test_medium_gives_way_to_its_caption() -> None:
    captioned = replace(PICTURE, words=Words("caption", "A red door."))
    line = f'[Image: a.png (2.5 MB), left out to make room: view_media("@blob:{ID}") shows it]'
    assert items_of(result(3, captioned), calling(2), tool_media=3) == [
        replace(captioned, instead=f"{line}\nA red door.", is_evicted=True)
    ]


def test_medium_that_is_not_stored_apart_gives_way_to_a_line() -> None:
    inline = replace(PICTURE, source=InlineBytes(b"x"), words=Words("transcript", LONG))
    assert items_of(result(3, inline), calling(2), tool_media=3) == [
        replace(
            inline,
            words=None,
            instead="[Image: a.png (2.5 MB), left out to make room]",
            is_evicted=True,
        )
    ]


def test_medium_that_the_user_sent_gives_way_when_there_is_a_newer_message() -> None:
    history = history_of([FIRST, said(3, PICTURE), said(4, text("And?")), *IN_PROGRESS])
    [item] = history.evicted(Frontier(said_media=3))[1].items
    assert isinstance(item, Medium)
    assert item.is_evicted


def test_long_text_of_a_result_gives_way_to_its_beginning() -> None:
    turn = result(3, text(LONG))
    assert items_of(turn, calling(2), tool_texts=3) == [
        LeftOut("/parts/0", "text", "evicted", REASON, to="preview"),
        TextItem(
            "/parts/0",
            f"{LONG[:399]}…\n"
            '[… shortened from 3500 characters; read_text("@entry:3") shows all of it]',
        ),
    ]


def test_preview_gives_way_to_less_of_it_and_names_the_same_blob() -> None:
    preview = (
        f"{'x' * 4_000}\n[… 90 characters left out; the whole text is blob:{ID} …]\n{'y' * 1_000}"
    )
    [_, item] = items_of(result(3, text(preview)), calling(2), tool_texts=3)
    assert isinstance(item, TextItem)
    assert item.text.endswith(
        f'\n[… shortened from 5090 characters; read_text("@blob:{ID}") shows all of it]'
    )


def test_preview_that_gives_way_says_how_long_the_stored_text_is() -> None:
    stored = "a word " * 8_127
    [_, item] = items_of(result(3, text(preview(stored, f"blob:{ID}"))), calling(2), tool_texts=3)
    assert isinstance(item, TextItem)
    assert f"[… shortened from {len(stored)} characters; read_text(" in item.text


@pytest.mark.parametrize("many", [500, 1_200])
def test_text_within_a_limit_that_gives_way_says_how_long_all_of_it_is(many: int) -> None:
    [turn] = with_texts_within([result(3, text("a word " * many))], 2_000)
    [item] = [
        each for each in items_of(turn, calling(2), tool_texts=3) if isinstance(each, TextItem)
    ]
    shown = f'shortened from {7 * many} characters; read_text("@entry:3") shows all of it]'
    assert item.text.endswith(shown)


def test_piece_of_a_page_that_gives_way_says_how_long_the_page_is() -> None:
    fault = calling(2, "page_fault", page_id="p")
    piece = "  [truncated: characters 0 to 3500 of 56889; go on with offset=3500]"
    answer = result(3, text(f"{LONG}\n{piece}"), name="page_fault")
    [_, item] = items_of(answer, fault, tool_texts=3)
    assert isinstance(item, TextItem)
    assert item.text.endswith(
        'shortened from 56889 characters; page_fault("p", 0) shows all of it]'
    )


def test_structured_content_that_is_long_goes_with_the_texts() -> None:
    turn = replace(result(3, DataItem("/meta/structuredContent", [LONG])), structured=([LONG],))
    evicted = shown(turn, calling(2), frontier=Frontier(tool_texts=3))
    assert evicted.structured is None
    assert isinstance(evicted.items[1], TextItem)


def test_old_result_gives_way_to_a_line_that_names_its_media() -> None:
    turn = result(3, text(LONG), PICTURE)
    line = (
        '[The result of "look" was left out: read_text("@entry:3") shows it; '
        f"its media: @blob:{ID}]"
    )
    assert items_of(turn, calling(2)) == [
        LeftOut("", "result", "evicted", REASON, to="line"),
        TextItem("", line),
    ]


def test_page_comes_back_by_a_page_fault() -> None:
    turn = result(3, text(LONG), name="page_fault")
    fault = calling(2, "page_fault", page_id="img_001")
    assert items_of(turn, fault) == [
        LeftOut("", "result", "evicted", REASON, to="line"),
        TextItem(
            "",
            '[The result of "page_fault" was left out: page_fault("img_001", 0) shows it]',
        ),
    ]


def test_pinned_page_stays() -> None:
    turn = result(3, text(LONG), name="page_fault")
    turns = [FIRST, calling(2, "page_fault", page_id="img_001"), turn, *IN_PROGRESS]
    assert history_of(turns, {"img_001"}).evicted(EVERYTHING) == turns


def test_short_result_stays() -> None:
    turn = result(3, text("It is ten."))
    assert items_of(turn, calling(2)) == [text("It is ten.")]


def test_long_words_of_people_give_way_to_their_beginning() -> None:
    told = said(3, text(LONG), role="assistant")
    history = history_of([FIRST, told, said(4, text("Go on.")), *IN_PROGRESS])
    [_, item] = history.evicted(EVERYTHING)[1].items
    assert isinstance(item, TextItem)
    assert item.text.endswith('read_text("@entry:3") shows all of it]')


def test_what_begins_and_what_is_in_progress_stays() -> None:
    system: ComposedTurn = Turn("system", (text(LONG),), "/9", 9)
    newest = said(10, text(LONG), PICTURE)
    turns = [FIRST, system, newest, *IN_PROGRESS]
    assert history_of(turns).evicted(EVERYTHING) == turns


def test_result_of_the_last_call_is_old_once_the_user_has_spoken() -> None:
    turns = [FIRST, *IN_PROGRESS, said(60, text("Thanks."))]
    assert history_of(turns).evicted(EVERYTHING)[2] != IN_PROGRESS[1]


def frontier_after(wanted: Load, *turns: ComposedTurn) -> Frontier:
    history = history_of([FIRST, *turns, *IN_PROGRESS])
    # Nothing is attached: what a medium weighs is only known of one that is.
    weighing = Weighing(TARGETS["text"], [])
    return moved(history, NOTHING_EVICTED, wanted, weighing)


def test_frontier_moves_no_further_than_it_has_to_oldest_first() -> None:
    results = [calling(2), result(3, text(LONG)), calling(4), result(5, text(LONG))]
    assert frontier_after(Load(tokens=100), *results) == Frontier(tool_texts=3)
    assert frontier_after(Load(tokens=1_200), *results) == Frontier(tool_texts=5)
    assert frontier_after(Load(tokens=1_800), *results) == Frontier(tool_texts=5, tool_results=3)


def test_no_text_gives_way_to_media() -> None:
    results = [calling(2), result(3, text(LONG))]
    assert frontier_after(Load(media=3, base64_chars=9), *results) == NOTHING_EVICTED


def test_words_of_people_behind_the_newest_of_the_user_stay() -> None:
    turns = [said(2, text(LONG)), said(3, text(LONG), role="assistant"), calling(4), result(5)]
    assert frontier_after(Load(tokens=9_999), *turns) == NOTHING_EVICTED
    spoken = [*turns, said(6, text("And?"))]
    assert frontier_after(Load(tokens=9_999), *spoken) == Frontier(said_texts=3)


def test_batch_brings_a_load_below_its_limit() -> None:
    assert [
        to_be_saved(100, None, None),
        to_be_saved(100, 100, None),
        to_be_saved(101, 100, None),
        to_be_saved(101, 100, 0),
        to_be_saved(101, 100, 40),
        to_be_saved(101, 100, 400),
    ] == [0, 0, 26, 1, 41, 101]
