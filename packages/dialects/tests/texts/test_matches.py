"""Of long lines, the part around the first match is returned, also if a line arrives in parts."""

from pagefault_dialects.texts.excerpts import (
    LONGEST_LINE_CHARS,
    LONGEST_SHOWN_CHARS,
    RESPONSE_BYTES,
    LineCollector,
    LineExcerpt,
    LineMatch,
    MatchCollector,
    Matches,
)
from pagefault_dialects.texts.line_blocks import LineBlock

EVERY = 10**9
CUT = LONGEST_SHOWN_CHARS - 1


def find(
    *blocks: LineBlock,
    words: str = "word",
    ignore_case: bool = False,
    context: int = 0,
    first: int = 1,
    last: int = EVERY,
) -> Matches:
    collector = MatchCollector(
        words, ignore_case=ignore_case, context=context, first=first, last=last
    )
    for block in blocks:
        collector.feed(block)
    return collector.finish()


def part(text: str, line: int = 1) -> LineBlock:
    return LineBlock(line, text, is_part=True, ends_line=False)


def last_part(text: str, line: int = 1) -> LineBlock:
    return LineBlock(line, text, is_part=True)


def test_long_line_is_cut_around_its_first_match() -> None:
    lines = [
        ("word" + "b" * 496, "word" + "b" * 496),
        ("word" + "b" * 497, "word" + "b" * 495 + "…"),
        ("a" * 150 + "word" + "b" * 400, "a" * 150 + "word" + "b" * 345 + "…"),
        ("a" * 151 + "word" + "b" * 400, "…" + "a" * 150 + "word" + "b" * 344 + "…"),
        ("a" * 900 + "word" + "b" * 345, "…" + "a" * 150 + "word" + "b" * 345),
        ("a" * 900 + "word" + "b" * 346, "…" + "a" * 150 + "word" + "b" * 344 + "…"),
        ("a" * 900 + "word" * 2 + "b" * 10, "…" + "a" * 150 + "word" * 2 + "b" * 10),
        ("a" * 200 + "word" + "b" * 800 + "word", "…" + "a" * 150 + "word" + "b" * 344 + "…"),
        # No character is cut in two.
        ("a" * 498 + "e\u0301" + "word", "…" + "a" * 148 + "e\u0301word"),
        ("word" + "a" * 494 + "e\u0301" + "b" * 9, "word" + "a" * 494 + "…"),
        (
            "e\u0301" + "a" * 149 + "word" + "b" * 400,
            "e\u0301" + "a" * 149 + "word" + "b" * 344 + "…",
        ),
        (
            "b" * 9 + "e\u0301" + "a" * 149 + "word" + "c" * 400,
            "…e\u0301" + "a" * 149 + "word" + "c" * 343 + "…",
        ),
    ]
    found = [(line, find(LineBlock(1, line)).found[0].text) for line, _ in lines]
    assert found == lines


def test_match_is_found_where_case_folding_changes_the_length() -> None:
    line = "\u00df" * 300 + "WORD" + "\u00df" * 300
    shown = "…" + "\u00df" * 150 + "WORD" + "\u00df" * 300
    assert find(LineBlock(1, line), ignore_case=True) == Matches((LineMatch(1, shown),), 1, None)
    assert find(LineBlock(1, line)) == Matches((), 0, None)
    same = find(LineBlock(1, "A" * 600 + "WORD"), ignore_case=True)
    assert same.found[0].text == "…" + "A" * 150 + "WORD"


def test_long_line_in_parts_is_searched_once() -> None:
    rows: list[tuple[list[str], str]] = [
        (["a" * 600 + "word", "b" * 600, "word"], "…" + "a" * 150 + "word"),
        (["a" * 600, "b" * 600 + "word" + "c" * 9, "d"], "…" + "b" * 150 + "word" + "c" * 9),
        # Across two parts: with the end of the part before.
        (["a" * 600 + "wo", "rd" + "b" * 9, "c"], "a" * 152 + "word" + "b" * 9),
        (["a" * 600 + "w", "o", "rd"], "a" * 152 + "word"),
        (["word", "b"], "word"),
        (["a", "word"], "aword"),
    ]
    found = []
    for texts, _ in rows:
        *parts, end = texts
        result = find(*map(part, parts), last_part(end))
        assert (result.total, len(result.found)) == (1, 1)
        found.append((texts, result.found[0].text))
    assert found == rows
    assert find(part("a" * 600), last_part("wor d")) == Matches((), 0, None)


def test_long_line_is_context_by_its_beginning() -> None:
    found = find(
        LineBlock(1, "word\nb"),
        *(part("c" * 600, 3), last_part("d", 3)),
        LineBlock(4, "word"),
        context=2,
    )
    shown = "c" * CUT + "…"
    assert found == Matches(
        (LineMatch(1, "word", [], ["b", shown]), LineMatch(4, "word", ["b", shown], [])), 2, None
    )
    long = find(LineBlock(1, "c" * 501 + "\nword\n" + "d" * 500), context=1)
    assert long.found == (LineMatch(2, "word", [shown], ["d" * 500]),)


