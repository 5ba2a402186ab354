"""Strings: whole media, media inside of texts, and texts that only look like media."""

import json
import re
from typing import Any
from urllib.parse import quote

import pytest

from packages.dialects.tests.results.samples import (
    NOISE,
    PDF,
    PDF64,
    PNG,
    PNG64,
    PNG_URI,
    WAV,
    WAV64,
    Medium,
    Result,
    extracted,
    medium,
    result_of,
    text,
)
from pagefault_dialects.model.normalized import Provenance
from tests.kit.media import b64

SVG = "<svg xmlns='http://www.w3.org/2000/svg'/>"
URL_SAFE = PNG64.replace("+", "-").replace("/", "_")


def wrapped(payload: str, columns: int = 76, line_end: str = "\n") -> str:
    return line_end.join(re.findall(f".{{1,{columns}}}", payload))


@pytest.mark.parametrize(
    ("value", "data", "declared"),
    [
        (PNG_URI, PNG, "image/png"),
        (PNG_URI.replace("data:image/png;base64", "DATA:IMAGE/PNG;BASE64"), PNG, "image/png"),
        (f"  {PNG_URI}\n", PNG, "image/png"),
        (f"data:image/png;base64%2C{PNG64}", PNG, "image/png"),
        (f"data:image/png;base64,{quote(PNG64, safe='')}", PNG, "image/png"),
        (f"data:image/png;base64,{wrapped(PNG64)}", PNG, "image/png"),
        (f"data:image/png;base64, {wrapped(PNG64, 40)}", PNG, "image/png"),
        (f"data:image/png;base64,{URL_SAFE.rstrip('=')}", PNG, "image/png"),
        (f"data:;base64,{PNG64}", PNG, None),
        (f"data:image/svg+xml,{quote(SVG)}", SVG.encode(), "image/svg+xml"),
        (f"data:image/svg+xml;utf8,{SVG}", SVG.encode(), "image/svg+xml"),
        (PNG64, PNG, None),
        (f"\n{PNG64}\n", PNG, None),
        (PNG64.rstrip("="), PNG, None),
        (URL_SAFE, PNG, None),
        (wrapped(PNG64, 76), PNG, None),
        (wrapped(PNG64, 60) + "\n", PNG, None),
        (wrapped(PNG64, 64, "\r\n"), PNG, None),
    ],
)
def test_string_that_is_a_medium_becomes_its_part(
    value: str, data: bytes, declared: str | None
) -> None:
    expected = Result((medium(),), (Medium(data, declared),))
    assert result_of(value) == expected
    assert result_of({"type": "text", "text": value}) == expected
    assert result_of([value]) == expected


def test_name_in_a_data_uri_is_the_file_name() -> None:
    value = f"data:application/pdf;name=a%20b.pdf;base64,{PDF64}"
    assert result_of(value) == Result(
        (medium(),), (Medium(PDF, "application/pdf", None, "a b.pdf"),)
    )


@pytest.mark.parametrize("mime_type", ["text/html", "text/csv", "application/json"])
def test_data_uri_of_text_becomes_the_text(mime_type: str) -> None:
    value = f"data:{mime_type};charset=utf-8;base64,{b64('<p>grüß</p>'.encode())}"
    provenance = Provenance(meta={"mimeType": f"{mime_type};charset=utf-8"})
    assert result_of(value) == Result((text("<p>grüß</p>", mime=mime_type, provenance=provenance),))


def test_parameters_of_a_data_uri_are_kept_but_not_its_name() -> None:
    value = f"data:audio/l16;rate=24000;name=a.pcm;base64,{b64(NOISE)}"
    declared = "audio/l16;rate=24000"
    assert result_of(value) == Result(
        (medium(0),),
        (Medium(NOISE, declared, None, "a.pcm"),),
    )


def test_data_uri_of_text_that_is_no_utf8_stays_a_file() -> None:
    data = "grüß".encode("latin-1")
    expected = Result((medium(),), (Medium(data, "text/plain"),))
    assert result_of(f"data:text/plain;base64,{b64(data)}") == expected


