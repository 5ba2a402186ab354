"""Data URIs in sentences are found whole if they hold a file, and rejected cheaply if not."""

from urllib.parse import quote

import pytest

from packages.dialects.tests.results.samples import NOISE, PNG
from pagefault_dialects.media.data_uris import (
    DataUriSpan,
    find_base64_start,
    find_data_uris,
    is_data_uri,
    parse_data_uri,
    split_data_uri,
)
from tests.kit.media import b64

SVG = "<svg xmlns='http://www.w3.org/2000/svg'/>"
LONG_SVG = f"<svg xmlns='http://www.w3.org/2000/svg'>{'<g/>' * 2_000}</svg>"
LONG_PNG = PNG + NOISE * 5


@pytest.mark.parametrize("head", ["data:image/png,", "data:image/svg+xml,", "data:,", "data:a/b;"])
def test_text_of_many_heads_has_no_data_uris(head: str) -> None:
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


HEADS = {
    "plain": "data:image/png;base64,",
    "any case": "DATA:Image/PNG;BASE64,",
    "no type": "data:;base64,",
    "parameters": "data:image/png;charset=utf-8;x;;base64,",
    "many parameters": f"data:image/png{';a=b' * 16};base64,",
    "blanks": "data: image/png; charset=utf-8 ; base64 ,",
    "quoted name": 'data:image/png;name="a b, c.png";base64,',
    "percent-encoded slash": "data:image%2Fpng;base64,",
    "signs in the type": "data:image/x!#$&^y;base64,",
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_all_readers_accept_the_same_heads(head: str) -> None:
    uri = head + b64(PNG)
    whole, split, (span,) = parse_data_uri(uri), split_data_uri(uri), find_data_uris(uri)
    assert whole is not None
    assert split is not None
    assert (whole.data, split.data, span.data) == (PNG, PNG, PNG)
    assert (split.head, find_base64_start(uri)) == (head, len(head))
    assert whole.mime_type == span.mime_type
    declared = whole.mime_type and whole.mime_type.partition(";")[0]
    assert split.declared_type == declared


@pytest.mark.parametrize("text", ["Data: in 2024, it grew", "data: image/png, say", "data:a b,c"])
def test_readers_do_not_accept_sentences(text: str) -> None:
    assert (parse_data_uri(text), split_data_uri(text), is_data_uri(text)) == (None, None, False)
