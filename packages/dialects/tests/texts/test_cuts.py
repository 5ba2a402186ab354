import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from packages.dialects.tests.pages.page_factory import FOX, TEXTS
from pagefault_dialects.text_windows import PREVIEW_LIMIT_CHARS
from pagefault_dialects.texts.cuts import (
    Excerpt,
    cut_short,
    find_boundary_after,
    find_boundary_before,
    find_excerpted_length,
    find_grapheme_end,
    find_whole_text_uri,
    keep_head_and_tail,
    make_preview,
    measure_whole_text,
    needs_preview,
    shorten_text,
    take_excerpt,
    take_sentences,
)

FAMILY = "👨‍👩‍👧"
URI = "blob:" + "0" * 32

SENTENCES = {
    "whole sentences": ("One. Two! Three? Four and more", 20, "One. Two! Three?"),
    "closing quotation mark": ('He said "Go." And then he went', 20, 'He said "Go."'),
    "a number is no end": ("It is 3.14159 and so it goes on", 20, "It is 3.14159 and…"),
    "paragraph": ("A heading\n\nA long sentence follows", 20, "A heading"),
    "no full stop": ("word " * 10, 20, "word word word word…"),
    "one long word": ("x" * 30, 20, "x" * 19 + "…"),
    "ideographs": ("今日。明日。昨日の話をもっと続ける", 10, "今日。明日。"),
    "short text": ("  Hi  ", 20, "  Hi  "),
    "blanks around": (" " * 30 + "Hi", 20, "Hi"),
    "never inside a grapheme": (FAMILY * 10, 14, FAMILY * 2 + "…"),
}


@pytest.mark.parametrize(("text", "limit", "expected"), SENTENCES.values(), ids=SENTENCES)
def test_sentences_that_fit_are_kept_whole(text: str, limit: int, expected: str) -> None:
    assert take_sentences(text, limit) == expected


@given(text=TEXTS, limit=st.integers(2, 300))
def test_sentences_never_exceed_the_limit(text: str, limit: int) -> None:
    assert len(take_sentences(text, limit)) <= max(limit, 2)


def test_head_and_tail_surround_a_line_about_the_rest() -> None:
    text = "a" * 5_000 + "b" * 5_000
    assert keep_head_and_tail(text, 4_000) == (
        "a" * 3_067 + "\n[… 6033 characters left out …]\n" + "b" * 900
    )


@given(text=TEXTS)
def test_head_and_tail_never_exceed_the_limit(text: str) -> None:
    assert len(keep_head_and_tail(text, 1_000)) <= 1_000


@given(text=TEXTS, position=st.integers(0, 300))
def test_boundaries_are_boundaries_of_graphemes(text: str, position: int) -> None:
    boundaries = [0, *(match.end() for match in regex.finditer(r"\X", text))]
    expected = max(boundary for boundary in boundaries if boundary <= min(position, len(text)))
    assert find_boundary_before(text, position) == expected


def test_flags_stay_whole_far_inside_a_run_of_them() -> None:
    assert find_boundary_before("x" + "🇩🇪" * 1_000, 1_002) == 1_001


def test_endless_grapheme_is_cut() -> None:
    assert cut_short("a" + "\u0301" * 1_000, 10) == "a" + "\u0301" * 8 + "…"


EXCERPTS = {
    "all": ("Hello", None, 0, Excerpt("Hello", 0, 5, 5), None),
    "from the start": (
        "Hello",
        2,
        0,
        Excerpt("He", 0, 2, 5),
        "[truncated: characters 0 to 2 of 5; go on with offset=2]",
    ),
    "to the end": (
        "Hello",
        9,
        2,
        Excerpt("llo", 2, 5, 5),
        "[truncated: characters 2 to 5 of 5; this is the end]",
    ),
    "beyond the end": (
        "Hello",
        9,
        7,
        Excerpt("", 5, 5, 5),
        "[nothing is left: the text has 5 characters]",
    ),
    "a grapheme longer than asked for": (
        FAMILY + "!",
        2,
        0,
        Excerpt(FAMILY, 0, 5, 6),
        "[truncated: characters 0 to 5 of 6; go on with offset=5]",
    ),
    "nothing of nothing": ("", 5, 0, Excerpt("", 0, 0, 0), None),
}


