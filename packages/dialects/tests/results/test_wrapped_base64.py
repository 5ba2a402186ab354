"""Base64 in lines and groups of any width: extracted whole, or left alone."""

import base64
import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packages.dialects.tests.results.samples import NOISE, PNG, PNG64, result_of, text
from tests.kit.media import b64

SEPARATORS = ("\n", "\r\n", " ")
PLACES = ("{}", "before {} after", "a:\n{}\n\nb c", "see ![x](data:image/png;base64,{}) and")
# Lengths that are a multiple of three have no padding, which would mark the end.
UNPADDED = PNG + bytes(-len(PNG) % 3)


def wrapped(payload: str, columns: int, separator: str = "\n") -> str:
    return separator.join(re.findall(f".{{1,{columns}}}", payload))


def media_of(value: object) -> list[bytes]:
    return [item.data for item in result_of(value).media]


@settings(deadline=None, max_examples=150)
@given(
    columns=st.integers(40, 200),
    size=st.integers(300, 2_000),
    separator=st.sampled_from(SEPARATORS),
    place=st.sampled_from(PLACES),
    encode=st.sampled_from((base64.b64encode, base64.urlsafe_b64encode)),
)
def test_wrapped_medium_is_lifted_out_whole(
    columns: int, size: int, separator: str, place: str, encode: Callable[[bytes], bytes]
) -> None:
    data = (PNG + NOISE)[:size]
    data += bytes((1 - len(data)) % 3)
    value = place.format(wrapped(encode(data).decode(), columns, separator))
    assert media_of(value) == media_of({"id": 1, "note": value}) == [data]


@pytest.mark.parametrize("columns", [40, 57, 76, 100, 128, 200])
@pytest.mark.parametrize("separator", SEPARATORS)
def test_wrapped_medium_without_padding_is_lifted_out_whole(columns: int, separator: str) -> None:
    lines = wrapped(b64(UNPADDED), columns, separator)
    assert media_of(lines) == media_of(f"a:\n{lines}\n\nb") == [UNPADDED]


@pytest.mark.parametrize("place", ["{}", "x\n{}\ny"])
@pytest.mark.parametrize(
    "widths", [(100, 90, 100), (100, 120, 100), (76, 76, 80), (64, 64, 50, 64)]
)
def test_medium_in_lines_of_uneven_width_is_no_fragment(
    place: str, widths: tuple[int, ...]
) -> None:
    position, lines = 0, []
    for width in widths:
        lines.append(PNG64[position : position + width])
        position += width
    value = place.format("\n".join([*lines, *re.findall(".{1,100}", PNG64[position:])]))
    result = result_of(value)
    assert (result.parts, result.media) == ((text(value),), ())


@pytest.mark.parametrize(
    ("below", "remaining"),
    [
        ("ab" * 32, "\n" + "ab" * 32),
        ("ABC123 is the id", "\nABC123 is the id"),
        ("Done", "\nDone"),
    ],
)
def test_text_below_a_medium_on_one_line_is_not_part_of_it(below: str, remaining: str) -> None:
    result = result_of(f"{b64(UNPADDED)}\n{below}")
    assert result.parts[0] == text(0, remaining)
    assert [item.data for item in result.media] == [UNPADDED]


@pytest.mark.parametrize("separator", SEPARATORS)
def test_media_below_each_other_stay_apart(separator: str) -> None:
    payload = b64(UNPADDED)
    assert media_of(f"{payload}{separator}{payload}") == [UNPADDED, UNPADDED]
