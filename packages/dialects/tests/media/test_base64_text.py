"""Base64 is decoded in every usual spelling, as a whole or piece by piece, and restored."""

import base64

import pytest

from pagefault_dialects.media.base64_text import (
    Base64Decoder,
    NotStrictBase64Error,
    PlainSpelling,
    decode_base64,
    decode_compact,
    decode_percent_encoded_base64,
    without_blanks,
    without_escapes,
)

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
DATA = bytes(index * 89 % 256 for index in range(150))
TEXT = base64.b64encode(DATA)


def in_lines(text: bytes, first: int, other: int, separator: bytes = b"\n") -> bytes:
    rest = text[first:]
    lines = (rest[start : start + other] for start in range(0, len(rest), other))
    return separator.join((text[:first], *lines))


def decode_strictly(text: bytes) -> bytes:
    decoder = Base64Decoder()
    return decoder.decode(text) + decoder.finish()


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("AAECAw==", b"\0\1\2\3"),
        ("AAECAw", b"\0\1\2\3"),
        ("AAECAw=", b"\0\1\2\3"),
        (" AAEC\r\n\tAw==\n", b"\0\1\2\3"),
        ("--__", b"\xfb\xef\xff"),
        ("++//", b"\xfb\xef\xff"),
        ("AAE C\nAw==", None),
        (base64.b64encode(PNG).decode()[:8] + " " + base64.b64encode(PNG).decode()[8:], PNG),
        ("+-AA", None),
        ("/_AA", None),
        ("AAECA", None),
        ("AAAA=", b"\0\0\0"),
        ("AAAA==", b"\0\0\0"),
        ("AAAA===", None),
        ("AAAA====", None),
        ("AA===", None),
        ("AA=A", None),
        ("AA!A", None),
        ("AAAé", None),
        ("", None),
        ("====", None),
        ("é", None),
    ],
)
def test_base64_is_decoded_in_one_alphabet_and_without_blanks(
    text: str, data: bytes | None
) -> None:
    assert decode_base64(text) == data


@pytest.mark.parametrize("size", [49_152, 49_155])
def test_long_text_is_decoded_as_a_short_one(size: int) -> None:
    data = bytes(size)
    assert decode_compact(base64.b64encode(data)) == data
    assert decode_compact(base64.b64encode(data)[:-1] + b"!") is None
    assert decode_compact(base64.b64encode(data) + b"!!!!") is None


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("AAECAw%3D%3d", b"\0\1\2\3"),
        ("%2B%2b%2F/", b"\xfb\xef\xff"),
        ("AAEC", b"\0\1\2"),
        ("é%3D", None),
        ("%", None),
    ],
)
def test_percent_encoded_base64_is_decoded(text: str, data: bytes | None) -> None:
    assert decode_percent_encoded_base64(text) == data


def test_blanks_and_escapes_are_removed() -> None:
    assert without_blanks(" a\tb\r\nc\x0b\x0cd ") == "abcd"
    assert without_escapes("A\\/\\r\\nB\\u003d\\u003D") == "A/B=="
    assert without_escapes("A%2B\\/%3D") == "A+/="
    assert without_escapes("AB+/") == "AB+/"


SPELLINGS = {
    "standard": (TEXT, "standard one-line ", PlainSpelling(False, True)),
    "URL-safe": (
        base64.urlsafe_b64encode(DATA + b"a").rstrip(b"="),
        "url-safe one-line 5951",
        PlainSpelling(True, False),
    ),
    "padded": (
        base64.b64encode(DATA + b"a"),
        "standard one-line 59513d3d",
        PlainSpelling(False, True),
    ),
    "with a line break": (TEXT + b"\n", "standard 0a:200,0,True ", None),
    "padded, with a line break": (
        base64.b64encode(DATA + b"a") + b"\r\n",
        "standard one-line 59513d3d0d0a",
        None,
    ),
    "two lines": (in_lines(TEXT, 120, 120), "standard 0a:120,0,False ", None),
    "lines": (in_lines(TEXT, 76, 76), "standard 0a:76,76,False ", None),
    "lines that end": (in_lines(TEXT, 76, 76) + b"\n", "standard 0a:76,76,True ", None),
    "a short first line": (in_lines(TEXT, 52, 76, b"\r\n"), "standard 0d0a:52,76,False ", None),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_spelling_is_decoded_in_any_pieces_and_restored(name: str) -> None:
    text, spelling, plain = SPELLINGS[name]
    expected = DATA + (b"a" if "5951" in spelling else b"")
    for cut in range(len(text) + 1):
        decoder = Base64Decoder()
        data = decoder.decode(text[:cut]) + decoder.decode(text[cut:])
        last = decoder.finish()
        restored = decoder.restore(base64.b64encode(data) + decoder.quad)
        assert (data + last, restored, decoder.spelling, decoder.plain_spelling(last)) == (
            expected,
            text,
            spelling,
            plain,
        ), cut


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        (TEXT, None),
        (TEXT + b"\n", None),
        (in_lines(TEXT, 120, 120), (0, 0)),
        (in_lines(TEXT, 76, 76), (76, 76)),
        (in_lines(TEXT, 52, 76), (52, 76)),
    ],
)
def test_lengths_of_lines_are_known_from_the_second_on(
    text: bytes, lengths: tuple[int, int] | None
) -> None:
    decoder = Base64Decoder()
    decoder.decode(text)
    assert decoder.line_lengths == lengths


