"""Lines and matches do not depend on the chunks of a text, and fit into one answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault_dialects.text_windows import text_decoder
from pagefault_dialects.texts.excerpts import (
    LONGEST_LINE_CHARS,
    LONGEST_SHOWN_CHARS,
    RESPONSE_BYTES,
    LineCollector,
    LineExcerpt,
    MatchCollector,
    Matches,
)
from pagefault_dialects.texts.line_blocks import (
    LONGEST_WHOLE_LINE_CHARS,
    LineBlock,
    LineBlockSplitter,
    LineIndex,
    LineIndexer,
)

TEXTS = st.text(alphabet="ab\r\n\u00e9\U0001f600", max_size=60)
CUTS = st.lists(st.integers(1, 7), max_size=40)


def pieces(data: bytes, sizes: list[int]) -> list[bytes]:
    """Return bytes in pieces of these sizes and a last one; the first has room for a mark."""
    cut, start = [], 0
    for size in [4, *sizes]:
        cut.append(data[start : start + size])
        start += size
    return [piece for piece in [*cut, data[start:]] if piece]


def lines_of(text: str) -> list[str]:
    """Return the expected lines, by a simple implementation."""
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]


def fed(
    chunks: list[bytes], collector: LineCollector | MatchCollector, encoding: str = "utf-8-sig"
) -> None:
    decoder, blocks = text_decoder(encoding), LineBlockSplitter()
    for number, chunk in enumerate([*chunks, b""]):
        for block in blocks.feed(decoder.decode(chunk, final=number == len(chunks))):
            collector.feed(block)
    for block in blocks.finish():
        collector.feed(block)


def excerpt(chunks: list[bytes], first: int, last: int) -> LineExcerpt:
    collector = LineCollector(first, last)
    fed(chunks, collector)
    return collector.finish()


def matches(
    chunks: list[bytes],
    words: str,
    *,
    ignore_case: bool = False,
    context: int = 0,
    first: int = 1,
    last: int = 10**9,
) -> Matches:
    collector = MatchCollector(
        words, ignore_case=ignore_case, context=context, first=first, last=last
    )
    fed(chunks, collector)
    return collector.finish()


def index(chunks: list[bytes]) -> LineIndex:
    indexer = LineIndexer()
    for chunk in chunks:
        indexer.feed(chunk)
    return indexer.finish()


@given(TEXTS, CUTS, st.integers(1, 6), st.integers(1, 9))
def test_lines_do_not_depend_on_chunks(text: str, sizes: list[int], first: int, last: int) -> None:
    found = excerpt(pieces(text.encode(), sizes), first, last)
    assert found == LineExcerpt(first, tuple(lines_of(text)[first - 1 : last]), (), None)


@given(TEXTS, CUTS, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]))
def test_lines_are_counted_in_every_encoding(text: str, sizes: list[int], encoding: str) -> None:
    assert index(pieces(text.encode(encoding), sizes)).total_lines == len(lines_of(text))


@given(TEXTS, CUTS, st.sampled_from(["a", "ab", "\u00e9"]), st.integers(0, 2))
def test_matches_do_not_depend_on_chunks(
    text: str, sizes: list[int], words: str, context: int
) -> None:
    lines = lines_of(text)
    found = matches(pieces(text.encode(), sizes), words, context=context)
    expected = [
        (
            number,
            line,
            lines[max(0, number - 1 - context) : number - 1],
            lines[number : number + context],
        )
        for number, line in enumerate(lines, 1)
        if words in line
    ]
    found_matches = [(part.line, part.text, part.before, part.after) for part in found.found]
    assert (found_matches, found.total, found.next_line) == (expected, len(expected), None)


def test_index_leads_to_a_place_before_every_line() -> None:
    text = b"".join(b"line %d\n" % number for number in range(400_000))
    chunks = [text[start : start + 300_000] for start in range(0, len(text), 300_000)]
    found = index(chunks)
    assert (found.total_lines, len(found.offsets)) == (400_000, 5)
    for line in (1, 2, 100_000, 123_456, 400_000):
        offset, at = found.find_checkpoint(line)
        begins = text.index(b"line %d\n" % (line - 1))
        assert offset <= begins < offset + 1_300_000
        assert at == text.count(b"\n", 0, offset) + 1
        assert at < line or offset == 0


def test_long_line_is_cut_with_a_note_and_the_others_are_not() -> None:
    long = "e\u0301" * (LONGEST_WHOLE_LINE_CHARS + 1)
    text = f"a\r\n{long}\r\nb".encode()
    chunks = [text[start : start + 100_001] for start in range(0, len(text), 100_001)]
    found = excerpt(chunks, 1, 3)
    head = "e\u0301" * (LONGEST_LINE_CHARS // 2)
    left_out = len(long) - LONGEST_LINE_CHARS
    assert found == LineExcerpt(
        1, ("a", f"{head}[… {left_out} more characters in this line …]", "b"), (2,), None
    )
    assert excerpt(chunks, 3, 3).lines == ("b",)


def test_character_is_never_cut_in_two() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    line = "x" * (LONGEST_LINE_CHARS - 2) + family
    found = excerpt([line.encode()], 1, 1)
    assert found.lines == (f"{line[: LONGEST_LINE_CHARS - 2]}[… 5 more characters in this line …]",)


def test_lines_that_do_not_fit_are_in_the_next_answer() -> None:
    text = ("x" * 999 + "\n").encode() * 100
    found = excerpt([text], 10, 90)
    assert len(found.lines) == RESPONSE_BYTES // 1_000
    assert found.next_line == 10 + len(found.lines)
    rest = excerpt([text], found.next_line or 0, 90)
    assert (len(found.lines) + len(rest.lines), rest.next_line) == (81, None)


def test_match_in_a_long_line_is_returned_with_its_context() -> None:
    long = "y" * LONGEST_WHOLE_LINE_CHARS * 2 + "needle" + "z" * 5_000
    text = f"a\n{long}\nneedle\n".encode()
    for size in (50_000, 1_000_003, LONGEST_WHOLE_LINE_CHARS * 2 + 5):
        chunks = [text[start : start + size] for start in range(0, len(text), size)]
        found = matches(chunks, "needle")
        assert [item.line for item in found.found] == [2, 3]
        assert found.total == 2
        match_text = found.found[0].text
        assert "yneedle" in match_text
        assert len(match_text) <= LONGEST_SHOWN_CHARS


def test_case_is_folded_and_not_only_lowered() -> None:
    text = "Stra\u00dfe\nSTRASSE\nstrase\n".encode()
    found = matches([text], "strasse", ignore_case=True)
    assert [item.line for item in found.found] == [1, 2]
    far = ("\u00df" * 2_000 + "needle" + "x" * 2_000).encode()
    assert "needle" in matches([far], "NEEDLE", ignore_case=True).found[0].text


def test_matches_are_counted_beyond_those_that_fit() -> None:
    text = b"needle in a line\n" * 200_000
    chunks = [text[start : start + 2**20] for start in range(0, len(text), 2**20)]
    found = matches(chunks, "needle", context=2)
    assert found.total == 200_000
    assert found.next_line == len(found.found) + 1
    assert sum(item.size_bytes for item in found.found) <= RESPONSE_BYTES
    rest = matches(chunks, "needle", first=found.next_line or 0)
    assert rest.total == 200_000 - len(found.found)


def test_matches_are_searched_only_inside_the_range() -> None:
    text = b"needle\n" * 10
    found = matches([text], "needle", context=1, first=4, last=6)
    assert [(item.line, len(item.before), len(item.after)) for item in found.found] == [
        (4, 0, 1),
        (5, 1, 1),
        (6, 1, 0),
    ]


@pytest.mark.parametrize(
    ("lines", "encoding", "expected"),
    [
        (["x" * 1_000_000] * 5, "utf-8", True),
        (["x"] * 10, "utf-8", True),
        (["x" * 4_000_000, "x"], "utf-8", False),
        (["x"] * 10, "utf-16", False),
    ],
)
def test_index_knows_whether_every_line_is_near_a_place(
    lines: list[str], encoding: str, expected: bool
) -> None:
    data = "".join(f"{line}\n" for line in lines).encode(encoding)
    chunks = [data[start : start + 2**20] for start in range(0, len(data), 2**20)]
    assert index(chunks).is_dense is expected


def test_blocks_are_whole_lines_or_parts_of_a_long_one() -> None:
    long = "x" * (LONGEST_WHOLE_LINE_CHARS + 1)
    splitter = LineBlockSplitter(first_line=5)
    fed = [splitter.feed(text) for text in ("a\r\nb", "", "\nc\n", long[:-1], "x", "y\r", "\nd")]
    assert fed == [
        *([LineBlock(5, "a\r")], [], [LineBlock(6, "b\nc")], []),
        [LineBlock(8, long, is_part=True, ends_line=False)],
        [LineBlock(8, "y", is_part=True, ends_line=False)],
        [LineBlock(8, "", is_part=True)],
    ]
    assert (splitter.finish(), LineBlockSplitter().finish()) == ([LineBlock(9, "d")], [])
    unfinished = LineBlockSplitter()
    unfinished.feed(f"a\n{long}z\r")
    assert unfinished.finish() == [LineBlock(2, "", is_part=True)]


def test_lines_of_a_block_have_no_line_ends() -> None:
    block = LineBlock(1, "a\r\nb\n\nc\r")
    assert block.split_lines() == ["a", "b", "", "c"]
    assert LineBlock(1, "a\n").split_lines() == ["a", ""]
    assert [block.split_ends(count) for count in (1, 3, 9)] == [
        (["a"], ["c"]),
        (["a", "b", ""], ["b", "", "c"]),
        (["a", "b", "", "c"], ["a", "b", "", "c"]),
    ]


def test_incomplete_character_at_the_end_is_a_line() -> None:
    datas = ["a\n".encode("utf-16") + b"b", "a\n".encode("utf-16"), b"a\n\xc3"]
    assert [index([data]).total_lines for data in datas] == [2, 1, 2]
    assert index(["a\n".encode("utf-16")]) == LineIndex("utf-16", 1, (0,), (0,))
    assert index([b"\xef\xbb\xbf"]).total_lines == index([]).total_lines == 0
