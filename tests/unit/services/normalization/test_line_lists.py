"""Base64 as a list of its lines, and lists that are something else."""

import pytest

from tests.unit.services.normalization.samples import (
    NOISE,
    PNG,
    PNG64,
    WAV64,
    Medium,
    Seen,
    b64,
    extracted,
    json_part,
    medium,
    seen,
)

LIFTED = Medium(PNG, must_be_stored=True)


def lines(encoded: str, *, end: str = "\n", columns: int = 76) -> list[str]:
    """The text in lines, the last of them without an end."""
    cut = [encoded[at : at + columns] for at in range(0, len(encoded), columns)]
    return [line + end for line in cut[:-1]] + cut[-1:]


@pytest.mark.parametrize("written", [lines(PNG64), lines(PNG64, end=""), lines(PNG64 + "\n")])
def test_the_lines_of_a_medium_are_one_medium(written: list[str]) -> None:
    cell = {"data": {"image/png": written, "text/plain": ["<Figure>"]}}
    assert seen(cell) == Seen(
        (json_part('{"data":{"image/png":"', 0, '","text/plain":["<Figure>"]}}'), extracted()),
        (LIFTED,),
    )
    assert seen(written) == Seen((medium(),), (Medium(PNG),))
    assert seen({"content": [], "structuredContent": {"a": written}}).media == (LIFTED,)


@pytest.mark.parametrize("end", ["\n", ""])
def test_the_lines_of_a_block_are_its_medium_whatever_the_bytes(end: str) -> None:
    block = {"type": "audio", "data": lines(b64(NOISE), end=end), "mimeType": "audio/mpeg"}
    assert seen(block) == Seen((medium(),), (Medium(NOISE, "audio/mpeg", "audio"),))


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
    result = seen({"hashes": items})
    assert result.media == ()


def test_a_list_of_files_is_no_file() -> None:
    assert [each.data for each in seen({"images": [PNG64, PNG64]}).media] == [PNG, PNG]
    assert len(seen({"files": [PNG64, WAV64]}).media) == 2
