"""Data URIs in sentences: found whole where they hold a file, and cheaply where they do not."""

from urllib.parse import quote

import pytest

from app.media.data_uris import DataUriSpan, find_data_uris
from tests.unit.services.normalization.samples import NOISE, PNG

SVG = "<svg xmlns='http://www.w3.org/2000/svg'/>"
LONG_SVG = f"<svg xmlns='http://www.w3.org/2000/svg'>{'<g/>' * 2_000}</svg>"
LONG_PNG = PNG + NOISE * 5


@pytest.mark.parametrize("head", ["data:image/png,", "data:image/svg+xml,", "data:,", "data:a/b;"])
def test_text_full_of_heads_has_no_data_uris(head: str) -> None:
    assert list(find_data_uris("x " + head * 20_000)) == []


@pytest.mark.parametrize("end", ["", " there.", '") there.', "> there."])
@pytest.mark.parametrize(
    ("mime_type", "data"),
    [
        ("image/svg+xml", SVG.encode()),
        ("image/svg+xml", f" \n{SVG}".encode()),
        ("image/svg+xml", LONG_SVG.encode()),
        ("image/png", PNG),
        ("image/png", LONG_PNG),
    ],
    ids=["svg", "svg behind blanks", "long svg", "png", "long png"],
)
def test_percent_encoded_file_in_a_sentence_is_found_whole(
    mime_type: str, data: bytes, end: str
) -> None:
    uri = f"data:{mime_type},{quote(data)}"
    text = f"See {uri}{end}"
    expected = DataUriSpan(4, 4 + len(uri), mime_type, data, None)
    assert list(find_data_uris(text)) == [expected]


def test_every_percent_encoded_file_of_a_sentence_is_found() -> None:
    first = f"data:image/svg+xml;utf8,{quote(LONG_SVG)}"
    second = f"data:image/png,{quote(LONG_PNG)}"
    found = list(find_data_uris(f"See {first} and {second}"))
    assert [(span.mime_type, span.data) for span in found] == [
        ("image/svg+xml", LONG_SVG.encode()),
        ("image/png", LONG_PNG),
    ]


@pytest.mark.parametrize("text", ["use data:image/png,… for pixels", "data:image/svg+xml, is it"])
def test_sentence_about_data_uris_has_none(text: str) -> None:
    assert list(find_data_uris(text)) == []