def test_context_comes_from_blocks_before_and_behind() -> None:
    found = find(
        *(
            LineBlock(1, "a\nb\nc"),
            LineBlock(4, "word\ne"),
            LineBlock(6, "f\ng\nh"),
            LineBlock(9, "i"),
        ),
        LineBlock(10, "word"),
        context=2,
    )
    assert found.found == (
        LineMatch(4, "word", ["b", "c"], ["e", "f"]),
        LineMatch(10, "word", ["h", "i"], []),
    )
    assert find(LineBlock(1, "a\nword"), LineBlock(3, "b\nword\nc"), context=3).found == (
        LineMatch(2, "word", ["a"], ["b", "word", "c"]),
        LineMatch(4, "word", ["a", "word", "b"], ["c"]),
    )


def test_only_lines_of_the_range_are_searched() -> None:
    blocks = [
        LineBlock(1, "word\nword\nword"),
        part("word", 4),
        last_part("", 4),
        LineBlock(5, "word\nword"),
    ]
    ranges = [(1, 9), (2, 3), (3, 5), (4, 4), (5, 5), (6, 6), (7, 9)]
    found = [[match.line for match in find(*blocks, first=a, last=b).found] for a, b in ranges]
    assert found == [[1, 2, 3, 4, 5, 6], [2, 3], [3, 4, 5], [4], [5], [6], []]


def test_search_is_done_behind_its_last_line() -> None:
    collector = MatchCollector("word", ignore_case=False, context=0, first=1, last=4)
    done = []
    for block in (LineBlock(1, "a\nword"), LineBlock(3, "b"), part("c", 4), last_part("d", 4)):
        done.append(collector.is_done)
        collector.feed(block)
    assert (done, collector.is_done) == ([False] * 4, True)
    collector.feed(LineBlock(1, "word"))
    assert collector.finish() == Matches((LineMatch(2, "word"),), 1, None)


def test_matches_that_do_not_fit_are_counted() -> None:
    # Each takes 1,000 bytes, with 32 for its line end and number.
    line = "word" + "é" * 482
    number = RESPONSE_BYTES // 1_000 + 1
    found = find(LineBlock(1, "\n".join([line] * 100)), LineBlock(101, f"a\n{line}"))
    assert found == Matches(tuple(LineMatch(n, line) for n in range(1, number)), 101, number)
    assert LineMatch(1, "é", ["a", ""], ["b"]).size_bytes == 4 * 32 + 4


def collect(first: int, last: int, *blocks: LineBlock) -> LineExcerpt:
    collector = LineCollector(first, last)
    for block in blocks:
        collector.feed(block)
    return collector.finish()


def test_long_line_of_a_range_is_cut_with_a_note() -> None:
    long = "a" * LONGEST_LINE_CHARS
    blocks = [
        LineBlock(1, "x\ny"),
        part(long, 3),
        part("b" * 9, 3),
        last_part("c", 3),
        LineBlock(4, "z"),
    ]
    note = f"{long}[… 10 more characters in this line …]"
    assert collect(2, 4, *blocks) == LineExcerpt(2, ("y", note, "z"), (3,), None)
    assert collect(4, 4, *blocks) == LineExcerpt(4, ("z",), (), None)
    assert collect(1, 2, *blocks) == LineExcerpt(1, ("x", "y"), (), None)
    assert collect(1, 1, LineBlock(1, long)) == LineExcerpt(1, (long,), (), None)
    assert collect(1, 1, LineBlock(1, f"{long}b")).lines == (
        f"{long}[… 1 more characters in this line …]",
    )
    two = collect(1, 9, part(long, 1), last_part("b", 1), part("c", 2), last_part("d", 2))
    assert two == LineExcerpt(1, (f"{long}[… 1 more characters in this line …]", "cd"), (1,), None)


def test_lines_fit_up_to_the_size_of_a_response() -> None:
    half = "é" * (RESPONSE_BYTES // 16 - 1)
    lines = [half + "a"] * 4 + [half] * 4
    whole = collect(1, 9, LineBlock(1, "\n".join([*lines, "b"])))
    size = sum(len(line.encode()) + 1 for line in lines)
    assert (whole.next_line, len(whole.lines), size <= RESPONSE_BYTES) == (None, 9, True)
    collector = LineCollector(1, EVERY)
    collector.feed(LineBlock(1, "\n".join(["a" * 7_999] * 10)))
    assert collector.is_done
    collector.feed(LineBlock(1, "b"))
    assert collector.finish() == LineExcerpt(1, ("a" * 7_999,) * 8, (), 9)
    small = LineCollector(2, 3)
    states = []
    for block in (LineBlock(1, "a\nb"), LineBlock(3, "c")):
        states.append(small.is_done)
        small.feed(block)
    assert (states, small.is_done) == ([False, False], True)
