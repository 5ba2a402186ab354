"""Texts cut to tokens."""

from hypothesis import given
from hypothesis import strategies as st

from pagefault_dialects.context.token_cuts import (
    chars_within,
    head_and_tail_within,
    lines_within,
    max_result_tokens,
)
from pagefault_dialects.targets.tokens import BY_AREA, TokenRule, count_tokens

words = st.sampled_from(
    ["The quick fox. ", "a" * 50, "日本語の本文", "\U0001f468‍\U0001f469‍\U0001f467", "\n", "e\u0301"]
)
texts = st.lists(words, max_size=400).map("".join)


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
