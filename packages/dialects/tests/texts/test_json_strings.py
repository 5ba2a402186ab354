"""The content of JSON strings, written from bytes in chunks of any size."""

import codecs
import json

import pybase64
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault_dialects.model.render_options import MediaPiece, StoredTextPiece
from pagefault_dialects.text_windows import decode_text
from pagefault_dialects.texts.json_strings import (
    Base64Writer,
    MediaMarks,
    StringWriter,
    TextWriter,
)
from tests.kit.media import noise_bytes

LARGE = noise_bytes(1_000_001)
_MARKS = [b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF32_BE]
_texts = st.binary(max_size=40) | st.text(max_size=20).map(str.encode)
_sizes = st.lists(st.integers(4, 12), max_size=10)


def write_chunks(writer: StringWriter, data: bytes, sizes: list[int]) -> bytes:
    """Return the output for bytes in chunks of these sizes and a last chunk."""
    pieces: list[bytes] = []
    for size in sizes:
        pieces += writer.feed(data[:size]) if data else []
        data = data[size:]
    pieces += writer.feed(data) if data else []
    return b"".join([*pieces, writer.finish()])


@given(st.binary(max_size=60), _sizes)
def test_base64_of_chunks_is_that_of_the_whole(data: bytes, sizes: list[int]) -> None:
    assert write_chunks(Base64Writer(), data, sizes) == pybase64.b64encode(data)


@given(st.sampled_from(_MARKS), _texts, _sizes)
def test_text_of_chunks_is_that_of_the_whole(mark: bytes, content: bytes, sizes: list[int]) -> None:
    data = mark + content
    inside = write_chunks(TextWriter(), data, sizes)
    assert json.loads(b'"' + inside + b'"') == decode_text(data)


@pytest.mark.parametrize("writer", [Base64Writer(), TextWriter()], ids=["base64", "text"])
def test_pieces_of_a_large_chunk_are_small(writer: StringWriter) -> None:
    assert max(map(len, writer.feed(LARGE))) <= 256 * 1024


def test_base64_is_written_in_either_alphabet_with_or_without_padding() -> None:
    data, chunks = b"\xfb\xef\xff\xfb", [1, 2]
    writers = [
        Base64Writer(is_urlsafe=is_urlsafe, is_padded=is_padded)
        for is_urlsafe in (False, True)
        for is_padded in (False, True)
    ]
    assert [write_chunks(writer, data, chunks) for writer in writers] == [
        *(b"++//+w", b"++//+w==", b"--__-w", b"--__-w=="),
    ]
    assert write_chunks(Base64Writer(is_padded=False), b"abc", []) == b"YWJj"


def test_text_is_written_from_a_given_encoding() -> None:
    data = 'Grüße "a"\n'.encode("cp1252")
    assert write_chunks(TextWriter("cp1252"), data, [4]) == 'Grüße \\"a\\"\\n'.encode()
    assert write_chunks(TextWriter(), b"a\xc3", []) == "a\ufffd".encode()
    assert TextWriter().finish() == b""


def test_text_is_split_at_the_marks_of_its_media() -> None:
    marks, other = MediaMarks(), MediaMarks()
    media, text = MediaPiece("a", 3), StoredTextPiece("b", 3, 3)
    added = [marks.add(media), marks.add(text)]
    foreign = other.add(media)
    written = json.dumps(["1;", added[1], added[0] + added[1], foreign]).encode()
    assert marks.split(written) == [
        *(b'["1;", "', text, b'", "', media, b"", text),
        b'", "%b"]' % foreign.encode(),
    ]
    assert marks.split(b"[1]") == [b"[1]"]
