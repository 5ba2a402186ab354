"""Placeholders are found by their marks, plain or in base64, anywhere in a value."""

import base64

from pagefault_dialects.errors import Fault
from pagefault_dialects.model.media import InMemoryMedia
from pagefault_dialects.streams.placeholders import Placeholder, PlaceholderMarks, find_numbers


def test_marks_are_found_plain_and_in_base64() -> None:
    marks = PlaceholderMarks()
    first, second = marks.make_mark(1), marks.make_mark(123_456)
    encoded = base64.b64encode(second).decode()
    assert (len(first), first[18:], second[18:]) == (24, b"000001", b"123456")
    assert marks.find_numbers(f"…{first.decode()}1 and {encoded}AAAA") == {1, 123_456}
    assert marks.find_numbers(f"{first.decode()}{encoded}") == {1, 123_456}


def test_equal_strings_have_the_mark_of_the_first() -> None:
    marks = PlaceholderMarks()
    assert marks.make_mark(2) == marks.make_mark(5, first=2)
    assert marks.make_mark(0) == marks.make_mark(3, first=0)
    assert marks.find_numbers(marks.make_mark(2).decode()) == {2, 5}
    assert marks.find_numbers(marks.make_mark(0).decode()) == {0, 3}


def test_other_texts_have_no_mark() -> None:
    marks = PlaceholderMarks()
    token = marks.make_mark(7)[:18].decode()
    encoded = base64.b64encode(token.encode()).decode()
    texts = [
        *("", "0" * 24, token, f"{token}00000", f"{token}00000x", f"{token}000008"),
        *(encoded, f"{encoded}AAAA", f"{encoded}MDAwMDA", f"{encoded}MDAwMDA=", f"{encoded}é"),
        *(f"{encoded}MDAwMDA4", PlaceholderMarks().make_mark(7).decode()),
    ]
    assert [text for text in texts if marks.find_numbers(text)] == []
    assert marks.find_numbers(f"{token}000007") == {7}


def test_marks_are_found_in_all_parts_of_a_value() -> None:
    marks = PlaceholderMarks()
    texts = [marks.make_mark(number).decode() for number in range(8)]
    medium = InMemoryMedia(texts[5].encode(), declared_mime_type=texts[6])
    value = {
        texts[0]: [1, None, True, (texts[1], {"a": texts[2]})],
        "b": Fault(texts[3], texts[4]),
        "c": medium,
        "d": texts[0],
    }
    assert find_numbers(value, marks) == {0, 1, 2, 3, 4, 5, 6}
    assert find_numbers([], marks) == set()


def test_text_of_a_placeholder_has_no_escapes() -> None:
    assert Placeholder(b"AA\\/A\\n", b"").text == "AA/A\n"
