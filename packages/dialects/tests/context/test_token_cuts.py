"""Texts cut to tokens."""

from hypothesis import given
from hypothesis import strategies as st

from pagefault_dialects.context.token_cuts import (
    blocks_within,
    chars_within,
    find_token_bound,
    head_and_tail_within,
    lines_within,
    max_result_tokens,
)
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.targets.tokens import BY_AREA, TokenRule, count_tokens
from pagefault_dialects.texts.cuts import Excerpt

words = st.sampled_from(
    ["The quick fox. ", "a" * 50, "日本語の本文", "\U0001f468‍\U0001f469‍\U0001f467", "\n", "e\u0301"]
)
texts = st.lists(words, max_size=400).map("".join)


# Each word is a token, and a piece of the text has 512 of them.
CATS = " cat" * 1_000


def continuation(offset: int) -> str:
    """Return the line that names the next offset."""
    return f"go on at {offset}"


@given(texts, st.integers(0, 2_000))
def test_no_more_characters_are_kept_than_have_that_many_tokens(text: str, most: int) -> None:
    kept = chars_within(text, most)
    assert count_tokens(text[:kept]) <= most
    assert kept == len(text) or count_tokens(text) * 1.01 + 2 > most


@given(texts, st.integers(100, 2_000))
def test_beginning_and_end_fit_and_name_the_next_offset(text: str, most: int) -> None:
    cut = head_and_tail_within(text, most, continuation)
    assert count_tokens(cut.text) <= most
    if cut.text == text:
        assert (cut.end, cut.has_gap) == (len(text), False)
        return
    head, _, rest = cut.text.partition("\n[… ")
    gap, _, tail = rest.rpartition(" …]\n")
    left_out = len(text) - len(head) - len(tail)
    assert gap == f"{left_out} characters left out; go on at {cut.end}"
    assert text[: cut.end] == cut.text[: cut.end]
    assert text.endswith(tail)


def test_cut_of_a_long_text_counts_no_more_than_fits() -> None:
    text = "0 GET /cart 200\n" * 2_000_000
    cut = head_and_tail_within(text, 500, continuation)
    assert 400 <= count_tokens(cut.text) <= 500


def test_lines_are_kept_whole() -> None:
    assert lines_within(["one", "two", "three " * 50], 10) == ["one", "two"]
    assert lines_within(["one"], 10) == ["one"]
    assert lines_within(["one " * 50], 10) == []


def test_answer_takes_half_of_a_budget_in_the_tokens_of_its_target() -> None:
    assert max_result_tokens(None, BY_AREA) == 8_000
    assert max_result_tokens(4_000, BY_AREA) == 2_000
    assert max_result_tokens(4_000, TokenRule(text_percent=125)) == 1_600
    assert max_result_tokens(0, BY_AREA) == 100


def test_bound_of_tokens_is_the_number_of_bytes() -> None:
    assert [find_token_bound(text) for text in ("", "abc", "ä", "\ud800")] == [0, 3, 2, 3]


def test_text_is_cut_between_tokens() -> None:
    # Each word is a token, and so is the space at the end of a beginning.
    assert [chars_within("one two three", most) for most in (0, 1, 2, 3, 13)] == [
        *(0, 2, 5, 13, 13),
    ]
    assert [chars_within(CATS, most) for most in (511, 512, 513, 999, 1_000)] == [
        *(2_044, 2_048, 2_052, 3_996, 4_000),
    ]


def test_cut_keeps_a_beginning_and_an_eighth_at_the_end() -> None:
    gap = "\n[… 2400 characters left out; go on at 1400 …]\n"
    cut = Excerpt(" cat" * 350 + gap + " cat" * 50, 0, 1_400, 4_000, has_gap=True)
    assert head_and_tail_within(CATS, 464, continuation) == cut
    plain = head_and_tail_within(CATS, 464, lambda _: "")
    assert plain.text == cut.text.replace("; go on at 1400", "")
    assert head_and_tail_within(CATS, 10, continuation) == Excerpt(
        "\n[… 4000 characters left out; go on at 0 …]\n", 0, 0, 4_000, has_gap=True
    )
    assert head_and_tail_within(CATS, 1_000, continuation) == Excerpt(CATS, 0, 4_000, 4_000)
    assert head_and_tail_within("one", 3, continuation) == Excerpt("one", 0, 3, 3)


def test_lines_have_a_token_for_their_end() -> None:
    lines = ["one", "two", "three"]
    assert [len(lines_within(lines, most)) for most in (14, 6, 5, 4, 1)] == [3, 3, 2, 2, 0]
    assert lines_within(lines, 14) is lines


def test_texts_of_blocks_share_the_tokens() -> None:
    def cut(most: int) -> str:
        return head_and_tail_within(CATS, most, lambda _: "").text

    short: list[JsonValue] = [{"text": "one", "n": 1}, {"type": "image"}]
    rest = 463 - count_tokens(cut(463))
    blocks = [*short, {"text": CATS, "n": 2}, 7, {"text": CATS}]
    assert blocks_within(blocks, 464) == [
        *short,
        {"text": cut(463), "n": 2},
        7,
        {"text": cut(rest)},
    ]
    assert blocks_within(short, 3) is short
