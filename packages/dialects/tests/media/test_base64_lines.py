"""Lists of strings are the lines of one base64 text, or a list of other strings."""

import pytest

from pagefault_dialects.media.line_lists import join_base64_lines
from tests.kit.media import b64

PNG = b64(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(140)))
HEAD = "data:image/png;base64,"
UNPADDED, LONG = PNG[:198], PNG + "A" * 120
# Base64 without a signature, with letters of both cases and digits.
OTHER = b64(bytes(index * 89 % 256 for index in range(150)))


def lines(text: str, columns: int, end: str = "") -> list[str]:
    return [text[start : start + columns] + end for start in range(0, len(text), columns)]


@pytest.mark.parametrize(
    ("value", "joined"),
    [
        (lines(PNG, 76), PNG),
        (lines(PNG, 76, "\r\n"), PNG),
        (lines(PNG, 16), PNG),
        ([*lines(PNG, 76), "", ""], PNG),
        ([PNG], PNG),
        ([HEAD + PNG], HEAD + PNG),
        ([HEAD, PNG], HEAD + PNG),
        ([HEAD, *lines(PNG, 76)], HEAD + PNG),
        ([HEAD + PNG[:76], *lines(PNG[76:], 76)], HEAD + PNG),
        (lines(HEAD + PNG, 76), HEAD + PNG),
        (lines(OTHER, 76, "\n"), OTHER),
        (lines(OTHER, 48, "\n"), OTHER),
        (lines(OTHER, 100, "\n"), OTHER),
        (lines(OTHER, 42, "\n"), OTHER),
        ([f"{OTHER}\n"], OTHER),
        ([UNPADDED], UNPADDED),
        ([UNPADDED * 2], UNPADDED * 2),
        (lines(LONG, 256), LONG),
        ([LONG], LONG),
    ],
)
def test_lines_of_one_file_are_joined(value: list[str], joined: str) -> None:
    assert join_base64_lines(value) == joined


@pytest.mark.parametrize(
    "value",
    [
        None,
        PNG,
        [],
        [1],
        [*lines(PNG, 76), 1],
        lines(PNG, 15),
        [PNG[:76], PNG[76:100], PNG[100:]],
        [PNG[:40], PNG[40:]],
        [PNG[:60]],
        [PNG[:76], PNG[76:] + "AAAA" * 40],
        [PNG[:100], PNG[:100], PNG[100:]],
        [PNG[:76], "Caption"],
        [PNG[:76], PNG[76:80] + "A"],
        [PNG[:76], "Abcd"],
        lines(LONG, 260),
        ["no base64, but a text with a line end\n"] * 3,
        lines(OTHER, 40),
        [OTHER],
    ],
)
def test_other_list_is_none(value: object) -> None:
    assert join_base64_lines(value) is None


def test_declared_list_of_one_string_needs_no_signature() -> None:
    assert join_base64_lines([OTHER], is_declared=True) == OTHER
    assert join_base64_lines([OTHER, ""], is_declared=True) == OTHER
    assert join_base64_lines(["track001"], is_declared=True) is None


@pytest.mark.parametrize("columns", [40, 60])
def test_declared_lines_are_joined_if_they_look_like_base64(columns: int) -> None:
    assert join_base64_lines(lines(OTHER, columns), is_declared=True) == OTHER


@pytest.mark.parametrize(
    "value",
    [
        lines(OTHER, 36),
        lines(OTHER, 42),
        lines(OTHER, 100),
        lines(OTHER.lower(), 40),
        lines(OTHER.upper(), 40),
        lines(OTHER.translate(str.maketrans("0123456789", "abcdefghij")), 40),
    ],
)
def test_declared_lines_of_digests_and_names_are_none(value: list[str]) -> None:
    assert join_base64_lines(value, is_declared=True) is None


@pytest.mark.parametrize(("columns", "is_joined"), [(8_000, True), (8_004, False)])
def test_lines_have_a_greatest_length(columns: int, is_joined: bool) -> None:
    text = PNG[:-2].rstrip("=")[:180] + "A" * 24_000
    assert (join_base64_lines(lines(text, columns)) is not None) is is_joined
