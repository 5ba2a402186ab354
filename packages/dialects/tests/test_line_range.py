"""Parsing of ranges of lines."""

import pytest

from pagefault_dialects.text_windows import parse_line_range


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10-50", (10, 50)),
        ("10-200", (10, 100)),
        ("10-", (10, 100)),
        ("10", (10, 10)),
        ("-50", (51, 100)),
        ("-200", (1, 100)),
        ("200-300", (200, 100)),
        ("1-1", (1, 1)),
        ("9" * 18, (int("9" * 18), 100)),
    ],
)
def test_range_is_limited_to_existing_lines(text: str, expected: tuple[int, int]) -> None:
    line_range = parse_line_range(text)
    assert line_range is not None
    assert line_range.within(100) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "-", "0", "0-5", "-0", "5-4", "a", "1-b", "1--2", "1-2-3", "+1", " 1", "1\n", "01"),
        *("9" * 19, "1.5", "1,2", "1_0", "\u0663"),
    ],
)
def test_text_without_a_range_has_no_range(text: str) -> None:
    assert parse_line_range(text) is None