@pytest.mark.parametrize(
    "value",
    ["data:image/png;base64,@@@not-base64@@@", "data:image/png;base64,", "data:audio/wav;base64,A"],
)
def test_broken_data_uri_is_text_with_a_warning(value: str) -> None:
    assert result_of(value) == Result((text(value),), warnings=(("undecodable-media", ""),))
    assert result_of(["x", value]).warnings == (("undecodable-media", "/1"),)


PLAIN_TEXTS = [
    *("", " ", " \n\t ", "null", "{}", "[]", "nul \x00 and \u202ebidi", "Zażółć 🧑\u200d🚀 שלום"),
    "data: the quick brown fox, jumps; base64",
    "data:, and words behind it",
    "data:text/plain,two%20or more words",
    "data:text/plain,%ff%fe",
    "data:image/png;base64",
    "use data:image/png;base64,... here, or data:image/png;base64,<DATA>",
    "write data:image/png;base64,iVBORw0KGgo... into src",
    "write data:image/png,foo into src",
    "ACGT" * 500,
    "deadbeef" * 100,
    "/" * 300,
    "=" * 300,
    "a" * 5000,
    "MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n" * 20,
    f"-----BEGIN CERTIFICATE-----\n{wrapped(b64(NOISE), 64)}\n-----END CERTIFICATE-----",
    b64(NOISE),
    b64(b"BM" + NOISE),
    b64(b"MZ" + NOISE),
    b64(b"\xff\xfb\x90\x64" + NOISE),
    b64(PNG)[:60],
    "iVBORw0KGgo and other words " * 20,
    "/usr/lib/python3/dist-packages/numpy/core/include/numpy/ndarraytypes/file.h\n" * 5,
    '{"a": 1, "a": 2,  "f": 1.10}',
    '{"sha": "' + "ab" * 32 + '",  "x": 1.50}',
    '{"broken": "' + "ab" * 40,
    "[" * 2_000 + "ab" * 40,
    '{"n": NaN, "h": "' + "ab" * 40 + '"}',
    *("@blob:0123456789ABCDEF0123456789ABCDEF", "@blob:0123456789abcdef0123456789abcdef "),
    "https://cdn.example.com/a.png",
]


def test_other_text_is_kept_code_point_for_code_point() -> None:
    different = []
    for value in PLAIN_TEXTS:
        block = {"type": "text", "text": value}
        if not result_of(value) == result_of({"content": [block]}) == Result((text(value),)):
            different.append(value)
    assert different == []


@pytest.mark.parametrize(
    ("before", "hidden", "after"),
    [
        ("see ", PNG64, " end"),
        ("![a](", PNG_URI, ")"),
        ('<img src="', PNG_URI, '">'),
        ("url(", f"data:image/png;base64,{quote(PNG64, safe='')}", ")"),
        ("img=", PNG64, "&x=1"),
        ("https://h/?img=", quote(PNG_URI, safe=""), "&x=1"),
        ("https://h/?img=", quote(PNG_URI, safe="/"), "&x=1"),
        ("/srv/", PNG64, ""),
        ("a\n", wrapped(PNG64), "\n\nb"),
        ("a:\n  ", wrapped(PNG64, 64, "\n  "), "\nb c"),
        ("`", PNG64.rstrip("="), "`"),
        ("x ", URL_SAFE, " y"),
        ('log {"a":"', PNG64.replace("/", "\\/"), '"} end'),
        ('log {"a":"', wrapped(PNG64).replace("\n", "\\n"), '"} end'),
        ('log {"a":"\\n', PNG64, '"} end'),
        ("cut ", PNG64[:1000], "… [truncated]"),
    ],
)
def test_medium_inside_a_text_is_lifted_out(before: str, hidden: str, after: str) -> None:
    result = result_of(before + hidden + after)
    pieces: list[str | int] = [before, 0, after] if after else [before, 0]
    assert result.parts == (text(*pieces), extracted())
    assert [item.must_be_stored for item in result.media] == [True]
    assert PNG.startswith(result.media[0].data)
    assert len(result.media[0].data) in (len(PNG), 750)


