"""Texts in windows give the same results as whole texts; encodings of texts by their marks."""

import codecs
import re
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagefault_dialects import text_windows
from pagefault_dialects.text_windows import (
    LineRange,
    decode_text,
    is_wide,
    match_end,
    parse_line_range,
    percent_decoded,
    search_windows,
    text_decoder,
    text_encoding,
    windows,
    without_lone_surrogates,
)


@pytest.fixture(autouse=True)
def _small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_windows, "WINDOW_CHARS", 4)


def test_windows_are_the_text_in_pieces() -> None:
    assert [[*windows(text)] for text in ("", "abc", "abcd", "abcdefghi")] == [
        [],
        ["abc"],
        ["abcd"],
        ["abcd", "efgh", "i"],
    ]


_FEW = st.text("ab-", max_size=14)


@settings(max_examples=40)
@given(text=_FEW, start=st.integers(0, 9), end=st.integers(0, 16))
def test_search_in_windows_finds_the_first_match(text: str, start: int, end: int) -> None:
    pattern = re.compile("ab?b?-")
    found = search_windows(pattern, text, start, min(end, len(text)), reach=4)
    expected = pattern.search(text, start, min(end, len(text)))
    assert (found and found.span()) == (expected and expected.span())


def test_search_in_windows_reads_no_further_than_its_reach() -> None:
    pattern = re.compile("b-+")
    assert search_windows(pattern, "aaab----", 0, 8, reach=2) is not None
    assert search_windows(re.compile("b--+"), "aaab----", 0, 8, reach=1) is None
    assert search_windows(pattern, "aaab----", 0, 3, reach=9) is None


def test_match_ends_at_its_end_or_at_its_start() -> None:
    pattern = re.compile("b+")
    places = [(0, 4), (1, 4), (1, 2), (3, 4)]
    assert [match_end(pattern, "abba", start, end) for start, end in places] == [0, 3, 2, 3]


@settings(max_examples=40)
@given(st.lists(st.sampled_from([b"%41", b"%", b"%4", b"4", b"%zz", b"%25"]), max_size=9))
def test_percent_escapes_are_decoded_across_windows(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    assert percent_decoded(data) == unquote_to_bytes(data)


def test_lone_surrogates_are_replaced_in_every_window() -> None:
    assert without_lone_surrogates("aé\ud800bcdef\udfff") == "aé\ufffdbcdef\ufffd"


def test_encoding_follows_from_the_byte_order_mark() -> None:
    text = "aé\n😀"
    for mark, name in (
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
        (codecs.BOM_UTF8, "utf-8-sig"),
        (b"", "utf-8-sig"),
    ):
        order = "-be" if mark in (codecs.BOM_UTF32_BE, codecs.BOM_UTF16_BE) else "-le"
        data = mark + text.encode("utf-8" if name == "utf-8-sig" else name + order)
        assert (text_encoding(data[:4]), decode_text(data)) == (name, text)
        assert text_decoder(name).decode(data, final=True) == text
    names = ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "utf-32-be", "latin-1")
    assert [is_wide(name) for name in names] == [False, True, True, True, True, False]
    assert (decode_text(b"a\xff"), text_decoder("utf-8").decode(b"a\xff")) == ("a\ufffd", "a\ufffd")
    with pytest.raises(UnicodeDecodeError):
        text_decoder("utf-8", "strict").decode(b"\xff")


def test_range_of_lines_is_read_and_limited_to_the_text() -> None:
    texts = ["3", "3-", "3-5", "3-3", "5-3", "-5", "0", "x"]
    assert [parse_line_range(text) for text in texts] == [
        LineRange(3, 3),
        LineRange(3),
        LineRange(3, 5),
        LineRange(3, 3),
        None,
        LineRange(tail=5),
        None,
        None,
    ]
    ranges = [
        LineRange(),
        LineRange(3),
        LineRange(3, 5),
        LineRange(tail=4),
        LineRange(2, 3, tail=9),
    ]
    assert [line_range.within(4) for line_range in ranges] == [
        (1, 4),
        (3, 4),
        (3, 4),
        (1, 4),
        (1, 4),
    ]
    assert LineRange(tail=1).within(4) == (4, 4)
