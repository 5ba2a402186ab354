"""A result of `read_text` has as much of a text as fits, and its header says how to read on."""

import re

import pytest

from pagefault_dialects.context.text_results import (
    format_characters,
    format_excerpt,
    make_text_name,
    take_lines,
)
from pagefault_dialects.texts.excerpts import JsonExcerpt, LineExcerpt, LineMatch, Matches
from pagefault_dialects.tools.tool_arguments import ReadTextArguments, WrongArgumentsError

# The header takes 64 tokens of a result.
HEADER = 64
ENOUGH = 10_000


def characters(text: str, max_tokens: int = ENOUGH, **arguments: int) -> str:
    request = ReadTextArguments.model_validate({"ref": "@entry:1", **arguments})
    return format_characters("notes", text, 20, request, max_tokens)


def test_characters_from_an_offset_name_the_next_offset_or_the_end() -> None:
    long = "x" * 6_001
    assert [
        characters("Hello."),
        characters("Hello.", offset=14),
        characters("Hello.", offset=14, limit=2),
        characters("Hello.", offset=14, limit=6),
        characters(""),
        characters(long),
        characters(long, limit=9_000),
        characters("one two", HEADER + 1),
        characters("one two", HEADER + 2),
    ] == [
        "[notes, characters 0 to 6; this is its end]\nHello.",
        "[notes, characters 14 to 20; this is its end]\nHello.",
        "[notes, characters 14 to 16; go on with offset=16]\nHe",
        "[notes, characters 14 to 20; this is its end]\nHello.",
        "[notes, characters 0 to 0; this is its end]\n",
        f"[notes, characters 0 to 6000; go on with offset=6000]\n{long[:-1]}",
        f"[notes, characters 0 to 6000; go on with offset=6000]\n{long[:-1]}",
        "[notes, characters 0 to 3; go on with offset=3]\none",
        "[notes, characters 0 to 7; this is its end]\none two",
    ]


def test_grapheme_that_does_not_fit_is_cut_after_at_least_a_character() -> None:
    assert [
        characters("ae\u0301", limit=2),
        characters("e\u0301a", limit=1),
        characters("one two", HEADER),
    ] == [
        "[notes, characters 0 to 1; go on with offset=1]\na",
        "[notes, characters 0 to 1; go on with offset=1]\ne",
        "[notes, characters 0 to 1; go on with offset=1]\no",
    ]


def test_offset_after_the_end_is_refused() -> None:
    sentence = "The text has 20 characters; offset is behind its end."
    with pytest.raises(WrongArgumentsError, match=f"^{re.escape(sentence)}$"):
        characters("", offset=21)


def test_name_of_a_text_has_the_charset_that_it_was_decoded_from() -> None:
    assert [make_text_name("text/csv", ""), make_text_name("text/csv", "koi8-r")] == [
        "text/csv",
        "text/csv, decoded from koi8-r",
    ]


def test_lines_are_counted_and_the_next_one_is_named() -> None:
    def lines(*texts: str, next_line: int | None = None, max_tokens: int = ENOUGH) -> str:
        return format_excerpt("notes", 90, LineExcerpt(7, texts, (), next_line), max_tokens)

    assert [
        lines("one", "two"),
        lines("one", "two", next_line=9),
        lines("one", "two", next_line=9, max_tokens=HEADER + 3),
        lines("one two", max_tokens=HEADER + 1),
        lines("one two", "three", next_line=9, max_tokens=HEADER + 1),
        lines(),
    ] == [
        "[notes, lines 7 to 8 of 90 lines]\none\ntwo",
        '[notes, lines 7 to 8 of 90 lines; go on with lines="9-"]\none\ntwo',
        '[notes, lines 7 to 7 of 90 lines; go on with lines="8-"]\none',
        "[notes, lines 7 to 7 of 90 lines; line 7 is cut: read it by offset, without lines]\n"
        "one […]",
        "[notes, lines 7 to 7 of 90 lines; line 7 is cut: read it by offset, without lines; "
        'go on with lines="8-"]\none […]',
        "[notes, of 90 lines]",
    ]


def test_matches_are_counted_and_have_the_numbers_of_their_lines() -> None:
    def matches(next_line: int | None = None, max_tokens: int = ENOUGH) -> str:
        found = (LineMatch(3, "one", before=["no"], after=["no"]), LineMatch(12, "two"))
        return format_excerpt("notes", 90, Matches(found, 5, next_line), max_tokens)

    assert [
        matches(),
        matches(next_line=40),
        matches(next_line=40, max_tokens=HEADER + 4),
        format_excerpt("notes", 90, Matches((), 0, None), ENOUGH),
    ] == [
        "[notes, 5 of 90 lines match]\n3: one\n12: two",
        '[notes, 5 of 90 lines match; go on with lines="40-"]\n3: one\n12: two',
        '[notes, 5 of 90 lines match; go on with lines="12-"]\n3: one',
        "[notes, 0 of 90 lines match]",
    ]


def test_json_value_is_cut_with_a_hint_at_a_longer_pointer() -> None:
    def value(pointer: str, max_tokens: int = ENOUGH) -> str:
        return format_excerpt(
            "notes", None, JsonExcerpt(pointer, None, None, "one two"), max_tokens
        )

    assert [value("/a"), value(""), value("/a", HEADER + 1)] == [
        "[notes, at /a]\none two",
        "[notes, at the root]\none two",
        "[notes, at /a; cut here: ask for a longer pointer]\none […]",
    ]


def test_lines_are_taken_up_to_either_limit_and_at_least_the_first_one() -> None:
    lines = [(4, "one"), (5, "two"), (6, "six")]
    limits = [(12, 70), (11, 70), (8, 70), (7, 70), (12, 69), (12, 68), (12, 67), (0, 70), (12, 64)]
    assert [take_lines(lines, *limit) for limit in limits] == [
        (["one", "two", "six"], None),
        (["one", "two"], 6),
        (["one", "two"], 6),
        (["one"], 5),
        (["one", "two"], 6),
        (["one", "two"], 6),
        (["one"], 5),
        (["one"], 5),
        (["o […]"], 5),
    ]