def test_several_media_in_a_text_keep_their_places() -> None:
    value = f"a {PNG_URI} b {WAV64} c"
    assert result_of(value) == Result(
        (text("a ", 0, " b ", 1, " c"), extracted(0), extracted(1)),
        (Medium(PNG, "image/png", must_be_stored=True), Medium(WAV, must_be_stored=True)),
    )


def test_word_after_wrapped_base64_is_not_part_of_it() -> None:
    exact = b64(PNG[: 57 * 12])
    assert result_of(f"{wrapped(exact)}\nDone and dusted").parts[0] == text(0, "\nDone and dusted")


def test_markup_percent_encoded_in_a_sentence_is_an_image() -> None:
    result = result_of(f'a{{background:url("data:image/svg+xml,{quote(SVG)}")}}')
    assert result.parts == (text('a{background:url("', 0, '")}'), extracted())
    assert result.media == (Medium(SVG.encode(), "image/svg+xml", must_be_stored=True),)


@pytest.mark.parametrize("levels", range(1, 9))
def test_json_in_a_string_is_rewritten_where_it_holds_media(levels: int) -> None:
    value: Any = {"n": 12345678901234567890, "shot": PNG64}
    for _ in range(levels):
        value = json.dumps({"inner": value} if isinstance(value, str) else value)
    result = result_of(value)
    assert [item.data for item in result.media] == [PNG]
    template = result.parts[0].template
    restored: Any = "".join(piece if isinstance(piece, str) else "@blob:0" for piece in template)
    for _ in range(levels - 1):
        restored = json.loads(restored)["inner"]
    assert json.loads(restored) == {"n": 12345678901234567890, "shot": "@blob:0"}


def test_base64_is_extracted_from_json_nested_beyond_the_limit() -> None:
    value = json.dumps({"shot": PNG64})
    for _ in range(10):
        value = json.dumps({"inner": value})
    assert [item.data for item in result_of(value).media] == [PNG]


def test_json_with_a_claimed_type_in_a_string_is_rewritten() -> None:
    value = json.dumps({"mimeType": "application/x-custom", "data": b64(NOISE), "id": 1})
    expected = text('{"mimeType":"application/x-custom","data":"', 0, '","id":1}')
    assert result_of(value) == Result(
        (expected, extracted()),
        (Medium(NOISE, "application/x-custom", must_be_stored=True),),
    )


def test_json_in_a_string_keeps_the_spelling_of_its_numbers() -> None:
    members = '"n":1.10,"e":[1E5,-0.0,2.5],"mimeType":"application/x-custom","data":"'
    assert result_of("{" + members + b64(NOISE) + '"}') == Result(
        (text("{" + members, 0, '"}'), extracted()),
        (Medium(NOISE, "application/x-custom", must_be_stored=True),),
    )


def test_json_in_a_string_keeps_the_members_of_a_repeated_key() -> None:
    value = '{"a":"first","a":"second", "img":"' + PNG64 + '"}'
    assert result_of(value) == Result(
        (text('{"a":"first","a":"second", "img":"', 0, '"}'), extracted()),
        (Medium(PNG, must_be_stored=True),),
    )


@pytest.mark.parametrize(
    ("value", "repaired", "pointers"),
    [
        ("a \ud800 b \udfff", "a \ufffd b \ufffd", ("",)),
        ("\U0001f600", "\U0001f600", ()),
    ],
)
def test_lone_surrogates_are_replaced_with_one_warning(
    value: str, repaired: str, pointers: tuple[str, ...]
) -> None:
    warnings = tuple(("lone-surrogate", pointer) for pointer in pointers)
    assert result_of(value) == Result((text(repaired),), warnings=warnings)


def test_base64_before_between_and_after_data_uris_leaves_its_slots() -> None:
    words = f"{PNG64} and {PNG_URI} and {WAV64} and {PNG_URI} and {PNG64}."
    slots = (0, " and ", 1, " and ", 2, " and ", 3, " and ", 4, ".")
    found = result_of(words)
    assert found.parts == (text(*slots), *map(extracted, range(5)))
    assert [medium.data for medium in found.media] == [PNG, PNG, WAV, PNG, PNG]
