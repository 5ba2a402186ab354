"""Bytes as Python writes them in a text: `b'\\x89PNG…'`."""

import ast
import base64

import pytest

from pagefault_dialects.media.bytes_literals import (
    decode_bytes_literal,
    decode_declared_text,
    find_bytes_literals,
)
from tests.kit.media import b64, gif, noise_bytes, pdf, png

FILES = [png(), gif() + b"'\"\\", pdf("it's") + b"\n", b"GIF89a" + bytes(range(256))]


@pytest.mark.parametrize("data", FILES)
def test_literal_is_read_as_python_reads_it(data: bytes) -> None:
    literal = repr(data)
    assert decode_bytes_literal(f" {literal}\n") == data == ast.literal_eval(literal)
    text = f"{{'image': {literal}, 'copy': bytearray({literal})}}"
    assert [text[run.start : run.end] for run in find_bytes_literals(text)] == [literal, literal]
    assert {run.data for run in find_bytes_literals(text)} == {data}


LONG = "a" * 48


@pytest.mark.parametrize(
    "text",
    [
        "b'hello world'",
        "b''",
        f"B'GIF89a{LONG}'",
        f"rb'GIF89a{LONG}'",
        f"verb'GIF89a{LONG}'",
        f"b'GIF89a{LONG}",
        f"b'GIF89a{LONG}\"",
        f"b'GIF89a{LONG}\\'",
        f"b'GIF89a{LONG}\n'",
        f"b'GIF89a{LONG} é'",
        f"b'GIF89a{LONG}\\x8'",
        f"b'GIF89a{LONG}\\q'",
        f"b'GIF89a{LONG}\\u0041'",
        f"b'GIF89a{LONG}\\8'",
        f"'GIF89a{LONG}'",
        "b'GIF89a is a signature'",
    ],
)
def test_other_texts_are_no_literals_of_files(text: str) -> None:
    assert decode_bytes_literal(text) is None
    assert list(find_bytes_literals(text)) == []


def test_any_bytes_count_where_a_type_is_declared() -> None:
    assert decode_bytes_literal("b'hello'", is_declared=True) == b"hello"
    assert decode_bytes_literal("b'hello' b'you'", is_declared=True) is None
    assert decode_bytes_literal("hello", is_declared=True) is None


def test_literal_of_base64_is_the_file_where_a_type_is_declared() -> None:
    data = png(noise=True)
    literal = repr(base64.b64encode(data))
    assert decode_bytes_literal(literal, is_declared=True) == data
    assert decode_bytes_literal(literal) is None
    uri = f"data:image/png;base64,{b64(data)}"
    assert decode_bytes_literal(f"b'{uri}\\n'", is_declared=True) == data


def test_declared_text_is_base64_or_a_literal() -> None:
    data = png(noise=True)
    encoded = b64(data)
    texts = [
        encoded,
        encoded.replace("/", "\\/"),
        f"b'{encoded}'",
        repr(data),
        "b'hello'",
        "hello!",
    ]
    assert [decode_declared_text(text) for text in texts] == [data] * 4 + [b"hello", None]


@pytest.mark.parametrize("before", range(8))
def test_no_escape_is_split_where_a_long_literal_is_read_in_pieces(before: int) -> None:
    data = b"GIF89a" + b"a" * before + noise_bytes(1_000_000)
    assert decode_bytes_literal(repr(data)) == data


@pytest.mark.slow
@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A hostile literal of bytes is read once",
    kept_by="packages/dialects/src/pagefault_dialects/media/bytes_literals.py",
    tried="64 MiB of backslashes, an open literal, a million starts: at most 1,000 are looked at",
)
@pytest.mark.parametrize(
    "text",
    [
        "\\" * (64 << 20),
        "b'\\x89PNG\\r\\n\\x1a\\n" + "\\" * (64 << 20),
        "b'\\x89PNG\\r\\n\\x1a\\n" + "a" * (64 << 20),
        "b'%P" * (1 << 20),
    ],
)
def test_hostile_text_has_no_literal(text: str) -> None:
    assert list(find_bytes_literals(text)) == []
