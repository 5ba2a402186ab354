"""Snippets: the passage of a text by which a search has found it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.words.search_terms import fold, parse_search
from app.words.snippets import Passages
from pagefault_dialects.errors import InvalidPayloadError

LOREM = "lorem ipsum dolor sit amet consetetur sadipscing elitr sed diam nonumy eirmod tempor "


@pytest.mark.parametrize(
    ("fields", "query", "expected"),
    [
        (["Hello, the Café is open."], "cafe", "Hello, the Café is open."),
        (["nothing", "in the SECOND field"], "second", "in the SECOND field"),
        (["the second", "the first"], "first second", "the second"),
        (["one\n\n  two\tthree"], "two", "one two three"),
        (["foobar foo"], "foo*", "foobar foo"),
        (["ﬁsh and chips"], "fish", "ﬁsh and chips"),
        (["page-fault"], "page_fault", "page-fault"),
        (["東京タワー"], "京タ", "東京タワー"),
        (["abc中文"], "中文", "abc中文"),
        (["e\u0301te\u0301"], "été", "e\u0301te\u0301"),
        (["x" * 200], "x" * 200, "x" * 160 + "…"),
        (["the page fault"], '"page fault"', "the page fault"),
        ([], "red", None),
        (["", "nothing"], "red", None),
        (["foobar"], "foo", None),
        (["foobar barfoo " * 40 + "foo"], "foo", "…" + "foobar barfoo " * 11 + "foo"),
        (["foobar barfoo " * 40 + "é"], "foo", None),
        (
            ["page of " * 40 + "page fault"],
            '"page fault" nothing',
            "…of " + "page of " * 18 + "page fault",
        ),
        (["page of a fault"], "page_fault", None),
        (["東 \ue001"], "京", None),
    ],
)
def test_snippet_is_the_passage_with_the_match(
    fields: list[str], query: str, expected: str | None
) -> None:
    assert Passages(parse_search(query)).find(fields) == expected


@pytest.mark.parametrize("word", ["zebra", "Zébra", "\uff3a\uff45\uff42\uff52\uff41"])
def test_long_text_is_cut_between_words_on_both_sides(word: str) -> None:
    shown = Passages(parse_search("zebra")).find([LOREM * 9 + word + " " + LOREM * 9])
    assert shown is not None
    assert (shown[0], shown[-1]) == ("…", "…")
    assert word in shown
    assert len(shown) <= 162
    assert set(shown[1:-1].split()) <= {word, *LOREM.split()}


def test_snippet_is_as_long_as_asked() -> None:
    shown = Passages(parse_search("dolor"), length=40).find([LOREM * 9])
    assert shown == "…ipsum dolor sit amet consetetur…"


def test_no_letter_is_parted_from_its_marks() -> None:
    shown = Passages(parse_search("東")).find(["กิ" * 500 + "東" + "ข้" * 500])
    assert shown is not None
    assert shown[1:-1].replace("กิ", "").replace("ข้", "") == "東"


def test_match_far_behind_in_a_long_text_is_found() -> None:
    shown = Passages(parse_search("zebra"), length=20).find(["é ﬁ ß " * 300_000 + "zebra"])
    assert shown == "…ß é ﬁ ß é ﬁ ß zebra"


@given(st.text(alphabet=st.characters(), max_size=300), st.text(max_size=20))
def test_snippet_is_part_of_the_text_and_one_line(text: str, query: str) -> None:
    try:
        asked = parse_search(query)
    except InvalidPayloadError:
        return
    shown = Passages(asked, length=30).find([text])
    if shown is not None:
        assert "\n" not in shown
        assert shown.strip("… ") in " ".join(text.split())


@given(st.text(alphabet="aé́ﬁß東が゙ \n_-ก้Ⅳ한", max_size=200), st.data())
def test_every_word_of_a_text_has_a_snippet(text: str, data: st.DataObject) -> None:
    words = [word for word in text.split() if fold(word).strip("_-\u0301\u0e49\u3099")]
    if not words:
        return
    word = data.draw(st.sampled_from(words))
    try:
        asked = parse_search(word)
    except InvalidPayloadError:
        return
    assert Passages(asked).find([text]) is not None
