"""Words of texts and terms of queries."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.words.search_terms import (
    MAX_QUERY_WORDS,
    MAX_WORD_CHARS,
    TEXT_BREAK,
    SearchableText,
    SearchQuery,
    SearchTerm,
    SearchWords,
    fold,
    ids_in,
    parse_search,
    search_words,
    split_words,
)
from app.words.stems import stem
from pagefault_dialects.errors import InvalidPayloadError


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Le Café, 2 ÉTÉS", ["le", "cafe", "2", "etes"]),
        ("file_name-v1.2/x", ["file", "name", "v1", "2", "x"]),
        ("東京タワーtower", ["東", "京", "タ", "ワ", "ー", "tower"]),
        ("ｶﾞｷﾞ がぎ", ["ガ", "ギ", "が", "ぎ"]),
        ("กินข้าว", ["กิ", "น", "ข้", "า", "ว"]),
        ("한국어 문서", ["한국어", "문서"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("ﬁne ㎏ ① Straße İ", ["fine", "kg", "1", "strasse", "i"]),
        ("co\u00adoperate क्\u200dष", ["cooperate", "क्ष"]),
        ("مُحَمَّد שָׁלוֹם", ["محمد", "שלום"]),
        ("❤\ufe0f 👩\u200d👩 …", []),
        ("a\x00b \ud800c \ue000d", ["a", "b", "c", "d"]),
        ("x" * 300, ["x" * MAX_WORD_CHARS]),
        ("", []),
    ],
)
def test_words_are_runs_of_letters_and_digits_without_case_and_accents(
    text: str, words: list[str]
) -> None:
    assert list(split_words(text)) == words


@given(st.text(alphabet=st.characters()))
@example("\u0345\u0301")
@example("\u1e9e\u0130\u03a3")
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(st.text(alphabet=st.characters()))
def test_words_hold_nothing_that_a_database_reads_as_syntax(text: str) -> None:
    for word in split_words(text):
        assert not set(word) & set(" \"'\\*():&|!<>\x00" + TEXT_BREAK)
        assert word.encode()


def test_tower_of_marks_is_folded_in_time() -> None:
    assert len(fold("a" + "\u093c\u0951" * 1_000_000)) == 31


def test_texts_of_a_field_are_kept_apart() -> None:
    words = search_words(SearchableText(("A b", "...", "c"), ("d", "e")))
    assert words == SearchWords(f"a b {TEXT_BREAK} c", f"d {TEXT_BREAK} e")


@given(st.lists(st.text(alphabet=st.characters(max_codepoint=127)), max_size=3))
@example(["running " + "x" * 300, "...", "sunsets Sunset"])
def test_words_of_plain_texts_are_those_beside_any_other(texts: list[str]) -> None:
    alone = search_words(SearchableText(("Sunsets",), tuple(texts)))
    beside = search_words(SearchableText(("Sunsets",), (*texts, "É")))
    words = " ".join(filter(None, [alone.text, alone.text and TEXT_BREAK, "e"]))
    assert beside == SearchWords(alone.heading, words, alone.stems)


def test_words_that_do_not_fit_are_left_out_from_the_end() -> None:
    text = " ".join(f"{number:07x}" for number in range(200_000))
    kept = search_words(SearchableText(("heading",), (text, "behind"))).text.split()
    assert kept == text.split()[: len(kept)]
    assert len(kept) == (1_000_000 - 12 - 9) // 12


def term(*words: str, is_prefix: bool = False) -> SearchTerm:
    return SearchTerm(words, is_prefix)


def quoted(*words: str) -> SearchTerm:
    return SearchTerm(words, is_quoted=True)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Red  BLUE", [term("red"), term("blue")]),
        ("red red", [term("red")]),
        ('"red blue" green', [quoted("red", "blue"), term("green")]),
        ('red"blue green"', [term("red"), quoted("blue", "green")]),
        ('"red blue', [quoted("red", "blue")]),
        ('"" "." red', [term("red")]),
        ("page_fault.py", [term("page", "fault", "py")]),
        ("東京 x", [term("東", "京"), term("x")]),
        ("colo*", [term("colo", is_prefix=True)]),
        ("page_fau*", [term("page", "fau", is_prefix=True)]),
        ("colo** *", [term("colo", is_prefix=True)]),
        ('"colo*"', [quoted("colo")]),
        ("f(x)* a*b", [term("f", "x"), term("a", "b")]),
        ("東京*", [term("東", "京")]),
        ("red AND NOT (blue)", [term("red"), term("blue")]),
        ("What is the king's name?", [term("king"), term("name")]),
        ("What\u2019s on file_name.txt?", [term("file", "name", "txt")]),
        ("to be or not to be", [term("to"), term("be"), term("or"), term("not")]),
        ('"the who"', [quoted("the", "who")]),
    ],
)
def test_query_is_read_as_its_writer_means_it(text: str, terms: list[SearchTerm]) -> None:
    assert parse_search(text) == SearchQuery(tuple(terms))


@pytest.mark.parametrize("text", ["", "  ", '""', "*", "...", "\x00\ud800", "👩", "-- ' \" * ("])
def test_query_without_a_word_is_refused(text: str) -> None:
    with pytest.raises(InvalidPayloadError, match="no word to search for"):
        parse_search(text)


@pytest.mark.parametrize("text", ["a*", "red bl*", "page_f*"])
def test_prefix_that_most_words_have_is_refused(text: str) -> None:
    with pytest.raises(InvalidPayloadError, match="at least 3 characters"):
        parse_search(text)


@pytest.mark.parametrize(
    "text",
    [" ".join(f"w{n}" for n in range(1_000)), "字" * 10_000, f'"{"a b " * 5_000}"', "a-" * 5_000],
)
def test_long_query_is_cut(text: str) -> None:
    terms = parse_search(text).terms
    assert sum(len(item.words) for item in terms) == MAX_QUERY_WORDS


@pytest.mark.parametrize(
    ("words", "stemmed"),
    [
        ("sunset sunsets", "sunset"),
        ("run running runs", "run"),
        ("happy happiness", "happi"),
        ("possible possibility", "possibl"),
        (
            "\u043a\u043d\u0438\u0433\u0430 \u043a\u043d\u0438\u0433\u0438",
            "\u043a\u043d\u0438\u0433",
        ),
        ("v2", "v2"),
        ("\u6771", "\u6771"),
    ],
)
def test_forms_of_a_word_have_one_stem(words: str, stemmed: str) -> None:
    assert {stem(word) for word in words.split()} == {stemmed}


def test_stems_are_indexed_beside_words_that_are_not_their_own() -> None:
    words = search_words(SearchableText(("Sunsets",), ("a sunset, the runs and running of v2s",)))
    assert words.stems == "sunset run"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("sunse", [term("sunse", is_prefix=True)]),
        ("ab", []),
        ("\u6771", []),
        ("the_king-s.py", [term("king"), term("py")]),
        ("\u6771\u4eac\u90fd", [term("\u6771", "\u4eac"), term("\u4eac", "\u90fd")]),
        ("\u6771\u4eac", []),
        ('"the king"', []),
        ("kin*", []),
    ],
)
def test_term_that_nothing_has_is_looked_for_in_parts(text: str, parts: list[SearchTerm]) -> None:
    (asked,) = parse_search(text).terms
    assert list(asked.relaxed()) == parts


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("img_001", ["img_001"]),
        ("show me (img_001), please", ["img_001"]),
        (" sunset ", ["sunset"]),
        ("red sunset", []),
        (f"@blob:{'0' * 32}", [f"blob:{'0' * 32}"]),
        ("a" * 200 + "1", []),
    ],
)
def test_ids_are_seen_among_words(text: str, ids: list[str]) -> None:
    assert ids_in(text) == ids
