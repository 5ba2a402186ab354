r"""Escapes are recorded while they are read, and raw JSON that cannot be restored is refused."""

import pytest

from pagefault_dialects.media.base64_text import NotStrictBase64Error
from pagefault_dialects.streams.long_strings import (
    JsonEscapes,
    find_raw_head_end,
    split_open_escape,
)


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([b"AA+/", b"AA=="], b"AA+/AA=="),
        ([b"AAAA", b"A\\/+A", b"\\/\\/\\/\\/"], b"AAAAA/+A////"),
        ([b"\\u002B\\u002BAA", b"A/A\\u003d"], b"++AAA/A="),
        ([b"AA\\u002f\\u002b", b"A=\\n"], b"AA/+A=\n"),
        ([b"AAAA\\r\\nAAAA", b"\\nAA\\r"], b"AAAA\r\nAAAA\nAA\r"),
    ],
)
def test_raw_json_is_restored_byte_for_byte(pieces: list[bytes], text: bytes) -> None:
    escapes, unescaped = JsonEscapes(), b""
    for piece in pieces:
        decoded, escapes = escapes.unescape(piece)
        unescaped += decoded
    assert unescaped == text
    assert escapes.escape(unescaped) == b"".join(pieces)


@pytest.mark.parametrize(
    "pieces",
    [
        [b"AA/A", b"A\\/AA"],
        [b"A\\/AA", b"AA/A"],
        [b"A+\\u002bA"],
        [b"\\u002b\\u002B"],
        [b"A=\\u003d"],
        [b"AAAA\\\\n"],
        [b"AAAA\\\\/A"],
        [b"AAAA\\\\u002b"],
        [b"AAAA\\u000aAAAA"],
        [b"AAAA\\u0022,\\u0022"],
        [b"AAAA\\u0041"],
        [b"AAAA\\"],
        [b"AAAA\n"],
        [b"AAAA\r\nAAAA"],
    ],
)
def test_other_spellings_are_refused(pieces: list[bytes]) -> None:
    escapes = JsonEscapes()
    for piece in pieces[:-1]:
        _, escapes = escapes.unescape(piece)
    with pytest.raises(NotStrictBase64Error):
        escapes.unescape(pieces[-1])


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"data:image/png;base64,",
        b"data:image\\/png;base64,",
        b"data:image/png;name=C:\\\\temp\\\\new.png;base64,",
        b"data:image/png;name=b\xc3\xbccher\\u00fc.png;base64,",
        b"data:image/png;name=\\ud83d\\ude00\xf0\x9f\x98\x80.png;base64,",
        b"data:image/png;name=\\ud83d\\ud83d\\ude00\\ude00.png;base64\\u002c",
    ],
)
def test_head_of_a_data_uri_ends_where_its_base64_begins(head: bytes) -> None:
    assert find_raw_head_end(head + b"AAAA\\/AAAA") == len(head)


@pytest.mark.parametrize("length", range(1, 6))
def test_escape_that_was_cut_waits_for_the_rest(length: int) -> None:
    cut = b"\\u002B"[:length]
    assert split_open_escape(b"AAAAAAAA" + cut) == (b"AAAAAAAA", cut)
