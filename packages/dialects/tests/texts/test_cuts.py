import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from packages.dialects.tests.pages.page_factory import FOX, TEXTS
from pagefault_dialects.texts.cuts import (
    Excerpt,
    boundary_at_or_before,
    cut_short,
    excerpt,
    head_and_tail,
    sentences,
)

FAMILY = "👨‍👩‍👧"

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
    assert sentences(text, limit) == expected


@given(text=TEXTS, limit=st.integers(2, 300))
def test_sentences_never_exceed_the_limit(text: str, limit: int) -> None:
    assert len(sentences(text, limit)) <= max(limit, 2)


def test_head_and_tail_surround_a_line_about_the_rest() -> None:
    text = "a" * 5_000 + "b" * 5_000
    assert head_and_tail(text, 4_000) == (
        "a" * 3_067 + "\n[… 6033 characters left out …]\n" + "b" * 900
    )


@given(text=TEXTS)
def test_head_and_tail_never_exceed_the_limit(text: str) -> None:
    assert len(head_and_tail(text, 1_000)) <= 1_000


@given(text=TEXTS, position=st.integers(0, 300))
def test_boundaries_are_boundaries_of_graphemes(text: str, position: int) -> None:
    boundaries = [0, *(match.end() for match in regex.finditer(r"\X", text))]
    expected = max(boundary for boundary in boundaries if boundary <= min(position, len(text)))
    assert boundary_at_or_before(text, position) == expected


def test_flags_stay_whole_far_inside_a_run_of_them() -> None:
    assert boundary_at_or_before("x" + "🇩🇪" * 1_000, 1_002) == 1_001


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
    piece = excerpt(text, max_chars=max_chars, offset=offset)
    assert (piece, piece.notice) == (expected, notice)


@given(text=TEXTS, max_chars=st.integers(1, 200))
def test_excerpts_stepped_through_are_the_whole_text(text: str, max_chars: int) -> None:
    pieces: list[str] = []
    offset: int | None = 0
    while offset is not None:
        piece = excerpt(text, max_chars=max_chars, offset=offset)
        pieces.append(piece.text)
        offset = piece.next_offset
    assert "".join(pieces) == text


def test_long_text_is_stepped_through_in_even_pieces() -> None:
    text = FOX * 100
    assert excerpt(text, max_chars=45, offset=45) == Excerpt(FOX, 45, 90, 4_500)