@pytest.mark.parametrize(
    "text",
    [
        in_lines(TEXT, 76, 60),
        in_lines(TEXT, 80, 76) + b"\n" + TEXT,
        in_lines(TEXT[:152], 76, 76) + b"\n" + TEXT[:80],
        in_lines(TEXT[:152], 76, 76) + b"\n" + TEXT[:80] + b"\n",
        in_lines(TEXT[:128], 52, 76) + b"\n" + TEXT[:80],
        in_lines(TEXT, 78, 78),
        in_lines(TEXT, 36, 36),
        in_lines(TEXT, 76, 76) + b"\n\n",
        b"\n" + TEXT,
        in_lines(TEXT, 76, 76, b"\r\n").replace(b"\r", b"", 1),
        TEXT + b"====",
        TEXT + b"=A",
        TEXT + b"-_",
        TEXT + b" ",
        TEXT + b"A",
        b"AA=\n=",
        TEXT + b"\r",
    ],
)
def test_spelling_that_cannot_be_restored_is_refused(text: bytes) -> None:
    with pytest.raises(NotStrictBase64Error):
        decode_strictly(text)


def test_refused_piece_leaves_the_decoder_unchanged() -> None:
    text = in_lines(TEXT, 76, 76)
    decoder = Base64Decoder()
    data = decoder.decode(text[:100])
    with pytest.raises(NotStrictBase64Error):
        decoder.decode(b"AAAA\n" * 3)
    data += decoder.decode(text[100:]) + decoder.finish()
    assert data == DATA
    assert decoder.restore(base64.b64encode(data)) == text


@pytest.mark.parametrize("start", range(6))
@pytest.mark.parametrize("end", [8, 60, 200])
def test_plain_piece_is_decoded_as_any_other(start: int, end: int) -> None:
    plain, other = Base64Decoder(), Base64Decoder()
    assert (plain.decode(TEXT[:start]), other.decode(TEXT[:start])) == (
        other_data := base64.b64decode(TEXT[: start // 4 * 4]),
        other_data,
    )
    assert plain.decode_plain(TEXT, start, end) == other.decode(TEXT[start:end])
    assert (plain.quad, plain.legacy_spelling) == (other.quad, other.legacy_spelling)


def test_plain_piece_shows_the_alphabet_wherever_its_signs_are() -> None:
    pieces = [b"AAAA", b"+AAA", b"/AAA", b"AA+A", b"AAA/", b"A/+A"]
    found = []
    for piece in pieces:
        plain, other = Base64Decoder(), Base64Decoder()
        plain.decode_plain(piece, 0, 4)
        other.decode(piece)
        found.append((plain.legacy_spelling, other.legacy_spelling))
    assert [one == two for one, two in found] == [True] * 6
    inside = Base64Decoder()
    assert inside.decode_plain(b"+AAAA/", 1, 5) == bytes(3)
    assert inside.decode(b"AA-_") == b"\0\x0f\xbf"


@pytest.mark.parametrize(
    ("before", "piece"),
    [
        (b"", b"AA\nA"),
        (b"", b"AA=="),
        (b"A", b"A=="),
        (b"", b"AA-_"),
        (b"", b"AAAAA-"),
        (b"-", b"AAA"),
        (b"AAA=", b"AAAA"),
        (b"A" * 76 + b"\n", b"AAAA"),
        (b"A" * 76 + b"\r", b"AAAA"),
    ],
)
def test_other_piece_is_left_to_the_slow_path(before: bytes, piece: bytes) -> None:
    decoder = Base64Decoder()
    decoder.decode(before)
    spelling = decoder.legacy_spelling
    assert decoder.decode_plain(piece, 0, len(piece)) is None
    assert decoder.legacy_spelling == spelling
