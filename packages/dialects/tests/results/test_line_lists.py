"""Base64 as a list of lines, and other lists of strings."""

import hashlib

import pytest

from packages.dialects.tests.results.samples import (
    NOISE,
    PNG,
    PNG64,
    PNG_URI,
    WAV64,
    Medium,
    Result,
    extracted,
    json_part,
    medium,
    result_of,
    text,
)
from tests.kit.media import b64

LIFTED = Medium(PNG, must_be_stored=True)
OF_URI = Medium(PNG, "image/png")
# Neither has padding, so the next line could continue it.
UNPADDED = PNG + bytes(-len(PNG) % 3)
ICON = UNPADDED[:90]
SVG64 = b64(b"<svg xmlns='http://www.w3.org/2000/svg'><rect width='1'/></svg>")
DIGESTS = [hashlib.sha256(bytes([number])).hexdigest() for number in range(3)]


def lines(encoded: str, *, end: str = "\n", columns: int = 76) -> list[str]:
    """Return the lines of the text, the last one without an end."""
    cut = [encoded[at : at + columns] for at in range(0, len(encoded), columns)]
    return [line + end for line in cut[:-1]] + cut[-1:]


@pytest.mark.parametrize(
    "written",
    [
        lines(PNG64),
        lines(PNG64, end=""),
        lines(PNG64 + "\n"),
        [*lines(PNG64, end=""), ""],
        [*lines(PNG64), "\n", ""],
    ],
)
def test_lines_of_a_medium_are_one_medium(written: list[str]) -> None:
    cell = {"data": {"image/png": written, "text/plain": ["<Figure>"]}}
    assert result_of(cell) == Result(
        (json_part('{"data":{"image/png":"', 0, '","text/plain":["<Figure>"]}}'), extracted()),
        (LIFTED,),
    )
    assert result_of(written) == Result((medium(),), (Medium(PNG),))
    assert result_of({"content": [], "structuredContent": {"a": written}}).media == (LIFTED,)


@pytest.mark.parametrize("end", ["\n", ""])
def test_lines_of_a_block_are_its_medium_for_any_bytes(end: str) -> None:
    block = {"type": "audio", "data": lines(b64(NOISE), end=end), "mimeType": "audio/mpeg"}
    assert result_of(block) == Result((medium(),), (Medium(NOISE, "audio/mpeg", "audio"),))


@pytest.mark.parametrize(
    "items",
    [
        ["a" * 40, "b" * 40],
        ["import os\n", "print(1)\n"],
        [b64(NOISE), b64(NOISE)],
        lines("a" * 400, end=""),
        [*lines("a" * 400)[:-1], "no base64 at all"],
        [],
    ],
)
def test_other_lists_of_strings_stay_as_they_are(items: list[str]) -> None:
    result = result_of({"hashes": items})
    assert result.media == ()


def test_list_of_files_is_not_one_file() -> None:
    assert [item.data for item in result_of({"images": [PNG64, PNG64]}).media] == [PNG, PNG]
    assert len(result_of({"files": [PNG64, WAV64]}).media) == 2


@pytest.mark.parametrize(
    "written",
    [
        lines(PNG_URI, end=""),
        lines(PNG_URI),
        ["data:image/png;base64,", *lines(PNG64, end="")],
        ["data:image/png;base64," + PNG64[:76], *lines(PNG64, end="")[1:]],
    ],
)
def test_lines_of_a_data_uri_are_its_medium(written: list[str]) -> None:
    assert result_of(written) == Result((medium(),), (OF_URI,))
    lifted = Medium(PNG, "image/png", must_be_stored=True)
    assert result_of({"shot": written, "n": 1}) == Result(
        (json_part('{"shot":"', 0, '","n":1}'), extracted()), (lifted,)
    )


@pytest.mark.parametrize(
    ("data", "neighbour"),
    [
        (UNPADDED, SVG64),
        *(
            (data, neighbour)
            for data in (UNPADDED, ICON)
            for neighbour in ("image/jpeg", "shot", "Shot 1")
        ),
    ],
)
def test_string_after_base64_in_a_list_is_not_a_line_of_it(data: bytes, neighbour: str) -> None:
    pair = [b64(data), neighbour]
    expected = Result((medium(), text(neighbour)), (Medium(data),))
    assert result_of(pair) == result_of({"content": pair}) == expected
    lifted = Result(
        (json_part('{"images":["', 0, f'","{neighbour}"]}}'), extracted()),
        (Medium(data, must_be_stored=True),),
    )
    assert result_of({"images": pair}) == lifted
    structured = result_of({"content": [], "structuredContent": {"images": pair}})
    assert structured.media == lifted.media
    assert structured.parts == lifted.parts


def test_two_lines_of_a_small_file_are_one_medium() -> None:
    data = ICON + b"\x00"
    assert result_of(lines(b64(data), end="")) == Result((medium(),), (Medium(data),))


def test_two_files_of_which_the_first_has_no_padding_are_two() -> None:
    two = Medium(UNPADDED)
    assert result_of([b64(UNPADDED), b64(UNPADDED)]) == Result((medium(0), medium(1)), (two, two))


def test_lines_of_a_plain_object_with_a_type_are_its_medium() -> None:
    file = {"name": "a.bin", "mimeType": "application/octet-stream"}
    kept = Medium(NOISE, "application/octet-stream", filename="a.bin")
    (part,) = result_of({**file, "data": lines(b64(NOISE), end="")}).parts
    assert (part.slot.index, part.provenance.name) == (0, "a.bin")
    assert result_of({**file, "data": lines(b64(NOISE), end="")}).media == (kept,)


def test_list_of_one_string_that_is_declared_to_be_a_medium_is_what_the_string_is() -> None:
    silence = bytes(600)
    for data in (b64(silence), [b64(silence)]):
        medium = Medium(silence, "audio/wav", "audio")
        assert result_of({"type": "audio", "data": data, "mimeType": "audio/wav"}).media == (
            medium,
        )


@pytest.mark.parametrize(("columns", "media"), [(8_000, 1), (8_004, 0)])
def test_line_has_at_most_eight_thousand_characters(columns: int, media: int) -> None:
    text = b64(hashlib.shake_128(NOISE).digest(30_000))
    listed = [text[at : at + columns] for at in range(0, len(text), columns)]
    record = {"data": listed, "mimeType": "application/octet-stream"}
    assert len(result_of(record).media) == media


@pytest.mark.parametrize(
    "listed",
    [
        DIGESTS,
        [digest + "\n" for digest in DIGESTS],
        [digest.encode().hex().upper()[:60] for digest in DIGESTS],
        ["ACGTACGTTTGACCAATGAC" * 3] * 3,
        ["hUqMmPq3qQn7bGkq0lWZy5n0Y3m1tS2x8vK4c6Jd9eF"] * 3,
    ],
)
def test_digests_and_sequences_are_not_lines_even_in_a_member_for_media(
    listed: list[str],
) -> None:
    for record in ({"image": listed, "mimeType": "image/png", "n": 1}, {"image": listed}):
        assert result_of(record).media == ()
    assert result_of({"data": listed, "mimeType": "application/octet-stream"}).media == ()