@pytest.mark.parametrize(
    ("text", "max_chars", "offset", "expected", "notice"), EXCERPTS.values(), ids=EXCERPTS
)
def test_excerpt_has_a_notice_about_its_place(
    text: str, max_chars: int | None, offset: int, expected: Excerpt, notice: str | None
) -> None:
    piece = take_excerpt(text, max_chars=max_chars, offset=offset)
    assert (piece, piece.notice) == (expected, notice)


@given(text=TEXTS, max_chars=st.integers(1, 200))
def test_excerpts_stepped_through_are_the_whole_text(text: str, max_chars: int) -> None:
    pieces: list[str] = []
    offset: int | None = 0
    while offset is not None:
        piece = take_excerpt(text, max_chars=max_chars, offset=offset)
        pieces.append(piece.text)
        offset = piece.next_offset
    assert "".join(pieces) == text


def test_long_text_is_stepped_through_in_even_pieces() -> None:
    text = FOX * 100
    assert take_excerpt(text, max_chars=45, offset=45) == Excerpt(FOX, 45, 90, 4_500)


@pytest.mark.parametrize(
    ("position", "before", "after"),
    [
        *((0, 0, 0), (1, 1, 1), (2, 1, 6), (5, 1, 6), (6, 6, 6), (7, 7, 7), (8, 7, 9), (9, 9, 9)),
        *((10, 10, 10), (11, 11, 11), (12, 11, 11), (-1, -1, -1)),
    ],
)
def test_boundaries_around_a_position(position: int, before: int, after: int) -> None:
    text = f"a{FAMILY}b\r\ncd"
    assert find_boundary_before(text, position) == before
    if position <= len(text):
        assert find_boundary_after(text, position) == after


def test_end_of_a_grapheme() -> None:
    assert find_grapheme_end(f"a{FAMILY}b", 1) == 6
    assert find_grapheme_end("ab", 1) == 2
    assert find_grapheme_end("ab", 2) == 2
    # An endless one has as many characters as are looked at.
    assert find_grapheme_end("a" + "\u0301" * 1_000, 0) == 256


@pytest.mark.parametrize("before", ["", "x", "xy", "\n", "🇩🇪", "🇩", "é"])
def test_pairs_of_flags_are_counted_from_the_start_of_their_run(before: str) -> None:
    text = before + "🇩🇪" * 400
    boundaries = [0, *(match.end() for match in regex.finditer(r"\X", text))]
    for position in range(500, 520):
        expected = max(boundary for boundary in boundaries if boundary <= position)
        assert find_boundary_before(text, position) == expected, position


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("abcd", 1, "…"),
        (f"ab{FAMILY}", 4, "ab…"),
        ("One. Two.", 9, "One. Two."),
        (" One. Two. ", 9, "One. Two."),
        ("One. Two. ", 8, "One."),
        ("One.Two.Three", 8, "One.Two…"),
        ("ab cd", 3, "ab…"),
        ("ab\tcd ef", 4, "ab…"),
        ("ab\ncd ef", 4, "ab…"),
        (" abcdef", 3, "ab…"),
    ],
)
def test_short_limits(text: str, limit: int, expected: str) -> None:
    cut = take_sentences if " " in text or "." in text or len(text) > 6 else cut_short
    assert cut(text, limit) == expected


@pytest.mark.parametrize("length", [999, 1_000])
def test_text_as_long_as_its_limit_is_whole(length: int) -> None:
    text = "x" * length
    assert (keep_head_and_tail(text, 1_000), cut_short(text, 1_000)) == (text, text)
    assert keep_head_and_tail("x" * 1_001, 1_000) != "x" * 1_001


