"""Long texts of results are shortened, with a note; those that a model asked for are not."""

from dataclasses import replace

from pagefault_dialects.model.conversation import (
    ComposedTurn,
    DataItem,
    NativeBlock,
    Omission,
    TextItem,
    Turn,
    TurnCall,
)
from pagefault_dialects.texts.cuts import make_preview, shorten_text
from pagefault_dialects.turns.text_limits import find_limited_results, shorten_texts

URI = f"blob:{'0123456789abcdef' * 2}"
LONG = "a long text. " * 1_000
BLOCK = NativeBlock("anthropic", {}, 1, ("m",))


def result(
    call_id: str, *texts: str, origin: str = "/api/sessions/s", seq: int | None = 3
) -> ComposedTurn:
    items = tuple(TextItem(f"/{index}", text, block=BLOCK) for index, text in enumerate(texts))
    return Turn("tool", items, origin, seq, call_id=call_id, tool_name="f")


def test_results_have_a_limit_unless_they_recall_a_page_or_a_text() -> None:
    recall = TurnCall("r", "mcp__pagefault__read_text", {"ref": "@entry:1"})
    turns: list[ComposedTurn] = [
        Turn("user", ()),
        Turn("assistant", (), calls=(recall, TurnCall("c", "f", {}))),
        result("r", LONG),
        result("c", LONG),
    ]
    assert find_limited_results(turns) == {3: turns[3]}


def test_long_text_has_a_preview_a_handle_and_a_note() -> None:
    turns: list[ComposedTurn] = [Turn("user", (TextItem("", LONG),)), result("c", "short", LONG)]
    asked, answered = shorten_texts(turns, 1_000)
    assert asked is turns[0]
    preview = shorten_text(LONG, 1_000, 'read_text("@entry:3")')
    assert answered == replace(
        turns[1],
        items=(
            turns[1].items[0],
            TextItem("/1", preview, "@entry:3", 13_000),
            Omission(
                "/1",
                "text",
                "text-too-long",
                "Texts of up to 1000 characters are shown whole, and this has 13000.",
                to="preview",
            ),
        ),
    )
    first, second, note = answered.items
    assert isinstance(first, TextItem)
    assert isinstance(second, TextItem)
    assert isinstance(note, Omission)
    assert (first.block, second.block, note.block) == (BLOCK, None, BLOCK)


def test_turn_within_the_limit_stays_the_same_object() -> None:
    turn = replace(result("c", "x" * 1_000), items=(TextItem("", "x" * 1_000), DataItem("", {})))
    assert shorten_texts([turn], 1_000)[0] is turn


def test_text_outside_of_a_session_has_no_handle() -> None:
    (shortened,) = shorten_texts([result("c", LONG, origin="", seq=3)], 1_000)
    (text, _) = shortened.items
    assert text == TextItem("/0", shorten_text(LONG, 1_000, ""), None, 13_000)


def test_text_that_models_see_in_full_has_no_handle() -> None:
    short = "word " * 500
    (shortened,) = shorten_texts([result("c", short)], 1_000)
    text = shortened.items[0]
    assert isinstance(text, TextItem)
    assert (text.handle, text.whole_chars) == (None, 2_500)


def test_preview_is_replaced_by_the_whole_text_if_that_was_loaded() -> None:
    preview = make_preview(LONG, URI)
    (whole,) = shorten_texts([result("c", preview)], 20_000, {preview: LONG})
    (again,) = shorten_texts([result("c", preview)], 1_000, {preview: LONG})
    assert whole.items == (TextItem("/0", LONG, f"@{URI}"),)
    assert isinstance(whole.items[0], TextItem)
    assert whole.items[0].block is None
    assert again.items[0] == TextItem(
        "/0", shorten_text(LONG, 1_000, 'read_text("@entry:3")'), f"@{URI}", 13_000
    )
