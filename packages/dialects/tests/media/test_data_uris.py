"""Data URIs in sentences are found whole if they hold a file, and rejected cheaply if not."""

from urllib.parse import quote

import pytest

from packages.dialects.tests.results.samples import NOISE, PNG
from pagefault_dialects.media.data_uris import (
    DataUri,
    DataUriSpan,
    SplitDataUri,
    declares_media,
    find_base64_start,
    find_data_uris,
    is_data_uri,
    parse_data_uri,
    parse_text_uri,
    recognize_base64,
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


TYPED_PNG = "data:image/png;base64,"
PNG64 = b64(PNG)
PARSED = [
    (f" \n{TYPED_PNG}{PNG64}\n", DataUri("image/png", PNG)),
    (
        f"DATA:Image/PNG;Charset=A;name=a;x=1 ;base64,{PNG64}",
        DataUri("image/png;Charset=A;x=1", PNG, "a"),
    ),
    (f'data:;FileName="a%20b";base64,{PNG64}', DataUri(None, PNG, "a b")),
    (f"data:image%2Fpng;name=a%2Bb;base64%2C{PNG64}", DataUri("image/png", PNG, "a+b")),
    (f"data%3Aimage%2Fpng%3Bbase64%2C{quote(PNG64, safe='')}", DataUri("image/png", PNG)),
    (f"data:text/plain;base64,{PNG64}", DataUri("text/plain", PNG)),
    (f"data:a;base64,{PNG64}", None),
    (f"{TYPED_PNG}no base64", DataUri("image/png", None)),
    (TYPED_PNG, DataUri("image/png", None)),
    ("data:image/svg+xml;utf8,<svg é> ", DataUri("image/svg+xml", "<svg é>".encode())),
    ("data:image/png,%00a", DataUri("image/png", b"\0a")),
    ("data:image/png, \ud800 ", DataUri("image/png", b"?")),
    ("data:image/png, ", DataUri("image/png", None)),
    ("data:text/csv;name=a.csv,a%20b", DataUri("text/csv", b"a b", "a.csv")),
    ("data:;name=a,b", DataUri(None, b"b", "a")),
    ("data:text/csv;name=a.csv,a b", None),
    ("data:text/csv,a", None),
    ("data:,a", None),
    (f"x{TYPED_PNG}{PNG64}", None),
    (TYPED_PNG[:-1], None),
    ("", None),
]


def test_text_that_is_a_data_uri_is_parsed() -> None:
    assert [(text, parse_data_uri(text)) for text, _ in PARSED] == PARSED


TEXTS = [
    ("data:,a%20b", (None, "a b")),
    (" data:text/plain,%C3%BC \n", ("text/plain", "ü")),
    ("data:text/html;charset=latin1;x=y,%FC", ("text/html;charset=latin1;x=y", "ü")),
    ("data:text/plain;charset= KOI8-R ,%C1", None),
    ("data:text/plain;charset%3Dlatin1,%FC", ("text/plain;charset=latin1", "ü")),
    ("data:text/plain;charset=latin1,ü", ("text/plain;charset=latin1", "ü")),
    ("data:text/plain;charset=unknown,%FC", None),
    ("data:application/json,{}", ("application/json", "{}")),
    ("data:,", (None, "")),
    ("data:text/plain,\ud800", None),
    ("data:,a b", None),
    ("data:,name;name=a", (None, "name;name=a")),
    ("data:;name=a,b", None),
    ("data:;base64,AAAA", None),
    ("data:image/svg+xml,<svg/>", None),
    ("data:image/png,%00", None),
    ("text", None),
]


def test_text_in_a_data_uri_is_parsed() -> None:
    assert [(text, parse_text_uri(text)) for text, _ in TEXTS] == TEXTS


SPLIT = [
    (f"{TYPED_PNG}{PNG64}", SplitDataUri(TYPED_PNG, PNG64, "image/png", PNG, None, True)),
    (
        f" \n DATA:image/jpg;name=a.jpg;base64,{PNG64}\n",
        SplitDataUri(
            *(" \n DATA:image/jpg;name=a.jpg;base64,", f"{PNG64}\n", "image/jpeg"),
            *(PNG, "a.jpg", True),
        ),
    ),
    ("data:,a%20b", SplitDataUri("data:,", "a%20b", "text/plain", b"a b", None, False)),
    ("data:,\ud800", SplitDataUri("data:,", "\ud800", "text/plain", b"?", None, False)),
    (
        "data:image%2Fpng;base64,AAA%3D",
        SplitDataUri("data:image%2Fpng;base64,", "AAA%3D", "image/png", b"\0\0", None, True),
    ),
    # Without padding, only a file is base64.
    (f"{TYPED_PNG}AAA", SplitDataUri(TYPED_PNG, "AAA", "image/png", None, None, True)),
    (f"{TYPED_PNG}AA A\nA", SplitDataUri(TYPED_PNG, "AA A\nA", "image/png", None, None, True)),
    (
        f"{TYPED_PNG}{PNG64[:30]}",
        SplitDataUri(TYPED_PNG, PNG64[:30], "image/png", PNG[:22], None, True),
    ),
    (f"{TYPED_PNG}AAAA\n", SplitDataUri(TYPED_PNG, "AAAA\n", "image/png", bytes(3), None, True)),
    (f"{TYPED_PNG}!", SplitDataUri(TYPED_PNG, "!", "image/png", None, None, True)),
    ("data:;a=b;c,", SplitDataUri("data:;a=b;c,", "", "text/plain", b"", None, False)),
    ("data:text/plain;-),", None),
    ('data:;a="b;) c",', SplitDataUri('data:;a="b;) c",', "", "text/plain", b"", None, False)),
    ("data%3A;base64,AAAA", None),
    ("text", None),
]


def test_data_uri_is_split_into_head_and_payload() -> None:
    assert [(text, split_data_uri(text)) for text, _ in SPLIT] == SPLIT
    assert [uri.text for _, uri in SPLIT if uri] == [text for text, uri in SPLIT if uri]


DECLARED = [
    (TYPED_PNG, ("image/png", True)),
    ("data:image/png;name=a;base64,", ("image/png", False)),
    ("DATA:image/png;base64,", ("image/png", False)),
    (" data: image/jpg;base64,", ("image/jpeg", False)),
    ("data:text/plain;base64,", ("text/plain", True)),
    ("data:application/octet-stream;base64,", (None, True)),
    ("data:;base64,", (None, False)),
    ("data: ;base64,", (None, False)),
]


def test_split_data_uri_knows_what_it_declares() -> None:
    splits = [(head, split_data_uri(f"{head}AA+/")) for head, _ in DECLARED]
    assert [(head, uri and (uri.declared_type, uri.is_plain)) for head, uri in splits] == DECLARED
    undeclared = split_data_uri("data:,")
    assert undeclared is not None
    assert undeclared.declared_type is None
    others = [split_data_uri(f"{TYPED_PNG}{payload}") for payload in ("AA-_", "AAAA\n", "AAA%3D")]
    assert [uri and uri.is_plain for uri in others] == [False, False, False]


def test_media_are_declared_by_base64_or_by_their_type() -> None:
    texts = [
        (f"{TYPED_PNG}!", True),
        ("data:text/plain;base64,", True),
        ("data:;base64,", True),
        (" data:image/png,a", True),
        ("data:text/plain,a", False),
        ("data:,a", False),
        ("image/png", False),
    ]
    assert [(text, declares_media(text)) for text, _ in texts] == texts


def test_base64_of_a_file_is_recognized_without_a_head() -> None:
    texts = [
        (PNG64, SplitDataUri("", PNG64, "image/png", PNG, None, True)),
        (PNG64[:64], SplitDataUri("", PNG64[:64], "image/png", PNG[:48], None, True)),
        (PNG64[:63], None),
        (b64(b"BM" + PNG[2:]), None),
        (f"{PNG64}!", None),
        (b64(NOISE), None),
        ("", None),
    ]
    assert [(text, recognize_base64(text)) for text, _ in texts] == texts


ZEROS, ESCAPED = "A" * 64, PNG64.replace("/", "\\/")
FOUND = [
    (f"«{TYPED_PNG}{PNG64}»", "image/png", PNG, None),
    (f"a («DATA:;name=b%20c;base64,{PNG64}») d", None, PNG, "b c"),
    (f"«{TYPED_PNG}{ZEROS}»...", "image/png", bytes(48), None),
    (f"{TYPED_PNG}{ZEROS[:60]}...", "", b"", None),
    (f"{TYPED_PNG}{ZEROS[:60]}…", "", b"", None),
    (f"«{TYPED_PNG}{ZEROS[:60]}».. a", "image/png", bytes(45), None),
    (f"«{TYPED_PNG}{ZEROS[:16]}» ", "image/png", bytes(12), None),
    (f"{TYPED_PNG}{ZEROS[:12]} ", "", b"", None),
    (f"{TYPED_PNG}{ZEROS[:17]} ", "", b"", None),
    # The head counts as a part of the first line.
    (f"«{TYPED_PNG}{ZEROS[:20]}\n{'A' * 42}\n{'A' * 42}» a", "image/png", bytes(78), None),
    (f"{TYPED_PNG}{ZEROS[:20]}\n{'A' * 50}\n{'A' * 60}", "", b"", None),
    (f"«{TYPED_PNG}{ESCAPED}»", "image/png", PNG, None),
    (f"«{TYPED_PNG}\n  {PNG64}» a", "image/png", PNG, None),
    (f"«data:image/png,{quote(PNG[:40])}» a", "image/png", PNG[:40], None),
    ("«data:image/svg+xml;name=a,%20%3Csvg»>", "image/svg+xml", b" <svg", "a"),
    ("data:image/svg+xml,svg", "", b"", None),
    ("data:text/html,<p", "", b"", None),
    (f"data:,{quote(PNG[:40])}", "", b"", None),
    ("data:image/png,a", "", b"", None),
    (f"data:data:«{TYPED_PNG}{PNG64}»", "image/png", PNG, None),
]


def test_data_uris_in_texts_are_found_at_their_places() -> None:
    expected = []
    for marked, mime_type, data, filename in FOUND:
        text = marked.replace("«", "").replace("»", "")
        start, end = marked.find("«"), marked.find("»") - 1
        span = DataUriSpan(start, end, mime_type, data, filename)
        expected.append((text, [span] if start >= 0 else []))
    assert [(text, [*find_data_uris(text)]) for text, _ in expected] == expected


def test_only_data_uris_that_begin_in_a_part_are_found() -> None:
    uri = f"{TYPED_PNG}{PNG64}"
    text, size = f"{uri} {uri} {uri}", len(uri)
    parts: list[tuple[tuple[int, ...], list[int]]] = [
        ((0,), [0, size + 1, 2 * size + 2]),
        ((1,), [size + 1, 2 * size + 2]),
        ((size + 1, size + 6), [size + 1]),
        ((size + 1, size + 5), []),
        ((0, 2 * size + 2), [0, size + 1]),
    ]
    found = [(part, [span.start for span in find_data_uris(text, *part)]) for part, _ in parts]
    assert found == parts