def test_long_text_needs_a_preview_which_names_the_whole() -> None:
    assert needs_preview("x" * (PREVIEW_LIMIT_CHARS + 1))
    assert not needs_preview("x" * PREVIEW_LIMIT_CHARS)
    text = "a" * 4_000 + "b" * 20_000 + "c" * 1_000
    shown = make_preview(text, URI)
    line = f"\n[… 20000 characters left out; the whole text is {URI} …]\n"
    assert shown == "a" * 4_000 + line + "c" * 1_000
    assert (find_whole_text_uri(shown), measure_whole_text(shown)) == (URI, 25_000)
    assert (find_whole_text_uri(text), measure_whole_text(text)) == (None, 25_000)


@pytest.mark.parametrize(
    ("head", "tail", "is_preview"),
    [
        *((2_000, 1_000, True), (1_000, 1_000, True), (900, 900, False)),
        *((4_000, 1_000, True), (6_000, 1_000, False)),
    ],
)
def test_preview_has_the_length_of_one(head: int, tail: int, is_preview: bool) -> None:
    line = f"\n[… 7 characters left out; the whole text is {URI} …]\n"
    text = "a" * head + line + "c" * tail
    assert find_whole_text_uri(text) == (URI if is_preview else None)
    assert measure_whole_text(text) == (head + 7 + tail if is_preview else len(text))


def test_text_is_shortened_to_half_and_an_eighth_of_its_limit() -> None:
    text = "a" * 500 + "b" * 500
    sentence = "\n[… 938 characters left out; read_text(7) shows all of it …]\n"
    assert shorten_text(text, 100, "read_text(7)") == "a" * 50 + sentence + "b" * 12
    assert shorten_text(text, 100, "") == (
        "a" * 50 + "\n[… 938 characters left out …]\n" + "b" * 12
    )


@pytest.mark.parametrize(
    ("limit", "head", "tail"), [(4_000, 2_000, 500), (20_000, 4_000, 1_000), (400, 200, 50)]
)
def test_preview_becomes_a_shorter_preview(limit: int, head: int, tail: int) -> None:
    shown = make_preview("a" * 4_000 + "b" * 20_000 + "c" * 1_000, URI)
    left_out = 25_000 - head - tail
    line = f"\n[… {left_out} characters left out; the whole text is {URI} …]\n"
    assert shorten_text(shown, limit, "read_text(7)") == "a" * head + line + "c" * tail


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("He\n[truncated: characters 0 to 2 of 5; go on with offset=2]", 5),
        ("lo\n[truncated: characters 3 to 5 of 5; this is the end]", 5),
        ("[truncated: characters 3 to 5 of 17]", 17),
        ("[truncated: characters 3 to 5 of 17]" + "x" * 164, 17),
        ("[truncated: characters 3 to 5 of 17]" + "x" * 165, None),
        ("x" * 1_000 + "[truncated: characters 3 to 5 of 17]", 17),
        ("[truncated: characters 3 to 5 of 17.", None),
        ("Hello", None),
        ("", None),
    ],
)
def test_excerpt_names_the_length_of_its_text(text: str, length: int | None) -> None:
    assert find_excerpted_length(text) == length


@pytest.mark.parametrize(
    ("max_chars", "offset", "expected"),
    [
        (5, 0, Excerpt("Hello", 0, 5, 5)),
        (0, 0, Excerpt("H", 0, 1, 5)),
        (1, -3, Excerpt("H", 0, 1, 5)),
        (4, 1, Excerpt("ello", 1, 5, 5)),
        (3, 1, Excerpt("ell", 1, 4, 5)),
        (None, 4, Excerpt("o", 4, 5, 5)),
    ],
)
def test_excerpt_has_at_least_a_character(
    max_chars: int | None, offset: int, expected: Excerpt
) -> None:
    assert take_excerpt("Hello", max_chars=max_chars, offset=offset) == expected


def test_excerpt_with_a_gap_has_its_notice_inside() -> None:
    assert Excerpt("a", 0, 1, 9, has_gap=True).notice is None
